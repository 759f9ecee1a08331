"""Listens to GradScaler: which scalers multiplied which losses, and where they were made."""

import contextlib
import functools
from dataclasses import dataclass

import torch
from torch.amp.grad_scaler import GradScaler

from amp_lessons.recorder.places import NOWHERE, Place, here


@dataclass(frozen=True)
class ScaleCall:
    """One call of scale(): the scaler and its scale, the loss's dtype (None for no tensor), and the lines."""

    scaler: GradScaler
    scale: float
    dtype: torch.dtype | None
    place: Place  # of the call
    made: Place  # where the scaler was made; NOWHERE if that was before


@contextlib.contextmanager
def scale_calls():
    """Inside the block, collect a ScaleCall for every call of a GradScaler's scale(), in order, in a list.

    Enter it before a recording begins and leave it after: both put wrappers around the same methods.
    """
    calls, made = [], {}
    own_init, own_scale = GradScaler.__init__, GradScaler.scale

    @functools.wraps(own_init)
    def init(scaler, *args, **kwargs):
        own_init(scaler, *args, **kwargs)
        made[id(scaler)] = scaler, here()  # kept, so that no other scaler gets its id

    @functools.wraps(own_scale)
    def scale(scaler, outputs):
        dtype = outputs.dtype if isinstance(outputs, torch.Tensor) else None
        place = made.get(id(scaler), (None, NOWHERE))[1]
        calls.append(ScaleCall(scaler, scaler.get_scale(), dtype, here(), place))
        return own_scale(scaler, outputs)

    GradScaler.__init__, GradScaler.scale = init, scale
    try:
        yield calls
    finally:
        GradScaler.__init__, GradScaler.scale = own_init, own_scale
