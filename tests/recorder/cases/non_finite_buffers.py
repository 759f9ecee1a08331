"""A forward pass that overflows leaves inf in the running statistics, though the step is skipped."""

import torch
from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, sgd


def problem():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)), torch.randn(16, 4)


def wrong():
    net, x = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for size in (1.0, 1e6, 1.0):
        optimizer.zero_grad()
        with half():
            loss = net(x * size).float().square().mean()
        scaler.scale(loss).backward()  # <- forward-overflow
        scaler.step(optimizer)  # <- non-finite-buffers
        scaler.update()


def wrong_behind_a_finite_loss():
    net, x = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for size in (1.0, 1e6, 1.0):
        optimizer.zero_grad()
        with half():
            loss = net(x * size).float().nan_to_num(0.0).square().mean()
            loss = loss + net[2](net[0](x * size).detach()).float().nan_to_num(0.0, 0.0, 0.0).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # <- non-finite-buffers
        scaler.update()


def right():
    net, x = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for size in (1.0, 1e6, 1.0):
        optimizer.zero_grad()
        with half():
            loss = net((x * size).clamp(-10, 10)).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


class Masked(nn.Module):
    """Attention with a mask that is -inf on purpose, and made anew for every length."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("mask", torch.full((16, 16), float("-inf")).triu(1))

    def forward(self, x):
        self.mask = torch.full((len(x), len(x)), float("-inf")).triu(1)
        x = self.layer(x)
        return ((x @ x.T).float() + self.mask).softmax(-1) @ x.float()


def right_mask_of_minus_infinity():
    torch.manual_seed(0)
    net, x = Masked(), torch.randn(16, 4)
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=2.0**24)
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = net(x).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # <- note calibration-skips
        scaler.update()


def right_with_a_skip():
    net, x = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=2.0**24)
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = net(x).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # <- note calibration-skips
        scaler.update()
