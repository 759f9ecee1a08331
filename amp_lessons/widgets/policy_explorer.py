"""Autocast's policy for one op: the dtype it runs in on each device, and where the answer comes from."""

import html

import ipywidgets
import torch

from amp_lessons import policy
from amp_lessons.figures.words import listed
from amp_lessons.formats import format_of
from amp_lessons.policy.recorded import RECORDED_FROM
from amp_lessons.widgets.explorer import Explorer

_CELL = "text-align:left;padding:1px 18px 1px 0;vertical-align:top;white-space:nowrap"


class PolicyExplorer(Explorer):
    """Shows what autocast does with an op on each device.

    Controls: ``op_choice``, ``device_choice`` and ``dtype_choice``, dropdowns. Display: ``view``, one HTML
    widget. ``answer`` is what ``policy.ask`` says to the present choice.
    """

    def __init__(self, op: str = "softmax", device: str = "cuda", dtype: str | torch.dtype = "fp16"):
        answer = policy.ask(op, device, _lower_precision(dtype))
        self.op_choice = _dropdown("op:", [(name, name) for name in policy.OPS], answer.op, "22em")
        self.device_choice = _dropdown(
            "device:", [(name.upper(), name) for name in policy.DEVICES], answer.device, "10em"
        )
        self.dtype_choice = _dropdown(
            "autocast dtype:", [(_name(one), one) for one in policy.DTYPES], answer.dtype, "17em"
        )
        self.view = ipywidgets.HTML()
        choices = [self.op_choice, self.device_choice, self.dtype_choice]
        for choice in choices:
            choice.observe(lambda _: self.redraw(), "value")
        self.box = ipywidgets.VBox(
            [ipywidgets.HBox(choices, layout=ipywidgets.Layout(flex_flow="row wrap")), self.view]
        )
        self.box.add_class("amp-policy-explorer")
        self.redraw()

    @property
    def answer(self) -> policy.Answer:
        """The answer for the op, the device and the dtype that are chosen."""
        return self._ask(self.device_choice.value)

    def redraw(self) -> None:
        """Write the answer for what is chosen, beside the other devices' answers."""
        answers = [self._ask(device) for device in policy.DEVICES]
        chosen = self.answer
        self.view.value = (
            '<div style="line-height:1.5;max-width:60em;color:var(--jp-ui-font-color1, inherit)">'
            f'<div role="status"><b class="amp-policy-sentence">{html.escape(chosen.sentence)}</b></div>'
            f"<div>{html.escape(_compared(answers, chosen))}</div>"
            f"{_table(answers, chosen)}{_sources(answers)}{_errors(answers)}</div>"
        )

    def fallback_html(self) -> str:
        """Return the present answers as plain HTML."""
        return self.view.value + (
            "<p>With a running kernel, you can choose the op, the device and autocast’s dtype.</p>"
        )

    def _ask(self, device):
        return policy.ask(self.op_choice.value, device, self.dtype_choice.value)


def policy_explorer(
    op: str = "softmax", device: str = "cuda", dtype: str | torch.dtype = "fp16"
) -> PolicyExplorer:
    """Return a panel that shows in which dtype autocast runs an op, on each device.

    ``op`` is one of ``policy.OPS``, ``device`` one of ``policy.DEVICES``, ``dtype`` "fp16" or "bf16" (or the
    torch dtype). Raises ValueError for others.
    """
    return PolicyExplorer(op, device, dtype)


def _lower_precision(dtype):
    try:
        found = format_of(dtype).dtype
    except (TypeError, ValueError):
        found = None
    if found not in policy.DTYPES:
        raise ValueError(f'autocast runs in "fp16" or "bf16" here, not {dtype!r}: choose one of the two')
    return found


def _dropdown(description, options, value, width):
    return ipywidgets.Dropdown(
        options=options,
        value=value,
        description=description,
        style={"description_width": "initial"},
        layout=ipywidgets.Layout(width=width),
    )


def _devices(answers):
    return listed(answer.device.upper() for answer in answers)


def _name(dtype):
    return str(dtype).removeprefix("torch.")


def _inputs_words(given):
    first, *others = map(_name, given)
    if all(other == first for other in others):
        return f"{first} in"
    return f"first {first}, others {others[0]} in"


def _outcome(answer):
    """What comes out, for comparing devices: the texts of two errors may differ."""
    return {given: "refused" if isinstance(out, str) else out for given, out in answer.outputs.items()}


def _compared(answers, chosen):
    others = [answer for answer in answers if _outcome(answer) != _outcome(chosen)]
    if not others:
        return f"{chosen.op} comes out the same on {_devices(answers)}."
    differ = f"{_devices(others)} {'differs' if len(others) == 1 else 'differ'} from {chosen.device.upper()}"
    return f"{differ}: what you see on one device doesn’t tell you about another."


def _table(answers, chosen):
    inputs = list(dict.fromkeys(given for answer in answers for given in answer.outputs))
    heads = ["device", "rule", *map(_inputs_words, inputs), "source"]
    rows = "".join(_row(answer, inputs, answer == chosen) for answer in answers)
    return (
        '<table style="margin:6px 0;line-height:1.5;border-collapse:collapse;'
        'color:var(--jp-ui-font-color1, inherit)"><thead><tr>'
        + "".join(f'<th scope="col" style="{_CELL}">{head}</th>' for head in heads)
        + f"</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(answer, inputs, is_chosen):
    outcome = _outcome(answer)
    outs = [outcome.get(given) for given in inputs]
    cells = [
        answer.rule,
        *("not asked" if out is None else out if out == "refused" else f"→ {_name(out)}" for out in outs),
        answer.source,
    ]
    strong = "font-weight:bold" if is_chosen else "font-weight:normal"
    name = answer.device.upper() + (" (chosen)" if is_chosen else "")
    return (
        f'<tr><th scope="row" style="{_CELL};{strong}">{name}</th>'
        + "".join(f'<td style="{_CELL};{strong}">{html.escape(cell)}</td>' for cell in cells)
        + "</tr>"
    )


_SOURCES = {
    "asked": "PyTorch was asked (for the CPU on small real tensors, else on fake ones)",
    "listed": f"from PyTorch’s list, recorded from torch {RECORDED_FROM}",
}


def _sources(answers):
    """What each source in the table means."""
    used = sorted({answer.source for answer in answers})
    return f"<div>{'; '.join(f'{source}: {_SOURCES[source]}' for source in used)}.</div>"


def _errors(answers):
    """The texts with which PyTorch refuses, each once, with the devices."""
    devices = {}
    for answer in answers:
        for text in dict.fromkeys(out for out in answer.outputs.values() if isinstance(out, str)):
            devices.setdefault(text, []).append(answer)
    return "".join(
        f"<div>PyTorch’s own words on {_devices(refusing)}: "
        f'<span style="white-space:pre-wrap">{html.escape(text)}</span></div>'
        for text, refusing in devices.items()
    )
