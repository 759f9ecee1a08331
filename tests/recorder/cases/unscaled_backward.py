"""backward() on a loss that scale() never saw, and a scaler that divides its gradients all the same."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong_from_the_start():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    loss.backward()  # <- unscaled-backward
    scaler.step(optimizer)
    scaler.update()


def wrong_later():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for number in range(4):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        if number < 2:
            scaler.scale(loss).backward()
        else:
            loss.backward()  # <- unscaled-backward
        scaler.step(optimizer)
        scaler.update()


def wrong_scale_thrown_away():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss)
        loss.backward()  # <- unscaled-backward
        scaler.step(optimizer)
        scaler.update()


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(4):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        loss = scaler.scale(loss)
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
