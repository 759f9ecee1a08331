"""What else happens between two steps: averages, evaluation, checkpoints, logs, batches left out."""

import contextlib
import copy
import io
import math

import torch
from torch import nn

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd, steep_scaler


@right(
    line="scaler.step(optimizer)",
    becomes="scaler.step(optimizer); scaler.step(optimizer)",
    finds="missing-update",
)
def moving_average_of_weights():
    net, x, y = problem()
    average = torch.optim.swa_utils.AveragedModel(net)
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        average.update_parameters(net)


@right(
    line="scaler.scale(loss).backward()",
    becomes="loss.backward()",
    finds="unscaled-backward",
)
def evaluation_between_steps():
    net, x, y = problem()
    optimizer, scaler, scores = sgd(net), gentle_scaler(), []
    for _ in range(3):
        net.train()
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        net.eval()
        with torch.no_grad(), half():
            scores.append(nn.functional.mse_loss(net(x + 0.1), y).item())
        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
            scores.append(nn.functional.mse_loss(net(x), y).item())
        scaler.step(optimizer)
        scaler.update()


def saved_after_a_step():
    net, x, y = problem()
    optimizer, scaler = torch.optim.Adam(net.parameters()), gentle_scaler()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
    parts = {"net": net, "optimizer": optimizer, "scaler": scaler}
    return {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}


@right(
    line='scaler.load_state_dict(checkpoint["scaler"])',
    becomes="pass",
    finds={"resume-without-scaler-state": 'optimizer.load_state_dict(checkpoint["optimizer"])'},
)
def resumed_from_a_checkpoint():
    checkpoint, (net, x, y) = saved_after_a_step(), problem()
    optimizer, scaler = torch.optim.Adam(net.parameters()), gentle_scaler()
    net.load_state_dict(checkpoint["net"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.scale(loss).backward()",
    becomes="with half(): scaler.scale(loss).backward()",
    finds="backward-inside-autocast",
)
def checkpoint_saved_after_every_step():
    net, x, y = problem()
    optimizer, scaler, saved = sgd(net), gentle_scaler(), []
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        saved.append((optimizer.state_dict(), scaler.state_dict()))
    assert saved[-1][1]["scale"] == 128.0


@right(
    line="if number % 3 == 2 or number == 6:",
    becomes="if number % 3 == 2 or number == 6 or scaler.update():",
    finds="update-without-step",
)
def short_last_window():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for number in range(7):
        with half():
            loss = nn.functional.mse_loss(net(x), y) / 3
        scaler.scale(loss).backward()
        if number % 3 == 2 or number == 6:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


@right(
    line="if not math.isfinite(loss.item()):",
    becomes="if loss.item() == 0:",
    finds={"forward-overflow": "scaler.scale(loss).backward()"},
)
def bad_batches_left_out():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for shift in (0.0, 1e30, 0.0):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x) + shift, y)
        if not math.isfinite(loss.item()):
            continue
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="net.zero_grad()",
    becomes="optimizer.step(); optimizer.zero_grad()",
    finds="bare-optimizer-step",
)
def gradients_thrown_away_by_the_user():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for step in range(4):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        if step == 1:
            net.zero_grad()
            continue
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


@right(
    line="log.append((loss.item(), scaled.item(), scaler.get_scale(), scaler.state_dict()))",
    becomes="scaler.step(optimizer, lambda: loss); break",
    finds="closure-with-scaler",
)
def everything_logged():
    net, x, y = problem()
    optimizer, scaler, log = sgd(net), gentle_scaler(), []
    assert scaler.get_scale() == 128.0
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaled = scaler.scale(loss)
        scaled.backward()
        log.append((loss.item(), scaled.item(), scaler.get_scale(), scaler.state_dict()))
        scaler.step(optimizer)
        scaler.update()


@right(
    line="loss = nn.functional.mse_loss(net(x), y)",
    becomes="loss = nn.functional.mse_loss(net(x), y) + (net(x) * 0).float().square().sum().sqrt()",
    finds={"scale-collapse": "scaler.update()"},
)
def calibration_from_far_above():
    net, x, y = problem()
    optimizer, scaler = sgd(net), steep_scaler()
    for _ in range(40):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # <- note calibration-skips
        scaler.update()


@right(
    line="loss = extra if step % 2 else nn.functional.mse_loss(net(x), y)",
    becomes="loss = extra if step % 2 else 1e38 * nn.functional.mse_loss(net(x), y) * 1e38",
    finds={"forward-overflow": "scaler.scale(loss).backward()"},
)
def two_tasks_in_turn():
    net, x, y = problem()
    heads = nn.ModuleList([net[2], nn.Linear(8, 1)])
    optimizer, scaler = sgd(nn.ModuleList([net[:2], heads])), gentle_scaler()
    for step in range(4):
        optimizer.zero_grad()
        with half():
            extra = nn.functional.mse_loss(heads[1](net[:2](x)), -y)
            loss = extra if step % 2 else nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="if not math.isfinite(loss.item()):",
    becomes="if loss.item() == 0:",
    finds={"forward-overflow": "scaler.scale(loss).backward()"},
)
def whole_models_saved_and_copied():
    """After a bad batch the recorder looks at the next forward: nothing of that gets into the model."""
    net, x, y = problem()
    optimizer, scaler, best = sgd(net), gentle_scaler(), None
    for size in (1.0, math.inf, 1.0):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x * size), y)
        if not math.isfinite(loss.item()):
            continue
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.save(net, io.BytesIO())
        best = copy.deepcopy(net)
        assert not any(module._forward_hooks for module in best.modules())


@right(
    line="scaler.step(optimizers[step % 2])",
    becomes="scaler.step(optimizers[1 - step % 2])",
    finds="no-gradients",
)
def all_unscaled_and_those_with_gradients_stepped():
    nets, (_, x, y) = nn.ModuleList([problem()[0], problem()[0]]), problem()
    optimizers, scaler = [sgd(net) for net in nets], gentle_scaler()
    for step in range(4):
        nets.zero_grad()
        with half():
            loss = nn.functional.mse_loss(nets[step % 2](x), y)
        scaler.scale(loss).backward()
        for optimizer in optimizers:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(nets.parameters(), 1.0)
        scaler.step(optimizers[step % 2])
        scaler.update()


@right(
    line="with contextlib.suppress(RuntimeError):",
    becomes="if True:",
    finds={"unscale-twice": "scaler.unscale_(optimizer)"},
)
def unscaled_unless_it_has_been():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        for part in net[0], net[2]:
            with contextlib.suppress(RuntimeError):
                scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(part.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


class StepsByAnotherName(torch.amp.GradScaler):
    def _maybe_opt_step(self, optimizer, state, *args, **kwargs):
        if not any(found.item() for found in state["found_inf_per_device"].values()):
            optimizer.move()


class Mover(torch.optim.SGD):
    @torch.no_grad()
    def move(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])


@right(
    line='optimizer, scaler = Mover(net.parameters(), lr=0.01), StepsByAnotherName("cpu", init_scale=128.0)',
    becomes='optimizer, scaler = Mover(net.parameters(), lr=0.01), StepsByAnotherName("cpu", 2.0**40)',
    finds={"scheduler-on-skipped-step": "scheduler.step()"},
)
def a_step_that_no_hook_hears():
    net, x, y = problem()
    optimizer, scaler = Mover(net.parameters(), lr=0.01), StepsByAnotherName("cpu", init_scale=128.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()


@right(
    line="net.weight.grad *= mask",
    becomes="net.weight.grad.clamp_(-1.0, 1.0); net.bias.grad.clamp_(-1.0, 1.0)",
    finds={"clip-before-unscale": "scaler.step(optimizer)"},
)
def some_gradients_masked():
    """Averages of -1, 0 and 1, times the scale, are round numbers too."""
    _, x, y = problem()
    net, mask = nn.Linear(4, 1), torch.tensor([[1.0, 1.0, 0.0, 1.0]])
    optimizer, scaler = torch.optim.SGD(net.parameters(), lr=1e-4), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.l1_loss(net(0.1 * x).float(), y.abs() + 5)
        scaler.scale(loss).backward()
        net.weight.grad *= mask
        scaler.step(optimizer)
        scaler.update()
