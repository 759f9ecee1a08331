"""How fast matrix products are in each precision as they grow, and a reading true whatever was timed."""

import math
from collections.abc import Mapping
from html import escape
from numbers import Integral

from amp_lessons.figures.checked import as_number
from amp_lessons.figures.line_labels import label_ends
from amp_lessons.figures.picture import Picture
from amp_lessons.figures.precision_table import NOTICEABLE
from amp_lessons.figures.style import (
    PRECISION_COLOURS,
    PRECISION_MARKERS,
    house_style,
    new_figure,
    set_message,
    tint,
)
from amp_lessons.figures.words import listed, number, three_digits
from amp_lessons.timing import Timing

_EXAMPLE = 'for example {"FP32": {256: 0.001}, "BF16": {256: 0.0004}}'
_LABELS = ("FP32", "TF32", "FP16", "BF16")
LARGEST_SIZE = 2**63 - 1  # a tensor's size is a whole number of 64 bits
SHORTEST, LONGEST = 1e-12, 1e12  # seconds that may have been measured, generously


def product_speed(seconds: Mapping[str, Mapping[int, float]], device: str) -> "ProductSpeed":
    """Draw the rate of matrix products against their size, and say how the precisions compare with FP32.

    ``seconds`` maps "FP32", "TF32", "FP16" or "BF16" to ``{size: seconds}``: how long one product of two
    size × size matrices took. A precision may lack some sizes. The rate is 2·size³ operations (a product and
    a sum for each term) divided by the seconds. ``device`` is "cpu", "cuda", ...: it decides which reason for
    a slow format the reading may name. Raises ValueError where nothing is given, a precision is another, a
    size is no whole number from 1 to 2⁶³ − 1 or seconds are not from 10⁻¹² to 10¹².
    """
    if not isinstance(seconds, Mapping):
        raise ValueError(
            f"the seconds have to be a dict from precisions to dicts, not {seconds!r}: {_EXAMPLE}"
        )
    if not seconds:
        raise ValueError(f"give at least one precision: {_EXAMPLE}")
    return ProductSpeed({label: _checked(label, times) for label, times in seconds.items()}, str(device))


class ProductSpeed(Picture):
    """Displays as a figure with its reading below; ``print`` gives what it shows and the reading as text."""

    def __init__(self, seconds, device):
        # Always in the same order, so that the same sentence stands at the same place.
        self.seconds = {label: seconds[label] for label in _LABELS if label in seconds}
        self.device = device
        super().__init__(_draw(self.seconds), _alt(self.seconds), caption="")

    def reading(self) -> list[str]:
        """What was measured, one sentence or two for each precision."""
        if "FP32" not in self.seconds:
            return ["FP32 was not measured, so there is nothing to compare with."]
        others = [label for label in self.seconds if label != "FP32"]
        if not others:
            return ["Only FP32 was measured, so there is nothing to compare with it."]
        return [_compared(label, self.seconds, self.device) for label in others]

    def html(self) -> str:
        """Return the picture as ``<figure>`` and the reading as paragraphs below it."""
        words = "".join(f'<p style="margin:0.4em 0">{escape(sentence)}</p>' for sentence in self.reading())
        return (
            f'{super().html()}<div style="max-width:52em;line-height:1.4;'
            f'color:var(--jp-ui-font-color1, inherit)">{words}</div>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self.html(), "text/plain": repr(self)}

    def __repr__(self):
        return "\n".join([self.alt, *self.reading()])


def _checked(label, times):
    if label not in _LABELS:
        raise ValueError(f'there is no precision {label!r} here: use "FP32", "TF32", "FP16" or "BF16"')
    if not isinstance(times, Mapping) or not times:
        raise ValueError(
            f"the seconds of {label} have to be a dict such as {{256: 0.001}}, not {times!r}; leave {label} "
            "out if it was not measured"
        )
    for size in times:
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
            raise ValueError(f"{label} has a size {size!r}: a size is a whole number above 0, such as 256")
        if size > LARGEST_SIZE:
            raise ValueError(f"{label} has a size over 2⁶³ − 1: no tensor is so large")
    return {int(size): _number(f"{label} at size {size}", times[size]) for size in sorted(times)}


def _number(what, value):
    if isinstance(value, Timing):
        raise ValueError(f"{what} must be seconds, a single number, not a Timing: add .median")
    seconds = as_number(value, f"{what} must be a number of seconds, not {value!r}")
    if not 0 < seconds < math.inf:
        raise ValueError(f"{what} took {seconds:g} seconds: it must be finite and above 0")
    if not SHORTEST <= seconds <= LONGEST:
        raise ValueError(f"{what} took {seconds:g} seconds: nobody measures this, so check the unit")
    return seconds


def speed_ups(label: str, seconds: Mapping[str, Mapping[int, float]]) -> dict[int, float]:
    """How many times as fast as FP32 a precision is, by size, for the sizes that both have."""
    fp32, other = seconds.get("FP32", {}), seconds[label]
    return {size: fp32[size] / other[size] for size in other if size in fp32}


def _compared(label, seconds, device):
    ratios = speed_ups(label, seconds)
    if not ratios:
        return f"{label} and FP32 have no size in common, so they cannot be compared."
    smallest, largest = min(ratios), max(ratios)
    first, last = _as_fast(ratios[smallest]), _as_fast(ratios[largest])
    words = f"{label} compared with FP32: "
    if smallest == largest:
        words += f"at size {smallest:,} it {first}."
    elif first == last:
        words += f"at size {smallest:,} and at size {largest:,} it {first}. {_trend(list(ratios.values()))}"
    else:
        words += (
            f"at size {smallest:,} it {first}, at size {largest:,} it {last}. {_trend(list(ratios.values()))}"
        )
    if label == "FP16" and device == "cpu" and ratios[largest] < 1 / NOTICEABLE:
        words += " Many CPUs have no fast arithmetic for FP16; a GPU with tensor cores has."
    if label == "BF16" and device == "cuda" and ratios[largest] < 1 / NOTICEABLE:
        words += " NVIDIA GPUs below compute capability 8.0 only emulate BF16."
    return words


def _as_fast(ratio):
    if ratio > NOTICEABLE:
        return f"is {_times(ratio)} times as fast"
    if ratio < 1 / NOTICEABLE:
        return f"takes {_times(1 / ratio)} times as long"
    return "is about as fast"


def _times(ratio):
    return number(float(f"{ratio:.2g}"))


def _trend(ratios):
    """How the speed compared with FP32 changes from the smallest size to the largest; at least two ratios."""
    if _turns_back(ratios):
        low, high = (number(float(f"{ratio:.2g}")) for ratio in (min(ratios), max(ratios)))
        return f"From size to size its speed goes up and down, between {low} and {high} times that of FP32."
    change = ratios[-1] / ratios[0]
    if change > NOTICEABLE:
        return "As the products grow, it compares better."
    if change < 1 / NOTICEABLE:
        return "As the products grow, it compares worse."
    return "The size makes no clear difference."


def _turns_back(ratios):
    """Whether the ratios clearly go up at one place and clearly down at another."""
    lowest = highest = ratios[0]
    rises = falls = False
    for ratio in ratios:
        lowest, highest = min(lowest, ratio), max(highest, ratio)
        rises = rises or ratio / lowest > NOTICEABLE
        falls = falls or highest / ratio > NOTICEABLE
    return rises and falls


@house_style()
def _draw(seconds):
    rates = {
        label: {size: 2 * size**3 / took for size, took in times.items()} for label, times in seconds.items()
    }
    unit, per_unit = _unit(rates)
    figure, axes = new_figure(8.6, 4.4)
    sizes = sorted({size for times in seconds.values() for size in times})
    ends = []
    for place, (label, by_size) in enumerate(rates.items()):
        points = [(math.log2(size), math.log10(rate / per_unit)) for size, rate in by_size.items()]
        colour = PRECISION_COLOURS[label.lower()]
        rank = len(rates) - 1 - place  # wider below narrower: all can be seen where they coincide
        axes.plot(
            *zip(*points),
            color=colour,
            linewidth=2 + rank,
            marker=PRECISION_MARKERS[label.lower()],
            markersize=7.5 + 1.3 * rank,
            zorder=3 + place,
        )
        last = list(by_size)[-1]
        where = f" at {last:,}" if last != sizes[-1] else ""
        ends.append((*points[-1], f"{label}: {three_digits(by_size[last] / per_unit)} {unit}{where}", colour))
    _axis_of_sizes(axes, sizes)
    _axis_of_rates(axes)
    label_ends(axes, ends)
    axes.set(xlabel="size: rows and columns of each matrix", ylabel=f"rate in {unit}")
    axes.grid(axis="y", color=tint("#000000", 0.1), linewidth=1, zorder=0)
    set_message(figure, _title(seconds, rates))
    return figure


def _unit(rates):
    every = [rate for by_size in rates.values() for rate in by_size.values()]
    middle = math.sqrt(min(every)) * math.sqrt(max(every))
    return ("TFLOP/s", 1e12) if middle >= 5e11 else ("GFLOP/s", 1e9)


def _axis_of_sizes(axes, sizes):
    """A tick at every size, labelled where there is room."""
    exponents = [math.log2(size) for size in sizes]
    low, high = exponents[0] - 0.25, exponents[-1] + 0.25
    if len(sizes) == 1:
        low, high = low - 0.75, high + 0.75
    axes.set_xlim(low, high)
    labels, right_edge = [], -math.inf
    for exponent, size in zip(exponents, sizes):
        half = 0.0105 * len(f"{size:,}") * (high - low)  # half the width of the label, as 5.5 inches show it
        fits = exponent - half > right_edge
        labels.append(f"{size:,}" if fits else "")
        right_edge = exponent + half if fits else right_edge
    axes.set_xticks(exponents, labels)


def _axis_of_rates(axes):
    """Plain numbers on an axis of log10: every power of ten, and 2 and 5 between where it spans few."""
    low, high = axes.get_ylim()
    if high - low < 0.7:  # equal rates: leave room to see that they are
        low, high = (low + high) / 2 - 0.35, (low + high) / 2 + 0.35
    low, high = low - 0.06 * (high - low), high + 0.06 * (high - low)
    digits = (1, 2, 5) if high - low < 3 else (1,)
    step = max(1, math.ceil((high - low) / 6))
    ticks = [
        digit * 10.0**exponent
        for exponent in range(math.floor(low) - 1, math.ceil(high) + 1)
        for digit in digits
        if exponent % step == 0 and low <= math.log10(digit) + exponent <= high
    ]
    axes.set_ylim(low, high)
    axes.set_yticks([math.log10(tick) for tick in ticks], [number(tick) for tick in ticks])


def _rate_text(rate):
    unit, per_unit = ("TFLOP/s", 1e12) if rate >= 1e12 else ("GFLOP/s", 1e9)
    return f"{three_digits(rate / per_unit)} {unit}"


def _title(seconds, rates):
    """The largest gain over FP32, or that there is none, each at the largest size that both have."""
    ratios = {label: speed_ups(label, seconds) for label in seconds if label != "FP32"}
    ratios = {label: by_size for label, by_size in ratios.items() if by_size}
    if not ratios:
        label, by_size = max(rates.items(), key=lambda item: max(item[1].values()))
        size = max(by_size, key=by_size.get)
        return f"{label} reaches {_rate_text(by_size[size])} at size {size:,}"
    at_largest = {label: by_size[max(by_size)] for label, by_size in ratios.items()}
    best = max(at_largest, key=at_largest.get)
    if at_largest[best] > NOTICEABLE:
        return f"At size {max(ratios[best]):,}, {best} is {_times(at_largest[best])} times as fast as FP32"
    if at_largest[best] < 1 / NOTICEABLE:
        verb = "takes" if len(at_largest) == 1 else "take"
        return f"{listed(at_largest)} {verb} longer than FP32 at the largest size"
    return f"No clear gain over FP32 at the largest size in {' or '.join(at_largest)}"


def _alt(seconds):
    parts = []
    for label, times in seconds.items():
        sizes = list(times)
        text = f"{label} {_rate_text(2 * sizes[0] ** 3 / times[sizes[0]])} at size {sizes[0]:,}"
        if len(sizes) > 1:
            text += f", {_rate_text(2 * sizes[-1] ** 3 / times[sizes[-1]])} at size {sizes[-1]:,}"
        parts.append(text)
    return f"Rate of a product of two square matrices against their size: {'; '.join(parts)}."
