"""How numbers read in a finding."""

import math

from amp_lessons.formats import power_of_two
from amp_lessons.recorder.later import read


def shown(value) -> str:
    """Return a number as text: 65536 as "65536", 2e-5 as "2e-05", None as "(not read)"."""
    value = read(value)
    if value is None:
        return "(not read)"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = float(value)
        if math.isfinite(value) and value == int(value) and abs(value) < 1e7:
            return str(int(value))
        return f"{value:.4g}"
    return str(value)


def scale_text(value) -> str:
    """Return a loss scale as text: "65536 (2¹⁶)"."""
    value = read(value)
    if value is None or not (value > 0 and math.isfinite(value)):
        return shown(value)
    exponent = math.log2(value)
    if value > 64 and exponent == int(exponent):
        return f"{shown(value)} ({power_of_two(int(exponent))})"
    return shown(value)


def scale_of(owner, moment) -> float | None:
    """Return the scale that an optimizer's waiting gradients were multiplied by, as far as it is known."""
    scales = [one.scale for one in owner.waiting if one.scale is not None]
    return read(scales[-1]) if scales else moment.scaler.scale_now if moment.scaler else None
