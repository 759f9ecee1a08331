"""What lives in memory during one training step, from operation to operation."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.markers import CARETDOWN
from matplotlib.patches import Patch

from amp_lessons.figures.picture import Picture
from amp_lessons.figures.style import (
    INK,
    MUTED,
    PRECISION_COLOURS,
    house_style,
    new_figure,
    set_message,
    wrapped,
)
from amp_lessons.figures.words import listed, number
from amp_lessons.formats import as_float
from amp_lessons.memory import StepMemory, text

MOST_STEPS = 4
MOST_MOMENTS = 300  # a phase drawn with more would be no clearer
_PHASES = {"forward": ("forward", 1.0), "backward": ("backward", 1.2), "optimizer step": ("step", 0.7)}


@dataclass(frozen=True)
class _Layer:
    name: str  # as it stands in the figure
    kinds: tuple[str, ...]
    colour: str
    hatch: str = ""
    ink: str = INK

    def size(self, living):
        return sum(living[kind] for kind in self.kinds)


# From the bottom: first what is there all the time. No precision has these colours, and patterns help them.
_LAYERS = (
    _Layer("parameters", ("parameters",), "#5B6B7F", ink="white"),
    _Layer("optimizer state", ("optimizer state",), "#A9B4C0"),
    _Layer("gradients", ("gradients",), "#8FD0F2", "///"),
    _Layer("data and activations", ("data", "activations"), "#F3E27A"),
    _Layer("weight copies", ("weight copies",), "#B79AC8", "\\\\\\"),
    _Layer("temporary", ("temporary",), "#DDD6CC", "..."),
)
_LABEL_SIZE = 11
_LETTER, _LINE = 0.1, 0.2  # inches: a label's mean width for a letter, and its height
_NARROW = 3.3  # inches; a panel this wide has no room for the long label of its axis
_LINES = 3  # of a panel's title
_UNIT = re.compile(r"(?<=\d) (?=[KMGTP]?i?B\b)")
_UNITS = {unit: 1024**power for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))}


@house_style()
def memory_timeline(steps: Mapping[str, StepMemory], limit: float | None = None) -> Picture:
    """Draw what lives during a training step, kind upon kind: a panel for each step, with the same scale.

    ``steps`` maps a label, such as "FP32", to what ``memory.trace_step`` or ``memory.would_need`` gave; at
    most 4. From left to right stand the operations of the step, in order, and a phase is as wide with many of
    them as with few. ``limit`` is a number of bytes, such as the memory of a GPU, drawn as a dashed line.

    Raises TypeError for what is no dict of StepMemory, and ValueError where there is none, there are over 4,
    or the limit is not a positive finite number.
    """
    steps = _checked(steps)
    if limit is not None:
        limit = as_float(limit)
        if not 0 < limit < float("inf"):
            raise ValueError(f"the limit is {limit:g}: give a number of bytes, for example 15e9 for 15 GB")
    width = 7.2 if len(steps) == 1 else min(11.5, 4.9 * len(steps))
    figure, panels = new_figure(width, 5.2, ncols=len(steps), sharey=True, squeeze=False)
    highest = max(1, 1.16 * max(step.peak for step in steps.values()), 1.08 * (limit or 0))
    unit = next(unit for unit, size in reversed(_UNITS.items()) if highest >= size)
    inches = (width - 0.9) / len(steps) - 0.15, 3.6  # of a panel, near enough to place words
    missing = []
    for axes, (label, step) in zip(panels[0], steps.items()):
        axes.set(ylim=(0, highest / _UNITS[unit]), xlim=(0, max(end for _, end in _spans(step).values())))
        missing += _draw(axes, step, _UNITS[unit], inches)
        _mark_phases(axes, step, inches[0] < _NARROW)
        _mark_peak(axes, step, _UNITS[unit])
        lines = wrapped(label, inches[0], 13).split("\n")
        axes.set_title("\n".join(lines[:_LINES]) + "…" * (len(lines) > _LINES), fontsize=13)
        if limit:
            axes.axhline(limit / _UNITS[unit], color=INK, linewidth=1.6, linestyle=(0, (5, 3)), zorder=4)
    if limit:
        _name_limit(panels[0, 0], limit / _UNITS[unit], limit, next(iter(steps.values())))
    panels[0, 0].set_ylabel(f"memory of tensors, {unit}")
    if missing:
        swatches = [
            Patch(facecolor=layer.colour, hatch=layer.hatch, edgecolor=MUTED, linewidth=0.8, label=layer.name)
            for layer in _LAYERS
            if layer in missing
        ]
        columns = len(swatches) if len(swatches) * 1.9 < width else 3
        place = {"loc": "outside lower center", "ncols": columns, "fontsize": _LABEL_SIZE}
        figure.legend(handles=swatches, frameon=False, **place)
    title = _UNIT.sub("\u00a0", _title(steps, limit))  # a number and its unit stay together
    set_message(figure, title)
    return Picture(figure, _alt(steps, limit))


def _checked(steps):
    example = 'give a dict such as {"FP32": memory.trace_step(forward, optimizer)}'
    if not isinstance(steps, Mapping):
        raise TypeError(f"{example}, not {type(steps).__name__}")
    for label, step in steps.items():
        if not isinstance(step, StepMemory):
            raise TypeError(f"{str(label)!r} is a {type(step).__name__}, not a StepMemory: {example}")
    if not 1 <= len(steps) <= MOST_STEPS:
        raise ValueError(f"these are {len(steps)} steps: {example}, with 1 to {MOST_STEPS} steps")
    return {str(label): step for label, step in steps.items()}


def _spans(step):
    """For each phase that the step has: where it begins and ends on the x axis."""
    spans, begin = {}, 0.0
    present = {phase for phase, _ in step.timeline}
    for phase, (_, width) in _PHASES.items():
        if phase in present:
            spans[phase] = begin, begin + width
            begin += width
    return spans


def _moments(step):
    """x of each moment, and the moments as pairs (phase, dict from kind to bytes): each lasts to the next."""
    xs, moments = [], []
    for phase, (begin, end) in _spans(step).items():
        before = [] if not moments else [moments[-1][1]]  # a phase begins with what the last one has left
        living = _thinned([*before, *(living for at, living in step.timeline if at == phase)])
        xs += [begin + (end - begin) * place / len(living) for place in range(len(living))]
        moments += [(phase, each) for each in living]
    return xs, moments


def _thinned(moments):
    """At most MOST_MOMENTS of the moments, in order: of each stretch the highest and the lowest."""
    if len(moments) <= MOST_MOMENTS:
        return moments
    totals = [sum(living.values()) for living in moments]
    chosen = {len(moments) - 1}
    for part in np.array_split(np.arange(len(moments)), MOST_MOMENTS // 2 - 1):
        chosen |= {int(max(part, key=totals.__getitem__)), int(min(part, key=totals.__getitem__))}
    return [moments[place] for place in sorted(chosen)]


def _draw(axes, step, unit, inches):
    """Draw the layers. Give those that there was no room to name."""
    xs, moments = _moments(step)
    x = np.array([*xs, axes.get_xlim()[1]])
    bottom, unnamed = np.zeros(len(x)), []
    for layer in _LAYERS:
        sizes = [layer.size(living) / unit for _, living in moments]
        if not any(sizes):
            continue
        top = bottom + [*sizes, sizes[-1]]
        axes.fill_between(
            x, bottom, top, step="post", facecolor=layer.colour, hatch=layer.hatch, edgecolor="white",
            linewidth=0, zorder=1,
        )  # fmt: skip
        axes.plot(x, top, drawstyle="steps-post", color=INK, linewidth=0.7, zorder=2)
        place = _room(x, bottom, top, axes, len(layer.name) * _LETTER / inches[0], _LINE / inches[1])
        if place is None:
            unnamed.append(layer)
        else:
            axes.text(
                *place, layer.name, ha="center", va="center", fontsize=_LABEL_SIZE, zorder=4,
                color=layer.ink, bbox=_behind(layer.colour),
            )  # fmt: skip
        bottom = top
    return unnamed


def _behind(colour):
    return {"facecolor": colour, "edgecolor": "none", "boxstyle": "square,pad=0.12"}


def _room(x, bottom, top, axes, width, height):
    """The middle of the roomiest place of an area for words of this size, in shares of the panel, or None."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    width, height = width * (right - left), height * (high - low)
    best, place = height, None
    for middle in np.linspace(left + width / 2, right - width / 2, 120):
        first = np.searchsorted(x, middle - width / 2, side="right") - 1
        last = np.searchsorted(x, middle + width / 2, side="left")
        floor, ceiling = bottom[first:last].max(), top[first:last].min()
        if ceiling - floor > 1.02 * best:
            best, place = ceiling - floor, (middle, (floor + ceiling) / 2)
    return place


def _mark_phases(axes, step, narrow):
    axes.set_xticks([])
    for phase, (begin, end) in _spans(step).items():
        axes.annotate(
            _PHASES[phase][0], ((begin + end) / 2, 0), xytext=(0, -6), textcoords="offset points",
            ha="center", va="top", fontsize=_LABEL_SIZE, annotation_clip=False,
        )  # fmt: skip
        if begin:
            axes.axvline(begin, color=INK, linewidth=1, linestyle=(0, (1, 2)), zorder=3)
    label = "operations, in order" if narrow else "the operations of the step, in order"
    axes.set_xlabel(label, labelpad=20, color=MUTED, fontsize=_LABEL_SIZE)


def _peak_x(step):
    xs, moments = _moments(step)
    place = moments.index((step.peak_phase, step.at_peak))
    return (xs[place] + [*xs, xs[-1]][place + 1]) / 2


def _mark_peak(axes, step, unit):
    x = _peak_x(step)
    axes.plot([x], [step.peak / unit], marker=CARETDOWN, markersize=9, color=INK, zorder=6, clip_on=False)
    share = x / axes.get_xlim()[1]
    axes.annotate(
        f"peak {text(step.peak)}", (x, step.peak / unit), xytext=(0, 10), textcoords="offset points",
        ha="left" if share < 0.2 else "right" if share > 0.8 else "center", va="bottom", fontweight="bold",
        fontsize=_LABEL_SIZE, zorder=7, bbox=_behind("white"),
    )  # fmt: skip


def _name_limit(axes, height, limit, step):
    left = _peak_x(step) > axes.get_xlim()[1] / 2  # out of the way of the peak's own words
    axes.annotate(
        _limit_text(limit), (0 if left else 1, height), xycoords=axes.get_yaxis_transform(),
        xytext=(5 if left else -5, 6), textcoords="offset points", ha="left" if left else "right",
        fontweight="bold", fontsize=_LABEL_SIZE, zorder=5, bbox=_behind("white"),
    )  # fmt: skip


def _limit_text(limit):
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if limit >= size and limit % (size / 2) == 0:
            return f"{number(limit / size)} {unit}"
    return text(limit) if limit < 1e15 else f"{number(limit / 1e15)} PB"


def _title(steps, limit):
    peaks = {label: text(step.peak) for label, step in steps.items()}
    first, last = list(peaks)[0], list(peaks)[-1]
    if len(steps) == 1:
        message = f"The step peaks at {peaks[first]}, in {_where(steps[first])}"
    elif len(set(peaks.values())) == 1:
        message = f"{listed(peaks)}: the step peaks at {peaks[first]}"
    elif len(steps) == 2:
        how = "In" if last.lower() in PRECISION_COLOURS else "With"
        unit = peaks[first].split()[1]
        message = (
            f"{how} {last} the step peaks at {peaks[last].removesuffix(f' {unit}')} instead of {peaks[first]}"
        )
    else:
        message = "The step peaks at " + listed(f"{peak} ({label})" for label, peak in peaks.items())
    return message + (f"; {_fits(steps, limit)}" if limit else "")


def _fits(steps, limit):
    fitting = [label for label, step in steps.items() if step.peak <= limit]
    size = _limit_text(limit)
    if len(steps) == 1:
        return f"it fits into {size}" if fitting else f"that is more than {size}"
    if len(fitting) == len(steps):
        return f"{'both' if len(steps) == 2 else 'all'} fit into {size}"
    if not fitting:
        return f"{'neither fits' if len(steps) == 2 else 'none fits'} into {size}"
    return f"only {listed(fitting)} fit{'s' * (len(fitting) == 1)} into {size}"


def _where(step):
    return "the optimizer step" if step.peak_phase == "optimizer step" else step.peak_phase


def _alt(steps, limit):
    sentences = ["Memory of tensors from operation to operation of a training step."]
    for label, step in steps.items():
        parts = [
            f"{layer.name} {text(layer.size(step.at_peak))}" for layer in _LAYERS if layer.size(step.at_peak)
        ]
        name = f"{label}: the" if label else "The"
        sentences.append(
            f"{name} peak is {text(step.peak)}, in {_where(step)}: {listed(parts or ['nothing'])}."
        )
    if limit:
        fits = _fits(steps, limit)
        sentences.append(fits[0].upper() + fits[1:] + ".")
    return " ".join(sentences)
