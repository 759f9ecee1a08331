"""Ways to call for gradients."""

import torch
from torch import nn
from torch.autograd import grad

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


@right(
    line="torch.autograd.backward([scaler.scale(loss), scaler.scale(extra)])",
    becomes="torch.autograd.backward([loss, extra])",
    finds="unscaled-backward",
)
def autograd_backward():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            output = net(x)
            loss, extra = nn.functional.mse_loss(output, y), output.float().abs().mean()
        torch.autograd.backward([scaler.scale(loss), scaler.scale(extra)])
        scaler.step(optimizer)
        scaler.update()


@right(
    line="for loss in scaler.scale([loss, extra]):",
    becomes="for loss in [scaler.scale(loss), extra]:",
    finds={"mixed-scaling-in-window": "loss.backward(retain_graph=True)"},
)
def losses_scaled_in_a_list():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            output = net(x)
            loss, extra = nn.functional.mse_loss(output, y), output.float().abs().mean()
        for loss in scaler.scale([loss, extra]):
            loss.backward(retain_graph=True)
        scaler.step(optimizer)
        scaler.update()


@right(
    line="total = scaler.scale(near) + scaler.scale(far)",
    becomes="total = near + far",
    finds={"unscaled-backward": "total.backward()"},
)
def two_forward_passes_one_backward():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            near = nn.functional.mse_loss(net(x), y)
        with half():
            far = nn.functional.mse_loss(net(x + 1.0), y + 4.0)
        total = scaler.scale(near) + scaler.scale(far)
        total.backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="loss = scaler.scale(loss) / 4",
    becomes="loss = loss / 4",
    finds={"unscaled-backward": "loss.backward()"},
)
def divided_after_scaling():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        for part in range(4):
            with half():
                loss = nn.functional.mse_loss(net(x[part::4]), y[part::4])
            loss = scaler.scale(loss) / 4
            loss.backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


@right(
    line="scaler.update()",
    becomes="pass",
    finds={"missing-update": "scaler.step(optimizer)"},
)
def gradients_put_in_by_hand():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    weights = list(net.parameters())
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        for p, gradient in zip(weights, grad(scaler.scale(loss), weights)):
            p.grad = gradient
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.scale(output).backward(gradient)",
    becomes="with half(): scaler.scale(output).backward(gradient)",
    finds="backward-inside-autocast",
)
def backward_from_an_output():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            output = net(x).float()
        gradient = 2 * (output.detach() - y) / len(y)
        scaler.scale(output).backward(gradient)
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.update()",
    becomes="scaler.update(); scaler.update()",
    finds="update-without-step",
)
def scale_put_into_the_gradient():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            output = net(x).float()
        gradient = 2 * (output.detach() - y) / len(y)
        output.backward(scaler.scale(gradient))
        scaler.step(optimizer)
        scaler.update()


@right(
    line="hidden.backward(cut.grad)",
    becomes="with half(): hidden.backward(cut.grad)",
    finds="backward-inside-autocast",
)
def graph_in_two_stages():
    """The second backward starts from the scaled gradients of the first, as in pipelines."""
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            hidden = net[:2](x)
            cut = hidden.detach().requires_grad_(True)
            loss = nn.functional.mse_loss(net[2](cut), y)
        scaler.scale(loss).backward()
        hidden.backward(cut.grad)
        scaler.step(optimizer)
        scaler.update()


@right(
    line="total = weights @ torch.stack([scaler.scale(loss), scaler.scale(extra)])",
    becomes="total = weights @ torch.stack([loss, extra])",
    finds={"unscaled-backward": "total.backward()"},
)
def weighted_after_scaling():
    net, x, y = problem()
    optimizer, scaler, weights = sgd(net), gentle_scaler(), torch.tensor([0.9, 0.1])
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            output = net(x)
            loss, extra = nn.functional.mse_loss(output, y), output.float().abs().mean()
        total = weights @ torch.stack([scaler.scale(loss), scaler.scale(extra)])
        total.backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="total = torch.nan_to_num(scaler.scale(loss)).clamp(max=1e9)",
    becomes="total = torch.nan_to_num(loss).clamp(max=1e9)",
    finds={"unscaled-backward": "total.backward()"},
)
def guarded_after_scaling():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        total = torch.nan_to_num(scaler.scale(loss)).clamp(max=1e9)
        total.backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.scale(loss).backward(inputs=list(net[2].parameters()))",
    becomes="loss.backward(inputs=list(net[2].parameters()))",
    finds="unscaled-backward",
)
def backward_into_some_parameters():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward(inputs=list(net[2].parameters()))
        scaler.step(optimizer)
        scaler.update()


@right(
    line="loss = loss + 0.01 * slope.square().mean()",
    becomes="loss = scaler.scale(loss + 0.01 * slope.square().mean())",
    finds={"bare-optimizer-step": "optimizer.step()"},
)
def penalty_without_scaler():
    net, x, y = problem()
    x.requires_grad_(True)
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        output = net(x)
        (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
        loss = nn.functional.mse_loss(output, y)
        loss = loss + 0.01 * slope.square().mean()
        loss.backward()
        optimizer.step()
    assert scaler.is_enabled()
