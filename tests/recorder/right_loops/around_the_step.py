"""What else happens between two steps: averages, evaluation, checkpoints, logs, batches left out."""

import copy
import math

import torch
from torch import nn

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd, steep_scaler


@right(
    line="scaler.step(optimizer)",
    becomes="scaler.step(optimizer); scaler.step(optimizer)",
    finds="missing-update",
)
def moving_average_of_weights():
    net, x, y = problem()
    average = torch.optim.swa_utils.AveragedModel(net)
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        average.update_parameters(net)


@right(
    line="scaler.scale(loss).backward()",
    becomes="loss.backward()",
    finds="unscaled-backward",
)
def evaluation_between_steps():
    net, x, y = problem()
    optimizer, scaler, scores = sgd(net), gentle_scaler(), []
    for _ in range(3):
        net.train()
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        net.eval()
        with torch.no_grad(), half():
            scores.append(nn.functional.mse_loss(net(x + 0.1), y).item())
        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
            scores.append(nn.functional.mse_loss(net(x), y).item())
        scaler.step(optimizer)
        scaler.update()


def saved_after_a_step():
    net, x, y = problem()
    optimizer, scaler = torch.optim.Adam(net.parameters()), gentle_scaler()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
    parts = {"net": net, "optimizer": optimizer, "scaler": scaler}
    return {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}


@right(
    line='scaler.load_state_dict(checkpoint["scaler"])',
    becomes="pass",
    finds={"resume-without-scaler-state": 'optimizer.load_state_dict(checkpoint["optimizer"])'},
)
def resumed_from_a_checkpoint():
    checkpoint, (net, x, y) = saved_after_a_step(), problem()
    optimizer, scaler = torch.optim.Adam(net.parameters()), gentle_scaler()
    net.load_state_dict(checkpoint["net"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.scale(loss).backward()",
    becomes="with half(): scaler.scale(loss).backward()",
    finds="backward-inside-autocast",
)
def checkpoint_saved_after_every_step():
    net, x, y = problem()
    optimizer, scaler, saved = sgd(net), gentle_scaler(), []
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        saved.append((optimizer.state_dict(), scaler.state_dict()))
    assert saved[-1][1]["scale"] == 128.0


@right(
    line="if number % 3 == 2 or number == 6:",
    becomes="if number % 3 == 2 or number == 6 or scaler.update():",
    finds="update-without-step",
)
def short_last_window():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for number in range(7):
        with half():
            loss = nn.functional.mse_loss(net(x), y) / 3
        scaler.scale(loss).backward()
        if number % 3 == 2 or number == 6:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


@right(
    line="if not math.isfinite(loss.item()):",
    becomes="if loss.item() == 0:",
    finds={"forward-overflow": "scaler.scale(loss).backward()"},
)
def bad_batches_left_out():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for shift in (0.0, 1e30, 0.0):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x) + shift, y)
        if not math.isfinite(loss.item()):
            continue
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="net.zero_grad()",
    becomes="optimizer.step(); optimizer.zero_grad()",
    finds="bare-optimizer-step",
)
def gradients_thrown_away_by_the_user():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for step in range(4):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        if step == 1:
            net.zero_grad()
            continue
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


@right(
    line="log.append((loss.item(), scaled.item(), scaler.get_scale(), scaler.state_dict()))",
    becomes="scaler.step(optimizer, lambda: loss); break",
    finds="closure-with-scaler",
)
def everything_logged():
    net, x, y = problem()
    optimizer, scaler, log = sgd(net), gentle_scaler(), []
    assert scaler.get_scale() == 128.0
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaled = scaler.scale(loss)
        scaled.backward()
        log.append((loss.item(), scaled.item(), scaler.get_scale(), scaler.state_dict()))
        scaler.step(optimizer)
        scaler.update()


@right(
    line="loss = nn.functional.mse_loss(net(x), y)",
    becomes="loss = nn.functional.mse_loss(net(x), y) + (net(x) * 0).float().square().sum().sqrt()",
    finds={"scale-collapse": "scaler.update()"},
)
def calibration_from_far_above():
    net, x, y = problem()
    optimizer, scaler = sgd(net), steep_scaler()
    for _ in range(40):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # <- note calibration-skips
        scaler.update()


@right(
    line="loss = extra if step % 2 else nn.functional.mse_loss(net(x), y)",
    becomes="loss = extra if step % 2 else 1e38 * nn.functional.mse_loss(net(x), y) * 1e38",
    finds={"forward-overflow": "scaler.scale(loss).backward()"},
)
def two_tasks_in_turn():
    net, x, y = problem()
    heads = nn.ModuleList([net[2], nn.Linear(8, 1)])
    optimizer, scaler = sgd(nn.ModuleList([net[:2], heads])), gentle_scaler()
    for step in range(4):
        optimizer.zero_grad()
        with half():
            extra = nn.functional.mse_loss(heads[1](net[:2](x)), -y)
            loss = extra if step % 2 else nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
