"""A norm that still contains the scale is clipped."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(5):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # <- clip-before-unscale
        scaler.step(optimizer)
        scaler.update()


def wrong_then_unscaled():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_value_(net.parameters(), 0.1)  # <- clip-before-unscale
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(5):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def right_without_scaler():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
