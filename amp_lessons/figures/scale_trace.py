"""The loss scale at each step of training, with the steps that were skipped."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from amp_lessons.figures.picture import Picture
from amp_lessons.figures.style import INK, LOST, house_style, new_figure, set_message, tint
from amp_lessons.figures.words import listed, scale_text
from amp_lessons.formats import as_float, power_of_two

GROWN, SKIPPED = "#009E73", "#A8327A"
# One run after the other: a broad pale line first, so that both can be seen where they coincide.
_LINES = [
    {"color": tint(INK, 0.35), "linewidth": 5.5},
    {"color": "#0072B2", "linewidth": 2.2, "linestyle": (0, (4, 1.6))},
    {"color": "#E69F00", "linewidth": 2.2, "linestyle": (0, (1.2, 1.4))},
    {"color": "#CC79A7", "linewidth": 2.2, "linestyle": (0, (6, 1.5, 1.2, 1.5))},
    {"color": "#56B4E9", "linewidth": 2.2, "linestyle": (0, (2.5, 1))},
    {"color": "#D55E00", "linewidth": 2.2, "linestyle": (0, (6, 1.5, 1.2, 1.5, 1.2, 1.5))},
]
MOST_RUNS = len(_LINES)  # more could not be told apart
_WIDEST_TITLE = 62  # characters in a line


@dataclass(frozen=True)
class ScaleRun:
    """One run: the scale in use at each step (a float, also 0, inf or NaN), and whether it was skipped."""

    scales: list[float]
    skipped: list[bool]

    @property
    def growths(self) -> list[int]:
        """The places at which the scale is larger than one step before."""
        return [place for place, (a, b) in enumerate(zip(self.scales, self.scales[1:]), start=1) if b > a]

    @property
    def skips(self) -> list[int]:
        """The places of the steps that were skipped."""
        return [place for place, skipped in enumerate(self.skipped) if skipped]

    @property
    def first_taken(self) -> int | None:
        """The place of the first step that was not skipped, None if there is none."""
        return self.skipped.index(False) if False in self.skipped else None


@house_style()
def scale_trace(
    scales: Sequence[float] | Mapping[str, tuple],
    skipped: Sequence[bool] | None = None,
    title: str | None = None,
    labels: Sequence[str] | None = None,
) -> Picture:
    """Draw the loss scale against the step, on a log2 axis: crosses where a step was skipped.

    ``scales`` holds the scale in use at each step, counted from 0: read ``scaler.get_scale()`` before
    ``update()``. ``skipped`` holds one True or False for each step. Triangles mark where the scale has
    grown. A scale of 0 or infinity gets a row of its own, NaN leaves a gap.

    To compare runs, at most 6, give a dict ``{label: (scales, skipped)}``, or lists of both with ``labels``.
    ``title`` replaces the message that is made from the numbers. Raises ValueError where nothing is given,
    lengths differ, two runs share a label, a scale is negative or an entry of ``skipped`` is neither True nor
    False, and TypeError for what isn't a list of numbers.
    """
    runs = _runs(scales, skipped, labels)
    figure, axes = new_figure(8.4, 4.1)
    draw_scales(axes, runs)
    axes.set(xlabel="training step, counted from 0", ylabel="loss scale")
    names = axes.get_legend_handles_labels()[1]
    if names:
        columns = 5 if len("".join(names)) < 60 else 2
        place = {"loc": "lower left", "bbox_to_anchor": (-0.01, 0.99)}
        axes.legend(ncols=columns, frameon=False, fontsize=11.5, **place)
    set_message(figure, textwrap.fill(_title(runs) if title is None else str(title), _WIDEST_TITLE))
    return Picture(figure, " ".join(_sentences(label, run) for label, run in runs.items()))


def draw_scales(axes, runs: Mapping[str, ScaleRun], first_step: int = 0) -> None:
    """Draw the runs into ``axes``, with legend entries for what occurs; ``first_step`` is their first x."""
    place_of = _scale_axis(axes, [scale for run in runs.values() for scale in run.scales])
    longest = max(len(run.scales) for run in runs.values())
    size = 10 if longest <= 40 else 8 if longest <= 120 else 5.5
    single = len(runs) == 1
    grown, skipped = [], []
    for turn, (label, run) in enumerate(runs.items()):
        steps = range(first_step, first_step + len(run.scales))
        heights = [place_of(scale) for scale in run.scales]
        line = {"color": INK, "linewidth": 1.8} if single else _LINES[turn % len(_LINES)]
        axes.plot(steps, heights, drawstyle="steps-mid", label=None if single else label, zorder=2, **line)
        grown += [(steps[place], heights[place]) for place in run.growths]
        skipped += [(steps[place], heights[place]) for place in run.skips]
    if grown:  # as high as the scale has grown; a step skipped there has its cross on top
        axes.plot(
            *zip(*grown), marker="^", color=GROWN, markersize=1.6 * size, markerfacecolor=tint(GROWN, 0.25),
            markeredgewidth=1.8, linestyle="none", zorder=4, label="scale has grown",
        )  # fmt: skip
    if skipped:
        axes.plot(
            *zip(*skipped), marker="x", color=SKIPPED, markersize=size, markeredgewidth=2.4,
            linestyle="none", zorder=5, label="step skipped",
        )  # fmt: skip
    margin = max(0.6, longest / 80)
    axes.set_xlim(first_step - margin, first_step + max(longest, 4) - 1 + margin)
    axes.xaxis.get_major_locator().set_params(integer=True)


def _scale_axis(axes, scales):
    """Set the y axis for these scales, and return the function from a scale to its height."""
    exponents = [math.log2(scale) for scale in scales if 0 < scale < math.inf] or [0.0]
    low, high = math.floor(min(exponents)), math.ceil(max(exponents))
    if high - low < 2:
        low, high = low - 1, high + 1
    step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if (high - low) / step <= 6)
    ticks = {exponent: power_of_two(exponent) for exponent in range(high, low - 1, -step)}
    below, above = low - 2 * step, high + 2 * step
    if 0 in scales:
        ticks[below] = "0"
        axes.axhline(below, color=tint(LOST, 0.6), linewidth=1, zorder=1)
    if math.inf in scales:
        ticks[above] = "∞"
        axes.axhline(above, color=tint(LOST, 0.6), linewidth=1, zorder=1)
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.set_ylim(min(*ticks, low) - 0.8 * step, max(ticks) + 0.8 * step)

    def height(scale):
        if math.isnan(scale):
            return math.nan
        return below if scale == 0 else above if scale == math.inf else math.log2(scale)

    return height


def _runs(scales, skipped, labels):
    if labels is not None:
        scales, skipped, labels = list(scales), list(skipped or ()), [str(label) for label in labels]
        if not len(scales) == len(skipped) == len(labels):
            raise ValueError(
                f"{len(labels)} labels came with {len(scales)} lists of scales and {len(skipped)} of skips: "
                'give one of each for a run, for example {"PyTorch": (scales, skipped), ...}'
            )
        _refuse_shared(labels)
        scales, skipped = dict(zip(labels, zip(scales, skipped))), None
    if not isinstance(scales, Mapping):
        return {"": _run("", scales, skipped)}
    if skipped is not None:
        raise ValueError("with a dict of runs, put each run's skips into it: {label: (scales, skipped)}")
    if not scales:
        raise ValueError('give at least one run, for example {"PyTorch": (scales, skipped)}')
    if len(scales) > MOST_RUNS:
        raise ValueError(f"these are {len(scales)} runs: draw at most {MOST_RUNS}, to tell them apart")
    _refuse_shared([str(label) for label in scales])
    runs = {}
    for label, pair in scales.items():
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise ValueError(f"run {str(label)!r} needs two lists: (scales, skipped)")
        runs[str(label)] = _run(f"run {str(label)!r}: ", *pair)
    return runs


def _refuse_shared(labels):
    shared = next((label for label in labels if labels.count(label) > 1), None)
    if shared is not None:
        raise ValueError(f"two runs have the label {shared!r}: give each run a label of its own")


def _run(whose, scales, skipped):
    scales, skipped = (
        _numbers(whose + what, values) for what, values in (("scales", scales), ("skipped", skipped))
    )
    if not scales:
        raise ValueError(f"{whose}there is no step to draw: give the scale of at least one step")
    for one in skipped:
        if one not in (0, 1) and len(scales) == len(skipped):
            raise ValueError(
                f"{whose}an entry of `skipped` is {one:g}, not True or False. "
                "The order is scale_trace(scales, skipped)."
            )
    if len(scales) != len(skipped):
        raise ValueError(
            f"{whose}there are {len(scales)} scales and {len(skipped)} entries in `skipped`: it takes one "
            "True or False for each step, for example [step in skipped_steps for step in range(len(scales))]"
        )
    for scale in scales:
        if scale < 0:
            raise ValueError(f"{whose}there is a scale of {scale:g}: a loss scale is never negative")
    return ScaleRun(scales, [bool(one) for one in skipped])


def _numbers(what, values):
    try:
        values = list(values)
    except TypeError:
        raise TypeError(f"{what} is a list with one entry for each step, not {values!r}") from None
    return [as_float(value) for value in values]


def _title(runs):
    if len(runs) == 1:
        return _title_of_one(next(iter(runs.values())))
    title = _title_of_several(runs)
    return title if len(title) <= 2 * _WIDEST_TITLE else f"{len(runs)} runs and their loss scales"


def _title_of_one(run):
    count, steps, start, end = len(run.skips), len(run.scales), power(run.scales[0]), power(run.scales[-1])
    course = f"stays at {end}" if len(set(run.scales)) == 1 else f"goes from {start} to {end}"
    if not count:
        return f"No step is skipped, and the scale {course}"
    if count == steps:
        return f"Every step is skipped, and the scale {course}"
    if run.first_taken == 0:
        return f"{count} of {_steps(steps)} {'is' if count == 1 else 'are'} skipped, and the scale {course}"
    first = "first step is" if run.first_taken == 1 else f"first {run.first_taken} steps are"
    if run.first_taken < count:
        return f"The {first} skipped, later {count - run.first_taken} more"
    settled = run.scales[count]
    return f"The {first} skipped" + (f", until the scale is down to {power(settled)}" if settled > 0 else "")


def _title_of_several(runs):
    labels, together = list(runs), min(len(run.scales) for run in runs.values())
    seen = [[_same(*pair) for pair in zip(run.scales, run.skipped)] for run in runs.values()]
    apart = next((step for step in range(together) if len({run[step] for run in seen}) > 1), None)
    if apart is None:
        what = "at every step" if len({len(run) for run in seen}) == 1 else f"over {_steps(together)}"
        return f"{listed(labels)} agree {what}: same scale, same skips"
    if apart:
        return f"{listed(labels)} part at step {apart}"
    return "Skipped: " + ", ".join(
        f"{len(run.skips)} of {_steps(len(run.scales))} ({label})" for label, run in runs.items()
    )


def _same(scale, skipped):
    return "NaN" if math.isnan(scale) else scale, skipped


def _sentences(label, run):
    steps = f"Loss scale{f' of {label}' if label else ''} over {_steps(len(run.scales))}"
    first, last = scale_text(run.scales[0]), scale_text(run.scales[-1])
    parts = [
        f"{steps}: it is {first} at first and {last} at the last step.",
        f"{_skips(run)}.",
    ]
    if run.growths:
        times = "once" if len(run.growths) == 1 else f"{len(run.growths)} times"
        parts.append(f"The scale grows {times}, first at step {run.growths[0]}.")
    for name, is_odd in (("0", (0.0).__eq__), ("infinite", math.isinf), ("NaN", math.isnan)):
        odd = [place for place, scale in enumerate(run.scales) if is_odd(scale)]
        if odd:
            parts.append(f"The scale is {name} at {_steps(len(odd))}, first at step {odd[0]}.")
    return " ".join(parts)


def _skips(run):
    if not run.skips:
        return "No step is skipped"
    if run.first_taken is None:
        return "Every step is skipped"
    skips = f"{_steps(len(run.skips))} {'is' if len(run.skips) == 1 else 'are'} skipped, marked by crosses"
    if run.first_taken:
        return f"{skips}; the first step taken is step {run.first_taken}"
    return f"{skips}, the first of them step {run.skips[0]}"


def _steps(count):
    return f"{count:,} step{'' if count == 1 else 's'}"


def power(scale: float) -> str:
    """Return a scale as short text: ``"2¹⁶"`` for a power of two, else the plain number."""
    return scale_text(scale).split(" = ")[0]
