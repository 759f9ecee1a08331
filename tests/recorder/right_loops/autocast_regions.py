"""Shapes and spellings of the region under autocast."""

import contextlib

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def forward_only(train_step):
    """A decorator without effect: autocast stands on the forward pass alone."""
    return train_step


@right(
    line="@forward_only",
    becomes="@half()",
    finds={
        "backward-inside-autocast": "scaler.scale(forward()).backward()",
        "step-inside-autocast": "scaler.step(optimizer)",
    },
)
def decorated_forward():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()

    @torch.autocast("cpu", dtype=torch.float16)
    def forward():
        return nn.functional.mse_loss(net(x), y)

    @forward_only
    def train_step():
        optimizer.zero_grad()
        scaler.scale(forward()).backward()
        scaler.step(optimizer)
        scaler.update()

    for _ in range(3):
        train_step()


@right(
    line="exact = net[2](hidden.float())",
    becomes="exact = net[2](hidden)",
    finds="dtype-mismatch",
)
def fp32_region_inside():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            hidden = net[1](net[0](x))
            with torch.autocast("cpu", enabled=False):
                exact = net[2](hidden.float())
            loss = nn.functional.mse_loss(exact, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.scale(loss).backward()",
    becomes="    scaler.scale(loss).backward()",
    finds={"backward-inside-autocast": "scaler.scale(loss).backward()"},
)
def one_region_in_another():
    net, x, y = problem()
    side = nn.Linear(4, 8)
    optimizer, scaler = sgd(nn.ModuleList([net, side])), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            hidden = net[1](net[0](x))
            with torch.autocast("cpu", dtype=torch.bfloat16):
                gate = torch.sigmoid(side(x))
            with half():
                loss = nn.functional.mse_loss(net[2](hidden * gate.half()), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="with torch.autocast(device_type=x.device.type, dtype=torch.float16):",
    becomes='with torch.autocast(device_type="cuda", dtype=torch.float16):',
    finds="autocast-wrong-device",
)
def device_of_the_tensors():
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler(x.device.type, init_scale=128.0)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast(device_type=x.device.type, dtype=torch.float16):
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="with torch.cuda.amp.autocast(enabled=use_amp):",
    becomes="with torch.cuda.amp.autocast(enabled=True):",
    finds="autocast-wrong-device",
)
def old_cuda_spelling_switched_off():
    net, x, y = problem()
    use_amp = False
    optimizer, scaler = sgd(net), torch.cuda.amp.GradScaler(enabled=use_amp)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.cuda.amp.autocast(enabled=use_amp):
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="with torch.cpu.amp.autocast(dtype=torch.float16):",
    becomes="with torch.cpu.amp.autocast(dtype=torch.bfloat16):",
    finds={"scaler-with-bf16": "scaler.scale(loss).backward()"},
)
def old_cpu_spelling():
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.cpu.amp.GradScaler(init_scale=128.0)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.cpu.amp.autocast(dtype=torch.float16):
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.unscale_(optimizer)",
    becomes="pass",
    finds={"clip-before-unscale": "nn.utils.clip_grad_norm_(net.parameters(), 1.0)"},
)
def checkpointed():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            hidden = checkpoint(net[:2], x, use_reentrant=False)
            loss = nn.functional.mse_loss(net[2](hidden), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.scale(loss).backward()",
    becomes="loss.backward()",
    finds="unscaled-backward",
)
def checkpointed_reentrant():
    net, x, y = problem()
    x.requires_grad_(True)
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            hidden = checkpoint(net[:2], x, use_reentrant=True)
            loss = nn.functional.mse_loss(net[2](hidden), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.step(optimizer)",
    becomes="with half(): net(x).sum(); scaler.step(optimizer)",
    finds="step-inside-autocast",
)
def entered_and_left_by_hand():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        region = half()
        region.__enter__()
        try:
            loss = nn.functional.mse_loss(net(x), y)
        finally:
            region.__exit__(None, None, None)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="stack.enter_context(torch.autocast(kind, dtype=torch.float16))",
    becomes='stack.enter_context(torch.autocast("cuda", dtype=torch.float16))',
    finds="autocast-wrong-device",
)
def regions_for_two_devices():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with contextlib.ExitStack() as stack:
            for kind in ("cuda", "cpu"):
                stack.enter_context(torch.autocast(kind, dtype=torch.float16))
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line='with torch.autocast("cpu", torch.float32):',
    becomes='with torch.autocast("cpu", torch.float16):',
    finds={"fp16-without-scaler": "loss.backward()"},
)
def fp32_asked_of_autocast():
    """Autocast warns that it cannot, and is off."""
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float32):
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()


@right(
    line="scaler.step(optimizer)",
    becomes="with region: net(x); scaler.step(optimizer)",
    finds="step-inside-autocast",
)
def one_region_object_for_all():
    net, x, y = problem()
    optimizer, scaler, region = sgd(net), gentle_scaler(), half()
    for _ in range(3):
        optimizer.zero_grad()
        with region:
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
