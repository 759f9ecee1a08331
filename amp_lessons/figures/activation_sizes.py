"""How large the activations of each layer are, beside the largest number of FP16."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from amp_lessons.figures.checked import as_number
from amp_lessons.figures.picture import Picture
from amp_lessons.figures.style import (
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
from amp_lessons.figures.words import listed, number
from amp_lessons.formats import FORMATS, FP16

_EXAMPLE = 'for example {"conv1": 12.5, "conv2": 70_000.0}'
_LONGEST_NAME = 24  # characters
_MANY = 12  # layers; more than these stand closer and in smaller type


@dataclass(frozen=True)
class _Layer:
    name: str
    largest: float
    beyond: bool  # whether it passes the limit


@house_style()
def activation_sizes(largest: Mapping[str, float], limit: float = FP16.largest) -> Picture:
    """Draw the largest activation of every layer over powers of two, with FP16's largest number as a line.

    ``largest`` maps each layer's name, in forward order, to the largest absolute value that it took or gave
    in one forward pass: a number or a tensor with one. Infinity is drawn at the right edge, NaN (what comes
    of infinities) too, each with its word. ``limit`` is where the line stands, FP16's largest number by
    default. Raises ValueError where nothing is given, a value is negative or no number, or the limit is not
    finite and above 0.
    """
    if not isinstance(largest, Mapping):
        raise ValueError(f"give a dict from layers to numbers, not {largest!r}: {_EXAMPLE}")
    if not largest:
        raise ValueError(f"give at least one layer: {_EXAMPLE}")
    limit = _number("the limit", limit)
    if not 0 < limit < math.inf:
        raise ValueError(f"the limit is {limit:g}: it must be finite and above 0")
    layers = []
    for name, value in largest.items():
        value = _number(f"the largest activation of {str(name)!r}", value)
        layers.append(_Layer(str(name), value, value > limit))
    figure, axes = new_figure(8.6, 1.65 + (0.34 if len(layers) <= _MANY else 0.25) * len(layers))
    _draw(axes, layers, limit)
    set_message(figure, _title(layers, limit))
    return Picture(figure, _alt(layers, limit), _caption(layers, limit))


def _number(what, value):
    value = as_number(value, f"{what} must be a single number, not {value!r}")
    if value < 0:
        raise ValueError(f"{what} is {value:g}: give absolute values, as tensor.abs().max() does")
    return value


def _draw(axes, layers, limit):
    exponents = [math.log2(each.largest) for each in layers if 0 < each.largest < math.inf]
    edge = math.log2(limit)
    low = math.floor(min([*exponents, edge - 4])) - 1
    high = math.ceil(max([*exponents, edge + 3])) + 1
    axes.set_xlim(low, high)
    axes.set_ylim(len(layers) - 0.4, -0.6)  # the first layer on top
    axes.axvspan(edge, high, color=tint(LOST, 0.2), linewidth=0, zorder=0)
    axes.axvline(edge, color=INK, linewidth=1.8, zorder=2)
    axes.annotate(
        f"{_what(limit)}: {number(limit)}",
        (edge, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=11,
        color=INK,
    )
    for place, layer in enumerate(layers):
        _draw_layer(axes, place, layer, limit, 11.5 if len(layers) <= _MANY else 10)
    axes.set_yticks(range(len(layers)), _short([layer.name for layer in layers]))
    axes.tick_params(axis="y", length=0, pad=9, labelsize=11 if len(layers) <= _MANY else 9.5)
    step = next(step for step in (2, 4, 5, 10, 20, 50, 100, 200, 500) if (high - low) / step <= 10)
    power_ticks(axes.xaxis, [exponent for exponent in range(-1100, 1101, step) if low <= exponent <= high])
    axes.set_xlabel("largest |activation|")


def _draw_layer(axes, place, layer, limit, fontsize):
    """A line from the left with a marker at its end, and the number in words at the right of the axes."""
    low, high = axes.get_xlim()
    if math.isfinite(layer.largest):
        end = math.log2(layer.largest) if layer.largest else low
        marker = "X" if layer.beyond else "o"
    else:
        end, marker = high, ">" if layer.beyond else "x"
    colour = LOST if layer.beyond or math.isnan(layer.largest) else KEPT
    if not math.isnan(layer.largest):
        axes.plot([low, end], [place, place], color=colour, linewidth=3.5, solid_capstyle="butt", zorder=3)
    axes.plot(end, place, marker, color=colour, markersize=9, markeredgecolor=INK, clip_on=False, zorder=5)
    axes.annotate(
        _value_text(layer) + (f", over {_what(limit).removesuffix(' number')}" if layer.beyond else ""),
        (1.03, place),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=fontsize,
        fontweight="bold" if layer.beyond else "normal",
        color=INK if layer.beyond else MUTED,
        annotation_clip=False,
    )


def _value_text(layer):
    """Three digits; whole numbers from 1,000 on, so that 65,520 is told from 65,504."""
    if 1000 <= layer.largest < 1e6:
        return f"{layer.largest:,.0f}"
    return number(float(f"{layer.largest:.3g}"))


def _what(limit):
    """The limit in words: whose largest number it is."""
    for fmt in FORMATS.values():
        if limit == fmt.largest:
            return f"{fmt.label}'s largest number"
    return "the limit"


def _short(names):
    """Names that fit beside the axis and stay apart: long ones by their ends, by both ends or counted."""
    shown = [_end(name) for name in names]
    for shorten in (_ends, lambda place, name: f"{place + 1}: {_end(name)}"):
        known = Counter(shown)
        shown = [
            shorten(place, names[place]) if known[text] > 1 and text != names[place] else text
            for place, text in enumerate(shown)
        ]
    return shown


def _ends(_, name):
    half = _LONGEST_NAME // 2
    return f"{name[: half - 1]}…{name[-half:]}"


def _end(name):
    """The end of a long name, from a dot on where there is one: it is what tells most layers apart."""
    if len(name) <= _LONGEST_NAME:
        return name
    end = name[1 - _LONGEST_NAME :]
    dot = end.find(".", 0, _LONGEST_NAME // 2)
    return "…" + end[dot + 1 :]  # find gives -1 where there is none


def _title(layers, limit):
    beyond = sum(layer.beyond for layer in layers)
    undefined = sum(math.isnan(layer.largest) for layer in layers)
    if beyond == 0:
        words = f"No layer passes {_what(limit)}"
    elif beyond == len(layers) > 1:
        words = f"{'Both' if beyond == 2 else f'All {beyond}'} layers pass {_what(limit)}"
    else:
        words = f"{beyond} of {len(layers)} layers {'passes' if beyond == 1 else 'pass'} {_what(limit)}"
    return words + (f", {undefined} {'gives' if undefined == 1 else 'give'} NaN" if undefined else "")


def _alt(layers, limit):
    values = ", ".join(f"{layer.name} {_value_text(layer)}" for layer in layers)
    return f"{_MEASURED}: {values}. {_who_passes(layers, limit, len(layers))}"


def _caption(layers, limit):
    """What the alternative text says, without the numbers that stand in the figure."""
    return f"{_MEASURED}. {_who_passes(layers, limit, 4)}"


_MEASURED = "The largest absolute activation at each layer, in forward order"


def _who_passes(layers, limit, at_most):
    """Name the layers over the limit, ``at_most`` of them, and count the others."""
    names = [layer.name for layer in layers if layer.beyond]
    if len(names) > at_most:
        names = [*names[: at_most - 1], f"{len(names) - at_most + 1} more"]
    return f"Over {_what(limit)}, {number(limit)}: {listed(names) if names else 'none'}."
