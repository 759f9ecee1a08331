"""A recording in words, for a terminal."""

import textwrap

_MARKS = {"finding": "✗", "note": "i"}


def headline(recording) -> str:
    """Return one line on what the loop did."""
    parts = [f"{_counted(recording.steps, 'step')} recorded"]
    for scaler, history in zip(recording.scalers, recording.scales):
        if not scaler["enabled"]:
            parts.append("the scaler is disabled")
        elif history:
            course = f"loss scale {history[0][1]:g}"
            if history[-1][1] != history[0][1]:
                course += f" → {history[-1][1]:g}"
            parts.append(f"{course}, {scaler['skipped']} skipped")
    if recording.ended_by:
        parts.append(f"ended by {recording.ended_by}")
    return "; ".join(parts) + "."


def counts(recording) -> str:
    """Return how many findings and notes there are, in words."""
    found, notes = recording.findings, recording.notes
    words = _counted(len(found), "finding") if found else "No findings"
    return words + (f", {_counted(len(notes), 'note')}" if notes else "") + "."


def summary(recording) -> str:
    """Return the recording as text of at most 100 columns."""
    lines = [headline(recording), counts(recording)]
    for one in [*recording.findings, *recording.notes]:
        seen = f", seen {one.times} times" if one.times > 1 else ""
        lines += ["", f"{_MARKS[one.severity]} {one.severity} {one.rule}: step {one.step}, {one.place}{seen}"]
        if one.code:
            lines.append(f"      {one.code[:92]}")
        lines += _wrapped(one.happened)
        lines += _wrapped("To do: " + one.to_do)
        if one.error:
            lines += _wrapped("This is what PyTorch's exception is about: " + one.error)
    if recording.troubles:
        lines += ["", "Not seen: the recorder had an error of its own; recording.troubles has its traceback."]
    lines += ["", *(f"Not seen: {words}." for words in recording.not_seen)] if recording.not_seen else []
    return "\n".join(lines)


def _counted(number, word):
    return f"{number} {word}" + ("" if number == 1 else "s")


def _wrapped(text):
    return textwrap.wrap(text, 98, initial_indent="    ", subsequent_indent="    ")
