"""Lessons as pages to read without a kernel and without the network: ``python -m amp_lessons.pages notebooks
build/html``. Every lesson is executed; a page shows the still picture that each live widget carries along."""

import html
import re
import sys
import time
from pathlib import Path

PAGE = """{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block jupyter_widgets -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block html_head_css -%}
<style>
body.jp-Notebook { max-width: 60rem; margin: 0 auto; padding: 1rem; }
/* JupyterLab's colours, a little darker: enough contrast for small text */
body.jp-Notebook { --jp-cell-prompt-not-active-opacity: 1; --jp-mirror-editor-number-color: #006b00;
  --jp-mirror-editor-operator-color: #8800d8; --jp-mirror-editor-comment-color: #2f6a6a; }
.jp-RenderedHTMLCommon a:link, .jp-RenderedHTMLCommon a:visited { text-decoration: underline; }
</style>
{%- endblock -%}
"""  # the page of JupyterLab's looks, less all that it would load from elsewhere

INDEX = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>amp-lessons</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ color: #222; background: #fff; font: 1.05rem/1.6 sans-serif;
max-width: 40rem; margin: 3rem auto; padding: 0 1rem; }}</style></head>
<body><main><h1>Mixed-precision training, lesson by lesson</h1>
<p>These pages are for reading. Exercises and widgets need a running lesson: <code>make lab</code>.</p>
<ol start="0">
{entries}
</ol></main></body></html>
"""


def execute(notebook, folder, seconds=600):
    """Run the cells of ``notebook`` (an nbformat notebook) in place, in ``folder``; widget state is not kept.
    Raises nbclient's CellExecutionError for a cell that fails and is not tagged raises-exception."""
    from nbclient import NotebookClient

    client = NotebookClient(
        notebook, timeout=seconds, kernel_name="python3", store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    client.execute()


def page(notebook, name):
    """The executed ``notebook`` as one HTML text, titled ``name``, that loads nothing from elsewhere."""
    from nbconvert import HTMLExporter

    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if _is_still(output)]
    notebook.metadata.pop("widgets", None)
    text, _ = HTMLExporter(raw_template=PAGE).from_notebook_node(
        notebook, resources={"metadata": {"name": name}}
    )
    return re.sub(r'href="(\w+)\.ipynb', r'href="\1.html', text)


def _is_still(output):
    """Drops the live part of a widget's output; False if nothing is left, as for a progress bar at 0 %."""
    data = output.get("data", {})
    return data.pop("application/vnd.jupyter.widget-view+json", None) is None or "text/html" in data


def title(notebook, otherwise):
    """The first heading of ``notebook`` as plain text; ``otherwise`` if there is none."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    found = re.search(r"^# +(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else otherwise


def write_pages(source, folder):
    """Execute every lesson in ``source``; write ``NAME.html`` for each, and ``index.html``, to ``folder``.

    Raises ValueError if ``source`` holds no lesson, and what :func:`execute` raises."""
    import nbformat

    source, folder = Path(source), Path(folder)
    lessons = sorted(source.glob("*.ipynb"))
    if not lessons:
        raise ValueError(f"There are no lessons in {source}. Start this in the folder that holds {source}.")
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for lesson in lessons:
        start = time.monotonic()
        notebook = nbformat.read(lesson, as_version=4)
        heading = title(notebook, lesson.stem)
        execute(notebook, source)
        target = folder / f"{lesson.stem}.html"
        target.write_text(page(notebook, heading), encoding="utf-8")
        entries.append(f'<li><a href="{target.name}">{html.escape(heading)}</a></li>')
        print(f"{target}  ({time.monotonic() - start:.0f} s)", flush=True)
    (folder / "index.html").write_text(INDEX.format(entries="\n".join(entries)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m amp_lessons.pages NOTEBOOKS FOLDER")
    try:
        write_pages(*sys.argv[1:])
    except ValueError as error:
        sys.exit(str(error))
