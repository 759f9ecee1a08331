"""The weights change while autocast keeps 16-bit copies of the old ones."""

import torch
from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def bf16(**options):
    return torch.autocast("cpu", dtype=torch.bfloat16, **options)


def wrong():
    net, x, y = problem()
    optimizer = sgd(net)
    with bf16():
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()  # <- backward-inside-autocast
            optimizer.step()  # <- step-inside-autocast


def wrong_only_the_step():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    with half():
        net(x)
        scaler.step(optimizer)  # <- step-inside-autocast
        scaler.update()


def right():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(3):
        optimizer.zero_grad()
        with bf16():
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()


def right_without_copies():
    net, x, y = problem()
    optimizer = sgd(net)
    with bf16(cache_enabled=False):
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(x), y)
            with bf16(enabled=False):
                loss.backward()
                optimizer.step()
