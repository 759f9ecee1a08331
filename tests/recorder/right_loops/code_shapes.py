"""The same loop as a class, a generator, from another file, with exceptions of its own."""

import contextlib

import torch
from torch import nn

from tests.recorder.loop_elsewhere import imported_from_elsewhere
from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd

right(
    line="scaler.scale(loss).backward()",
    becomes="scaler.scale(loss).backward(); nn.utils.clip_grad_norm_(net.parameters(), 1.0)",
    finds="clip-before-unscale",
)(imported_from_elsewhere)


@right(
    line="self.scaler.update()",
    becomes="self.scaler.update(); self.scaler.update()",
    finds="update-without-step",
)
def inside_a_class():
    class Trainer:
        def __init__(self):
            self.net, self.x, self.y = problem()
            self.optimizer, self.scaler = sgd(self.net), gentle_scaler()

        def loss(self):
            with half():
                return nn.functional.mse_loss(self.net(self.x), self.y)

        def optimize(self, loss):
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

        def fit(self):
            for _ in range(3):
                self.optimizer.zero_grad()
                self.optimize(self.loss())

    Trainer().fit()


@right(
    line="scaler.unscale_(optimizer)",
    becomes="pass",
    finds={"clip-before-unscale": "nn.utils.clip_grad_norm_(net.parameters(), 1.0)"},
)
def inside_a_generator():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()

    def steps():
        while True:
            optimizer.zero_grad()
            with half():
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            yield loss.item()

    running = steps()
    assert next(running) > 0 and next(running) > 0
    running.close()


@right(
    line="scaler.scale(loss).backward()",
    becomes="loss.backward()",
    finds="unscaled-backward",
)
def exceptions_of_its_own():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for step in range(4):
        optimizer.zero_grad()
        try:
            with half():
                output = net(x)
                if step == 1:
                    raise MemoryError("as if the batch were too large")
                loss = nn.functional.mse_loss(output, y)
        except MemoryError:
            continue
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.step(optimizer)",
    becomes="optimizer.step(); scaler.step(optimizer)",
    finds="bare-optimizer-step",
)
def all_regions_on_one_stack():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for amp in (True, False, True):
        optimizer.zero_grad()
        with contextlib.ExitStack() as stack:
            stack.enter_context(half() if amp else contextlib.nullcontext())
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.scale(loss).backward()",
    becomes="loss.backward()",
    finds="unscaled-backward",
)
def batches_from_a_loader():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4, shuffle=True)
    for inputs, targets in loader:
        optimizer.zero_grad(set_to_none=True)
        with half():
            loss = nn.functional.mse_loss(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.scale(loss).backward()",
    becomes="with half(): scaler.scale(loss).backward()",
    finds="backward-inside-autocast",
)
def functional_call_and_hooks():
    net, x, y = problem()
    optimizer, scaler, seen = sgd(net), gentle_scaler(), []
    net[0].register_full_backward_hook(lambda module, inner, outer: seen.append(outer[0].dtype))
    net[2].weight.register_hook(lambda gradient: seen.append(gradient.dtype))
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            output = torch.func.functional_call(net, dict(net.named_parameters()), (x,))
            loss = nn.functional.mse_loss(output, y)
        loss.register_hook(lambda gradient: seen.append(gradient.dtype))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    assert len(seen) == 9


@right(
    line="optimizer.zero_grad()",
    becomes="pass",
    finds={"gradients-not-zeroed": "scaler.scale(loss).backward()"},
)
def backward_that_fails_once():
    """As where the memory is full: the batch is left out."""
    net, x, y = problem()
    optimizer, scaler, calls = sgd(net), gentle_scaler(), []

    def fail(gradient):
        calls.append(gradient)
        if len(calls) == 2:
            raise MemoryError("as if the batch were too large")

    for _ in range(4):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        loss.register_hook(fail)
        try:
            scaler.scale(loss).backward()
        except MemoryError:
            continue
        scaler.step(optimizer)
        scaler.update()


@right(
    line="scaler.unscale_(optimizer)",
    becomes="pass",
    finds={"clip-before-unscale": "nn.utils.clip_grad_norm_(net.parameters(), 1.0)"},
)
def interrupted_and_taken_up_again():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()

    def train(batches):
        for number in range(batches):
            optimizer.zero_grad()
            with half():
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
            if number == 2:
                raise KeyboardInterrupt
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

    for batches in (3, 2):
        with contextlib.suppress(KeyboardInterrupt):
            train(batches)
