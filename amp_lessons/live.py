"""Shows a widget where a kernel runs, and a still picture of it where none does."""

import sys


def show_live(widget, fallback_html):
    """Display `widget` (an ipywidgets widget), with `fallback_html` for readers without a kernel.

    A page made from the notebook, or a notebook opened without its widget state, shows the HTML instead.
    Colab displays only widgets that come alone, so there the HTML is left out.
    """
    from IPython.display import display

    if "google.colab" in sys.modules:
        display(widget)
        return
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    bundle = {
        "text/plain": "A widget. It needs a running notebook.",
        "text/html": fallback_html,
        "application/vnd.jupyter.widget-view+json": view,
    }
    display(bundle, raw=True)
