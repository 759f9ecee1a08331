"""Writes self-contained copies of the lessons."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from amp_lessons.colab.packing import packed

CELL = Path(__file__).with_name("set_up_cell.py")
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
GPU = {"accelerator": "GPU", "colab": {"gpuType": "T4", "provenance": []}}
KERNEL = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
BARE = "# No module amp_lessons?"  # how the line begins that tells where to get the package
CARRIED = "# No module amp_lessons? Run the folded cell above first, also after a restart."
NOTE = """
**On Colab.** A GPU: *Runtime > Change runtime type*; that is a new machine, so run from the top again.
After every start and restart run the folded cell **Set up** below, then the one after it. *Run All Above
Selected Cell* is *Runtime > Run before* here, and **+ Code** makes a new cell.

The machine and its files are gone when you leave, and your progress with them. To keep it in your Drive, run
this after every start, before the first check, in one lesson at a time:

    import os
    from google.colab import drive
    drive.mount("/content/drive")
    os.environ["AMP_LESSONS_HOME"] = "/content/drive/MyDrive/amp_lessons"
""".strip()


def build(lessons, folder, package):
    """Write a self-contained copy of every lesson in ``lessons`` to ``folder``; give the paths written.

    Outputs, widget state and the kernel's name stay behind. Raises ValueError, with a text that says what to
    do, if there is no lesson or no package, or a lesson has no set-up cell.
    """
    notebooks = sorted(Path(lessons).glob("*.ipynb"))
    if not notebooks:
        raise ValueError(f"There are no lessons in {lessons}. Start this in the folder that holds {lessons}.")
    text, version = packed(Path(package))
    source = carrier(text, version)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for path in notebooks:
        notebook = nbformat.read(path, as_version=4)
        put_before_set_up(notebook, source, path.name)
        notebook.cells.insert(1, new_markdown_cell(NOTE, id="on-colab"))
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
            if cell.id == "set-up":
                cell.source = "\n".join(
                    CARRIED if line.startswith(BARE) else line for line in cell.source.split("\n")
                )
        notebook.metadata = nbformat.from_dict({**KERNEL, **GPU})
        nbformat.validate(notebook)
        nbformat.write(notebook, folder / path.name)
        written.append(folder / path.name)
    return written


def carrier(text, version):
    """The source of the cell that carries the package ``text`` and unpacks it."""
    source = CELL.read_text(encoding="utf-8")
    for empty, full in (
        ('PACKED = ""', f'PACKED = """\n{text}"""'),
        ('VERSION = ""', f'VERSION = "{version}"'),
    ):
        assert source.count(empty) == 1
        source = source.replace(empty, full)
    return source.rstrip("\n")


def put_before_set_up(notebook, source, name):
    """Make ``source`` the folded cell before the lesson's set-up cell; an empty one takes that cell out.

    ValueError if the notebook, whose file is called ``name``, has no cell with the id "set-up".
    """
    notebook.cells = [cell for cell in notebook.cells if cell.get("id") != "set-up-package"]
    places = [i for i, cell in enumerate(notebook.cells) if cell.get("id") == "set-up"]
    if not places:
        raise ValueError(f'{name} has no cell with the id "set-up": take the lesson as it was committed.')
    if source:
        notebook.cells.insert(places[0], new_code_cell(source, id="set-up-package", metadata=FOLDED))
