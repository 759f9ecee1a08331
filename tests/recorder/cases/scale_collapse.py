"""Every step is skipped, whatever the scale: the fault is upstream."""

import torch
from torch import nn

from tests.recorder.toy_training import half, problem, sgd

STEPS = 30


def wrong_loss_is_finite():
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=128.0)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with half():
            out = net(x).float()
            loss = nn.functional.mse_loss(out, y) + (out - out).square().sum().sqrt()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()  # <- scale-collapse


def wrong_loss_is_nan():
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=128.0)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with half():
            loss = (nn.functional.mse_loss(net(x), y) - 1000.0).sqrt()
        scaler.scale(loss).backward()  # <- forward-overflow
        scaler.step(optimizer)
        scaler.update()  # <- scale-collapse


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=128.0)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with half():
            out = net(x).float()
            loss = nn.functional.mse_loss(out, y) + ((out - out).square().sum() + 1e-6).sqrt()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def right_small_from_the_start():
    """A scale chosen below 1 has not collapsed."""
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
