"""The rule about clipping gradients that are still scaled."""

import math

from amp_lessons.recorder.later import read
from amp_lessons.recorder.optimizer_state import MIXED, SCALED
from amp_lessons.recorder.rules.limits import looks_clipped
from amp_lessons.recorder.rules.numbers import scale_of
from amp_lessons.recorder.rules.rule import Sighting, rule


@rule(
    "clip-before-unscale",
    on=["clip", "edit"],
    summary="gradients are clipped while they are still multiplied by the loss scale",
    happened="Gradients are clipped ({function}, limit {limit}) while they are still multiplied by the "
    "loss scale {scale}{norm}.",
    to_do="Call scaler.unscale_(optimizer), for the optimizer with these parameters, before you clip; then "
    "clip, scaler.step(optimizer), scaler.update().",
)
def clip_before_unscale(loop, moment):
    if moment.kind == "edit":
        yield from _clipped_by_hand(moment)
        return
    limit, owner = read(moment.data["limit"]), moment.optimizer
    if owner.gradients not in (SCALED, MIXED) or limit is None or not math.isfinite(limit):
        return
    scale = scale_of(owner, moment)
    if scale == 1 or (moment.scaler and moment.scaler.scale_is_known and scale and limit >= scale * 0.01):
        return  # nothing to divide by, or the limit was multiplied by the scale as well
    if owner.may_be_divided():
        owner.unknown = True
        return
    norm = read(moment.data["norm"])
    if norm is not None and norm <= limit:
        return  # nothing was cut: the norm is only looked at
    words = "" if norm is None else f", so the limit is compared with a norm of {norm:.4g}"
    yield Sighting({"function": moment.data["function"], "limit": limit, "scale": scale, "norm": words})


def _clipped_by_hand(moment):
    """Gradients were edited while scaled. Averaging them is right; a limit shows in their size."""
    size = looks_clipped(moment.optimizer.ref())
    scale = scale_of(moment.optimizer, moment)
    if size is not None and scale != 1:
        name, limit = size
        words = f"; before the step their {name} is {limit:.4g}, as if cut there"
        yield Sighting({"function": "Your own clipping", "limit": limit, "scale": scale, "norm": words})


RULES = [clip_before_unscale]
