"""A recording as HTML, for a notebook."""

import html
import importlib

from amp_lessons.recorder.summary import counts, headline
from amp_lessons.recorder.timeline import timeline

_LOOK = {"finding": ("✗", "#b3261e"), "note": ("ℹ", "#0b57d0")}


def page(recording) -> str:
    """Return the findings and notes as HTML, readable on a light and on a dark page."""
    parts = [
        '<div style="color:var(--jp-ui-font-color1, inherit);max-width:56em">',
        f"<p><strong>{html.escape(counts(recording))}</strong> {html.escape(headline(recording))}</p>",
        _figure(recording),
        *(_one(finding) for finding in [*recording.findings, *recording.notes]),
        *(f"<p>Not seen: {html.escape(words)}.</p>" for words in recording.not_seen),
        "</div>",
    ]
    return "".join(parts)


def _figure(recording):
    """Return the timeline as a figure, or in words where matplotlib is missing.

    The room of figures lies above this one: it is asked for by name, when a notebook shows a recording.
    """
    step = timeline(recording)
    if step is None:
        return ""
    try:
        return importlib.import_module("amp_lessons.figures.timeline").step_timeline(step).html()
    except ImportError:
        return f"<p>{html.escape(str(step))}</p>"


def _one(finding):
    mark, colour = _LOOK[finding.severity]
    seen = f", seen {finding.times} times" if finding.times > 1 else ""
    where = html.escape(f"step {finding.step}, {finding.place}{seen}")
    error = f"<p>PyTorch's exception: {html.escape(finding.error)}</p>" if finding.error else ""
    code = f"<pre style='margin:0.2em 0'>{html.escape(finding.code)}</pre>" if finding.code else ""
    return (
        f'<div style="border-left:4px solid {colour};padding:0.1em 0 0.1em 0.8em;margin:0.8em 0">'
        f"<div>{mark} <strong>{finding.severity}: {html.escape(finding.rule)}</strong> ({where})</div>{code}"
        f"<p style='margin:0.3em 0'>{html.escape(finding.happened)}</p>"
        f"<p style='margin:0.3em 0'><strong>To do:</strong> {html.escape(finding.to_do)}</p>{error}</div>"
    )
