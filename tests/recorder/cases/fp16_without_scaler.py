"""FP16 under autocast, and gradients that nothing keeps from becoming 0."""

import torch
from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y) * 1e-4
        loss.backward()  # <- fp16-without-scaler
        optimizer.step()


def wrong_scaler_switched_off():
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", enabled=False)
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y) * 1e-4
        scaler.scale(loss).backward()  # <- fp16-without-scaler
        scaler.step(optimizer)
        scaler.update()


def wrong_with_many_regions_inside():
    net = nn.ModuleList(nn.Linear(4, 4) for _ in range(33))
    optimizer, x = sgd(net), torch.randn(8, 4)
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            hidden = x
            for layer in net:
                hidden = layer(hidden)
                with torch.autocast("cpu", enabled=False):
                    hidden = nn.functional.layer_norm(hidden.float(), (4,))
            loss = hidden.square().mean()
        loss.backward()  # <- fp16-without-scaler
        optimizer.step()


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y) * 1e-4
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def right_only_looks():
    net, x, y = problem()
    for _ in range(3):
        net.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y) * 1e-4
        loss.backward()
        sum((p.grad == 0).sum().item() for p in net.parameters())


def right_only_answers():
    net, x, y = problem()
    with torch.no_grad(), half():
        nn.functional.mse_loss(net(x), y).item()
