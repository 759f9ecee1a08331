"""New scaled gradients are added to the old ones, which are divided once more."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()  # <- gradients-not-zeroed
        scaler.step(optimizer)
        scaler.update()


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def right_zeroed_in_place():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        net.zero_grad(set_to_none=False)
