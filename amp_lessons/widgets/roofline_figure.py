"""The roofline explorer's figure: a GPU's roofs are drawn once, then only the product's marks move."""

import math

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from amp_lessons.figures.picture import PIXELS_PER_INCH, SHARPNESS, with_few_colours
from amp_lessons.figures.style import (
    legible,
    INK,
    MUTED,
    PRECISION_COLOURS,
    PRECISION_MARKERS,
    house_style,
    power_ticks,
    spread,
)
from amp_lessons.figures.words import number, three_digits
from amp_lessons.roofline import LABELS

LOWEST, HIGHEST = -3, 16  # exponents of operations per byte: 1/8 to 65,536
_WIDTH, _HEIGHT = 8.8, 3.9
# FP32 and TF32 share a place where memory limits, FP16 and BF16 often: the smaller mark lies on the larger
# one, and both are seen.
_MARK_SIZES = {"fp32": 17, "tf32": 7.5, "fp16": 15, "bf16": 9}
_PLACES = {"left": 0.095, "right": 0.685, "bottom": 0.15, "top": 0.97}


class RooflineFigure:
    """Reachable rate against operations per byte for one GPU, with a line for each of its formats."""

    @house_style()
    def __init__(self, gpu):
        self.gpu = gpu
        figure = Figure(figsize=(_WIDTH, _HEIGHT), facecolor="white", dpi=PIXELS_PER_INCH * SHARPNESS)
        self._axes = figure.subplots(gridspec_kw=_PLACES)
        self._draw_roofs()
        self._marks = {name: self._mark(place, name) for place, name in enumerate(gpu.rates)}
        self._moving = [artist for pair in self._marks.values() for artist in pair]
        for artist in self._moving:
            artist.set_animated(True)  # left out when the canvas draws the still part
        self._canvas = FigureCanvasAgg(figure)
        self._canvas.draw()
        self._still = self._canvas.copy_from_bbox(figure.bbox)

    @house_style()
    def png(self, bounds) -> bytes:
        """Return the figure with a product marked on each format's line; ``bounds`` maps names to Bounds."""
        for name, (drop, mark) in self._marks.items():
            x = math.log2(bounds[name].intensity)
            y = math.log10(bounds[name].operations / bounds[name].seconds)
            drop.set_data([x, x], [self._axes.get_ylim()[0], y])
            mark.set_data([x], [y])
        self._canvas.restore_region(self._still)
        for artist in self._moving:
            artist.axes.draw_artist(artist)
        return with_few_colours(Image.fromarray(np.asarray(self._canvas.buffer_rgba())), colours=64)

    def _mark(self, place, name):
        colour = PRECISION_COLOURS[name]
        (drop,) = self._axes.plot([0, 0], [0, 0], color=colour, linewidth=1.4, linestyle=":", zorder=6)
        (mark,) = self._axes.plot(
            [0],
            [0],
            PRECISION_MARKERS[name],
            color=colour,
            markersize=_MARK_SIZES[name],
            markeredgecolor="white",
            markeredgewidth=1.2,
            zorder=7 + place,
        )
        return drop, mark

    def _draw_roofs(self):
        axes, gpu = self._axes, self.gpu
        bandwidth = math.log10(gpu.bandwidth)
        slope = math.log10(2)  # of the memory's line: x counts doublings, y factors of ten
        exponents = (LOWEST, HIGHEST)
        bottom = bandwidth + slope * LOWEST
        top = max(map(math.log10, gpu.rates.values())) + 0.45
        for place, (name, rate) in enumerate(gpu.rates.items()):
            bend = math.log2(rate / gpu.bandwidth)
            axes.plot(
                [exponents[0], bend, exponents[1]],
                [bottom, math.log10(rate), math.log10(rate)],
                color=PRECISION_COLOURS[name],
                linewidth=2 + 1.6 * (len(gpu.rates) - 1 - place),  # narrower above wider: all are seen
                zorder=2 + place,
            )
        axes.set(xlim=exponents, ylim=(bottom, top))
        self._label_roofs(top - bottom)
        middle = LOWEST + 1.5
        height, width = (
            _HEIGHT * (_PLACES["top"] - _PLACES["bottom"]),
            _WIDTH * (_PLACES["right"] - _PLACES["left"]),
        )
        angle = math.degrees(math.atan2(slope * height / (top - bottom), width / (HIGHEST - LOWEST)))
        axes.annotate(
            f"memory: {number(gpu.bandwidth / 1e9)} GB/s",
            (middle, bandwidth + slope * middle),
            xytext=(-9, 12),
            textcoords="offset points",
            rotation=angle,
            rotation_mode="anchor",
            fontsize=11.5,
            color=INK,
        )
        axes.text(
            0.985,
            0.05,
            "marks: this product",
            transform=axes.transAxes,
            ha="right",
            fontsize=11.5,
            color=MUTED,
        )
        power_ticks(axes.xaxis, range(-2, HIGHEST + 1, 2))
        decades = range(math.ceil(bottom), math.floor(top) + 1)
        axes.set_yticks(list(decades), [number(10.0 ** (decade - 12)) for decade in decades])
        axes.set_xlabel("operations per byte that is moved")
        axes.set_ylabel("reachable TFLOP/s")

    def _label_roofs(self, tall):
        """Name each roof at its right end; formats of the same rate share a label."""
        together = {}
        for name, rate in self.gpu.rates.items():
            together.setdefault(rate, []).append(name)
        heights = [math.log10(rate) for rate in together]
        gap = tall * 0.235 / (_HEIGHT * (_PLACES["top"] - _PLACES["bottom"]))
        for (rate, names), place in zip(together.items(), spread(heights, gap, -math.inf)):
            colour = PRECISION_COLOURS[names[0]] if len(names) == 1 else MUTED
            self._axes.annotate(
                f"{', '.join(LABELS[name] for name in names)}: {number(rate / 1e12)} TFLOP/s",
                (HIGHEST, math.log10(rate)),
                xytext=(HIGHEST + 0.35, place),
                va="center",
                fontsize=11.5,
                fontweight="bold",
                color=legible(colour),
                annotation_clip=False,
            )


def roofline_alt(gpu, bounds) -> str:
    """Return the sentence that states what the figure shows."""
    roofs = "; ".join(
        f"{LABELS[name]}: the product has {three_digits(bound.intensity)} operations per byte and "
        f"reaches at most {number(bound.operations / bound.seconds / 1e12)} of "
        f"{number(gpu.rates[name] / 1e12)} TFLOP/s, limited by {bound.limited_by}"
        for name, bound in bounds.items()
    )
    return f"Reachable rate of the {gpu.name} against operations per byte. {roofs}."
