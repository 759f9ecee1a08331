"""One loss scale against the cliffs: the gradients' histogram moves, and the shares lost are read off."""

import ipywidgets

from amp_lessons.figures.picture import figure_html
from amp_lessons.widgets.explorer import Explorer
from amp_lessons.widgets.scale_figure import ScaleFigure
from amp_lessons.widgets.scale_shares import LARGEST, SMALLEST, ScaleShares


class LossScaleExplorer(Explorer):
    """Shows what a loss scale of 2**exponent does to a set of gradients.

    Controls: ``slider`` and ``exponent_field`` (linked, 0 to 40). Displays: ``sentence`` and ``image``, both
    HTML. ``shares`` holds the numbers behind them.
    """

    def __init__(self, values, exponent: int = 0, fmt: str = "fp16"):
        if isinstance(exponent, bool) or exponent not in range(SMALLEST, LARGEST + 1):
            raise ValueError(f"the exponent is a whole number from {SMALLEST} to {LARGEST}, not {exponent!r}")
        self.shares = ScaleShares(values, fmt)
        self.figure = ScaleFigure(self.shares)
        limits = {"value": exponent, "min": SMALLEST, "max": LARGEST}
        whole_label = {"description_width": "initial"}
        self.slider = ipywidgets.IntSlider(
            **limits,
            readout=False,
            description="loss scale 2 to the power",
            style=whole_label,
            layout=ipywidgets.Layout(width="26em"),
        )
        # A screen reader can't name a slider of ipywidgets, so the same number can be typed.
        self.exponent_field = ipywidgets.BoundedIntText(
            **limits, description="exponent:", style=whole_label, layout=ipywidgets.Layout(width="9em")
        )
        self.sentence = ipywidgets.HTML()
        self.image = ipywidgets.HTML()
        ipywidgets.link((self.slider, "value"), (self.exponent_field, "value"))
        self.slider.observe(lambda _: self.redraw(), "value")
        controls = ipywidgets.HBox(
            [self.slider, self.exponent_field], layout=ipywidgets.Layout(flex_flow="row wrap")
        )
        self.box = ipywidgets.VBox([controls, self.sentence, self.image])
        self.box.add_class("amp-loss-scale-explorer")
        self.redraw()

    @property
    def exponent(self) -> int:
        """The exponent that is set: the loss scale is 2**exponent."""
        return self.slider.value

    def redraw(self) -> None:
        """Write the sentence and draw the image for the exponent that is set."""
        self.sentence.value = self._sentence_html()
        self.image.value = self._image_html()

    def fallback_html(self) -> str:
        """Return the present sentence and image as plain HTML."""
        return self._sentence_html() + self._image_html()

    def _sentence_html(self):
        return (
            '<div style="line-height:1.5;color:var(--jp-ui-font-color1, inherit)">'
            f'<b class="amp-scale-sentence">{self.shares.sentence(self.exponent)}</b><br>'
            f"{self.shares.window_sentence()}</div>"
        )

    def _image_html(self):
        # The sentence above is the caption.
        return figure_html(self.figure.png(self.exponent), self.shares.alt(self.exponent), caption="")


def loss_scale_explorer(values, exponent: int = 0, fmt: str = "fp16") -> LossScaleExplorer:
    """Return a panel that shows which share of ``values`` a format loses at each loss scale, 2⁰ to 2⁴⁰.

    ``values`` are gradients: a tensor, a list of tensors, or a dict of them. Infinite and NaN values are
    counted and left out. ``exponent`` is where the slider starts. Raises TypeError for values of another
    kind, ValueError if there is no value at all or the exponent is not one of 0 to 40.
    """
    return LossScaleExplorer(values, exponent, fmt)
