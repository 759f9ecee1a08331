"""A real GradScaler driven by buttons: what step() and update() do after a good step or an overflow."""

import html
import numbers

import ipywidgets

from amp_lessons.figures.picture import Picture
from amp_lessons.figures.scale_trace import ScaleRun, draw_scales
from amp_lessons.figures.style import INK, house_style, new_figure
from amp_lessons.figures.words import scale_text
from amp_lessons.widgets.explorer import Explorer
from amp_lessons.widgets.scaler_run import KEPT_STEPS, ScalerRun
from amp_lessons.widgets.scaler_words import (
    backward_words,
    headline,
    meaning,
    scale_words,
    signed,
    step_words,
    update_words,
)

INITIAL_SCALES = [2.0**exponent for exponent in range(25)]
LONGEST_INTERVAL = 2000  # GradScaler's own default
AT_ONCE = 10
_NO_PICTURE = "<p>The picture of the scale begins with the first step.</p>"  # one point would show nothing
_CALLS = ("scale(loss).backward()", "step(optimizer)", "update()")


class ScalerSimulator(Explorer):
    """Shows what a scaler does at each step, in words and as a picture of its scale.

    Controls: ``good_button``, ``overflow_button``, ``many_good_button``, ``many_overflows_button``,
    ``restart_button``, ``interval_field`` and ``scale_choice``. Display: ``view``, one HTML widget. ``run``
    holds the scaler, its optimizer and its weight.
    """

    def __init__(self, init_scale: float = 2.0**16, growth_interval: int = 5):
        _check(init_scale, growth_interval)
        whole_label = {"description_width": "initial"}
        self.good_button = _button("Good step", "backward() leaves a finite gradient")
        self.overflow_button = _button("Overflow", "backward() leaves infinity in the gradient")
        self.many_good_button = _button(f"{AT_ONCE} good steps", f"{AT_ONCE} good steps, one after the other")
        self.many_overflows_button = _button(
            f"{AT_ONCE} overflows", f"{AT_ONCE} overflows, one after the other"
        )
        self.restart_button = _button(
            "Start again", "a new scaler, with the initial scale and interval below"
        )
        self.interval_field = ipywidgets.BoundedIntText(
            value=growth_interval,
            min=1,
            max=LONGEST_INTERVAL,
            description="growth interval:",
            style=whole_label,
            layout=ipywidgets.Layout(width="13em"),
        )
        self.scale_choice = ipywidgets.Dropdown(
            options=[(scale_text(scale), scale) for scale in INITIAL_SCALES],
            value=float(init_scale),
            description="initial scale:",
            style=whole_label,
            layout=ipywidgets.Layout(width="17em"),
        )
        self.view = ipywidgets.HTML()
        self.good_button.on_click(lambda _: self.press())
        self.overflow_button.on_click(lambda _: self.press(overflow=True))
        self.many_good_button.on_click(lambda _: self.press(times=AT_ONCE))
        self.many_overflows_button.on_click(lambda _: self.press(overflow=True, times=AT_ONCE))
        self.restart_button.on_click(lambda _: self.restart())
        self.scale_choice.observe(lambda _: self.restart(), "value")
        self.interval_field.observe(lambda _: self._change_interval(), "value")
        buttons = [
            self.good_button,
            self.overflow_button,
            self.many_good_button,
            self.many_overflows_button,
            self.restart_button,
        ]
        wrap = ipywidgets.Layout(flex_flow="row wrap", align_items="center")
        self.box = ipywidgets.VBox(
            [
                ipywidgets.HBox(buttons, layout=wrap),
                ipywidgets.HBox([self.interval_field, self.scale_choice], layout=wrap),
                self.view,
            ]
        )
        self.box.add_class("amp-scaler-simulator")
        self.restart()

    def press(self, overflow: bool = False, times: int = 1) -> None:
        """Take steps of one kind, and show what the last did and where it led."""
        steps = [self.run.step(overflow) for _ in range(times)]
        last = steps[-1]
        self._rows = list(zip(_CALLS, (backward_words(last), step_words(last), update_words(last))))
        self._show(headline(steps), f"The last of them, step {last.number:,}:" if times > 1 else "")

    def restart(self) -> None:
        """Make a new scaler with the initial scale and the growth interval that are set."""
        self.run = ScalerRun(self.scale_choice.value, self.interval_field.value)
        self._rows = [(call, "not called yet") for call in _CALLS]
        self._show(f"No step yet: the scale starts at {scale_words(self.run.scale)}")

    def fallback_html(self) -> str:
        """Return what is shown at present as plain HTML."""
        return self.view.value + (
            "<p>With a running kernel, there are buttons for a good step and for an overflow.</p>"
        )

    def _change_interval(self):
        self.run.interval = self.interval_field.value
        self._show(f"Growth interval set to {self.run.interval:,}: the scaler and its counter go on")

    def _show(self, words, more=""):
        run = self.run
        rows = [
            *self._rows,
            ("scale", f'<b class="amp-scaler-scale">{scale_text(run.scale)}</b>'),
            ("growth counter", f"{run.counter:,} (grows at {run.interval:,})"),
            ("weight (learning rate 1)", signed(run.weight.item())),
            ("steps so far", f"{run.taken:,} stepped, {run.count - run.taken:,} skipped"),
        ]
        note = meaning(run)
        self.view.value = (
            '<div style="line-height:1.5;color:var(--jp-ui-font-color1, inherit)">'
            f'<div role="status"><b class="amp-scaler-headline">{words}</b> {more}</div>'
            f"{_table(rows)}"
            + (
                f'<div style="max-width:52em"><b>What this means.</b> {html.escape(note)}</div>'
                if note
                else ""
            )
            + "</div>"
            + (self._picture().html() if run.count else _NO_PICTURE)
        )

    @house_style()
    def _picture(self):
        """The scale at the last steps, and the one that the next step will use."""
        run, steps = self.run, list(self.run.steps)
        first = steps[0].number
        trace = ScaleRun(
            [step.scale_before for step in steps] + [run.scale], [not step.taken for step in steps] + [False]
        )
        figure, axes = new_figure(7.6, 2.6)
        draw_scales(axes, {"": trace}, first)
        axes.plot(
            [first + len(steps)],
            [axes.lines[0].get_ydata()[-1]],
            "o",
            color=INK,
            markersize=8,
            markerfacecolor="white",
            label="scale now",
            zorder=6,  # in front of the triangle where the scale has just grown
        )
        axes.set(xlabel="step", ylabel="scale")
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 0.97), ncols=3, frameon=False, fontsize=11)
        return Picture(figure, _alt(run, steps), caption="")


def scaler_simulator(init_scale: float = 2.0**16, growth_interval: int = 5) -> ScalerSimulator:
    """Return a panel that drives a real ``torch.amp.GradScaler("cpu")`` by buttons.

    Behind the scaler is one FP32 weight with plain SGD. ``init_scale`` is a power of two from 2⁰ to 2²⁴,
    ``growth_interval`` a whole number from 1 to 2000; the panel can change both. Raises ValueError for
    others.
    """
    return ScalerSimulator(init_scale, growth_interval)


def _check(init_scale, growth_interval):
    if not _is_number(init_scale) or init_scale not in INITIAL_SCALES:
        raise ValueError(
            f"the initial scale is a power of two from {scale_text(INITIAL_SCALES[0])} to "
            f"{scale_text(INITIAL_SCALES[-1])}, not {init_scale!r}: write for example 2.0**16"
        )
    if not _is_number(growth_interval) or growth_interval not in range(1, LONGEST_INTERVAL + 1):
        raise ValueError(
            f"the growth interval is a whole number from 1 to {LONGEST_INTERVAL}, not {growth_interval!r}: "
            "write for example 5"
        )


def _is_number(value):
    """Whether a comparison with numbers gives True or False: NumPy's numbers too, but no tensor or array."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _button(text, tooltip):
    return ipywidgets.Button(
        description=text, tooltip=tooltip, layout=ipywidgets.Layout(width="auto", min_width="6em")
    )


def _table(rows):
    cells = "".join(
        '<tr><th scope="row" style="text-align:left;padding:1px 14px 1px 0;font-weight:normal;'
        f'white-space:nowrap;vertical-align:top">{name}</th><td style="text-align:left">{words}</td></tr>'
        for name, words in rows
    )
    return (
        '<table style="margin:4px 0;line-height:1.5;border-collapse:collapse;'
        f'color:var(--jp-ui-font-color1, inherit)">{cells}</table>'
    )


def _alt(run, steps):
    now = f"the scale is {scale_text(run.scale)} now"
    skipped = sum(not step.taken for step in steps)
    window = f"steps {steps[0].number:,} to {steps[-1].number:,}" if run.count > KEPT_STEPS else "all steps"
    return (
        f"The loss scale against the step, {window}: it is {scale_text(steps[0].scale_before)} at first, and "
        f"{now}. Crosses mark {skipped:,} skipped of {len(steps):,} steps."
    )
