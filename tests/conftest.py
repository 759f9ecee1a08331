"""Every test has a progress file and a session of its own; the learner's file is never touched."""

import atexit

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from amp_lessons.exercises import catalogue, helping, progress_file, watch
from amp_lessons.exercises.catalogue import Catalogue


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A fresh folder for the progress file."""
    folder = tmp_path / "amp_lessons_home"
    monkeypatch.setenv("AMP_LESSONS_HOME", str(folder))
    for remembered in (progress_file.unsaved, helping.hints_given, watch.cells):
        remembered.clear()
    return folder


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A running notebook: an IPython shell of its own."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    yield shell
    InteractiveShell.clear_instance()
    atexit.unregister(shell.atexit_operations)  # it would keep the shell, and hundreds make a slow exit


@pytest.fixture
def teach(monkeypatch):
    """teach(lesson, ...) makes these the only lessons."""

    def teach(*lessons):
        toys = Catalogue(lessons)
        assert toys.faults == []
        monkeypatch.setattr(catalogue, "current", lambda: toys)
        return toys

    return teach
