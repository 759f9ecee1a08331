"""Ways to limit gradients, or only to look at them."""

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


@right(
    line="scaler.unscale_(optimizer)",
    becomes="pass",
    finds={"clip-before-unscale": "clip_grad_value_(net.parameters(), 0.1)"},
)
def clipped_values():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_value_(net.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


@right(
    line="scaler.unscale_(head)",
    becomes="pass",
    finds={"clip-before-unscale": "clip_grad_norm_(net[2].parameters(), 1.0, foreach=True)"},
)
def foreach_norms_of_two_optimizers():
    net, x, y = problem()
    body, head, scaler = sgd(net[0]), sgd(net[2]), gentle_scaler()
    for _ in range(3):
        net.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(body)
        scaler.unscale_(head)
        clip_grad_norm_(net[0].parameters(), 1.0, foreach=True)
        clip_grad_norm_(net[2].parameters(), 1.0, foreach=True)
        scaler.step(body)
        scaler.step(head)
        scaler.update()


@right(
    line="scaler.unscale_(optimizer)",
    becomes="pass",
    finds={"clip-before-unscale": "clip_grads_with_norm_(net.parameters(), 1.0, norm)"},
)
def norm_first_then_clip():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = get_total_norm([p.grad for p in net.parameters()])
        clip_grads_with_norm_(net.parameters(), 1.0, norm)
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.update()",
    becomes="pass",
    finds={"missing-update": "scaler.unscale_(optimizer)"},
)
def clipped_by_hand_in_place():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
        for p in net.parameters():
            p.grad.mul_(1.0 / torch.clamp(norm, min=1.0))
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.scale(loss).backward()",
    becomes="loss.backward()",
    finds="unscaled-backward",
)
def clipped_by_hand_into_a_new_tensor():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    scaler.scale(torch.zeros(()))  # so that the twin's first unscale_ is not refused
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        for p in net.parameters():
            p.grad = p.grad.clamp(-0.1, 0.1)
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.step(optimizer)",
    becomes="scaler.unscale_(optimizer); scaler.unscale_(optimizer)",
    finds="unscale-twice",
)
def averaged_by_hand_before_unscaling():
    """What is linear may be done to scaled gradients: as if they were averaged over two machines."""
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        for p in net.parameters():
            p.grad.add_(p.grad).div_(2.0)
        scaler.step(optimizer)
        scaler.update()


@right(
    line="optimizer.step()",
    becomes="scaler.step(optimizer, lambda: loss); scaler.update()",
    finds="closure-with-scaler",
)
def unscaled_by_hand():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        for p in net.parameters():
            p.grad.div_(scaler.get_scale())
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()


@right(
    line="clip_grad_norm_(net.parameters(), 0.5 * scaler.get_scale())",
    becomes="clip_grad_norm_(net.parameters(), 0.5)",
    finds="clip-before-unscale",
)
def limit_scaled_as_well():
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=4096.0)
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        clip_grad_norm_(net.parameters(), 0.5 * scaler.get_scale())
        scaler.step(optimizer)
        scaler.update()


@right(
    line='norms.append(clip_grad_norm_(net.parameters(), float("inf")).item())',
    becomes="norms.append(clip_grad_norm_(net.parameters(), 10.0).item())",
    finds="clip-before-unscale",
)
def clipped_to_infinity_to_learn_the_norm():
    net, x, y = problem()
    optimizer, scaler, norms = sgd(net), gentle_scaler(), []
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        norms.append(clip_grad_norm_(net.parameters(), float("inf")).item())
        scaler.step(optimizer)
        scaler.update()


@right(
    line="after += [p.grad.norm().item() for p in net.parameters()]",
    becomes="after += [clip_grad_norm_(net.parameters(), 1.0).item()]; scaler.unscale_(optimizer)",
    finds="unscale-twice",
)
def only_looking_at_gradients():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    before, after = [], []
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        before += [(p.grad.norm() / scaler.get_scale()).item() for p in net.parameters()]
        scaler.unscale_(optimizer)
        after += [p.grad.norm().item() for p in net.parameters()]
        scaler.step(optimizer)
        scaler.update()
    assert torch.allclose(torch.tensor(before), torch.tensor(after))


@right(
    line="scaler.update()",
    becomes="pass",
    finds={"unscale-twice": "scaler.unscale_(optimizer)"},
)
def left_out_where_the_norm_is_too_large():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for factor in (100.0, 1.0, 1.0):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y) * factor
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = clip_grad_norm_(net.parameters(), 1.0)
        if norm < 20.0:
            scaler.step(optimizer)
        scaler.update()


@right(
    line="clip_grad_norm_(net.parameters(), 1.0)",
    becomes="clip_grad_norm_(net.parameters(), 1.0); scaler.step(optimizer)",
    finds={"missing-update": "scaler.step(optimizer)"},
)
def one_gradient_set_aside():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for number in range(4):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if number % 2:
            net[0].bias.grad = None
        clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


@right(
    line='with torch.autocast("cpu", dtype=torch.bfloat16):',
    becomes="with half():",
    finds={"fp16-without-scaler": "loss.backward()"},
)
def clipped_without_scaler():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()
