"""Steps inside an autocast region after which no old 16-bit copy of a weight is used."""

import torch
from torch import nn

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import problem, sgd


def bf16(**options):
    return torch.autocast("cpu", dtype=torch.bfloat16, **options)


@right(
    line="optimizer.step()",
    becomes="net(x); optimizer.step()",
    finds="step-inside-autocast",
)
def each_step_in_a_region_of_its_own():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(3):
        optimizer.zero_grad()
        with bf16():
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        with bf16():
            optimizer.step()


@right(
    line="p.grad = torch.sign(p.detach())",
    becomes="p.grad = None; net(x).float().mean().backward()",
    finds={
        "backward-inside-autocast": "p.grad = None; net(x).float().mean().backward()",
        "step-inside-autocast": "optimizer.step()",
    },
)
def gradients_set_by_hand():
    net, x, _ = problem()
    optimizer = sgd(net)
    for _ in range(3):
        with bf16():
            net(x).float().mean().item()
            for p in net.parameters():
                p.grad = torch.sign(p.detach())
            optimizer.step()


@right(
    line="with bf16(cache_enabled=False):",
    becomes="with bf16():",
    finds={"step-inside-autocast": "optimizer.step()"},
)
def one_region_without_copies():
    net, x, y = problem()
    optimizer = sgd(net)
    with bf16(cache_enabled=False):
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(x), y)
            with bf16(enabled=False):
                loss.backward()
                optimizer.step()
