"""The look of every figure: one colour and one marker for each precision, in every lesson."""

import contextlib
import math
from collections.abc import Iterable

import matplotlib
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from amp_lessons.formats import power_of_two

# Okabe and Ito's palette: told apart with every common kind of colour blindness, and readable on white.
PRECISION_COLOURS = {
    "fp32": "#0072B2",
    "fp16": "#D55E00",
    "bf16": "#009E73",
    "tf32": "#E69F00",
    "fp8": "#CC79A7",
}
PRECISION_MARKERS = {"fp32": "o", "fp16": "s", "bf16": "^", "tf32": "D", "fp8": "v"}

# What happens to a number in a 16-bit format: colours that no precision has.
KEPT = "#8C9BAA"
FADING = "#56B4E9"
LOST = "#CC79A7"
INK = "#1A1A1A"
MUTED = "#595959"

_STYLE = {
    "font.family": "DejaVu Sans",  # part of matplotlib: the same on every machine, and it has ⁻²⁴
    "font.size": 12,
    "axes.titlesize": 15,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.labelsize": 12,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "lines.linewidth": 2.4,
    "hatch.linewidth": 1.2,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "text.parse_math": False,  # a label with two dollar signs is text, not mathematics
}


@contextlib.contextmanager
def house_style():
    """Draw inside in the course's style, whatever style the notebook has set; also usable as a decorator."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_figure(width: float = 7.6, height: float = 4.0, **subplots) -> tuple[Figure, Axes]:
    """Return an opaque white figure and its axes, made without pyplot so that it never shows by itself.

    ``width`` and ``height`` are in inches; an inch is 100 CSS pixels on the page. Further arguments go to
    ``Figure.subplots`` (``nrows=2`` gives an array of axes).
    """
    parse_math = matplotlib.rcParams["text.parse_math"]
    with house_style():
        # For who calls it in a cell, mathematics stays on: the labels of a log axis are written with it.
        matplotlib.rcParams["text.parse_math"] = parse_math
        figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
        return figure, figure.subplots(**subplots)


def set_message(figure: Figure, message: str) -> None:
    """Write the figure's message above it, at its left edge, on as many lines as its width needs."""
    message = wrapped(message, 0.985 * figure.get_size_inches()[0], 15)
    figure.suptitle(message, x=0.008, ha="left", fontsize=15, fontweight="bold")


def wrapped(text: str, inches: float, size: float) -> str:
    """Return bold text of a font size (points) with line breaks, so that no line is wider than ``inches``."""
    font = FontProperties(family=_STYLE["font.family"], size=size, weight="bold")

    def fits(line):
        width, _, _ = text_to_path.get_text_width_height_descent(line, font, ismath=False)
        return 1.03 * width <= 72 * inches  # on the pixels of an image, letters stand up to 3 % wider

    lines = []
    for paragraph in text.split("\n"):
        lines.append("")
        for word in paragraph.split(" "):
            if lines[-1] and fits(f"{lines[-1]} {word}"):
                lines[-1] += f" {word}"
                continue
            lines[-1:] = [lines[-1], word] if lines[-1] else [word]
            while len(lines[-1]) > 1 and not fits(lines[-1]):  # one word wider than a line
                long = lines.pop()
                most = next((end for end in range(len(long) - 1, 1, -1) if fits(long[:end])), 1)
                lines += [long[:most], long[most:]]
    return "\n".join(lines)


def tint(colour: str, strength: float) -> tuple[float, float, float]:
    """Return ``colour`` mixed with white; ``strength`` 1 is the colour itself, 0 is white."""
    return tuple(1 - strength * (1 - part) for part in to_rgb(colour))


def legible(colour: str) -> tuple[float, float, float]:
    """Return ``colour`` darkened until text in it is legible on white."""
    return tuple(0.68 * part for part in to_rgb(colour))


def power_ticks(axis, exponents: Iterable[int]) -> None:
    """Put tick labels like 2⁻²⁴ on an axis whose unit is the exponent (log2 of the number)."""
    exponents = list(exponents)
    axis.set_ticks(exponents, [power_of_two(exponent) for exponent in exponents])


def spread(positions: list[float], gap: float, lowest: float, highest: float = math.inf) -> list[float]:
    """Return the positions moved until neighbours are ``gap`` apart and none is below ``lowest``.

    None is above ``highest`` either, if there is room for all of them.
    """
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    moved = [float(position) for position in positions]
    for _ in range(200):
        crowded = False
        for lower, upper in zip(order, order[1:]):
            overlap = gap - (moved[upper] - moved[lower])
            if overlap > 1e-9 * max(1.0, gap):
                moved[lower] -= overlap / 2
                moved[upper] += overlap / 2
                crowded = True
        if not crowded:
            break
    for index in order:  # from below: what is under the floor goes up, and pushes those above it
        moved[index] = max(moved[index], lowest)
        lowest = moved[index] + gap
    for index in reversed(order):
        moved[index] = min(moved[index], highest)
        highest = moved[index] - gap
    return moved
