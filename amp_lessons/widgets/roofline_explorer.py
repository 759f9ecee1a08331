"""One matrix product on a named GPU: whether arithmetic or memory limits it, and what 16 bits can gain."""

import html
import math
import numbers

import ipywidgets

from amp_lessons.figures.picture import figure_html
from amp_lessons.roofline import GPUS, LABELS, Bound, gpu_of, product
from amp_lessons.widgets.explorer import Explorer
from amp_lessons.widgets.roofline_figure import RooflineFigure, roofline_alt
from amp_lessons.widgets.roofline_words import duration, headline, remarks, times

LARGEST_EXPONENT = 17
LARGEST_SIZE = 2**LARGEST_EXPONENT
_SIZES = {"m": "rows m", "k": "inner size k", "n": "columns n"}
_CELL = "text-align:left;padding:2px 20px 2px 0;vertical-align:top;white-space:nowrap"


class RooflineExplorer(Explorer):
    """Shows the bounds of a product of an m × k and a k × n matrix on a GPU, in each format that it has.

    Controls: ``gpu_choice`` (dropdown); for each size, ``sliders`` (powers of two) and ``fields`` (any whole
    number), both by "m", "k", "n". Display: ``view``, one HTML widget.
    """

    def __init__(self, gpu: str = "T4", m: int = 8, k: int = 4096, n: int = 4096):
        self._figures = {}
        self._writing = False
        sizes = {name: _checked_size(name, size) for name, size in (("m", m), ("k", k), ("n", n))}
        whole_label = {"description_width": "initial"}
        self.gpu_choice = ipywidgets.Dropdown(
            options=list(GPUS),
            value=_known_gpu(gpu).name,
            description="GPU:",
            style=whole_label,
            layout=ipywidgets.Layout(width="18em"),
        )
        self.sliders, self.fields, rows = {}, {}, []
        for name, size in sizes.items():
            slider = ipywidgets.IntSlider(
                value=_exponent(size),
                min=0,
                max=LARGEST_EXPONENT,
                readout=False,
                description=f"{_SIZES[name]}: 2 to the power",
                style={"description_width": "15em"},
                layout=ipywidgets.Layout(width="32em"),
            )
            # A screen reader can't name a slider of ipywidgets, so the number itself can be typed.
            field = ipywidgets.BoundedIntText(
                value=size,
                min=1,
                max=LARGEST_SIZE,
                description=f"{name}:",
                style=whole_label,
                layout=ipywidgets.Layout(width="9em"),
            )
            slider.observe(lambda change, name=name: self._slide(name, change["new"]), "value")
            field.observe(lambda change, name=name: self._type(name, change["new"]), "value")
            self.sliders[name], self.fields[name] = slider, field
            rows.append(ipywidgets.HBox([slider, field], layout=ipywidgets.Layout(flex_flow="row wrap")))
        self.gpu_choice.observe(lambda _: self.redraw(), "value")
        self.view = ipywidgets.HTML()
        self.box = ipywidgets.VBox([self.gpu_choice, *rows, self.view])
        self.box.add_class("amp-roofline-explorer")
        self.redraw()

    @property
    def gpu(self):
        """The Gpu that is chosen."""
        return GPUS[self.gpu_choice.value]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The sizes (m, k, n) that are set."""
        return tuple(field.value for field in self.fields.values())

    @property
    def bounds(self) -> dict[str, Bound]:
        """The bound in each format that the GPU has."""
        return {name: product(self.gpu, name, *self.sizes) for name in self.gpu.rates}

    def redraw(self) -> None:
        """Write the bounds and draw the picture for what is set."""
        gpu, bounds, (m, k, n) = self.gpu, self.bounds, self.sizes
        notes = " ".join(remarks(gpu, bounds, self.sizes))
        self.view.value = (
            '<div style="line-height:1.5;max-width:62em;color:var(--jp-ui-font-color1, inherit)">'
            f'<div role="status">({m:,} × {k:,}) times ({k:,} × {n:,}) on the {html.escape(gpu.name)}. '
            f'<b class="amp-roofline-headline">{html.escape(headline(bounds))}</b></div>'
            f"{_table(bounds)}<div>{html.escape(notes)}</div></div>"
            + figure_html(self._figure(gpu).png(bounds), roofline_alt(gpu, bounds), caption="")
            + '<div style="font-size:90%;line-height:1.4;color:var(--jp-ui-font-color1, inherit)">'
            f"Rates from: {html.escape(gpu.source)}.</div>"
        )

    def fallback_html(self) -> str:
        """Return the present bounds and picture as plain HTML."""
        return self.view.value + (
            "<p>With a running kernel, you can choose the GPU and the sizes of the matrices.</p>"
        )

    def _figure(self, gpu):
        if gpu.name not in self._figures:
            self._figures[gpu.name] = RooflineFigure(gpu)
        return self._figures[gpu.name]

    def _slide(self, name, exponent):
        if not self._writing:
            self.fields[name].value = 2**exponent

    def _type(self, name, size):
        self._writing = True  # the slider goes to the nearest power of two; the typed size stays
        try:
            self.sliders[name].value = _exponent(size)
        finally:
            self._writing = False
        self.redraw()


def roofline_explorer(gpu: str = "T4", m: int = 8, k: int = 4096, n: int = 4096) -> RooflineExplorer:
    """Return a panel that shows what limits a product of an m × k and a k × n matrix on a GPU.

    ``gpu`` is a name in ``roofline.GPUS``; the sizes are whole numbers from 1 to 131,072. Raises ValueError
    for others.
    """
    return RooflineExplorer(gpu, m, k, n)


def _exponent(size):
    return round(math.log2(size))


def _known_gpu(gpu):
    found = gpu_of(gpu)
    if GPUS.get(found.name) is not found:
        raise ValueError(f"The explorer shows the GPUs in roofline.GPUS only: {', '.join(GPUS)}.")
    return found


def _checked_size(name, size):
    whole = isinstance(size, numbers.Integral) and not isinstance(size, bool)
    if not whole or not 1 <= size <= LARGEST_SIZE:
        raise ValueError(f"{name} is a whole number from 1 to {LARGEST_SIZE:,}, not {size!r}")
    return int(size)


def _table(bounds):
    heads = ["format", "arithmetic takes", "memory takes", "what limits it", "so it takes", "against FP32"]
    rows = "".join(_row(name, bound, bounds["fp32"]) for name, bound in bounds.items())
    return (
        '<table style="margin:6px 0;line-height:1.5;border-collapse:collapse;'
        'color:var(--jp-ui-font-color1, inherit)"><thead><tr>'
        + "".join(f'<th scope="col" style="{_CELL}">{head}</th>' for head in heads)
        + f"</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(name, bound, full):
    ratio = full.seconds / bound.seconds
    gain = "–" if name == "fp32" else "no faster" if ratio == 1 else f"at most {times(ratio)} times as fast"
    cells = [
        duration(bound.compute_seconds),
        duration(bound.memory_seconds),
        f"<b>{bound.limited_by}</b>",
        f"at least {duration(bound.seconds)}",
        gain,
    ]
    return (
        f'<tr><th scope="row" style="{_CELL};font-weight:normal">{LABELS[name]}</th>'
        + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells)
        + "</tr>"
    )
