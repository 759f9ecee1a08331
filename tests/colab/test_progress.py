"""Progress where the machine is lost: kept in a mounted Drive, or read back from saved notebooks."""

import json

import nbformat
import pytest
from nbclient import NotebookClient

from amp_lessons.colab.building import build
from amp_lessons.exercises import progress_file, rebuild_progress
from tests.colab.test_building import LESSONS, PACKAGE

DRIVE = 'import os\nos.environ["AMP_LESSONS_HOME"] = {!r}'


@pytest.fixture
def run_as_colab_does(tmp_path, monkeypatch):
    """Run lesson 00 as built, solved, renamed and in nbformat 4.0, with some code after its set-up."""
    monkeypatch.setenv("HOME", str(tmp_path / "colab"))
    (tmp_path / "colab").mkdir()
    for name in ("PYTHONPATH", "XDG_CACHE_HOME", "AMP_LESSONS_HOME"):
        monkeypatch.delenv(name, raising=False)

    def run(after_set_up):
        path = build(LESSONS, tmp_path / "built", PACKAGE)[0]
        notebook = nbformat.read(path, as_version=4)
        wanted = "set-up-package", "set-up", "answer-bytes-per-number", "check-bytes-per-number"
        notebook.cells = [cell for cell in notebook.cells if cell.id in wanted]
        notebook.cells[2].source = "bytes_per_number = 2"
        notebook.cells.insert(2, nbformat.v4.new_code_cell(after_set_up))
        for cell in notebook.cells:
            del cell["id"]
        notebook.nbformat_minor = 0
        client = NotebookClient(notebook, timeout=120, kernel_name="python3")
        client.resources = {"metadata": {"path": str(tmp_path / "colab")}}
        client.execute()
        saved = tmp_path / "drive" / "Copy of 00_start_here (1).ipynb"
        saved.parent.mkdir(exist_ok=True)
        saved.write_text(json.dumps(notebook), encoding="utf-8")
        return saved

    return run


@pytest.mark.slow
def test_a_folder_in_the_drive_keeps_it(run_as_colab_does, tmp_path, monkeypatch):
    kept = tmp_path / "drive" / "amp_lessons"
    run_as_colab_does(DRIVE.format(str(kept)))
    monkeypatch.setenv("AMP_LESSONS_HOME", str(kept))
    assert progress_file.read({"bytes-per-number": 1.0}).points == {"bytes-per-number": 1.0}


@pytest.mark.slow
def test_saved_notebooks_give_it_back(run_as_colab_does, tmp_path, monkeypatch):
    saved = run_as_colab_does("")
    monkeypatch.setenv("AMP_LESSONS_HOME", str(tmp_path / "a new machine"))
    assert progress_file.read({"bytes-per-number": 1.0}).points == {}
    assert "1 new result" in repr(rebuild_progress(saved.parent))
    assert progress_file.read({"bytes-per-number": 1.0}).points == {"bytes-per-number": 1.0}
