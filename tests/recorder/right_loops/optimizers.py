"""Several optimizers, optimizers of other kinds, and other ways to be rid of old gradients."""

import torch
from torch import nn

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd, steep_scaler


@right(
    line="scaler.update()",
    becomes="pass",
    finds={"missing-update": "scaler.step(optimizer)"},
)
def fused():
    """A fused optimizer unscales and skips by itself: its step() runs even where nothing changes."""
    net, x, y = problem()
    optimizer, scaler = torch.optim.AdamW(net.parameters(), fused=True), steep_scaler()
    for _ in range(12):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # <- note calibration-skips
        scaler.update()


@right(
    line="scaler.unscale_(optimizer)",
    becomes="pass",
    finds={"clip-before-unscale": "nn.utils.clip_grad_norm_(net.parameters(), 1.0)"},
)
def fused_and_clipped():
    net, x, y = problem()
    optimizer, scaler = torch.optim.SGD(net.parameters(), lr=0.01, fused=True), gentle_scaler()
    for _ in range(3):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


@right(
    line="scaler.scale(loss).backward()",
    becomes="loss.backward()",
    finds="unscaled-backward",
)
def generator_and_critic_with_one_scaler():
    """The generator's backward leaves scaled gradients in the critic, which drops them in time."""
    net, x, y = problem()
    critic = nn.Linear(1, 1)
    optimizer, critic_optimizer, scaler = sgd(net), sgd(critic), gentle_scaler()
    for _ in range(3):
        critic_optimizer.zero_grad()
        with half():
            gap = critic(y).float().mean() - critic(net(x).detach()).float().mean()
        scaler.scale(gap).backward()
        scaler.step(critic_optimizer)
        scaler.update()
        optimizer.zero_grad()
        with half():
            loss = critic(net(x)).float().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="critic_scaler.update()",
    becomes="pass",
    finds={"missing-update": "critic_scaler.step(critic_optimizer)"},
)
def generator_seldom_critic_always_with_two_scalers():
    net, x, y = problem()
    critic = nn.Linear(1, 1)
    optimizer, critic_optimizer = sgd(net), sgd(critic)
    scaler, critic_scaler = gentle_scaler(), torch.amp.GradScaler("cpu", init_scale=64.0)
    for step in range(4):
        critic_optimizer.zero_grad()
        with half():
            gap = critic(y).float().mean() - critic(net(x).detach()).float().mean()
        critic_scaler.scale(gap).backward()
        critic_scaler.step(critic_optimizer)
        critic_scaler.update()
        if step % 2:
            critic.requires_grad_(False)
            optimizer.zero_grad()
            with half():
                loss = critic(net(x)).float().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            critic.requires_grad_(True)


@right(
    line="optimizer.step(closure)",
    becomes='torch.amp.GradScaler("cpu").step(optimizer, closure)',
    finds="closure-with-scaler",
)
def closure_without_scaler():
    net, x, y = problem()
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)

    def closure():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)


@right(
    line='with torch.autocast("cpu", dtype=torch.bfloat16):',
    becomes="with half():",
    finds={"fp16-without-scaler": "loss.backward()"},
)
def optimizer_inside_backward():
    """Every parameter steps as soon as its gradient is there."""
    net, x, y = problem()
    optimizers = {p: torch.optim.SGD([p], lr=0.01) for p in net.parameters()}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in optimizers:
        p.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()


@right(
    line="scaler.scale(extra).backward()",
    becomes="extra.backward()",
    finds="mixed-scaling-in-window",
)
def gradients_dropped_by_the_module():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        net.zero_grad()
        with half():
            loss, extra = nn.functional.mse_loss(net(x), y), net(-x).float().abs().mean()
        scaler.scale(loss).backward()
        scaler.scale(extra).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.step(optimizer)",
    becomes="scaler.step(optimizer); scaler.step(optimizer)",
    finds="missing-update",
)
def gradients_dropped_by_hand():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for step in range(4):
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        for p in net.parameters():
            if step % 2:
                p.grad = None
            else:
                p.grad.zero_()


@right(
    line="optimizer = sgd(net)  # with the frozen layer in it",
    becomes="optimizer = sgd(net[0])",
    finds={"no-gradients": "scaler.step(optimizer)"},
)
def frozen_layer_and_zeroed_gradients():
    net, x, y = problem()
    net[0].requires_grad_(False)
    optimizer = sgd(net)  # with the frozen layer in it
    scaler = gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.update(new_scale=512.0)",
    becomes="scaler.update(new_scale=None)",
    finds="update-without-step",
)
def scale_set_by_hand():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for step in range(4):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step == 1:
            scaler.update(new_scale=512.0)


@right(
    line="scaler.step(optimizer)",
    becomes="optimizer.step(); scaler.step(optimizer)",
    finds="bare-optimizer-step",
)
def parameters_added_in_mid_training():
    net, x, y = problem()
    optimizer, scaler = sgd(net[2]), gentle_scaler()
    for step in range(4):
        if step == 2:
            optimizer.add_param_group({"params": list(net[0].parameters()), "lr": 0.001})
        optimizer.zero_grad()
        net[0].zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line='with torch.autocast("cpu", dtype=torch.bfloat16):',
    becomes="with half():",
    finds={"fp16-without-scaler": "loss.backward()"},
)
def two_steps_per_batch():
    """Up to the worst place nearby, then down with the gradient found there, as SAM does."""
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(3):
        for sign in (-1.0, 1.0):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = sign * nn.functional.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
