"""The scaler looks for the largest scale that fits: skips that are no fault."""

import torch
from torch import nn

from tests.recorder.toy_training import half, problem, steep_scaler


def train(scaler, steps):
    """Gradients that keep their size: the optimizer hardly moves."""
    net, x, y = problem()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-6)
    for _ in range(steps):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        yield scaler, optimizer


def wrong_at_the_start():
    for scaler, optimizer in train(steep_scaler(), 15):
        scaler.step(optimizer)  # <- note calibration-skips
        scaler.update()


def wrong_after_growing():
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=10)
    for scaler, optimizer in train(scaler, 110):
        scaler.step(optimizer)  # <- note calibration-skips
        scaler.update()


def right():
    for scaler, optimizer in train(torch.amp.GradScaler("cpu", init_scale=128.0), 15):
        scaler.step(optimizer)
        scaler.update()
