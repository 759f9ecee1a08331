"""The optimizer holds no parameter that has a gradient."""

import copy

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(copy.deepcopy(net)), gentle_scaler()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # <- no-gradients
    scaler.update()


def wrong_after_unscale():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for number in range(2):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        if number == 0:
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)  # <- no-gradients
        scaler.update()
        optimizer.zero_grad()


def right():
    net, x, y = problem()
    idle = copy.deepcopy(net)
    optimizers, scaler = [sgd(net), sgd(idle)], gentle_scaler()
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        for optimizer in optimizers:
            if any(p.grad is not None for group in optimizer.param_groups for p in group["params"]):
                scaler.step(optimizer)
            optimizer.zero_grad()
        scaler.update()
