"""Trainable parameters are FP16 themselves."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    net.half()
    optimizer, scaler = sgd(net), gentle_scaler()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # <- half-parameters-with-scaler
    scaler.update()


def wrong_head_only():
    net, x, y = problem()
    net.half()
    net[0].requires_grad_(False)
    optimizer, scaler = sgd(net[2]), gentle_scaler()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # <- half-parameters-with-scaler
    nn.utils.clip_grad_norm_(net[2].parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()


def right_frozen_half():
    net, x, y = problem()
    net[0].half().requires_grad_(False)
    optimizer, scaler = sgd(net[2]), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net[2].parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def right_frozen_half_in_the_optimizer():
    net, x, y = problem()
    net[0].half().requires_grad_(False)
    optimizer, scaler = sgd(net), gentle_scaler()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
