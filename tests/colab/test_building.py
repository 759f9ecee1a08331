"""Self-contained notebooks: what they hold, and what their folded set-up cell does in a fresh process."""

import io
import os
import subprocess
import sys
import tarfile
from base64 import b85decode
from pathlib import Path

import nbformat
import pytest

from amp_lessons.colab.building import build
from amp_lessons.colab.packing import packed

REPOSITORY = Path(__file__).resolve().parents[2]
LESSONS, PACKAGE = REPOSITORY / "notebooks", REPOSITORY / "amp_lessons"
SAY_WHERE = "\nimport amp_lessons; print(amp_lessons.__file__)\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(LESSONS, tmp_path_factory.mktemp("colab"), PACKAGE)


@pytest.fixture(scope="module")
def cell(built):
    notebook = nbformat.read(built[0], as_version=4)
    return next(cell for cell in notebook.cells if cell.id == "set-up-package")


def run(code, home, *more, **environment):
    """Run code as a kernel would, with nothing of this repository on the path; give what it printed."""
    environment = {**os.environ, "HOME": str(home), **environment}
    for name in ("PYTHONPATH", "XDG_CACHE_HOME"):
        if name not in more:
            environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-"], input=code, cwd=home if Path(home).is_dir() else "/", env=environment,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_every_lesson_is_built_small_and_valid(built):
    assert [path.name for path in built] == sorted(path.name for path in LESSONS.glob("*.ipynb"))
    for path in built:
        assert path.stat().st_size < 400_000
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert notebook.metadata.accelerator == "GPU" and "widgets" not in notebook.metadata


def test_a_built_lesson_is_the_lesson_with_a_note_and_a_folded_cell_more(built):
    for path in built:
        lesson = nbformat.read(LESSONS / path.name, as_version=4)
        cells = nbformat.read(path, as_version=4).cells
        assert cells.pop(1).id == "on-colab"
        place = [cell.id for cell in cells].index("set-up-package")
        bare, set_up = lesson.cells[place], cells[place + 1]
        assert bare.id == set_up.id == "set-up"
        assert "upload a file of build/colab/" in bare.source and "upload" not in set_up.source
        set_up.source = bare.source
        assert cells[place].source.startswith("# @title Set up")
        assert cells[place].metadata.cellView == "form"
        assert cells[:place] + cells[place + 1 :] == lesson.cells


def test_it_carries_what_a_learner_needs_and_nothing_of_this_machine():
    text, _ = packed(PACKAGE)
    with tarfile.open(fileobj=io.BytesIO(b85decode("".join(text.split()))), mode="r:xz") as archive:
        entries = archive.getmembers()
    names = [entry.name for entry in entries]
    assert "amp_lessons/exercises/lesson_01_fp16_underflow.py" in names
    assert [name for name in names if "/classroom/" in name or "/colab/" in name] == []
    assert {(entry.mtime, entry.uid, entry.uname) for entry in entries} == {(0, 0, "")}


def test_nothing_of_who_ran_a_lesson_travels(tmp_path):
    notebook = nbformat.read(LESSONS / "00_start_here.ipynb", as_version=4)
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
    cell.outputs = [nbformat.v4.new_output("stream", text="/home/alice")]
    cell.execution_count = 7
    notebook.metadata["widgets"] = {"state": {}}
    notebook.metadata["kernelspec"] = {"name": "alice-env", "display_name": "alice"}
    (tmp_path / "lessons").mkdir()
    nbformat.write(notebook, tmp_path / "lessons" / "00_start_here.ipynb")
    (path,) = build(tmp_path / "lessons", tmp_path / "built", PACKAGE)
    assert "alice" not in path.read_text() and '"widgets"' not in path.read_text()
    package = tmp_path / "amp_lessons"
    for name in ("__init__.py", ".ipynb_checkpoints/x-checkpoint.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("pass")
    text, _ = packed(package)
    with tarfile.open(fileobj=io.BytesIO(b85decode("".join(text.split()))), mode="r:xz") as archive:
        assert archive.getnames() == ["amp_lessons/__init__.py"]


def test_a_lesson_without_a_set_up_cell_is_an_error_in_words(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    for cell in notebook.cells:
        del cell["id"]
    notebook.nbformat_minor = 0
    (tmp_path / "mine.ipynb").write_text(nbformat.writes(notebook))
    with pytest.raises(ValueError, match='mine.ipynb has no cell with the id "set-up"'):
        build(tmp_path, tmp_path / "built", PACKAGE)


def test_the_same_sources_give_the_same_text():
    assert packed(PACKAGE) == packed(PACKAGE)


def test_it_loads_the_package_it_carries(cell, tmp_path):
    (where,) = run(cell.source + SAY_WHERE, tmp_path)
    assert where.startswith(str(tmp_path / ".cache" / "amp_lessons"))


def test_a_second_run_writes_nothing(cell, tmp_path):
    run(cell.source, tmp_path)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.py")}
    (where,) = run(cell.source + "\n" + cell.source + SAY_WHERE, tmp_path)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.py")} == before
    assert before and Path(where) in before


def test_a_damaged_copy_is_mended(cell, tmp_path):
    (where,) = run(cell.source + SAY_WHERE, tmp_path)
    right = Path(where).read_bytes()
    Path(where).write_text("broken(")
    run(cell.source + SAY_WHERE, tmp_path)
    assert Path(where).read_bytes() == right


def other_copy(folder):
    (folder / "amp_lessons").mkdir(parents=True)
    (folder / "amp_lessons" / "__init__.py").write_text("__version__ = '0.0.1'\n")
    return str(folder)


def test_another_copy_on_the_path_loses(cell, tmp_path):
    other = other_copy(tmp_path / "installed")
    (where,) = run(cell.source + SAY_WHERE, tmp_path, "PYTHONPATH", PYTHONPATH=other)
    assert "installed" not in where


def test_another_copy_that_is_loaded_already_loses(cell, tmp_path):
    other = other_copy(tmp_path / "installed")
    code = f"import sys; sys.path.insert(0, {other!r}); import amp_lessons\n" + cell.source + SAY_WHERE
    (where,) = run(code, tmp_path)
    assert "installed" not in where


def test_a_home_that_cannot_be_written_to_is_no_obstacle(cell, tmp_path):
    (tmp_path / "file").write_text("")
    (where,) = run(cell.source + SAY_WHERE, tmp_path / "file", TMPDIR=str(tmp_path))
    assert where.startswith(str(tmp_path / "amp_lessons_"))


def test_no_room_anywhere_says_what_to_do(cell, tmp_path):
    (tmp_path / "file").write_text("")
    code = "import tempfile\ntempfile.gettempdir = lambda: '/proc/nowhere'\n" + cell.source
    with pytest.raises(AssertionError, match="Make room on the disk, then run this cell again"):
        run(code, tmp_path / "file")


def test_nothing_to_build_from_is_an_error_in_words(tmp_path):
    with pytest.raises(ValueError, match="There are no lessons in"):
        build(tmp_path, tmp_path / "out", PACKAGE)
    with pytest.raises(ValueError, match="There is no package in"):
        build(LESSONS, tmp_path / "out", tmp_path)
