"""A norm that still contains the scale is clipped."""

import torch
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


def wrong_in_a_hook():
    net, x, y = problem()

    def clip(p):
        nn.utils.clip_grad_norm_(p, 1e-3)  # <- clip-before-unscale

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(clip)
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def right_in_a_hook():
    """The hook divides, clips and steps: nothing is divided again."""
    net, x, y = problem()
    optimizers, scaler = {p: torch.optim.SGD([p], lr=0.01) for p in net.parameters()}, gentle_scaler()

    def step(p):
        p.grad.div_(scaler.get_scale())
        nn.utils.clip_grad_norm_(p, 1e-3)
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
