"""The sum explorer's figure: one figure that is drawn anew, with places that need no layout."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from amp_lessons.figures.picture import PIXELS_PER_INCH, SHARPNESS, with_few_colours
from amp_lessons.figures.running_sums import draw_sums
from amp_lessons.figures.style import house_style


class SumFigure:
    """Running totals as ``figures.running_sums`` draws them, without its title.

    Finding room for labels takes as long as drawing them, so the room is fixed here.
    """

    @house_style()
    def __init__(self):
        figure = Figure(figsize=(8.8, 3.2), facecolor="white", dpi=PIXELS_PER_INCH * SHARPNESS)
        self._axes = figure.subplots(gridspec_kw={"left": 0.17, "right": 0.7, "bottom": 0.18, "top": 0.96})
        self._canvas = FigureCanvasAgg(figure)

    @house_style()
    def png(self, sums, exact) -> bytes:
        """Return the running totals as PNG, two image pixels for each CSS pixel."""
        self._axes.clear()
        draw_sums(self._axes, sums, exact)
        self._canvas.draw()
        return with_few_colours(Image.fromarray(np.asarray(self._canvas.buffer_rgba())), colours=64)
