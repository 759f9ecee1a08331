"""The rule about clipping gradients that are still scaled."""

import math

from amp_lessons.recorder.optimizer_state import MIXED, SCALED
from amp_lessons.recorder.rules.limits import looks_clipped
from amp_lessons.recorder.rules.numbers import scale_of
from amp_lessons.recorder.rules.rule import Sighting, rule
from amp_lessons.recorder.scaler_state import READY


@rule(
    "clip-before-unscale",
    on=["clip", "edit", "unscale"],
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
    if moment.kind == "unscale":
        yield from _clipped_in_a_hook(moment)
        return
    limit, owner = moment.data["limit"], moment.optimizer
    if owner.gradients not in (SCALED, MIXED) or limit is None or not math.isfinite(limit):
        return
    scale = scale_of(owner, moment)
    if scale == 1 or (moment.scaler and moment.scaler.scale_is_known and scale and limit >= scale * 0.01):
        return  # nothing to divide by, or the limit was multiplied by the scale as well
    if owner.may_be_divided():
        owner.unknown = True
        return
    norm = moment.data["norm"]
    if norm is not None and norm <= limit:
        return  # nothing was cut: the norm is only looked at
    words = "" if norm is None else f", so the limit is compared with a norm of {norm:.4g}"
    yield Sighting({"function": moment.data["function"], "limit": limit, "scale": scale, "norm": words})


def _clipped_in_a_hook(moment):
    """A hook clipped each gradient as it arrived, and only now they are divided."""
    owner, scaler = moment.optimizer, moment.scaler
    if owner.clipped_early is None or owner.gradients != SCALED or scaler.scale_was_read:
        return
    place, function, limit, norm = owner.clipped_early
    if moment.data["stage"] == READY and math.isfinite(limit) and scale_of(owner, moment) != 1:
        words = "" if norm is None else f", so the limit is compared with a norm of {norm:.4g}"
        numbers = {"function": f"{function} in a hook", "limit": limit, "norm": words}
        yield Sighting({**numbers, "scale": scale_of(owner, moment)}, place)


def _clipped_by_hand(moment):
    """Gradients were edited while scaled. Averaging them is right; a limit shows in their size."""
    owner = moment.optimizer
    before, size = owner.limit_seen, looks_clipped(owner.ref())
    owner.limit_seen = None if size is None else (size, moment.place, moment.step)
    if size is None or before is None or before[0] != size:
        return  # once may be chance; the same limit twice is none
    (name, limit), place, step = before
    scale = scale_of(owner, moment)
    if scale != 1 and not _is_a_share(limit, scale):
        words = f"; before the step their {name} is {limit:.4g}, as if cut there"
        numbers = {"function": "Your own clipping", "limit": limit, "scale": scale, "norm": words}
        yield Sighting(numbers, place, step)


def _is_a_share(limit, scale) -> bool:
    """Return whether a size is a simple share of the scale, as averages of -1, 0 and 1 are: no limit's."""
    shares = [limit * count / scale for count in range(1, 33)] if scale else []
    return any(share > 0.5 and abs(share - round(share)) < 1e-4 for share in shares)


RULES = [clip_before_unscale]
