"""Runs an answer that has to do a gradient scaler's work itself: GradScaler is refused while it runs."""

import contextlib
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from amp_lessons.exercises.exercise import NotYet


class _NoKernels(TorchDispatchMode):
    """Refuses the operators that GradScaler is made of, by whatever name they are called."""

    def __init__(self, refuse):
        super().__init__()
        self._refuse = refuse

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        name = operator.overloadpacket.__name__
        if name.startswith("_amp_"):
            self._refuse(f"torch.{name}, the inside of GradScaler,")
        return operator(*args, **(kwargs or {}))


@contextlib.contextmanager
def by_hand():
    """A `with` block in which making a GradScaler, or using one made before, raises NotYet.

    The same where the answer swallows that exception: then the block's end raises it.
    """
    used = []

    def refuse(what):
        message = f"{what} is not allowed in this exercise: you are building what it does."
        used.append(NotYet(message, mistake="uses-gradscaler"))
        raise used[0]

    with mock.patch.object(torch.amp.GradScaler, "__init__", lambda *_, **__: refuse("torch.amp.GradScaler")):
        try:
            with _NoKernels(refuse):
                yield
        except NotYet:
            raise
        except Exception as error:
            if used:
                raise used[0] from error
            raise
    if used:
        raise used[0]
