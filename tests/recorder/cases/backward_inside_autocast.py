"""Autocast is still on when backward() runs."""

import torch
from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()  # <- backward-inside-autocast
        scaler.step(optimizer)
        scaler.update()


def wrong_bf16():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            nn.functional.mse_loss(net(x), y).backward()  # <- backward-inside-autocast
        optimizer.step()


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def right_switched_off():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16, enabled=False):
            loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
