"""Learning rates that change: per batch only where the optimizer stepped, or per epoch."""

from contextlib import nullcontext

import torch
from torch import nn
from torch.optim import lr_scheduler

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd, steep_scaler


@right(
    line="if scaler.get_scale() >= before:",
    becomes="if before:",
    finds={"scheduler-on-skipped-step": "scheduler.step()"},
)
def per_batch_with_a_guard():
    net, x, y = problem()
    optimizer, scaler = sgd(net), steep_scaler()
    scheduler = lr_scheduler.LinearLR(optimizer, total_iters=4)
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


@right(
    line="skipped = scaler.get_scale() < before",
    becomes="skipped = scaler.get_scale() > before",
    finds={"scheduler-on-skipped-step": "scheduler.step()"},
)
def one_cycle_with_a_flag():
    net, x, y = problem()
    optimizer, scaler = sgd(net), steep_scaler()
    scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=20)
    for _ in range(12):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        before = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # <- note calibration-skips
        scaler.update()
        skipped = scaler.get_scale() < before
        optimizer.zero_grad()
        if not skipped:
            scheduler.step()


@right(
    line="scheduler.step()",
    becomes="    scheduler.step()",
    finds={"scheduler-on-skipped-step": "scheduler.step()"},
)
def per_epoch_with_skips_inside():
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=2.0**20)
    scheduler = lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
    for _ in range(2):
        for batch in range(8):
            optimizer.zero_grad()
            with half():
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)  # <- note calibration-skips
            scaler.update()
        scheduler.step()


@right(
    line="scaler.scale(loss).backward()",
    becomes="with half(): scaler.scale(loss).backward()",
    finds="backward-inside-autocast",
)
def plateau():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    for _ in range(3):
        for _ in range(2):
            optimizer.zero_grad()
            with half():
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        scheduler.step(loss.item())


@right(
    line="scaler.step(optimizer)",
    becomes="scaler.step(optimizer, lambda: loss)",
    finds="closure-with-scaler",
)
def one_schedule_after_another():
    net, x, y = problem()
    optimizer, scaler = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9), gentle_scaler()
    warm_up = lr_scheduler.ConstantLR(optimizer, total_iters=2)
    decay = lr_scheduler.ExponentialLR(optimizer, 0.9)
    scheduler = lr_scheduler.SequentialLR(optimizer, [warm_up, decay], milestones=[2])
    for _ in range(5):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()


@right(
    line="optimizer.step()",
    becomes="with half(): net(x); optimizer.step()",
    finds="step-inside-autocast",
)
def two_schedules_per_batch_without_scaler():
    net, x, y = problem()
    optimizer = sgd(net)
    warm_up = lr_scheduler.LambdaLR(optimizer, lambda n: min(1, n / 3))
    decay = lr_scheduler.StepLR(optimizer, 2)
    for _ in range(4):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        with nullcontext():
            optimizer.step()
        warm_up.step()
        decay.step()
