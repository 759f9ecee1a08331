"""Autocast is not told its dtype: the device decides."""

import torch
from torch import nn

from tests.recorder.toy_training import problem, sgd


def wrong():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cpu"):  # <- note autocast-default-dtype
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()


def right():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()


def right_switched_off():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cpu", enabled=False):
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
