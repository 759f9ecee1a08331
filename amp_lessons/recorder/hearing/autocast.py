"""autocast: made, entered, left, and its cache of 16-bit copies cleared."""

import weakref
from dataclasses import dataclass

import torch

from amp_lessons.recorder.hearing.heard import argument, hears
from amp_lessons.recorder.places import Place

# How an autocast object was made, for as long as it lives: (a dtype was given, enabled was asked for). Only
# where the object itself does not tell.
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
    began: int  # autograd's sequence number

    @property
    def kind(self) -> tuple:
        """What the rules tell regions apart by."""
        return self.device, self.dtype, self.enabled, self.wanted, self.grad


def autocast_is_on(device: str) -> bool:
    """Return whether autocast is on for a device type; for one that has none (meta) it is off."""
    try:
        return torch.is_autocast_enabled(device)
    except RuntimeError:
        return False


@hears("make autocast")
def made(loop, args, kwargs):
    yield
    given = argument(args, kwargs, 2, "dtype") is not None
    wanted = bool(argument(args, kwargs, 3, "enabled", True))
    if not given or wanted is not bool(getattr(args[0], "_enabled", wanted)):
        _made_with[args[0]] = given, wanted


@hears("autocast enter")
def enter(loop, args, kwargs):
    yield
    context, place = args[0], loop.here()
    enabled = bool(getattr(context, "_enabled", False))
    given, wanted = _made_with.get(context, (True, enabled)) if _made_with else (True, enabled)
    device, dtype = str(context.device).partition(":")[0], context.fast_dtype
    began = torch.autograd._get_sequence_nr()
    region = Region(device, dtype, enabled, wanted, torch.is_grad_enabled(), place, began)
    if wanted and dtype == torch.float16 and not loop.watchful:
        loop.begin_to_watch()
    loop.work_begins()
    loop.open_regions.append(region)
    loop.regions.setdefault(region.kind, region)
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
        loop.region_ends()


@hears("clear cache", part_of=["autocast exit"])
def cache_cleared(loop, args, kwargs):
    yield
    loop.stale_cache = None
