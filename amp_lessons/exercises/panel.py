"""What the practice functions show: a panel in a notebook, plain lines in a terminal."""

import html
import re

STYLE = {
    "correct": ("✓", "Correct", "#009E73"),
    "not yet": ("✗", "Not yet", "#D55E00"),
    "not attempted": ("○", "Not attempted", "#808080"),
    "help": ("", "", "#0072B2"),
}


class Panel:
    """A panel with an HTML body and the same in plain lines. `print` and `repr` give the lines."""

    def __init__(self, body_html, text, style="help"):
        self.html = framed(body_html, style)
        self.text = sendable(text)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self.html, "text/plain": self.text}

    def __repr__(self):
        return self.text


def framed(body_html, style):
    """`body_html` behind a line in the colour of `style`. The text keeps the notebook's own colour."""
    colour = STYLE[style][2]
    return sendable(
        f'<div style="border-left:5px solid {colour};padding:0.3em 0 0.3em 0.9em;margin:0.3em 0;'
        'max-width:60em;line-height:1.45;color:var(--jp-ui-font-color1, inherit)">'
        f"{body_html}</div>"
    )


def sendable(text):
    """`text` with half characters (lone surrogates), which no message can carry, written as in "\\ud83d"."""
    return text.encode("utf-8", "backslashreplace").decode()


def paragraph(text):
    """A paragraph of plain text: escaped, line breaks kept, `names` between backticks as code."""
    escaped = re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text))
    return f'<p style="margin:0.25em 0;white-space:pre-line;overflow-wrap:anywhere">{escaped}</p>'


def code_block(text):
    """A block of code or output, escaped."""
    return (
        '<pre style="margin:0.25em 0;padding:0.5em;white-space:pre-wrap;word-break:normal;'
        "overflow-wrap:anywhere;border:1px solid #808080;color:inherit;"
        f'background:transparent">{html.escape(text)}</pre>'
    )


def heading(text, further=""):
    """The first line of a panel: bold, and `further` after it in normal weight."""
    return f'<p style="margin:0 0 0.25em 0"><strong>{html.escape(text)}</strong> {html.escape(further)}</p>'


def folded(summary, body_html):
    """`body_html` behind a line to open."""
    return f"<details><summary>{html.escape(summary)}</summary>{body_html}</details>"


def number(value):
    """A number of points or minutes without needless zeros: "2", "1.5"."""
    return f"{round(value, 2):g}"


def plural(count, word):
    """ "1 point", "2 points"."""
    return f"{number(count)} {word}" if count == 1 else f"{number(count)} {word}s"
