"""No autocast: the parameters themselves are 16-bit numbers."""

import torch
from torch import nn

from tests.recorder.toy_training import half, problem, sgd


def wrong():
    net, x, y = problem()
    net.half()
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x.half()).float(), y).backward()
        optimizer.step()  # <- note low-precision-parameters


def wrong_bfloat16():
    net, x, y = problem()
    net.bfloat16()
    optimizer = sgd(net)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x.bfloat16()).float(), y).backward()
        optimizer.step()  # <- note low-precision-parameters


def right():
    """A frozen part may be 16-bit."""
    net, x, y = problem()
    net[0].half().requires_grad_(False)
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=128.0)
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
