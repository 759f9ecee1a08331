"""The recipes of PyTorch's page of AMP examples (DDP: test_ddp.py)."""

import torch
from torch import nn
from torch.autograd import grad

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


@right(
    line="scaler.scale(loss).backward()",
    becomes="loss.backward()",
    finds="unscaled-backward",
)
def typical():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            output = net(x)
            loss = nn.functional.mse_loss(output, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.unscale_(optimizer)",
    becomes="pass",
    finds={"clip-before-unscale": "torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)"},
)
def clipping():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()


@right(
    line="if last:",
    becomes="if True:",
    finds={"unscale-twice": "scaler.unscale_(optimizer)"},
)
def accumulation():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for number in range(6):
        with half():
            loss = nn.functional.mse_loss(net(x), y) / 2
        scaler.scale(loss).backward()
        last = (number + 1) % 2 == 0
        if last:
            scaler.unscale_(optimizer)
        if (number + 1) % 2 == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


@right(
    line="inv_scale = 1.0 / scaler.get_scale()",
    becomes="inv_scale, scaled = 1.0, [each.clone() for each in scaled]",
    finds={"gradient-penalty-still-scaled": "scaled = grad(scaler.scale(loss), weights, create_graph=True)"},
)
def penalty():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    weights = list(net.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaled = grad(scaler.scale(loss), weights, create_graph=True)
        inv_scale = 1.0 / scaler.get_scale()
        gradients = [each * inv_scale for each in scaled]
        with half():
            norm = sum(each.square().sum() for each in gradients).sqrt()
            loss = loss + 0.01 * norm
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.scale(loss1).backward()",
    becomes="loss1.backward()",
    finds="mixed-scaling-in-window",
)
def several_models_losses_optimizers():
    net0, x, y = problem()
    net1 = nn.Linear(4, 1)
    optimizer0, optimizer1, scaler = sgd(net0), torch.optim.Adam(net1.parameters()), gentle_scaler()
    for _ in range(3):
        optimizer0.zero_grad()
        optimizer1.zero_grad()
        with half():
            output0, output1 = net0(x), net1(x)
            loss0 = nn.functional.mse_loss(2 * output0 + 3 * output1, y)
            loss1 = nn.functional.mse_loss(3 * output0 - 5 * output1, y)
        scaler.scale(loss0).backward(retain_graph=True)
        scaler.scale(loss1).backward()
        scaler.unscale_(optimizer0)
        scaler.step(optimizer0)
        scaler.step(optimizer1)
        scaler.update()


class Product(torch.autograd.Function):
    """A product in FP32, whatever autocast says."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        return gradient @ b.T, a.T @ gradient


@right(
    line="scaler.step(optimizer)",
    becomes="optimizer.step(); scaler.step(optimizer)",
    finds="bare-optimizer-step",
)
def custom_function():
    net, x, y = problem()
    weight = nn.Parameter(torch.randn(1, 1))
    optimizer, scaler = torch.optim.SGD([*net.parameters(), weight], lr=0.01), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(Product.apply(net(x), weight), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
