"""Which autocast regions an answer opened, and whether it names its device instead of asking the tensors."""

import contextlib
import inspect
import types
from dataclasses import dataclass
from unittest import mock

import torch

from amp_lessons.exercises.exercise import NotYet

_ASKS = {"device", "device_type", "is_cuda", "is_cpu", "is_available", "get_device", "current_accelerator"}


@dataclass(frozen=True)
class Region:
    """One autocast region of a recording: `on` is False where it switched autocast off, or could not on."""

    device: str
    dtype: str
    on: bool
    default: bool  # no dtype was given
    where: str  # the learner's line


def regions(recording):
    """The autocast regions that a Recording saw, in order."""
    return [
        Region(
            event.data["device"],
            event.data["dtype"],
            event.kind == "autocast on",
            event.data["default"],
            f"{event.place}: `{event.place.code}`" if event.place.code else f"{event.place}",
        )
        for event in recording.events
        if event.kind in ("autocast on", "autocast off")
    ]


def on_the_cpu(opened, tensor="x"):
    """Those of the regions that are for the CPU, where a check's tensors lie.

    NotYet where there are some, but only for another device. `tensor` is the answer's name for one to ask."""
    fitting = [region for region in opened if region.device == "cpu"]
    if opened and not fitting:
        raise NotYet(
            f"{opened[0].where}\nThis block is for {opened[0].device}, but the check's tensors lie on the "
            f"CPU, for which it changes nothing. Ask the tensors: device_type={tensor}.device.type.",
            "autocast-wrong-device",
        )
    return fitting


def not_only_cpu(function, name, tensor="x"):
    """NotYet where a function's code names "cpu" and asks nothing for its device: on a GPU it would not work.

    Only what is certain counts: a decorator or a function that it calls is not looked at.
    """
    codes = [getattr(inspect.unwrap(function), "__code__", None)]
    constants, names = set(), set()
    while codes:
        code = codes.pop()
        if isinstance(code, types.CodeType):
            constants |= {each for each in code.co_consts if isinstance(each, str)}
            names |= {*code.co_names, *code.co_freevars, *code.co_varnames}
            codes += code.co_consts
    if "cpu" in constants and not constants & {"cuda", "mps", "xpu"} and not names & _ASKS:
        raise NotYet(
            f'{name} names the device itself: "cpu". That is where the check runs; with tensors on a GPU the '
            f"block would change nothing. Ask the tensors: device_type={tensor}.device.type.",
            "cpu-hard-coded",
        )


@contextlib.contextmanager
def no_old_autocast():
    """A `with` block: NotYet at its end where a region of the deprecated spellings was entered in it."""
    entered = []
    with contextlib.ExitStack() as stack:
        for device in ("cuda", "cpu"):
            old = getattr(torch, device).amp.autocast
            stack.enter_context(mock.patch.object(old, "__enter__", _noting(old.__enter__, device, entered)))
        yield
    if entered:
        raise NotYet(
            f"torch.{entered[0]}.amp.autocast is the old spelling, for {entered[0]} alone. Use "
            "torch.autocast, which is told the device.",
            "old-spelling",
        )


def _noting(enter, device, entered):
    def noting(region):
        entered.append(device)
        return enter(region)

    return noting
