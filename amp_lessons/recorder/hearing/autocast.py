"""autocast: made, entered, left, and its cache of 16-bit copies cleared."""

import weakref
from dataclasses import dataclass

import torch

from amp_lessons.recorder.hearing.heard import argument, hears
from amp_lessons.recorder.places import Place, here

# How each autocast object was made, for as long as it lives: (a dtype was given, enabled was asked for).
_made_with: "weakref.WeakKeyDictionary" = weakref.WeakKeyDictionary()


@dataclass
class Region:
    """An autocast region that is open, or was open since the last backward."""

    device: str
    dtype: torch.dtype | None
    enabled: bool  # in force
    wanted: bool  # asked for; differs where the device is absent
    grad: bool  # gradients were on
    place: Place


def autocast_is_on(device: str) -> bool:
    """Return whether autocast is on for a device type; for one that has none (meta) it is off."""
    try:
        return torch.is_autocast_enabled(device)
    except RuntimeError:
        return False


@hears("make autocast")
def made(loop, args, kwargs):
    dtype = argument(args, kwargs, 2, "dtype")
    _made_with[args[0]] = dtype is not None, bool(argument(args, kwargs, 3, "enabled", True))
    yield


@hears("autocast enter")
def enter(loop, args, kwargs):
    yield
    context, place = args[0], here()
    enabled = bool(getattr(context, "_enabled", False))
    given, wanted = _made_with.get(context, (True, enabled))
    device, dtype = torch.device(context.device).type, context.fast_dtype
    region = Region(device, dtype, enabled, wanted, torch.is_grad_enabled(), place)
    loop.work_begins()
    loop.open_regions.append(region)
    loop.regions.append(region)
    loop.happens(
        "autocast on" if enabled else "autocast off",
        place=place,
        device=device,
        dtype=str(dtype).removeprefix("torch."),
        nesting=len(loop.open_regions),
        default=enabled and not given,
    )


@hears("autocast exit")
def leave(loop, args, kwargs):
    yield
    region = loop.open_regions.pop() if loop.open_regions else None
    loop.happens("autocast end", nesting=len(loop.open_regions), device=region.device if region else "")
    if not loop.open_regions:
        loop.confirm_stale_cache()


@hears("clear cache", part_of=["autocast exit"])
def cache_cleared(loop, args, kwargs):
    yield
    loop.stale_cache = None
