"""Small seeded problems that a training loop on the CPU solves in milliseconds."""

import torch
from torch import nn


def problem():
    """A net of two layers, 16 inputs of width 4 and their targets."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.randn(16, 4)
    return net, x, x.sum(1, keepdim=True)


def sgd(net):
    return torch.optim.SGD(net.parameters(), lr=0.01)


def gentle_scaler():
    """A scaler whose first scale fits the small problem: no step is skipped."""
    return torch.amp.GradScaler("cpu", init_scale=128.0)


def steep_scaler():
    """A scaler whose first scale is far too large: the first steps are skipped."""
    return torch.amp.GradScaler("cpu", init_scale=2.0**24)


def half():
    """Autocast to FP16 on the CPU."""
    return torch.autocast("cpu", dtype=torch.float16)
