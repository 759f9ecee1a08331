"""The schedule goes on although the optimizer did not step."""

import torch
from torch import nn

from tests.recorder.toy_training import half, problem, sgd, steep_scaler


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), steep_scaler()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # <- note calibration-skips
        scaler.update()
        scheduler.step()  # <- scheduler-on-skipped-step


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), steep_scaler()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    for _ in range(15):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)  # <- note calibration-skips
        scaler.update()
        if scaler.get_scale() >= before:
            scheduler.step()


def right_per_epoch():
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=2.0**20)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
    for _ in range(2):
        for _ in range(10):
            optimizer.zero_grad()
            with half():
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)  # <- note calibration-skips
            scaler.update()
        scheduler.step()
