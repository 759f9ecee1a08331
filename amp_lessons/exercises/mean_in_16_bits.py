"""Looks at an answer that takes the mean of 16-bit losses, and tells from a wrong one how it was taken."""

import math

import torch

from amp_lessons.exercises import expect
from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.unrun import has_run
from amp_lessons.formats import BF16, FP16, format_of

EXACT = 3e-5  # relative: 3,000 additions in FP32, in any order, stay well within


def look_at_mean(mean_loss, losses, what):
    """NotYet where mean_loss(losses) is not the mean of these 16-bit tensors, which `what` describes."""
    called = f"mean_loss({what})"
    count = len(losses)
    values = [loss.item() for loss in losses]
    total = math.fsum(values)
    true = total / count
    returned = has_run(mean_loss([loss.clone() for loss in losses]), "mean_loss")
    if not expect.is_nan(returned):
        got = expect.number(returned, called)
        if math.isclose(got, true, rel_tol=EXACT):
            return
    else:
        got = math.nan
    said = f"{called} should be {true:.7g}; yours is {got:.7g}."
    for sentence, mistake in _known_means(got, losses, total):
        if mistake == "rounds-the-sum" and got in _decimals(true) and _keeps_decimals(mean_loss, losses[:3]):
            continue
        if mistake in ("whole-part-only", "rounds-to-decimals") and not _follows(mean_loss, losses[0].dtype):
            continue
        raise NotYet(f"{said} {sentence}", mistake)
    if not math.isfinite(got):
        raise NotYet(f"{said} The losses and their sum are neither infinite nor NaN: what made it of them?")
    raise NotYet(f"{said} That is off by {abs(got / true - 1):.1g} of the mean.")


def _known_means(got, losses, total):
    """The sentence, with its mistake's code, that a wrong mean calls for; or none."""
    fmt = format_of(losses[0].dtype)
    count = len(losses)
    true = total / count
    if not math.isfinite(got):
        if abs(total) <= fmt.largest:
            return
        yield (
            f"The losses add up to {total:,.0f}, and {fmt.label} ends at {fmt.largest:,.0f}. FP32 holds the "
            "sum: convert before you add.",
            "sum-overflows",
        )
        return
    added = torch.stack(losses).sum()
    if added.item() != total and (_near(got, added.item() / count) or got == (added / count).item()):
        yield (
            f"sum() adds in FP32 but gives {fmt.label}: {total:.7g} became {added.item():.7g}. Convert the "
            "losses first.",
            "rounds-the-sum",
        )
    if _near(got, total):
        yield "That is their sum: divide it by how many there are.", "sum-not-mean"
    ends = _added(losses, losses[0].dtype)
    if got == (ends / count).item():
        yield (
            f"You add in {fmt.label}, where the sum ends at {ends.item():.7g} instead of {total:.7g}: a loss "
            "smaller than half a step of the sum changes nothing. Add in FP32.",
            "accumulates-in-16-bit",
        )
    if _near(got, ends.item() / count):
        yield (
            f"You convert the sum, but by then it is {ends.item():.7g} instead of {total:.7g}: it was added "
            f"up in {fmt.label}. Convert each loss before you add it.",
            "converts-too-late",
        )
    if fmt is BF16 and math.isclose(got, _added(losses, torch.float16).item() / count, rel_tol=FP16.eps):
        yield (
            "You add in FP16, which has three bits more than BF16 and still too few. Add in FP32.",
            "adds-in-fp16",
        )
    quotients = [loss / count for loss in losses]
    rounded = f"You divide each loss in {fmt.label}, which rounds the quotient"
    if math.isclose(got, math.fsum(quotients), rel_tol=EXACT):
        yield f"{rounded}. Convert each loss before you divide.", "divides-in-16-bit"
    if got == _added(quotients, fmt.dtype).item():
        yield f"{rounded}, and add in {fmt.label}. Convert each loss first.", "divides-in-16-bit"
    if got == _running_mean(losses):
        yield (
            f"You keep a running mean in {fmt.label}: soon its corrections are smaller than half a step of "
            "the mean, and lost. Keep it in FP32.",
            "running-mean-in-16-bit",
        )
    if got == torch.tensor(true, dtype=fmt.dtype).item():
        yield (
            f"The sum is right; the mean was rounded to {fmt.label} at the end and is off by "
            f"{100 * abs(got / true - 1):.2g} %. torch adds 16-bit tensors up in FP32, but "
            "gives the result in their dtype. Convert first.",
            "rounds-the-result",
        )
    yield from _miscounted(got, losses, total)
    if got == math.floor(true):
        yield "You keep only the whole part: divide with /, not with //.", "whole-part-only"
    if got in _decimals(true):
        yield "It looks rounded to decimals. Return it as it is.", "rounds-to-decimals"
    if abs(got / true - 1) < 0.02 and got == torch.tensor(got, dtype=torch.float64).to(fmt.dtype).item():
        article = "an" if fmt is FP16 else "a"
        yield (
            f"It is {article} {fmt.label} number: somewhere you still compute in {fmt.label}. Convert each "
            "loss to FP32 first.",
            "still-in-16-bit",
        )


def _miscounted(got, losses, total):
    """One loss too few or too many in the sum, or in the number it is divided by."""
    count = len(losses)

    def is_just(value):  # 999 / 1,000 and 1,000 / 1,001 are a millionth apart
        return math.isclose(got, value, rel_tol=3e-7)

    for value in (losses[0].item(), losses[-1].item()) if count > 1 else ():
        if is_just((total - value) / count) or _near(got, (total - value) / (count - 1)):
            yield "One loss is missing from your sum.", "leaves-one-out"
        if is_just((total + value) / count):
            yield "One loss is in your sum twice.", "counts-one-twice"
    for other in (count - 1, count + 1):
        if other and is_just(total / other):
            yield f"You divide by {other:,}; there are {count:,} losses.", "another-count"


def _decimals(mean):
    return [round(mean, digits) for digits in range(1, 7)]


def _keeps_decimals(mean_loss, losses):
    """Whether the mean of these few losses is rounded to decimals too, and not only happens to look so."""
    return _aside(mean_loss, losses) in _decimals(math.fsum(loss.item() for loss in losses) / len(losses))


def _follows(mean_loss, dtype):
    """Whether one loss of 5.5625 has about that as its mean: else the answer rounds nothing."""
    return abs(_aside(mean_loss, [torch.tensor(5.5625, dtype=dtype)]) - 5.5625) < 0.6


def _aside(mean_loss, losses):
    """What mean_loss gives of these, to name a mistake; NaN where it fails, which says nothing here."""
    try:
        return float(mean_loss([loss.clone() for loss in losses]))
    except Exception:
        return math.nan


def _near(got, value):
    return math.isclose(got, value, rel_tol=1e-6)


def _added(losses, dtype):
    total = torch.zeros((), dtype=dtype)
    for loss in losses:
        total += loss.to(dtype)
    return total


def _running_mean(losses):
    mean = torch.zeros((), dtype=losses[0].dtype)
    for count, loss in enumerate(losses, start=1):
        mean += (loss - mean) / count
    return mean.item()
