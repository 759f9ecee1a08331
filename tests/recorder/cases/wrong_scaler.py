"""Two scalers for two optimizers, and one is taken for the other."""

import torch
from torch import nn

from tests.recorder.toy_training import half, problem, sgd


def parts():
    net, x, y = problem()
    first, second = (torch.amp.GradScaler("cpu", init_scale=scale) for scale in (128.0, 64.0))
    return net, x, y, sgd(net[0]), sgd(net[2]), first, second


def wrong():
    net, x, y, below, above, first, second = parts()
    for _ in range(3):
        below.zero_grad()
        above.zero_grad()
        with half():
            hidden = net[:2](x)
            loss, other = nn.functional.mse_loss(net[2](hidden.detach()), y), hidden.float().square().mean()
        first.scale(loss).backward()
        second.scale(other).backward()
        first.step(below)  # <- wrong-scaler
        second.step(above)  # <- wrong-scaler
        first.update()
        second.update()


def wrong_and_never_used():
    """The scaler that steps has scaled nothing: PyTorch refuses, in other words."""
    net, x, y, below, _, first, second = parts()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    first.scale(loss).backward()
    second.step(below)  # <- wrong-scaler


def right():
    net, x, y, below, above, first, second = parts()
    for _ in range(3):
        below.zero_grad()
        above.zero_grad()
        with half():
            hidden = net[:2](x)
            loss, other = nn.functional.mse_loss(net[2](hidden.detach()), y), hidden.float().square().mean()
        first.scale(loss).backward()
        second.scale(other).backward()
        first.step(above)
        second.step(below)
        first.update()
        second.update()
