"""Number formats drawn on number lines: how far each reaches, and how fine it is around 1."""

import math

import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle

from amp_lessons.figures.picture import Picture
from amp_lessons.figures.style import (
    INK,
    LOST,
    MUTED,
    PRECISION_COLOURS,
    house_style,
    new_figure,
    power_ticks,
    set_message,
    tint,
)
from amp_lessons.figures.words import number, small_percent
from amp_lessons.formats import format_of, power_of_two, round_to


@house_style()
def format_ranges(formats=("fp32", "fp16", "bf16")) -> Picture:
    """Draw the range of each format as a bar on one log2 axis, with its mantissa bits beside it.

    The solid part holds normal numbers, the fading part subnormal ones, which lose a bit of precision with
    each power of two. The cliffs at both ends are labelled. ``formats`` are names, dtypes or ``Format``
    objects.
    """
    chosen = [format_of(fmt) for fmt in formats]
    if not chosen:
        raise ValueError('name at least one format, for example formats=("fp32", "fp16")')
    figure, (axes, bits) = new_figure(9.0, 1.6 + 0.95 * len(chosen), ncols=2, width_ratios=(2.75, 1))
    for row, fmt in enumerate(chosen):
        _range_bar(axes, row, fmt)
        _mantissa_squares(bits, row, fmt)
    lowest = min(math.log2(fmt.smallest_subnormal) for fmt in chosen)
    highest = max(math.log2(fmt.largest) for fmt in chosen)
    width = highest - lowest
    axes.set(xlim=(lowest - 0.28 * width, highest + 0.25 * width), ylim=(len(chosen) - 0.35, -0.65))
    axes.set_yticks(range(len(chosen)), [fmt.label for fmt in chosen], fontsize=14, fontweight="bold")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    step = 50 if width > 150 else 10
    power_ticks(axes.xaxis, range(math.ceil(lowest / step) * step, int(highest) + 1, step))
    axes.set_xlabel("magnitude of a number (powers of two)")
    set_message(figure, _range_title(chosen))
    axes.set_title("range: the exponent", fontsize=12, fontweight="normal", color=MUTED)
    bits.set_title("precision: the mantissa", fontsize=12, fontweight="normal", color=MUTED)
    bits.set(xlim=(0, max(12.2, max(fmt.mantissa_bits for fmt in chosen) / 2 + 1)), ylim=axes.get_ylim())
    bits.set_axis_off()
    return Picture(
        figure,
        "Ranges on one log2 axis. "
        + " ".join(
            f"{fmt.label}: largest {number(fmt.largest)}, normal down to {_power(fmt.smallest_normal)}, "
            f"subnormal down to {_power(fmt.smallest_subnormal)}, {fmt.mantissa_bits} mantissa bits "
            f"(steps of {_power(fmt.eps)} above 1)."
            for fmt in chosen
        ),
    )


def _span(fmt) -> int:
    return round(math.log2(fmt.largest) - math.log2(fmt.smallest_subnormal))


def _range_title(chosen) -> str:
    spans = {fmt.label: _span(fmt) for fmt in chosen}
    (first, span), *others = sorted(spans.items(), key=lambda item: item[1])
    return ", ".join([f"{first} covers {span} powers of two", *(f"{label} {span}" for label, span in others)])


def _power(value: float) -> str:
    return power_of_two(round(math.log2(value)))


def _range_bar(axes, row, fmt):
    colour = PRECISION_COLOURS[fmt.name]
    tiny, normal, top = (math.log2(v) for v in (fmt.smallest_subnormal, fmt.smallest_normal, fmt.largest))
    axes.add_patch(Rectangle((normal, row - 0.2), top - normal, 0.4, facecolor=colour, linewidth=0))
    fade = np.array([[tint(colour, strength) for strength in np.linspace(0.12, 0.75, fmt.mantissa_bits)]])
    axes.imshow(
        fade, extent=(tiny, normal, row - 0.2, row + 0.2), aspect="auto", interpolation="nearest", zorder=2
    )
    axes.plot([tiny, tiny], [row - 0.2, row + 0.2], color=INK, linewidth=2)
    axes.plot([top, top], [row - 0.2, row + 0.2], color=INK, linewidth=2)
    over = number(fmt.overflow_limit)
    ends = (
        (
            tiny,
            -6,
            "right",
            _power(fmt.smallest_subnormal),
            f"0 up to {_power(fmt.flush_limit)}",
        ),
        (top, 6, "left", number(fmt.largest), f"∞ from {over}" if over != number(fmt.largest) else "∞ above"),
    )
    for place, shift, side, last, beyond in ends:
        for height, text, colour in ((7, last, INK), (-7, beyond, MUTED)):
            axes.annotate(
                text,
                (place, row),
                xytext=(shift, height),
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=10.5,
                color=colour,
            )
    axes.annotate(
        f"normal from {_power(fmt.smallest_normal)}",
        (normal, row + 0.2),
        xytext=(-1, -3),
        textcoords="offset points",
        ha="left",
        va="top",
        fontsize=10,
        color=MUTED,
    )


def _mantissa_squares(axes, row, fmt):
    for bit in range(fmt.mantissa_bits):
        axes.add_patch(
            Rectangle((bit / 2, row - 0.16), 0.38, 0.2, facecolor=PRECISION_COLOURS[fmt.name], linewidth=0)
        )
    axes.text(
        0,
        row + 0.27,
        f"{fmt.mantissa_bits} bits: steps of {small_percent(fmt.eps)}",
        fontsize=10.5,
        va="center",
    )


@house_style()
def around_one(fmt: str = "fp16") -> Picture:
    """Draw the representable numbers around 1 and where three sums land: 1 ± half a step, and 1 + 1e-4.

    Below 1 the numbers lie half as far apart as above it. Where each sum lands is computed with
    ``formats.round_to``; 1e-4 is replaced by a tenth of a step in a format that can hold 1 + 1e-4.
    """
    fmt = format_of(fmt)
    unit = fmt.eps / 2  # the spacing below 1; the drawing's unit
    small = 1e-4 if 1e-4 < unit else fmt.eps / 10
    half = power_of_two(round(math.log2(unit)))
    sums = [
        (f"1 − {half}", -unit),
        (f"1 + {number(small) if small >= 1e-3 else f'{small:.0e}'.replace('e-0', 'e-')}", small),
        (f"1 + {half}", unit),
    ]
    landed = [(round_to(1 + offset, fmt) - 1) / unit for _, offset in sums]

    figure, axes = new_figure(8.6, 3.9)
    axes.set(xlim=(-2.5, 2.6), ylim=(-1.05, 2.15))
    axes.set_axis_off()
    axes.axhline(0, color=MUTED, linewidth=1.6, zorder=1)
    colour = PRECISION_COLOURS[fmt.name]
    for place in (-2, -1, 0, 2):
        assert round_to(1 + place * unit, fmt) == 1 + place * unit  # each dot is a number of the format
        axes.plot(place, 0, marker="o", markersize=15 if place == 0 else 11, color=colour, zorder=3)
        axes.text(
            place,
            -0.3,
            _place_name(place, unit),
            ha="center",
            va="top",
            fontsize=12 if place else 15,
            fontweight="bold" if place == 0 else "normal",
        )
    for left, right, spacing in ((-2, -1, unit), (0, 2, 2 * unit)):
        axes.annotate(
            "", (left, -0.78), (right, -0.78), arrowprops={"arrowstyle": "<->", "color": MUTED, "lw": 1.5}
        )
        axes.text(
            (left + right) / 2,
            -0.84,
            f"{_power(spacing)} apart",
            ha="center",
            va="top",
            fontsize=11,
            color=MUTED,
        )
    heights = (1.05, 1.75, 1.05)
    for (name, offset), target, height in zip(sums, landed, heights):
        _landing(axes, name, offset / unit, target, height)
    set_message(figure, f"{fmt.label}'s steps are half as wide below 1 as above it")
    return Picture(
        figure,
        (
            f"Number line of {fmt.label} around 1. The numbers lie {_power(unit)} apart below 1 and "
            f"{_power(2 * unit)} apart "
            "above it. "
            + " ".join(
                f"{name} becomes {_landed_name(target, unit)}." for (name, _), target in zip(sums, landed)
            )
        ),
    )


def _place_name(place, unit):
    if place == 0:
        return "1"
    power = round(math.log2(abs(place) * unit)) if abs(place) in (1, 2, 4) else None
    size = power_of_two(power) if power is not None else f"{abs(place)}·{_power(unit)}"
    return f"1 {'−' if place < 0 else '+'} {size}"


def _landed_name(target, unit):
    return _place_name(round(target), unit)


def _landing(axes, name, start, target, height):
    """Draw where a sum is on the line (a cross), its name above, and an arrow to where it is rounded."""
    kept = start == target
    colour = INK if kept else LOST
    outcome = "kept" if kept else "becomes 1"
    shift = 0.3 if start >= 1 else 0
    axes.plot([start, start + shift], [0.02, height], color=MUTED, linewidth=1, linestyle=":", zorder=1)
    axes.text(
        start + shift,
        height + 0.08,
        f"{name}\n{outcome}",
        ha="center",
        va="bottom",
        fontsize=13,
        fontweight="bold",
        linespacing=1.35,
    )
    if kept:
        axes.plot(
            start,
            0,
            marker="o",
            markersize=20,
            markerfacecolor="none",
            markeredgecolor=INK,
            markeredgewidth=2,
        )
        return
    axes.plot(start, 0, marker="x", markersize=10, markeredgewidth=2.6, color=INK, zorder=5)
    if start - target < 0.1:  # the cross lies on the dot: no room for an arrow, and no need
        return
    axes.add_patch(
        FancyArrowPatch(
            (start, 0.1),
            (target + 0.03, 0.16),
            arrowstyle="-|>",
            mutation_scale=18,
            linewidth=2.4,
            color=colour,
            connectionstyle=f"arc3,rad={0.55 if start > 0.5 else 0.9}",
            zorder=4,
        )
    )
