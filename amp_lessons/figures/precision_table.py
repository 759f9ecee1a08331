"""One table for runs in several precisions: accuracy, time, memory, and a sentence on each that reads it."""

import math
import statistics
from collections.abc import Mapping
from html import escape

from amp_lessons import memory
from amp_lessons.figures.checked import as_number
from amp_lessons.figures.words import listed
from amp_lessons.timing import Timing

_EXAMPLE = 'for example {"FP32": {"seconds": 0.01}}'
_ENTRIES = "accuracy, seconds, kept, peak"
NOTICEABLE = 1.15  # times as fast or as long: a smaller difference may be chance


def precision_table(rows: Mapping[str, Mapping], device: str) -> "PrecisionTable":
    """Compare runs that differ in precision only.

    ``rows`` maps a label ("FP32", "FP16 + scaler") to a mapping with any of

        ``accuracy``  one number from 0 to 1 for each seed
        ``seconds``   seconds of one training step
        ``kept``      bytes that autograd keeps for backward in one step
        ``peak``      bytes that one step needed at its peak on the GPU, or None where nothing counts them

    The first row is what the others are compared with. ``device`` is "cpu", "cuda", ...: only on a CPU does
    the reading add why FP16 may be slow there. Raises ValueError where a row has another entry, a list is
    empty, or something is not a number that is finite and above 0 (an accuracy may be 0).
    """
    if not isinstance(rows, Mapping):
        raise ValueError(f"the rows have to be a dict from labels to rows, not {rows!r}: {_EXAMPLE}")
    return PrecisionTable({str(label): _checked(str(label), row) for label, row in rows.items()}, str(device))


class PrecisionTable:
    """Displays as a table with its reading below; ``print`` gives the same as text."""

    def __init__(self, rows, device):
        if not rows:
            raise ValueError(f"give at least one row: {_EXAMPLE}")
        self.rows = rows
        self.device = device

    def columns(self) -> dict[str, list[str]]:
        """The heading of each column that any row fills, and its text for each row."""
        filled = {heading: [text(row) for row in self.rows.values()] for heading, text in _COLUMNS.items()}
        return {heading: texts for heading, texts in filled.items() if any(texts)}

    def reading(self) -> list[str]:
        """What the table says, one sentence or two for each quantity."""
        sentences = [_of_accuracy(self.rows), _of_time(self.rows, self.device), _of_memory(self.rows)]
        return [sentence for sentence in sentences if sentence]

    def __repr__(self):
        columns = {"": list(self.rows), **self.columns()}
        widths = [max(map(len, [heading, *texts])) for heading, texts in columns.items()]
        lines = [list(columns), *zip(*columns.values())]
        table = [
            "  ".join(f"{text:<{width}}" for text, width in zip(line, widths)).rstrip() for line in lines
        ]
        return "\n".join([*table, "", *self.reading()])

    def _repr_mimebundle_(self, include=None, exclude=None):
        # No colours: the notebook's own text colour is legible in the light and in the dark theme.
        cell = 'style="text-align:left;padding:3px 16px 3px 0"'
        columns = self.columns()
        heads = "".join(f'<th scope="col" {cell}>{escape(heading)}</th>' for heading in ["", *columns])
        lines = "".join(
            f'<tr><th scope="row" {cell}>{escape(label)}</th>'
            + "".join(f"<td {cell}>{escape(texts[place])}</td>" for texts in columns.values())
            + "</tr>"
            for place, label in enumerate(self.rows)
        )
        words = "".join(f'<p style="margin:0.4em 0">{escape(sentence)}</p>' for sentence in self.reading())
        html = (
            '<div style="max-width:52em;line-height:1.4;color:var(--jp-ui-font-color1, inherit)">'
            f'<table style="border-collapse:collapse;margin:0 0 0.5em 0"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{lines}</tbody></table>{words}</div>"
        )
        return {"text/html": html, "text/plain": repr(self)}


def _checked(label, row):
    if not isinstance(row, Mapping):
        raise ValueError(f'the row {label!r} has to be a dict such as {{"seconds": 0.01}}, not {row!r}')
    unknown = set(row) - {"accuracy", "seconds", "kept", "peak"}
    if unknown:
        raise ValueError(f"the row {label!r} has an entry {min(map(str, unknown))!r}: use {_ENTRIES}")
    clean = {}
    if row.get("accuracy") is not None:
        clean["accuracy"] = _accuracies(f"the accuracy of the row {label!r}", row["accuracy"])
    for name in ("seconds", "kept", "peak"):
        if row.get(name) is not None:
            what = f"{name} of the row {label!r}"
            clean[name] = _number(what, row[name])
            if not 0 < clean[name] < math.inf:
                raise ValueError(f"{what} is {clean[name]:g}: it must be finite and above 0")
    return clean


def _accuracies(what, values):
    wanted = f"{what} must be numbers from 0 to 1, one for each seed"
    try:
        values = [values] if isinstance(values, str) else list(values)
    except TypeError:
        raise ValueError(f"{wanted}, in a list: [{values!r}] if there is one seed") from None
    values = [_number(f"an entry of {what}", value) for value in values]
    if not values or not all(0 <= value <= 1 for value in values):
        raise ValueError(wanted)
    return values


def _number(what, value):
    for part in ("median", "total"):  # what median_seconds and kept_for_backward give
        if isinstance(value, (Timing, memory.Kept)) and hasattr(value, part):
            raise ValueError(f"{what} must be a single number, not a {type(value).__name__}: add .{part}")
    return as_number(value, f"{what} must be a number, not {value!r}")


def _accuracy_text(row):
    values = row.get("accuracy")
    if not values:
        return ""
    mean = f"{statistics.mean(values):.1%}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.1%} to {max(values):.1%})"


_COLUMNS = {
    "accuracy (over the seeds)": _accuracy_text,
    "time of a step": lambda row: f"{row['seconds'] * 1e3:,.2f} ms" if "seconds" in row else "",
    "kept for backward": lambda row: memory.text(round(row["kept"])) if "kept" in row else "",
    "peak on the GPU": lambda row: memory.text(round(row["peak"])) if "peak" in row else "",
}


def _of_accuracy(rows):
    seen = {label: row["accuracy"] for label, row in rows.items() if "accuracy" in row}
    if len(seen) < 2 or min(map(len, seen.values())) < 2:
        return ""
    means = [statistics.mean(values) for values in seen.values()]
    between = max(means) - min(means)
    within = max(max(values) - min(values) for values in seen.values())
    words = (
        f"Accuracy: the means lie within {100 * between:.1f} points of each other, the seeds of a single "
        f"precision within {100 * within:.1f}."
    )
    if between <= within:
        return words + " These seeds show no precision ahead."
    worst = min(seen, key=lambda label: statistics.mean(seen[label]))
    return words + f" {worst} lies lowest, by more than the seeds alone explain."


def _of_time(rows, device):
    first, *others = [label for label, row in rows.items() if "seconds" in row] or [""]
    if not others:
        return ""
    parts, slow = [], []
    for label in others:
        ratio = rows[label]["seconds"] / rows[first]["seconds"]
        if ratio > NOTICEABLE:
            parts.append(f"{label} takes {ratio:.2g} times as long as {first}")
            slow.append(label[:4].upper())
        elif ratio < 1 / NOTICEABLE:
            parts.append(f"{label} is {1 / ratio:.2g} times as fast as {first}")
        else:
            parts.append(f"{label} takes about as long as {first}")
    words = f"Time, at this size and on this machine: {listed(parts)}."
    if "FP16" in slow and device == "cpu":
        words += " Many CPUs have no fast arithmetic for FP16; a GPU with tensor cores has."
    if "BF16" in slow and device == "cuda":
        words += " NVIDIA GPUs below compute capability 8.0 only emulate BF16."
    return words


def _share(ratio):
    return f"{ratio:.0%}" if ratio < 1.5 else f"{ratio:.2g} times as much"


def _of_memory(rows):
    parts = []
    for name, what in (("kept", "backward keeps"), ("peak", "the GPU's peak is")):
        first, *others = [label for label, row in rows.items() if name in row] or [""]
        shares = [f"{_share(rows[label][name] / rows[first][name])} in {label}" for label in others]
        if shares:
            parts.append(f"{what}, compared with {first}, {listed(shares)}")
    return f"Memory: {'; '.join(parts)}." if parts else ""
