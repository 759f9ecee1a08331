"""Parameters without a gradient: frozen from the first step or later on, added later, not reached yet."""

import torch
from torch import nn

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, sgd


def deep_problem():
    """Eight layers: more parameters than a quick look takes in."""
    torch.manual_seed(0)
    return nn.Sequential(*[nn.Linear(4, 4) for _ in range(8)]), torch.randn(16, 4)


def weights(net):
    return [p for name, p in net.named_parameters() if name.endswith("weight")]


@right(
    line="p.grad = None",
    becomes="pass",
    finds={"gradients-not-zeroed": "scaler.scale(loss).backward()"},
)
def only_biases_trained_and_cleared_by_hand():
    net, x = deep_problem()
    for p in weights(net):
        p.requires_grad_(False)
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        for p in net.parameters():
            p.grad = None
        with half():
            loss = nn.functional.mse_loss(net(x), x)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="p.grad.mul_(1 / 128)",
    becomes="pass",
    finds={
        "bare-optimizer-step": "optimizer.step()",
        "clip-before-unscale": "nn.utils.clip_grad_norm_(net.parameters(), 0.01)",
    },
)
def only_biases_trained_and_unscaled_by_hand():
    net, x = deep_problem()
    for p in weights(net):
        p.requires_grad_(False)
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), x)
        scaler.scale(loss).backward()
        for p in net.parameters():
            if p.grad is not None:
                p.grad.mul_(1 / 128)
        nn.utils.clip_grad_norm_(net.parameters(), 0.01)
        optimizer.step()


@right(
    line="p.grad = None",
    becomes="pass",
    finds={"gradients-not-zeroed": "scaler.scale(loss).backward()"},
)
def weights_frozen_in_mid_training():
    net, x = deep_problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for step in range(6):
        for p in net.parameters():
            p.grad = None
        if step == 3:
            for p in weights(net):
                p.requires_grad_(False)
        with half():
            loss = nn.functional.mse_loss(net(x), x)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.unscale_(optimizer)",
    becomes="pass",
    finds={"clip-before-unscale": "nn.utils.clip_grad_norm_(net.parameters(), 0.001)"},
)
def another_part_trained_from_the_third_step():
    net, x = deep_problem()
    net[:7].requires_grad_(False)
    optimizer, scaler = torch.optim.Adam(net[7].parameters()), gentle_scaler()
    for step in range(6):
        if step == 2:
            net[0].requires_grad_(True)
            net[7].requires_grad_(False)
            optimizer.add_param_group({"params": net[0].parameters()})
        for p in net.parameters():
            p.grad = None
        with half():
            loss = nn.functional.mse_loss(net(x), x)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 0.001)
        scaler.step(optimizer)
        scaler.update()


@right(
    line="optimizer.step()",
    becomes="nn.functional.mse_loss(net(x), x).backward(); optimizer.step()",
    finds={"gradients-not-zeroed": "scaler.scale(loss).backward()"},
)
def stepped_once_before_any_gradient():
    """As people do to quiet the scheduler's warning, or to make the optimizer's state."""
    net, x = deep_problem()
    optimizer, scaler = torch.optim.AdamW(net.parameters()), gentle_scaler()
    optimizer.zero_grad()
    optimizer.step()
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), x)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
