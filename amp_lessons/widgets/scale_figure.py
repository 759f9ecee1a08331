"""The loss scale explorer's figure: drawn once, then only what moves is drawn again on top of it."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from amp_lessons.figures.distributions import cliffs, draw_cliffs, zone_colour
from amp_lessons.figures.picture import PIXELS_PER_INCH, SHARPNESS, with_few_colours
from amp_lessons.figures.style import INK, LOST, MUTED, house_style, new_figure, power_ticks, tint
from amp_lessons.widgets.scale_shares import LARGEST, SMALLEST


class ScaleFigure:
    """Two panels: the histogram at one loss scale, and the shares lost at all of them.

    Drawing the text takes most of the time, and it does not change. So the still part is kept as an image,
    and a move costs the bars, a marker and the PNG.
    """

    @house_style()
    def __init__(self, shares):
        self.shares = shares
        figure, (histogram, curves) = new_figure(9.0, 3.5, ncols=2, width_ratios=(1.55, 1))
        figure.set_dpi(PIXELS_PER_INCH * SHARPNESS)
        self._draw_histogram(histogram)
        self._draw_curves(curves)
        self._moving = [*self.bars, *histogram.lines, self.marker, self.points, *curves.texts]
        for artist in self._moving:
            artist.set_animated(True)  # left out when the canvas draws the still part
        self._canvas = FigureCanvasAgg(figure)
        self._canvas.draw()
        self._still = self._canvas.copy_from_bbox(figure.bbox)

    @house_style()
    def png(self, exponent: int) -> bytes:
        """Return the figure at the loss scale 2**exponent as PNG, two image pixels for each CSS pixel."""
        for bar, base in zip(self.bars, self.shares.histogram_exponents):
            colour = zone_colour(base + exponent, self.shares.fmt)
            bar.set(x=base + exponent, facecolor=colour, hatch="///" if colour == LOST else None)
        self.marker.set_xdata([exponent, exponent])
        self.points.set_data(
            [exponent, exponent], [self.shares.flushed[exponent], self.shares.overflowed[exponent]]
        )
        self._canvas.restore_region(self._still)
        for artist in self._moving:
            artist.axes.draw_artist(artist)
        return with_few_colours(Image.fromarray(np.asarray(self._canvas.buffer_rgba())), colours=64)

    def _draw_histogram(self, axes):
        fmt, shares = self.shares.fmt, self.shares.histogram_shares
        flush, normal, overflow = (round(cliff) for cliff in cliffs(fmt))
        lowest = min(self.shares.histogram_exponents, default=flush)
        axes.set_xlim(max(flush - 18, min(flush - 9, lowest)), overflow + 9)
        draw_cliffs(axes, fmt)
        self.bars = axes.bar(
            [0] * len(shares), shares, width=1, align="edge", edgecolor="white", linewidth=0.6, zorder=3
        )
        axes.set_ylim(0, max(shares, default=1) * 1.15)
        axes.yaxis.set_major_formatter(lambda share, _: f"{share * 100:g} %")
        axes.yaxis.get_major_locator().set_params(nbins=4)
        middle = (normal + overflow) // 2
        power_ticks(axes.xaxis, (flush, normal, middle, overflow))
        axes.set_xlabel("gradient magnitude × loss scale")
        axes.set_ylabel("share of the non-zero values")

    def _draw_curves(self, axes):
        shares = self.shares
        exponents = range(SMALLEST, LARGEST + 1)
        top = max(0.02, *shares.flushed, *shares.overflowed)
        if shares.window:
            first, last = shares.window[0], shares.window[-1]
            axes.axvspan(first - 0.4, last + 0.4, color=tint("#009E73", 0.22), linewidth=0)
            narrow = last - first < 12
            axes.text(
                (first + last) / 2,
                1.03 * top,
                "hardly any lost" if narrow else "hardly\nany lost",
                rotation=90 if narrow else 0,
                ha="center",
                va="top",
                fontsize=11,
                bbox={"facecolor": tint("#009E73", 0.22), "edgecolor": "none", "pad": 2},
            )
        axes.plot(exponents, shares.flushed, color=LOST, label="become zero")
        axes.plot(exponents, shares.overflowed, color=INK, linestyle="--", label="overflow")
        self.marker = axes.axvline(0, color=MUTED, linewidth=1.4, linestyle=":")
        (self.points,) = axes.plot([0, 0], [0, 0], "o", color=INK, markersize=8, zorder=5)
        axes.set(xlim=(SMALLEST - 0.8, LARGEST + 0.8), ylim=(-0.04 * top, 1.1 * top))
        axes.legend(
            frameon=False,
            fontsize=11,
            loc="upper center",
            bbox_to_anchor=(0.5, 1.16),
            ncols=2,
            handlelength=1.6,
        )
        axes.yaxis.set_major_formatter(lambda share, _: f"{share * 100:g} %")
        axes.yaxis.get_major_locator().set_params(nbins=5)
        power_ticks(axes.xaxis, range(SMALLEST, LARGEST + 1, 8))
        axes.set_xlabel("loss scale")
