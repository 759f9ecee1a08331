"""What a step of a GradScaler did and what its scale means, in words."""

import math

from amp_lessons.figures.words import listed, number
from amp_lessons.formats import power_of_two
from amp_lessons.widgets.scaler_run import ScalerRun, ScalerStep

CEILING = 2.0**127  # twice this is infinite in FP32
# At and below this scale 1 / scale is infinite in FP32, whose largest number is just under 2¹²⁸.
NO_RECIPROCAL = 2.0**-128


def scale_words(scale: float) -> str:
    """Return a scale as short text: ``"65,536"``, or ``"2⁻³"`` below 1, ``"2³⁰"`` where it gets long."""
    mantissa, exponent = math.frexp(scale)
    return power_of_two(exponent - 1) if mantissa == 0.5 and not 1 <= scale < 1e9 else signed(scale)


def signed(value: float) -> str:
    """Return a number as text with a true minus sign."""
    return number(value).replace("-", "−")


def backward_words(step: ScalerStep) -> str:
    """Say which gradient backward() left."""
    if step.overflow:
        return "the gradient is infinity: it overflowed"
    return f"the gradient is {scale_words(step.gradient)}: 1 times the scale"


def step_words(step: ScalerStep) -> str:
    """Say what ``scaler.step(optimizer)`` did."""
    before, after = signed(step.weight_before), signed(step.weight)
    if not step.taken:
        return f"skipped: it found infinity in the gradient, and the weight stays {after}"
    if not math.isfinite(step.divided):
        return (
            f"stepped: it found no inf or NaN, but divided by the scale the gradient is "
            f"{signed(step.divided)}, so the weight {before} → {after}"
        )
    return (
        f"stepped: no inf or NaN; divided by the scale the gradient is {signed(step.divided)}, "
        f"so the weight {before} → {after}"
    )


def update_words(step: ScalerStep) -> str:
    """Say what ``scaler.update()`` did to the scale and to the counter."""
    change = f"{scale_words(step.scale_before)} → {scale_words(step.scale)}"
    if not step.taken:
        if step.scale_before == 0:
            return "halved, but half of 0 is 0"
        end = ": FP32 has no smaller number" if step.scale == 0 else ""
        return f"halved: {change}{end}"
    if step.scale > step.scale_before:
        return f"doubled after {_in_a_row(step.interval)}: {change}"
    if step.counter == 0:  # the interval is full
        if step.scale_before == 0:
            return f"doubled after {_in_a_row(step.interval)}, but twice 0 is 0"
        return f"unchanged after {_in_a_row(step.interval)}: the scale is at its ceiling, {change.split()[0]}"
    if step.counter >= step.interval:
        return f"unchanged: the counter, {step.counter:,}, is past the interval, {step.interval:,}"
    return f"unchanged: {step.counter:,} of {_good_steps(step.interval)}"


def headline(steps: list[ScalerStep]) -> str:
    """Say what one press did: one step, or several of the same kind."""
    first, last = steps[0], steps[-1]
    if len(steps) == 1:
        kind = "an overflow" if last.overflow else "a good step"
        return f"Step {last.number:,}, {kind}: {'stepped' if last.taken else 'skipped'}; {_course(steps)}"
    kind = "overflows" if last.overflow else "good steps"
    taken = sum(step.taken for step in steps)
    return (
        f"Steps {first.number:,} to {last.number:,}, {len(steps)} {kind}: {taken} stepped, "
        f"{len(steps) - taken} skipped; {_course(steps)}"
    )


def meaning(run: ScalerRun) -> str:
    """Say what an extreme scale, a lost weight or a counter past its interval means; nothing for the rest."""
    scale, weight = run.scale, run.weight.item()
    parts = []
    if scale == 0:
        parts.append(
            "The scale is 0 and stays 0: half of 0 is 0, and so is twice 0. Every scaled loss and gradient "
            "is 0 too. Make a new scaler, after you have found what overflows."
        )
    elif scale < 1:
        parts.append(
            "Below 1 the scale makes gradients smaller, the opposite of its purpose. Where overflows go on "
            "down here, the scale isn't their cause: look for inf and NaN in the data, the forward pass, "
            "the loss, or the backward of a single op."
        )
    elif scale >= CEILING:
        parts.append(
            f"The scale is at its ceiling: twice {power_of_two(127)} would be infinite in FP32, so growth "
            "stops here. A run with FP16 gradients overflows long before."
        )
    if not math.isfinite(weight):
        parts.append(
            f"The weight is {signed(weight)}: a scaler doesn't prevent this. It looks for inf and NaN before "
            "it divides by the scale, and 1 divided by a scale this small is infinite in FP32."
        )
    elif scale <= NO_RECIPROCAL:
        parts.append("A good step now ruins the weight: press the button and see.")
    if run.counter >= run.interval:
        parts.append(
            "update() doubles when the counter is equal to the interval. Here the counter has passed it, so "
            "the scale doesn't grow until an overflow sets the counter to 0 or the interval is longer again."
        )
    return " ".join(parts)


def _course(steps):
    before, after = steps[0].scale_before, steps[-1].scale
    if before == after:
        return f"the scale stays {scale_words(after)}"
    course = f"the scale goes from {scale_words(before)} to {scale_words(after)}"
    doubled = [step.number for step in steps if step.scale > step.scale_before]
    if not doubled or len(steps) == 1:
        return course
    if len(doubled) == len(steps):
        return f"{course}, doubled at each"
    return f"{course}, doubled at step{'s' if len(doubled) > 1 else ''} {listed(doubled)}"


def _good_steps(count):
    return f"{count:,} good step{'' if count == 1 else 's'}"


def _in_a_row(count):
    return f"{_good_steps(count)} in a row" if count > 1 else _good_steps(count)
