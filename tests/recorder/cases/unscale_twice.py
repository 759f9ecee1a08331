"""Every micro-batch of a window unscales, so the second one is refused."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        with half():
            loss = nn.functional.mse_loss(net(x), y) / 2
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)  # <- unscale-twice
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()


def wrong_through_a_second_optimizer():
    """Both hold the same parameters: the gradients are divided twice, and nothing refuses it."""
    net, x, y = problem()
    optimizer, other, scaler = sgd(net), sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(other)  # <- unscale-twice
        scaler.update()


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for number in range(4):
        with half():
            loss = nn.functional.mse_loss(net(x), y) / 2
        scaler.scale(loss).backward()
        if number % 2 == 1:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
