"""What became of a sum in one format, in words."""

import math

from amp_lessons.figures.running_sums import share_text
from amp_lessons.figures.words import number, scale_text
from amp_lessons.widgets.sum_run import SumRun, spacing


def long_text(value: float) -> str:
    """Return a number to seven digits with a true minus sign: ``"10.00013"``, ``"5.960464 × 10⁻⁸"``."""
    if not math.isfinite(value) or value == 0 or not 1e-3 <= abs(value) < 1e7:
        digits, _, exponent = f"{value:.6e}".partition("e")
        if not exponent or value == 0:
            return number(value).replace("-", "−")
        power = exponent.lstrip("+").lstrip("0") if exponent[0] != "-" else "-" + exponent[1:].lstrip("0")
        power = power.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{digits.rstrip('0').rstrip('.')} × 10{power}".replace("-", "−")
    text = f"{value:,.{max(0, 6 - math.floor(math.log10(abs(value))))}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def sum_words(run: SumRun, exact: float) -> str:
    """Say in one to three short sentences what became of the sum. True for every finite addend."""
    label = run.fmt.label
    if run.addend == 0:
        return "Adding 0 changes nothing."
    if run.stored == 0:
        return (
            f"Each addition adds 0: {label} rounds the number to 0, because it is at most half of the "
            f"smallest that it has, {long_text(run.fmt.smallest_subnormal)}."
        )
    if math.isinf(run.stored):
        return (
            f"Infinity from the first addition: {label} can’t hold the number, since its own largest is "
            f"{long_text(run.fmt.largest)}."
        )
    if run.overflows_at:
        return (
            f"Infinity from addition {run.overflows_at:,} on: the total passed {label}’s largest number, "
            f"{long_text(run.fmt.largest)}."
        )
    if run.stopped_after:
        return f"{_stop_words(run)} {_error_words(run.total, exact)}"
    return f"{_error_words(run.total, exact)} {_later_words(run)}"


def _stop_words(run):
    gap = spacing(run.total, run.fmt)
    size = abs(run.stored)
    addend = f"the number added{', without its sign' if run.stored < 0 else ''}"
    if gap / 2 > size:
        reason = f"half of that, {long_text(gap / 2)}, is more than {addend}"
    else:
        reason = (
            f"half of that, {long_text(gap / 2)}, is exactly {addend}, and a tie goes to the even neighbour, "
            "which is the total as it is"
        )
    additions = f"{run.stopped_after:,} addition{'' if run.stopped_after == 1 else 's'}"
    return (
        f"Stopped after {additions}: from {long_text(run.total)} on, numbers are {long_text(gap)} apart, and "
        f"{reason}."
    )


def _error_words(total, exact):
    if total == exact:
        return "Exactly the true total."
    side = "beyond" if abs(total) > abs(exact) else "short of"
    return f"{share_text(abs(total - exact) / abs(exact))} {side} the true total."


def _later_words(run):
    if math.isinf(run.stop):
        return "With more additions it would overflow before it could stop."
    if run.stop == run.total:
        return "The next addition would change nothing: the sum has come to where it stops."
    place = scale_text(abs(run.stop))
    place = f"−{place.replace('= ', '= −')}" if run.stop < 0 else place
    return f"With more additions it would stop at {place}."
