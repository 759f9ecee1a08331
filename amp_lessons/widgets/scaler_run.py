"""A real GradScaler with one weight behind it, taken through one step at a time."""

import contextlib
import math
from collections import deque
from dataclasses import dataclass

import torch

FIRST_WEIGHT = 100.0
KEPT_STEPS = 60  # as many as the picture shows


@dataclass(frozen=True)
class ScalerStep:
    """What one step did, read from PyTorch. ``gradient`` is what backward() left, times the scale.

    ``divided`` is the same after ``scaler.step()`` has divided it, ``counter`` the good steps in a row that
    the scaler has counted after ``update()``, and ``interval`` how many it needs to grow.
    """

    number: int
    overflow: bool
    gradient: float
    divided: float
    taken: bool
    weight_before: float
    weight: float
    scale_before: float
    scale: float
    counter: int
    interval: int


class ScalerRun:
    """``torch.amp.GradScaler("cpu")`` and ``torch.optim.SGD`` with one FP32 weight.

    The weight's gradient is always 1 and the learning rate too, so a step that is taken lowers it by 1.
    ``steps`` keeps the last 60 steps.
    """

    def __init__(self, init_scale: float, growth_interval: int):
        with _usual_modes():
            self.weight = torch.nn.Parameter(torch.tensor(FIRST_WEIGHT, dtype=torch.float32, device="cpu"))
            self.optimizer = torch.optim.SGD([self.weight], lr=1.0)
            self.scaler = torch.amp.GradScaler("cpu", init_scale=init_scale, growth_interval=growth_interval)
        self.optimizer.register_step_post_hook(self._note_step)  # the scaler doesn't say if it skipped
        self.steps = deque(maxlen=KEPT_STEPS)
        self.count = self.taken = 0
        self._optimizer_stepped = False

    @property
    def scale(self) -> float:
        """The scale that the next loss is multiplied by."""
        return self.scaler.get_scale()

    @property
    def counter(self) -> int:
        """The good steps in a row that the scaler has counted since the scale last changed."""
        return self.scaler.state_dict()["_growth_tracker"]

    @property
    def interval(self) -> int:
        """The growth interval; setting it changes the running scaler, whose counter goes on."""
        return self.scaler.get_growth_interval()

    @interval.setter
    def interval(self, steps):
        self.scaler.set_growth_interval(steps)

    def step(self, overflow: bool = False) -> ScalerStep:
        """Take one training step, with infinity put into the gradient if ``overflow``."""
        scale_before, weight_before = self.scale, self.weight.item()
        self._optimizer_stepped = False
        with _usual_modes():
            self.optimizer.zero_grad()
            loss = self.weight * 1.0  # its gradient is 1
            self.scaler.scale(loss).backward()
            if overflow:
                self.weight.grad.fill_(math.inf)
            gradient = self.weight.grad.item()
            self.scaler.step(self.optimizer)
            divided = self.weight.grad.item()
            self.scaler.update()
        self.count += 1
        self.taken += self._optimizer_stepped
        done = ScalerStep(
            number=self.count,
            overflow=overflow,
            gradient=gradient,
            divided=divided,
            taken=self._optimizer_stepped,
            weight_before=weight_before,
            weight=self.weight.item(),
            scale_before=scale_before,
            scale=self.scale,
            counter=self.counter,
            interval=self.interval,
        )
        self.steps.append(done)
        return done

    def _note_step(self, *_):
        self._optimizer_stepped = True


@contextlib.contextmanager
def _usual_modes():
    """Gradients on and autocast off, whatever the notebook has set."""
    with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", enabled=False):
        yield
