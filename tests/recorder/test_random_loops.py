"""Right loops put together at random: no finding, and the weights of the same loop without the recorder."""

import random

import pytest
import torch
from torch import nn

from amp_lessons.recorder import record_loop
from tests.recorder.toy_training import problem

OPTIMIZERS = [
    lambda params: torch.optim.SGD(params, lr=1e-3, momentum=0.9),
    lambda params: torch.optim.AdamW(params, lr=1e-3),
    lambda params: torch.optim.AdamW(params, lr=1e-3, fused=True),
    lambda params: torch.optim.Adam(params, lr=1e-3, foreach=True),
    lambda params: torch.optim.RMSprop(params, lr=1e-3),
]


def clear(optimizer, how):
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if how == "optimizer":
        optimizer.zero_grad()
    elif how == "zeros":
        optimizer.zero_grad(set_to_none=False)
    elif how == "none":
        for p in parameters:
            p.grad = None
    else:
        for p in parameters:
            if p.grad is not None:
                p.grad.zero_()


def limit(optimizer, how):
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if how == "norm":
        nn.utils.clip_grad_norm_(parameters, 1.0)
    elif how == "value":
        nn.utils.clip_grad_value_(parameters, 0.5)
    elif how == "by hand":
        for p in parameters:
            if p.grad is not None:
                p.grad.clamp_(-0.5, 0.5)


class RandomLoop:
    """The choices of one seed."""

    def __init__(self, seed):
        pick = random.Random(seed)
        self.dtype = pick.choice([torch.float16, torch.float16, torch.bfloat16, torch.float32])
        self.scale = pick.choice([8.0, 128.0, 2.0**16, 2.0**22])
        self.growth_interval = pick.choice([3, 2000])
        self.window = pick.choice([1, 1, 2, 3])
        self.losses = pick.choice(["one", "sum", "each", "scaled sum"])
        self.split = pick.random() < 0.4
        self.optimizers = [pick.choice(OPTIMIZERS) for _ in range(2)]
        self.clear_at = pick.choice(["start", "end"])
        self.clear_how = pick.choice(["optimizer", "zeros", "none", "by hand"])
        self.limit = pick.choice([None, None, "norm", "value", "by hand"])
        self.unscale = self.limit is not None or pick.random() < 0.3
        self.schedule = pick.choice([None, "guarded", "per epoch"])
        self.evaluate = pick.random() < 0.3
        self.freeze = pick.random() < 0.2
        self.shared_region = pick.random() < 0.5

    def __str__(self):
        return ", ".join(f"{name}={value}" for name, value in vars(self).items())

    def losses_of(self, net, x, y):
        """One or two losses, computed in one region or in two."""

        def region():
            return torch.autocast("cpu", dtype=self.dtype, enabled=self.dtype != torch.float32)

        with region():
            first = nn.functional.mse_loss(net(x), y) / self.window
            if self.losses == "one":
                return [first]
            if self.shared_region:
                return [first, net(-x).float().abs().mean()]
        with region():
            return [first, net(-x).float().abs().mean()]

    def backward(self, scaler, losses):
        if self.losses == "sum":
            scaler.scale(sum(losses)).backward()
        elif self.losses == "scaled sum":
            sum(scaler.scale(losses)).backward()
        else:
            for loss in losses:
                scaler.scale(loss).backward(retain_graph=True)

    def train(self):
        """Train for two epochs of four windows; give the weights, and the learning rates at the end."""
        net, x, y = problem()
        if self.freeze:
            net[0].requires_grad_(False)
        # A part that is split off has parameters to train.
        parts = [net[2], net[0]] if self.split and not self.freeze else [net]
        optimizers = [make(part.parameters()) for make, part in zip(self.optimizers, parts)]
        schedulers = [torch.optim.lr_scheduler.StepLR(each, 2, 0.5) for each in optimizers]
        scaler = torch.amp.GradScaler(
            "cpu",
            init_scale=self.scale,
            growth_interval=self.growth_interval,
            enabled=self.dtype == torch.float16,
        )
        for _ in range(2):
            stepped = False
            for _ in range(4):
                if self.clear_at == "start":
                    for optimizer in optimizers:
                        clear(optimizer, self.clear_how)
                for _ in range(self.window):
                    self.backward(scaler, self.losses_of(net, x, y))
                before = scaler.get_scale()
                for optimizer in optimizers:
                    if self.unscale:
                        scaler.unscale_(optimizer)
                        limit(optimizer, self.limit)
                    scaler.step(optimizer)
                scaler.update()
                fine = scaler.get_scale() >= before
                stepped = stepped or fine
                if self.clear_at == "end":
                    for optimizer in optimizers:
                        clear(optimizer, self.clear_how)
                if self.schedule == "guarded" and fine:
                    for scheduler in schedulers:
                        scheduler.step()
                if self.evaluate:
                    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                        net(x)
            if self.schedule == "per epoch" and stepped:
                for scheduler in schedulers:
                    scheduler.step()
        return [p.tolist() for p in net.parameters()], [each.get_last_lr() for each in schedulers]


@pytest.mark.parametrize("seeds", [range(30), range(30, 60)], ids=str)
def test_no_finding_and_the_same_weights(seeds):
    for seed in seeds:
        loop = RandomLoop(seed)
        alone = loop.train()
        with record_loop() as recording:
            recorded = loop.train()
        assert [str(finding) for finding in recording.findings] == [], f"seed {seed}: {loop}"
        assert recorded == alone, f"seed {seed}: {loop}"


@pytest.mark.slow
def test_many_more():
    test_no_finding_and_the_same_weights(range(60, 260))
