"""Scaled and unscaled gradients meet in one .grad."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            out = net(x)
            loss, extra = nn.functional.mse_loss(out, y), out.float().abs().mean()
        scaler.scale(loss).backward(retain_graph=True)
        extra.backward()  # <- mixed-scaling-in-window
        scaler.step(optimizer)
        scaler.update()


def wrong_unscaled_first():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        sum(p.square().sum() for p in net.parameters()).backward()  # <- mixed-scaling-in-window
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def right_each():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            out = net(x)
            loss, extra = nn.functional.mse_loss(out, y), out.float().abs().mean()
        scaler.scale(loss).backward(retain_graph=True)
        scaler.scale(extra).backward()
        scaler.step(optimizer)
        scaler.update()


def right_sum():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            out = net(x)
            loss, extra = nn.functional.mse_loss(out, y), out.float().abs().mean()
        scaler.scale(loss + extra).backward()
        scaler.step(optimizer)
        scaler.update()
