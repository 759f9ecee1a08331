"""The optimizer is taken up again where it was, the scaler is not."""

import torch
from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def saved():
    net, _, _ = problem()
    parts = {"net": net, "optimizer": sgd(net), "scaler": gentle_scaler()}
    return {name: part.state_dict() for name, part in parts.items()}


def train(net, x, y, optimizer, scaler):
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def wrong():
    checkpoint, (net, x, y) = saved(), problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    net.load_state_dict(checkpoint["net"])
    optimizer.load_state_dict(checkpoint["optimizer"])  # <- resume-without-scaler-state
    train(net, x, y, optimizer, scaler)


def wrong_scaler_made_anew():
    checkpoint, (net, x, y) = saved(), problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    scaler.load_state_dict(checkpoint["scaler"])
    optimizer.load_state_dict(checkpoint["optimizer"])  # <- resume-without-scaler-state
    scaler = gentle_scaler()
    train(net, x, y, optimizer, scaler)


def right():
    checkpoint, (net, x, y) = saved(), problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    net.load_state_dict(checkpoint["net"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    train(net, x, y, optimizer, scaler)


def right_scaler_first():
    checkpoint, (net, x, y) = saved(), problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    scaler.load_state_dict(checkpoint["scaler"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    train(net, x, y, optimizer, scaler)


def right_without_scaler():
    checkpoint, (net, x, y) = saved(), problem()
    optimizer = sgd(net)
    optimizer.load_state_dict(checkpoint["optimizer"])
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()


def right_rolled_back_in_mid_training():
    """The scaler has been at work already; only the optimizer goes back to its beginning."""
    checkpoint, (net, x, y) = saved(), problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    train(net, x, y, optimizer, scaler)
    optimizer.load_state_dict(checkpoint["optimizer"])
    train(net, x, y, optimizer, scaler)
