"""Losses that are not scaled because what they are made of is scaled already, or is divided by hand."""

import torch
from torch import nn

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def contrast(features):
    return nn.functional.cross_entropy(features @ features.t(), torch.arange(len(features)))


@right(
    line="torch.dot(net(x).float().flatten(), features.grad.flatten()).backward()",
    becomes="net(x).float().square().mean().backward()",
    finds="unscaled-backward",
)
def gradients_of_features_handed_on_by_a_product():
    """A cache of gradients: the features' are scaled, and so is the product with them."""
    net, x, _ = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with torch.no_grad(), half():
            features = net(x).float()
        scaler.scale(contrast(features.requires_grad_())).backward()
        torch.dot(net(x).float().flatten(), features.grad.flatten()).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line='torch.einsum("ij,ij->", net(x), features.grad).backward()',
    becomes='torch.einsum("ij->", net(x)).backward()',
    finds="unscaled-backward",
)
def gradients_of_features_handed_on_by_einsum():
    net, x, _ = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with torch.no_grad(), half():
            features = net(x).float()
        scaler.scale(contrast(features.requires_grad_())).backward()
        torch.einsum("ij,ij->", net(x), features.grad).backward()
        scaler.step(optimizer)
        scaler.update()


def penalty_of(gradients):
    return sum(each.square().sum() for each in gradients).sqrt()


@right(
    line='inverse = 1 / scaler.state_dict()["scale"]',
    becomes="penalty_of(gradients).backward(retain_graph=True); break",
    finds={
        "gradient-penalty-still-scaled": "gradients = torch.autograd.grad(scaled, list(net.parameters()), "
        "create_graph=True)"
    },
)
def penalty_with_the_scale_from_the_state():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            scaled = scaler.scale(nn.functional.mse_loss(net(x), y))
        gradients = torch.autograd.grad(scaled, list(net.parameters()), create_graph=True)
        inverse = 1 / scaler.state_dict()["scale"]
        penalty = penalty_of([each * inverse for each in gradients])
        scaler.scale(nn.functional.mse_loss(net(x), y) + penalty).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="penalty = penalty_of([each * inverse for each in gradients])",
    becomes="penalty = penalty_of(gradients)",
    finds={
        "gradient-penalty-still-scaled": "gradients = torch.autograd.grad(scaled, list(net.parameters()), "
        "create_graph=True)"
    },
)
def penalty_with_the_scale_from_its_tensor():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            scaled = scaler.scale(nn.functional.mse_loss(net(x), y))
        gradients = torch.autograd.grad(scaled, list(net.parameters()), create_graph=True)
        inverse = 1 / scaler._scale
        penalty = penalty_of([each * inverse for each in gradients])
        scaler.scale(nn.functional.mse_loss(net(x), y) + penalty).backward()
        scaler.step(optimizer)
        scaler.update()


class Times(torch.autograd.Function):
    """Multiplies gradients, and leaves the numbers of the forward as they are."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


@right(
    line="Times.apply(loss, 1024.0).backward()",
    becomes="loss.backward()",
    finds={"fp16-without-scaler": "loss.backward()"},
)
def scale_inside_a_function_of_ones_own():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(3):
        optimizer.zero_grad()
        weights = {name: Times.apply(p, 1 / 1024) for name, p in net.named_parameters()}
        with half():
            loss = nn.functional.mse_loss(torch.func.functional_call(net, weights, x), y)
        Times.apply(loss, 1024.0).backward()
        optimizer.step()
