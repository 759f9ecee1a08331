"""The iteration ends without update()."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # <- missing-update


def wrong_with_unscale():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)  # <- missing-update
        scaler.step(optimizer)


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
