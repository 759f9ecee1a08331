"""Autocast is switched on for a device that the tensors are not on."""

import torch
from torch import nn

from tests.recorder.toy_training import gentle_scaler, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):  # <- autocast-wrong-device
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def wrong_without_scaler():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):  # <- autocast-wrong-device
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def right_switched_off():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=False):
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
