"""Several trainings in one process, each begun from the same state: no checkpoint is resumed."""

import copy

import torch
from torch import nn

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def train(net, x, y, optimizer, scaler, steps=2):
    for _ in range(steps):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="optimizer.load_state_dict(first)",
    becomes="optimizer.load_state_dict(later)",
    finds="resume-without-scaler-state",
)
def folds_with_everything_made_anew():
    net, x, y = problem()
    optimizer, scaler = torch.optim.AdamW(net.parameters()), gentle_scaler()
    first = copy.deepcopy(optimizer.state_dict())
    train(net, x, y, optimizer, scaler)
    later = copy.deepcopy(optimizer.state_dict())
    for fold in range(2):
        net, x, y = problem()
        optimizer, scaler = torch.optim.AdamW(net.parameters()), gentle_scaler()
        optimizer.load_state_dict(first)
        assert later["state"]
        train(net, x[fold::2], y[fold::2], optimizer, scaler)


@right(
    line="scaler.scale(loss).backward()",
    becomes="with half(): scaler.scale(loss).backward()",
    finds="backward-inside-autocast",
)
def folds_of_plain_sgd():
    """Its state is empty, trained or not: that nothing was saved since the first step tells."""
    net, _, _ = problem()
    first = sgd(net).state_dict()
    for fold in range(3):
        net, x, y = problem()
        optimizer, scaler = sgd(net), gentle_scaler()
        optimizer.load_state_dict(first)
        for part in (slice(0, 8), slice(8, 16)):
            optimizer.zero_grad()
            with half():
                loss = nn.functional.mse_loss(net(x[part]), y[part])
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


@right(
    line="optimizer.load_state_dict(first)",
    becomes="train(net, x, y, optimizer, scaler, 1); train(net, x, y, optimizer, gentle_scaler(), 1)"
    "; scaler.update()",
    finds="update-without-step",
)
def one_fold_begun_from_its_own_first_state():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    first = copy.deepcopy(optimizer.state_dict())
    optimizer.load_state_dict(first)
    train(net, x, y, optimizer, scaler)


def saved_after_training(net, x, y):
    """An optimizer's state after two steps in BF16, which needs no scaler."""
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
    return copy.deepcopy(optimizer.state_dict())


@right(
    line="saved = saved_after_training(net, x, y)",
    becomes="scaler = gentle_scaler(); saved = saved_after_training(net, x, y)",
    finds={"resume-without-scaler-state": "optimizer.load_state_dict(saved)"},
)
def an_fp16_phase_after_one_in_bf16():
    net, x, y = problem()
    saved = saved_after_training(net, x, y)
    optimizer = torch.optim.AdamW(net.parameters())
    optimizer.load_state_dict(saved)
    scaler = gentle_scaler()
    train(net, x, y, optimizer, scaler)


@right(
    line='scaler = torch.amp.GradScaler("cpu", init_scale=saved["scale"])',
    becomes='scaler = torch.amp.GradScaler("cpu", init_scale=2 * saved["scale"])',
    finds={"resume-without-scaler-state": 'optimizer.load_state_dict(saved["optimizer"])'},
)
def only_the_scale_itself_saved():
    net, x, y = problem()
    optimizer, scaler = torch.optim.AdamW(net.parameters()), gentle_scaler()
    train(net, x, y, optimizer, scaler)
    scale = scaler.get_scale()  # <- note scale-read-after-update
    saved = {"optimizer": copy.deepcopy(optimizer.state_dict()), "scale": scale}
    optimizer = torch.optim.AdamW(net.parameters())
    optimizer.load_state_dict(saved["optimizer"])
    scaler = torch.amp.GradScaler("cpu", init_scale=saved["scale"])
    train(net, x, y, optimizer, scaler)
