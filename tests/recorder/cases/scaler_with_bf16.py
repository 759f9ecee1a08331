"""BF16 has the range of FP32: there is nothing to scale."""

import torch
from torch import nn

from tests.recorder.toy_training import problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=128.0)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()  # <- scaler-with-bf16
        scaler.step(optimizer)
        scaler.update()


def right():
    for dtype in (torch.bfloat16, torch.float16):
        net, x, y = problem()
        optimizer = sgd(net)
        scaler = torch.amp.GradScaler("cpu", init_scale=128.0, enabled=dtype == torch.float16)
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=dtype):
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
