"""A closure computes gradients that the scaler can neither unscale nor check."""

import torch
from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem


def closure_for(net, x, y, optimizer, scaler):
    def closure():
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        return loss

    return closure


def wrong_by_position():
    net, x, y = problem()
    optimizer, scaler = torch.optim.LBFGS(net.parameters(), lr=1e-4, max_iter=1), gentle_scaler()
    closure = closure_for(net, x, y, optimizer, scaler)
    for _ in range(2):
        closure()
        scaler.step(optimizer, closure)  # <- closure-with-scaler
        scaler.update()


def wrong_by_name():
    net, x, y = problem()
    optimizer, scaler = torch.optim.LBFGS(net.parameters(), lr=1e-4, max_iter=1), gentle_scaler()
    closure = closure_for(net, x, y, optimizer, scaler)
    closure()
    scaler.step(optimizer, closure=closure)  # <- closure-with-scaler


def right():
    net, x, y = problem()
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=2)

    def closure():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)


def right_scaler_switched_off():
    net, x, y = problem()
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=2)
    scaler = torch.amp.GradScaler("cpu", enabled=False)

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        return loss

    for _ in range(2):
        scaler.step(optimizer, closure)
        scaler.update()
