"""A card that shows a machine, which precision to try on it, and what was measured."""

from dataclasses import dataclass
from html import escape

import torch

from amp_lessons.formats import FORMATS, format_of
from amp_lessons.hardware import Machine
from amp_lessons.matrix_speed import format_seconds, read_measurement
from amp_lessons.recommendation import recommend


def card(machine, measurements=()):
    """Give a Card for a Machine and, if there are any, its list of Measurement."""
    return Card(machine, tuple(measurements))


@dataclass(frozen=True, repr=False)
class Card:
    """Shows itself as a table in a notebook and as text in print()."""

    machine: Machine
    measurements: tuple

    def facts(self):
        """A list of (what, value) in words."""
        machine = self.machine
        rows = [("Device", f"{machine.name} ({machine.backend})")]
        if machine.capability is not None:
            rows.append(("Compute capability", "{}.{}".format(*machine.capability)))
        if machine.memory_bytes is not None:
            rows.append(("Memory", f"{machine.memory_bytes / 2**30:.1f} GiB"))
        rows += [
            ("BF16 in hardware", _in_words(machine.native_bf16)),
            ("Fast FP16 in hardware", _in_words(machine.fp16_fast)),
        ]
        if machine.device == "cuda":
            rows.append(("TF32 in hardware", _in_words(machine.tf32)))
        for measured in self.measurements:
            label = FORMATS[measured.format_name].label
            what = f"{label} product, {measured.size} × {measured.size}"
            rows.append((what, format_seconds(measured.median_seconds)))
        rows.append(("PyTorch, Python", f"{machine.torch_version}, {machine.python_version}"))
        return rows

    def advice(self):
        """The recommendation as (heading, reason)."""
        recommendation = recommend(self.machine)
        if recommendation.dtype == torch.float32:
            return "Try first: FP32, without autocast", recommendation.reason
        scaler = "with GradScaler" if recommendation.scaler else "without GradScaler"
        return (
            f"Try first: autocast in {format_of(recommendation.dtype).label}, {scaler}",
            recommendation.reason,
        )

    def reading(self):
        """What was measured, in words, and whether it speaks against the advice."""
        text = read_measurement(self.measurements)
        seconds = {measured.format_name: measured.median_seconds for measured in self.measurements}
        advised = format_of(recommend(self.machine).dtype)
        if seconds.get(advised.name, 0) > 1.2 * seconds.get("fp32", float("inf")):
            text += f" {advised.label} was slower than FP32 here, against the advice: time both in training."
        return text

    def __repr__(self):
        facts = self.facts()
        width = max(len(what) for what, _ in facts)
        lines = [f"{what:<{width}}  {value}" for what, value in facts]
        heading, reason = self.advice()
        lines += ["", f"{heading}.", reason]
        if self.measurements:
            lines += ["", self.reading()]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include=None, exclude=None):
        # No colours: the notebook's own text colour is legible in the light and in the dark theme.
        style = 'style="text-align:left;padding:2px 12px 2px 0"'
        rows = "".join(
            f'<tr><th scope="row" {style}>{escape(what)}</th><td {style}>{escape(value)}</td></tr>'
            for what, value in self.facts()
        )
        heading, reason = self.advice()
        html = (
            '<div style="max-width:44em;color:var(--jp-ui-font-color1, inherit)">'
            '<table style="border-collapse:collapse;margin:0">'
            '<caption style="text-align:left;font-weight:bold;color:inherit">This machine</caption>'
            f"{rows}</table>"
            f"<p><strong>{escape(heading)}.</strong> {escape(reason)}</p>"
        )
        if self.measurements:
            html += f"<p>{escape(self.reading())}</p>"
        return {"text/html": html + "</div>", "text/plain": repr(self)}


def _in_words(has):
    return {True: "yes", False: "no", None: "not known"}[has]
