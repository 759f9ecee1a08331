"""Writes self-contained copies of the lessons."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

from amp_lessons.colab.packing import packed

CELL = Path(__file__).with_name("set_up_cell.py")
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
GPU = {"accelerator": "GPU", "colab": {"gpuType": "T4", "provenance": []}}


def build(lessons, folder, package):
    """Write a self-contained copy of every lesson in ``lessons`` to ``folder``; give the paths written.

    Raises ValueError, with a text that says what to do, if there is no lesson or no package.
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
        put_before_set_up(notebook, source)
        notebook.metadata.update(GPU)
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


def put_before_set_up(notebook, source):
    """Make ``source`` the folded cell before the lesson's set-up cell; an empty one takes that cell out."""
    notebook.cells = [cell for cell in notebook.cells if cell.id != "set-up-package"]
    if source:
        place = next(i for i, cell in enumerate(notebook.cells) if cell.id == "set-up")
        notebook.cells.insert(place, new_code_cell(source, id="set-up-package", metadata=FOLDED))
