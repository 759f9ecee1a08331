"""update() changes the scale while another optimizer's gradients still wait to be divided by it."""

import torch
from torch import nn

from tests.recorder.toy_training import half, problem, sgd


def growing_scaler():
    return torch.amp.GradScaler("cpu", init_scale=128.0, growth_interval=1)


def wrong():
    net, x, y = problem()
    body, head, scaler = sgd(net[0]), sgd(net[2]), growing_scaler()
    for _ in range(2):
        net.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(body)
        scaler.update()
        scaler.step(head)  # <- scale-changed-in-window
        scaler.update()


def right():
    net, x, y = problem()
    body, head, scaler = sgd(net[0]), sgd(net[2]), growing_scaler()
    for _ in range(2):
        net.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(body)
        scaler.step(head)
        scaler.update()


def right_the_other_is_zeroed():
    """A generator's backward leaves gradients in the critic, which drops them before its own."""
    net, x, y = problem()
    body, head, scaler = sgd(net[0]), sgd(net[2]), growing_scaler()
    for _ in range(2):
        for optimizer in (body, head):
            optimizer.zero_grad()
            with half():
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
