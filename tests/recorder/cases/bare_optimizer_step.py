"""The optimizer steps on gradients that still contain the scale."""

import torch
from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = torch.optim.Adam(net.parameters(), lr=0.01), gentle_scaler()
    for _ in range(4):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        optimizer.step()  # <- bare-optimizer-step


def wrong_both():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(4):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        optimizer.step()  # <- bare-optimizer-step
        scaler.step(optimizer)
        scaler.update()


def wrong_and_then_update():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    optimizer.step()  # <- bare-optimizer-step
    scaler.update()


def right():
    net, x, y = problem()
    optimizer, scaler = torch.optim.Adam(net.parameters(), lr=0.01), gentle_scaler()
    for _ in range(4):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
