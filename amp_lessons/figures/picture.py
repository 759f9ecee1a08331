"""A figure with its alternative text, as HTML that JupyterLab, Colab and nbconvert all show."""

import base64
import html
import io
import struct
import sys

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from PIL import Image

PIXELS_PER_INCH = 100  # CSS pixels
LARGE = 60_000  # bytes
SHARPNESS = 2  # image pixels for each CSS pixel, so that the picture is sharp on a high-resolution screen


class Picture:
    """A matplotlib figure and the sentence that states what it shows.

    As the last value of a cell it displays as ``<figure>`` with an ``<img alt>`` and the sentence as its
    caption (JupyterLab drops the alternative text of matplotlib's own display). ``figure`` stays open to
    changes: the image is drawn when it is displayed. ``caption`` is the visible sentence where it should
    differ from ``alt``; an empty one leaves it out.
    """

    def __init__(self, figure: Figure, alt: str, caption: str | None = None):
        if isinstance(figure, Axes):
            figure = figure.figure
        if not isinstance(figure, Figure):
            raise TypeError(
                f"a matplotlib figure is needed, not {type(figure).__name__}: pass the `figure` of "
                "`figure, axes = figures.new_figure()`"
            )
        if not isinstance(alt, str) or not alt.strip():
            raise ValueError("say in `alt`, in one sentence, what the figure shows")
        self.figure = figure
        self.alt = alt.strip()
        self.caption = self.alt if caption is None else caption

    def png(self) -> bytes:
        """Return the image as PNG, two image pixels for each CSS pixel, never transparent."""
        opaque = to_rgba(self.figure.get_facecolor())[3] == 1
        # A figure with a layout engine has already fitted its labels; any other may need its edges widened.
        fit = None if self.figure.get_layout_engine() else "tight"
        buffer = io.BytesIO()
        self.figure.savefig(
            buffer,
            format="png",
            dpi=PIXELS_PER_INCH * SHARPNESS,
            bbox_inches=fit,
            facecolor="auto" if opaque else "white",
        )
        if len(buffer.getvalue()) < LARGE:
            return buffer.getvalue()
        with Image.open(buffer) as image:
            return with_few_colours(image)

    def html(self) -> str:
        """Return the picture as one ``<figure>`` element with the image inside it."""
        return figure_html(self.png(), self.alt, self.caption)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self.html(), "text/plain": self.alt}

    def __repr__(self):
        return self.alt


def with_few_colours(image: Image.Image, colours: int = 256) -> bytes:
    """Return the image as PNG with a palette: half the size, with no loss that a line drawing would show."""
    buffer = io.BytesIO()
    few = image.convert("RGB").quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    # A palette entry is the mean of the colours near it, which would make white a little grey.
    few.putpalette([255 if part >= 253 else part for part in few.getpalette()])
    few.save(buffer, format="png", compress_level=1 if colours < 256 else 6)
    return buffer.getvalue()


def figure_html(png: bytes, alt: str, caption: str) -> str:
    """Return ``<figure>`` HTML for a PNG drawn at ``SHARPNESS``; the texts are escaped."""
    (width,) = struct.unpack(">I", png[16:20])  # PNG states its width there
    words = ""
    if caption:
        text = html.escape(caption).replace(" %", "&nbsp;%")
        words = (
            '<figcaption style="font-size:90%;max-width:62em;line-height:1.4;margin-top:4px;'
            f'color:var(--jp-ui-font-color1, inherit)">{text}</figcaption>'
        )
    source = base64.b64encode(png).decode("ascii")
    return (
        '<figure style="margin:0">'
        f'<img alt="{html.escape(alt)}" src="data:image/png;base64,{source}" '
        f'style="width:{round(width / SHARPNESS)}px;max-width:100%;height:auto">'
        f"{words}</figure>"
    )


def show(figure: Figure | Picture, alt: str | None = None) -> None:
    """Display a figure with its alternative text: your own figure, or one that this module drew.

    ``alt`` says in one sentence what the figure shows; a ``Picture`` brings its own. A pyplot figure is
    closed afterwards, so that the notebook does not show it a second time. Raises TypeError for what is no
    figure and ValueError for a missing ``alt``.
    """
    from IPython.display import display

    if isinstance(figure, Picture):
        picture = figure if alt is None else Picture(figure.figure, alt)
    else:
        picture = Picture(figure, alt)
    display(picture)
    pyplot = sys.modules.get(
        "matplotlib.pyplot"
    )  # never imported here: only a learner's own use needs closing
    if pyplot is not None:
        pyplot.close(picture.figure)


def to_html(figure: Figure, alt: str, caption: str | None = None) -> str:
    """Return a matplotlib figure as ``<figure>`` HTML with alternative text, to put into other HTML."""
    return Picture(figure, alt, caption).html()
