"""What people write by hand in place of a call of PyTorch's."""

import torch
from torch import nn

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


@right(
    line="p.grad.data.zero_()",
    becomes="pass",
    finds={"gradients-not-zeroed": "scaler.scale(loss).backward()"},
)
def gradients_zeroed_through_data():
    """As in old tutorials: PyTorch does not count an edit through .data as one."""
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        for p in net.parameters():
            p.grad.data.zero_()


@right(
    line="scaler.scale(loss).backward()",
    becomes="with half(): scaler.scale(loss).backward()",
    finds="backward-inside-autocast",
)
def gradients_zeroed_all_at_once():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        torch._foreach_zero_([p.grad for p in net.parameters()])


@right(
    line="p.grad.div_(1024.0)",
    becomes="pass",
    finds={"fp16-without-scaler": "(loss * 1024.0).backward()"},
)
def static_scale():
    """A loss scale without a scaler: multiplied and divided by hand."""
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        (loss * 1024.0).backward()
        for p in net.parameters():
            p.grad.div_(1024.0)
        optimizer.step()


@right(
    line="(loss * 128.0).backward()",
    becomes="with half(): (loss * 128.0).backward()",
    finds="backward-inside-autocast",
)
def fp32_masters_of_half_weights():
    net, x, y = problem()
    net, x, y = net.half(), x.half(), y.half()
    masters = [p.detach().float().clone() for p in net.parameters()]
    optimizer = torch.optim.SGD(masters, lr=0.01)
    for _ in range(3):
        net.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        (loss * 128.0).backward()
        for p, master in zip(net.parameters(), masters):
            master.grad = p.grad.float() / 128.0
        optimizer.step()
        with torch.no_grad():
            for p, master in zip(net.parameters(), masters):
                p.copy_(master)


@right(
    line="(loss * scaler.get_scale()).backward()",
    becomes="loss.backward()",
    finds="unscaled-backward",
)
def loss_multiplied_by_get_scale():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    scaler.scale(torch.zeros(()))  # makes the scale
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        (loss * scaler.get_scale()).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="for scaled in scaler.scale(each for each in (loss, extra)):",
    becomes="for scaled in (scaler.scale(loss), extra):",
    finds={"mixed-scaling-in-window": "scaled.backward(retain_graph=True)"},
)
def losses_from_a_generator():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            output = net(x)
            loss, extra = nn.functional.mse_loss(output, y), output.float().abs().mean()
        for scaled in scaler.scale(each for each in (loss, extra)):
            scaled.backward(retain_graph=True)
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.update()",
    becomes="pass",
    finds={"missing-update": "scaler.unscale_(optimizer)"},
)
def sparse_gradients():
    torch.manual_seed(0)
    table = nn.Embedding(10, 4, sparse=True)
    optimizer, scaler = torch.optim.SparseAdam(table.parameters()), gentle_scaler()
    words = torch.tensor([1, 2, 2, 5])
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = table(words).float().square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.scale(loss).backward()",
    becomes="with half(): scaler.scale(loss).backward()",
    finds="backward-inside-autocast",
)
def lazy_layers():
    _, x, y = problem()
    net = nn.Sequential(nn.LazyLinear(8), nn.LazyBatchNorm1d(), nn.LazyLinear(1))
    optimizer, scaler = torch.optim.SGD([nn.Parameter(torch.zeros(()))], lr=0.01), gentle_scaler()
    net(x)
    optimizer.add_param_group({"params": list(net.parameters())})
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="p.sub_(0.01 * p.grad / scaler.get_scale())",
    becomes="p.sub_(0.01 * p.grad / scaler.get_scale()); scaler.update()",
    finds="update-without-step",
)
def no_optimizer():
    net, x, y = problem()
    scaler = gentle_scaler()
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        with torch.no_grad():
            for p in net.parameters():
                p.sub_(0.01 * p.grad / scaler.get_scale())
        net.zero_grad()


@right(
    line="(0.5 * loss * scaler.get_scale()).backward()",
    becomes="(loss / 2).backward()",
    finds="unscaled-backward",
)
def weighted_loss_multiplied_by_get_scale():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    scaler.scale(torch.zeros(()))  # makes the scale
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        (0.5 * loss * scaler.get_scale()).backward()
        scaler.step(optimizer)
        scaler.update()
