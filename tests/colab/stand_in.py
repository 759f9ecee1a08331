"""Runs every built notebook as Colab would: ``python stand_in.py BUILT FOLDER``, with the stand-in's Python.

BUILT holds the self-contained notebooks, FOLDER is new and becomes home and working folder. Exits with a
message where a cell fails, the package comes from elsewhere, its set-up cell is slow, or a package changed.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

SLOWEST_SET_UP = 2.0  # seconds
WHERE = """
import os, sys, amp_lessons
print(amp_lessons.__file__, os.environ.get("PYTHONPATH"), sep="\\n")
"""


def run(path, folder):
    """Execute one notebook in ``folder``; give the seconds of its set-up cell and of all of it."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(WHERE))
    start = time.monotonic()
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    seconds = time.monotonic() - start
    file, python_path = notebook.cells[-1].outputs[0].text.split()
    assert file.startswith(str(folder / ".cache" / "amp_lessons")), (
        f"{path.name}: amp_lessons came from {file}"
    )
    assert python_path == "None", f"{path.name}: PYTHONPATH is {python_path}"
    cell = next(cell for cell in notebook.cells if cell.id == "set-up-package")
    times = [
        nbformat_time(cell.metadata.execution[event]) for event in ("iopub.status.busy", "iopub.status.idle")
    ]
    set_up = times[1] - times[0]
    assert set_up < SLOWEST_SET_UP, f"{path.name}: the set-up cell took {set_up:.1f} s"
    return set_up, seconds


def nbformat_time(text):
    """Seconds of the time stamps that nbclient notes."""
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def packages():
    command = [sys.executable, "-m", "pip", "freeze", "--disable-pip-version-check"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main(built, folder):
    notebooks = sorted(Path(built).resolve().glob("*.ipynb"))
    if not notebooks:
        sys.exit(f"There are no notebooks in {built}: run make colab first.")
    folder = Path(folder).resolve()
    folder.mkdir(parents=True)
    os.environ["HOME"] = str(folder)
    for name in ("PYTHONPATH", "XDG_CACHE_HOME", "AMP_LESSONS_HOME"):
        os.environ.pop(name, None)
    before = packages()
    for path in notebooks:
        set_up, seconds = run(path, folder)
        print(f"{path.name}: set-up cell {set_up:.2f} s, all of it {seconds:.0f} s", flush=True)
    assert packages() == before, "an installed package changed"


if __name__ == "__main__":
    main(*sys.argv[1:])
