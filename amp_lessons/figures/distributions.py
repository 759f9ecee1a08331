"""How gradient magnitudes lie between the cliffs of a 16-bit format."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from matplotlib.ticker import MaxNLocator

from amp_lessons.figures.picture import Picture
from amp_lessons.figures.style import (
    FADING,
    INK,
    KEPT,
    LOST,
    MUTED,
    house_style,
    new_figure,
    power_ticks,
    set_message,
    tint,
)
from amp_lessons.figures.words import listed, percent, scale_text
from amp_lessons.formats import Format, format_of, power_of_two
from amp_lessons.gradients import checked_scale, flat_fp32, magnitude_counts, share_flushed, share_overflowed


@dataclass(frozen=True)
class Distribution:
    """What a histogram of gradients says in numbers; shares are of the non-zero, finite values."""

    exponents: list[int]
    shares: list[float]
    total: int
    zeros: int
    not_finite: int
    flushed: float
    fading: float
    overflowed: float


def finite_values(values) -> tuple[torch.Tensor, int]:
    """Return all values as one flat float32 tensor without inf and NaN, and how many of those there were.

    ``values`` is a tensor or an iterable of tensors (a dict gives its values). Raises TypeError for
    anything else and ValueError if there is no value at all.
    """
    flat = flat_fp32(values.values() if isinstance(values, Mapping) else values).cpu()
    if flat.numel() == 0:
        raise ValueError(
            "there are no gradients in what you gave: run backward() first and pass its gradients"
        )
    finite = flat[flat.isfinite()]
    return finite, flat.numel() - finite.numel()


def distribution(values, scale: float, fmt: Format) -> Distribution:
    """Measure what ``fmt`` does to ``values * scale``; ``values`` as for ``finite_values``."""
    finite, not_finite = finite_values(values)
    exponents, counts, zeros = magnitude_counts(finite, scale)
    total = int(counts.sum())
    flushed = share_flushed(finite, scale, fmt)
    normal = math.log2(fmt.smallest_normal)
    below_normal = int(counts[exponents < normal].sum()) / total if total else 0.0
    return Distribution(
        [int(e) for e in exponents],
        [int(c) / max(total, 1) for c in counts],
        total,
        int(zeros),
        not_finite,
        flushed,
        max(0.0, below_normal - flushed),
        share_overflowed(finite, scale, fmt),
    )


def cliffs(fmt: Format) -> tuple[float, float, float]:
    """Return log2 of the flush limit, of the smallest normal number and of the overflow limit."""
    return math.log2(fmt.flush_limit), math.log2(fmt.smallest_normal), math.log2(fmt.overflow_limit)


def zone_colour(exponent: int, fmt: Format) -> str:
    """Return the colour of a histogram bar that begins at 2**exponent."""
    flush, normal, overflow = cliffs(fmt)
    if exponent < flush or exponent >= round(overflow):
        return LOST
    return FADING if exponent < normal else KEPT


def draw_cliffs(axes, fmt: Format, label: bool = True) -> None:
    """Shade what a format loses at both ends of an exponent axis, and name each zone at the top."""
    flush, normal, overflow = cliffs(fmt)
    low, high = axes.get_xlim()
    for left, right, colour, words in (
        (low, flush, LOST, "zero"),
        (flush, normal, FADING, "fewer bits"),
        (normal, overflow, None, "full precision"),
        (overflow, high, LOST, "infinity"),
    ):
        if colour:
            axes.axvspan(left, right, color=tint(colour, 0.2), linewidth=0, zorder=0)
        if words == "infinity" and (right - left) / (high - low) <= 0.0105 * len(words):
            words = "∞"
        if label and (right - left) / (high - low) > 0.0105 * len(words):
            axes.annotate(
                words,
                ((left + right) / 2, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=11,
                color=INK,
            )
    for edge in (flush, overflow):
        axes.axvline(edge, color=INK, linewidth=1.8, zorder=4)
    axes.axvline(normal, color=MUTED, linewidth=1.2, linestyle="--", zorder=4)


@house_style()
def gradient_magnitudes(values, scale: float = 1.0, fmt: str = "fp16", title: str | None = None) -> Picture:
    """Draw a histogram of ``|g| * scale`` over powers of two, with the cliffs of ``fmt`` drawn in.

    ``values`` is a tensor, a list of tensors (one histogram) or a dict from label to tensor (one histogram
    below the other). Lost are values at and below the flush limit (they become 0) and at and above the
    overflow limit (infinity). Exact zeros were zero in FP32 already; they are counted and named, not drawn.
    """
    fmt, scale = format_of(fmt), checked_scale(scale)
    groups = dict(values) if isinstance(values, Mapping) else {"": values}
    if not groups:
        raise ValueError("there are no gradients in what you gave: the dict is empty")
    found = {str(label): distribution(group, scale, fmt) for label, group in groups.items()}
    # The scaled picture keeps room for the unscaled one, so that the two can be laid side by side.
    unscaled = [] if scale == 1 else [distribution(group, 1.0, fmt) for group in groups.values()]
    low, high = _limits([*found.values(), *unscaled], fmt)
    figure, rows = new_figure(
        8.6,
        1.75 + (2.3 if len(found) == 1 else 1.35 * len(found)),
        nrows=len(found),
        sharex=True,
        squeeze=False,
    )
    rows = rows[:, 0]
    rows[0].set_xlim(low, high)
    for axes, (label, one) in zip(rows, found.items()):
        _histogram(axes, one, fmt, low)
        draw_cliffs(axes, fmt, label=axes is rows[0])
        _write_lost(axes, label, one, fmt)
    power_ticks(rows[-1].xaxis, exponent_ticks(low, high, fmt))
    rows[-1].set_xlabel(
        "gradient magnitude |g|"
        if scale == 1
        else f"gradient magnitude after the loss scale, |g| × {scale_text(scale).split(' =')[0]}"
    )
    figure.supylabel("share of the non-zero values", fontsize=12)
    set_message(figure, title or _title(found, scale, fmt))
    return Picture(figure, _alt(found, scale, fmt))


def exponent_ticks(low: float, high: float, fmt: Format) -> list[int]:
    """Choose the tick labels of an exponent axis: the cliffs, then round ones that keep clear of them."""
    room = (high - low) * 0.05
    ticks = []
    flush, normal, overflow = (round(cliff) for cliff in cliffs(fmt))
    # Far enough for the product of any FP32 number and any Python float.
    step = next(step for step in (5, 10, 20, 50, 100, 200) if step >= room)
    for exponent in [flush, overflow, normal, *range(-1350, 1351, step)]:
        if low < exponent < high and all(abs(exponent - tick) >= room for tick in ticks):
            ticks.append(exponent)
    return sorted(ticks)


def _limits(found, fmt):
    """Choose the axis: all cliffs and all values; the smallest 0.2 % may gather in the first bar."""
    flush, _, overflow = cliffs(fmt)
    low, high = flush - 6, overflow + 4.5
    for one in found:
        rest = 0.002
        for exponent, share in zip(one.exponents, one.shares):
            rest -= share
            if rest < 0:
                low = min(low, exponent - 1)
                break
        if one.exponents:
            high = max(high, one.exponents[-1] + 2)
    return math.floor(low), math.ceil(high)


def _histogram(axes, one, fmt, low):
    bars = {}
    for exponent, share in zip(one.exponents, one.shares):
        bars[max(exponent, low)] = bars.get(max(exponent, low), 0) + share
    for exponent, share in bars.items():
        colour = zone_colour(exponent, fmt)
        axes.bar(
            exponent,
            share,
            width=1,
            align="edge",
            color=colour,
            edgecolor="white",
            linewidth=0.8,
            zorder=3,
            hatch="///" if colour == LOST else None,
        )
    axes.set_ylim(0, max(max(bars.values(), default=0.1) * 1.25, 0.01))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=3, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(lambda share, _: f"{share * 100:g} %")


def _write_lost(axes, label, one, fmt):
    """Write what is lost on the side of the full-precision zone where the bars leave room."""
    lines = [label] if label else []
    lines.append(f"{percent(one.flushed)} become 0" if one.total else _nothing_to_draw([one]))
    if one.overflowed:
        lines.append(f"{percent(one.overflowed)} become infinity")
    _, normal, overflow = cliffs(fmt)
    middle = (normal + overflow) / 2
    beside = [
        sum(share for exponent, share in zip(one.exponents, one.shares) if left <= exponent < right)
        for left, right in ((normal, middle), (middle, overflow))
    ]
    place, side = (overflow - 0.7, "right") if beside[1] <= beside[0] else (normal + 0.7, "left")
    axes.annotate(
        "\n".join(lines),
        (place, 0.93),
        xycoords=("data", "axes fraction"),
        ha=side,
        va="top",
        fontsize=12.5,
        fontweight="bold",
        linespacing=1.4,
        zorder=6,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 2},
    )


def _nothing_to_draw(found):
    if any(one.not_finite for one in found):
        return "No gradient is finite and other than zero"
    return "All gradients are zero already in FP32"


def _title(found, scale, fmt):
    lost = [one.flushed for one in found.values() if one.total]
    scaled = "" if scale == 1 else f" at loss scale {scale_text(scale).split(' =')[0]}"
    if not lost:
        return _nothing_to_draw(found.values())
    if max(lost) == 0:
        return f"{fmt.label} turns no gradient to 0{scaled}"
    most = percent(max(lost))
    up_to = "" if min(lost) == max(lost) or most.startswith("under") else "up to "
    return f"{fmt.label} turns {up_to}{most} of the gradients to 0{scaled}"


def _alt(found, scale, fmt):
    flush = power_of_two(round(math.log2(fmt.flush_limit)))
    normal = power_of_two(round(math.log2(fmt.smallest_normal)))
    times = "" if scale == 1 else f", times {scale_text(scale)}"
    parts = [
        f"Histogram of gradient magnitudes over powers of two{times}. "
        f"In {fmt.label}, values at and below {flush} become 0 and values below {normal} keep fewer bits."
    ]
    for label, one in found.items():
        happens = [f"{percent(one.flushed)} become 0"]
        if one.fading:
            happens.append(f"{percent(one.fading)} keep fewer bits")
        if one.overflowed:
            happens.append(f"{percent(one.overflowed)} become infinity")
        left_out = [f"{one.zeros:,} were zero already in FP32"] if one.zeros else []
        if one.not_finite:
            left_out.append(f"{one.not_finite:,} were infinite or NaN and are left out")
        name = f"{label}: of" if label else "Of"
        parts.append("; ".join([f"{name} {one.total:,} non-zero values {listed(happens)}", *left_out]) + ".")
    return " ".join(parts)
