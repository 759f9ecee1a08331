"""One number added again and again in FP32, FP16 and BF16: where each total stops, and why there."""

import html
import numbers

import ipywidgets

from amp_lessons.figures.picture import figure_html
from amp_lessons.figures.running_sums import sums_alt, sums_message
from amp_lessons.formats import FORMATS, as_float
from amp_lessons.widgets.explorer import Explorer
from amp_lessons.widgets.number_text import number_from
from amp_lessons.widgets.sum_figure import SumFigure
from amp_lessons.widgets.sum_run import SumRun, true_total
from amp_lessons.widgets.sum_words import long_text, sum_words

MOST_ADDITIONS = 5000
LARGEST_ADDEND = 1e300  # so that the true total, too, is a number that Python can hold
STILL = 1  # equal numbers: one addition that changes nothing is enough, since the next ones are the same
_CELL = "text-align:left;padding:2px 18px 2px 0;vertical-align:top"


class SumExplorer(Explorer):
    """Shows a sum of equal numbers in each format, in words and as a picture of its running totals.

    Controls: ``addend_field`` (text), ``count_slider`` and ``count_field`` (linked, 1 to 5,000). Displays:
    ``message`` (what is wrong with a typed number) and ``view``, both HTML. State: ``addend`` (a float),
    ``count`` and ``runs``, one for each format.
    """

    def __init__(self, addend: float | str = 0.01, count: int = 1000):
        self.text = addend.strip() if isinstance(addend, str) else repr(as_float(addend))
        self.addend = number_from(self.text, LARGEST_ADDEND)
        limits = {"value": _checked_count(count), "min": 1, "max": MOST_ADDITIONS}
        whole_label = {"description_width": "initial"}
        self._figure = SumFigure()
        self._writing = False
        self.addend_field = ipywidgets.Text(
            value=self.text,
            continuous_update=False,
            description="number to add:",
            style=whole_label,
            layout=ipywidgets.Layout(width="18em"),
        )
        self.count_slider = ipywidgets.IntSlider(
            **limits,
            readout=False,
            description="how many times",
            style=whole_label,
            layout=ipywidgets.Layout(width="24em"),
        )
        # A screen reader can't name a slider of ipywidgets, so the same number can be typed.
        self.count_field = ipywidgets.BoundedIntText(
            **limits, description="additions:", style=whole_label, layout=ipywidgets.Layout(width="11em")
        )
        self.message = ipywidgets.HTML()
        self.view = ipywidgets.HTML()
        ipywidgets.link((self.count_slider, "value"), (self.count_field, "value"))
        self.addend_field.observe(self._type_addend, "value")
        self.count_slider.observe(lambda _: self.redraw(), "value")
        controls = ipywidgets.HBox(
            [self.addend_field, self.count_slider, self.count_field],
            layout=ipywidgets.Layout(flex_flow="row wrap"),
        )
        self.box = ipywidgets.VBox([controls, self.message, self.view])
        self.box.add_class("amp-sum-explorer")
        self.redraw()

    @property
    def count(self) -> int:
        """How many times the number is added."""
        return self.count_slider.value

    def set_addend(self, text: str) -> None:
        """Do what typing into the field does: add this number instead, or say what is wrong with it."""
        try:
            self.addend = number_from(text, LARGEST_ADDEND)
        except ValueError as problem:
            self.message.value = (
                '<div role="status" style="line-height:1.4;color:var(--jp-ui-font-color1, inherit)">'
                f"<b>Not changed.</b> {html.escape(str(problem))}</div>"
            )
            return
        self.text = text.strip()
        self.redraw()

    def redraw(self) -> None:
        """Add up, write what became of each sum and draw the totals."""
        self._write_field()
        self.message.value = ""
        self.runs = [SumRun(fmt, self.addend, self.count) for fmt in FORMATS.values()]
        sums = {run.fmt.label: run.totals for run in self.runs}
        exact = true_total(self.addend, self.count)
        times = "once" if self.count == 1 else f"{self.count:,} times"
        self.view.value = (
            '<div style="line-height:1.5;max-width:62em;color:var(--jp-ui-font-color1, inherit)">'
            f'<div role="status">{html.escape(self.text)} added {times}: '
            f'<b class="amp-sum-headline">{html.escape(sums_message(sums, exact, STILL))}</b></div>'
            f"{_table(self.runs, self.addend, exact)}</div>"
            + figure_html(self._figure.png(sums, exact), sums_alt(sums, exact, STILL), caption="")
        )

    def fallback_html(self) -> str:
        """Return the present sums as plain HTML."""
        return self.view.value + (
            "<p>With a running kernel, you can choose the number and how many times it is added.</p>"
        )

    def _type_addend(self, change):
        if not self._writing:
            self.set_addend(change["new"])

    def _write_field(self):
        self._writing = True  # the field's own observer must not read this back
        try:
            self.addend_field.value = self.text
        finally:
            self._writing = False


def sum_explorer(addend: float | str = 0.01, count: int = 1000) -> SumExplorer:
    """Return a panel that adds a number again and again in each format and shows where each total stops.

    ``addend`` is a number or its text, at most 10³⁰⁰ in size; ``count`` a whole number from 1 to 5,000.
    Raises ValueError for others.
    """
    return SumExplorer(addend, count)


def _checked_count(count):
    whole = isinstance(count, numbers.Integral) and not isinstance(count, bool)
    if not whole or not 1 <= count <= MOST_ADDITIONS:
        raise ValueError(f"count is a whole number from 1 to {MOST_ADDITIONS:,}, not {count!r}")
    return int(count)


def _table(runs, addend, exact):
    heads = ["format", "number in it", "total", "what became of it"]
    rows = [
        (run.fmt.label, long_text(run.stored), long_text(run.total), sum_words(run, exact)) for run in runs
    ]
    rows.append(("true values", long_text(addend), long_text(exact), ""))
    return (
        '<table style="margin:6px 0;line-height:1.5;border-collapse:collapse;'
        'color:var(--jp-ui-font-color1, inherit)"><thead><tr>'
        + "".join(f'<th scope="col" style="{_CELL};white-space:nowrap">{head}</th>' for head in heads)
        + "</tr></thead><tbody>"
        + "".join(
            f'<tr><th scope="row" style="{_CELL};font-weight:normal;white-space:nowrap">{name}</th>'
            f'<td style="{_CELL};white-space:nowrap">{stored}</td>'
            f'<td style="{_CELL};white-space:nowrap">{total}</td>'
            f'<td style="{_CELL}">{html.escape(words)}</td></tr>'
            for name, stored, total, words in rows
        )
        + "</tbody></table>"
    )
