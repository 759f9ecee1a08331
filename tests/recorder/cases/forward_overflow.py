"""An activation is too large for FP16: no loss scale can help."""

import torch
from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, sgd


def problem():
    """As if pretrained in BF16: the middle layer answers with numbers above 65504."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    with torch.no_grad():
        for layer in (net[0], net[2]):
            layer.weight.mul_(300)
    return net, torch.randn(4, 8) * 40


def wrong():
    net, x = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            out = net(x)
        loss = out.float().square().mean()
        scaler.scale(loss).backward()  # <- forward-overflow
        scaler.step(optimizer)
        scaler.update()


def right_bf16():
    net, x = problem()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-12)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = net(x)
        out.float().square().mean().backward()
        optimizer.step()


def right_guilty_layers_in_fp32():
    net, x = problem()
    optimizer, scaler = torch.optim.SGD(net.parameters(), lr=1e-20), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            with torch.autocast("cpu", enabled=False):
                out = net(x.float())
        loss = (out / 1e6).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
