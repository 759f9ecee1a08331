"""Executes the lessons, each in a fresh kernel of the same Python, and says where one fails."""

import atexit
import re
import tempfile
import time
from pathlib import Path

from tests.gpu.budget import Budget
from tests.gpu.wheels import environment

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def run(folder, seconds):
    """Execute every notebook in `folder`; give {"outcome", "notebooks"}.

    outcome: "passed", "failed", or "cut" if the seconds did not last for all of them.
    """
    budget, notebooks = Budget(seconds), []
    for path in sorted(Path(folder).glob("*.ipynb")):
        notebooks.append(_run_one(path, budget))
        print(f"{path.name}: {notebooks[-1]['outcome']}, {notebooks[-1]['seconds']:.0f} s", flush=True)
    outcomes = {each["outcome"] for each in notebooks}
    outcome = next((each for each in ("failed", "cut", "passed") if each in outcomes), "failed")
    return {"outcome": outcome, "notebooks": notebooks}


def _run_one(path, budget):
    """One lesson as {"name", "outcome", "seconds", "cell", "source", "error"}.

    cell and source: index and first line of the cell in which it ended, None if it passed, like the error.
    """
    result = {
        "name": path.stem,
        "outcome": "passed",
        "seconds": 0.0,
        "cell": None,
        "source": None,
        "error": None,
    }
    if budget.is_spent():
        return result | {"outcome": "cut", "error": "The time for the lessons was spent before this one."}
    start, reached = time.monotonic(), {}
    try:
        _execute(path, budget, reached)
    except Exception as error:
        too_long = type(error).__name__ == "CellTimeoutError" or (not reached and budget.is_spent())
        result["outcome"] = "cut" if too_long else "failed"
        result |= {"cell": reached.get("cell"), "source": reached.get("source"), "error": _in_words(error)}
    return result | {"seconds": round(time.monotonic() - start, 2)}


def _execute(path, budget, reached):
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    def begins(cell, cell_index):
        if cell.cell_type == "code":
            reached.update(cell=cell_index, source=cell.source.strip().split("\n")[0])

    with tempfile.TemporaryDirectory() as away:
        # A learner's progress file and IPython's own start-up files are left alone.
        apart = {"AMP_LESSONS_HOME": f"{away}/home", "IPYTHONDIR": f"{away}/ipython"}
        variables = environment() | apart
        variables.pop("OMP_NUM_THREADS", None)
        client = NotebookClient(
            nbformat.read(path, as_version=4),
            km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=_this_python()),
            timeout=None,
            startup_timeout=max(1, int(budget.left())),
            timeout_func=lambda cell: max(1, int(budget.left())),
            shutdown_kernel="immediate",  # with all that it started, also in the middle of a computation
            store_widget_state=False,
            on_cell_start=begins,
            resources={"metadata": {"path": away}},
        )
        # Without cleanup_kc the kernel of a manager that is passed in lives on, and holds its GPU memory.
        try:
            client.execute(env=variables, cleanup_kc=True)
        finally:
            # Where the kernel did not start, nbclient leaves this for the end, when it can only fail.
            atexit.unregister(getattr(client, "_cleanup_kernel", None))


def _this_python():
    """Any kernel that is asked for is this Python's, also where another one is registered as "python3"."""
    from ipykernel.kernelspec import RESOURCES, get_kernel_dict
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name):
            return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())

    return ThisPython()


def _in_words(error):
    name = getattr(error, "ename", "") or type(error).__name__
    text = getattr(error, "evalue", "") or str(error).strip().split("\n")[0]
    return _COLOURS.sub("", f"{name}: {text}".strip())[:2000]
