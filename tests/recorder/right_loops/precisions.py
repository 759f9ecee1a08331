"""Loops in FP32 or BF16, and loops where only a part is FP16."""

import copy

import torch
from torch import nn

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


@right(
    line="loss.backward()",
    becomes="gentle_scaler().scale(loss).backward()",
    finds={"bare-optimizer-step": "optimizer.step()"},
)
def fp32():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()


@right(
    line='with torch.autocast("cpu", dtype=torch.bfloat16):',
    becomes='with torch.autocast("cpu", dtype=torch.float16):',
    finds={"fp16-without-scaler": "loss.backward()"},
)
def bf16():
    net, x, y = problem()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@right(
    line='scaler = torch.amp.GradScaler("cpu", enabled=dtype == torch.float16)',
    becomes='scaler = torch.amp.GradScaler("cpu", enabled=True)',
    finds={"scaler-with-bf16": "scaler.scale(loss).backward()"},
)
def scaler_switched_off_for_bf16():
    net, x, y = problem()
    dtype = torch.bfloat16
    optimizer = sgd(net)
    scaler = torch.amp.GradScaler("cpu", enabled=dtype == torch.float16)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype):
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scaler.get_scale()


@right(
    line='with torch.autocast("cpu", dtype=torch.float16, enabled=False):',
    becomes='with torch.autocast("cpu", dtype=torch.float16, enabled=True):',
    finds={"fp16-without-scaler": "scaler.scale(loss).backward()"},
)
def everything_switched_off_for_fp32():
    net, x, y = problem()
    optimizer = sgd(net)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16, enabled=False):
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="loss.backward()",
    becomes='with torch.autocast("cpu", dtype=torch.bfloat16): loss.backward()',
    finds="backward-inside-autocast",
)
def everything_bf16_without_autocast():
    net, x, y = problem()
    net, x, y = net.bfloat16(), x.bfloat16(), y.bfloat16()
    optimizer = sgd(net)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()  # <- note low-precision-parameters


@right(
    line="with torch.no_grad(), half():",
    becomes="with half():",
    finds={"fp16-without-scaler": "loss.backward()"},
)
def fp16_teacher_of_an_fp32_student():
    net, x, _ = problem()
    student = nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*student.parameters(), *net.parameters()], lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.no_grad(), half():
            answers = net(x)
        loss = nn.functional.mse_loss(student(x), answers.float())
        loss.backward()
        optimizer.step()


@right(
    line="scaler.update()",
    becomes="pass",
    finds={"missing-update": "scaler.step(optimizer)"},
)
def fp16_generator_beside_an_fp32_critic():
    net, x, _ = problem()
    critic = nn.Linear(1, 1)
    optimizer, critic_optimizer, scaler = sgd(net), sgd(critic), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            made = net(x)
            loss = -critic(made).float().mean()
        scaler.scale(loss).backward(retain_graph=True)
        critic_optimizer.zero_grad()
        score = critic(made.float().detach())
        score.mean().backward()
        critic_optimizer.step()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="down, up = nn.Linear(4, 2), nn.Linear(2, 8)",
    becomes="down, up = nn.Linear(4, 2).half(), nn.Linear(2, 8).half()",
    finds={"half-parameters-with-scaler": "scaler.step(optimizer)"},
)
def fp32_adapter_on_a_half_base():
    net, x, y = problem()
    net.half().requires_grad_(False)
    down, up = nn.Linear(4, 2), nn.Linear(2, 8)
    optimizer, scaler = sgd(nn.ModuleList([down, up])), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            hidden = net[1](net[0](x) + up(down(x)))
            loss = nn.functional.mse_loss(net[2](hidden), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="shares[-1] /= 49",
    becomes="optimizer.step()",
    finds={"fp16-without-scaler": "(loss * scale).backward()"},
)
def a_lesson_that_only_looks_at_gradients():
    net, x, y = problem()
    optimizer, shares = sgd(net), []
    for scale in (1.0, 2.0**-10, 2.0**-20):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        (loss * scale).backward()
        shares.append(sum((p.grad == 0).sum().item() for p in net.parameters()))
        shares[-1] /= 49


@right(
    line="if step < 2:",
    becomes="if step < 4:",
    finds={"scaler-with-bf16": "scaler.scale(loss).backward()"},
)
def fp16_first_bf16_later():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for step in range(4):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16 if step < 2 else torch.bfloat16):
            loss = nn.functional.mse_loss(net(x), y)
        if step < 2:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()


@right(
    line="scaler.scale(loss).backward()",
    becomes="loss.backward()",
    finds="unscaled-backward",
)
def weights_averaged_in_half():
    net, x, y = problem()
    shadow = copy.deepcopy(net).half().requires_grad_(False)
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y) + nn.functional.mse_loss(net(x), shadow(x))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        with torch.no_grad():
            for old, new in zip(shadow.parameters(), net.parameters()):
                old.lerp_(new.half(), 0.1)
