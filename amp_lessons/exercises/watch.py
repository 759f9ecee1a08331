"""Remembers the notebook cells that define something: their source, and whether they failed.

An IPython hook reads each cell after it ran. So a check can tell that an answer cell failed, although an
older definition is still there, and `solution` can show what the learner wrote.
"""

import dataclasses
import linecache
import re
import sys

from amp_lessons.exercises import catalogue
from amp_lessons.exercises.faults import kind_and_text, learners_place, place_in_words
from amp_lessons.exercises.stub import names_defined

_MISSING = object()
_CELL_MAGICS = re.compile(r"\A(?:\s*%%.*\n)+")
_OUR_CALLS = re.compile(r"\b(?:check|hint|reset|solution)\(.*")
cells = {}  # name -> Cell: the last one that defines it


@dataclasses.dataclass
class Cell:
    """A cell that ran: `failure` is None or says how it failed, `value` is what the name then was."""

    source: str
    failure: str | None = None
    value: object = None

    def is_stub(self, stub):
        """Whether it failed only because nothing is filled in: it is the stub, or calls what it left open."""
        return self.source.strip() == stub.strip() or self.failure.startswith("NotImplementedError\n")


def notebook():
    """The running IPython shell, or None."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def start():
    """Listen to the running notebook, once however often it is called. Does nothing outside IPython."""
    shell = notebook()
    if shell is None:
        return
    for callback in list(shell.events.callbacks["post_run_cell"]):
        if getattr(callback, "__module__", None) == __name__:  # also one from before a reload
            shell.events.unregister("post_run_cell", callback)
    shell.events.register("post_run_cell", _after_cell)


def failed_cell(names, namespace):
    """The cell that defines one of `names` if its last run failed and nothing was defined since, or None."""
    if notebook() is None or namespace is not notebook().user_ns:
        return None
    for name in names:
        cell = cells.get(name)
        if cell and cell.failure and namespace.get(name, _MISSING) is cell.value:
            return cell
    return None


def own_source(names):
    """The source of the cells that last defined `names`, each once, or None."""
    sources = dict.fromkeys(cells[name].source for name in names if name in cells)
    return "\n\n".join(sources) or None


def _after_cell(result=None):
    try:
        info = getattr(result, "info", None)
        if info is not None and isinstance(info.raw_cell, str):
            _remember(info.raw_cell, result.error_before_exec or result.error_in_exec)
    except Exception:  # a fault of ours must never break a learner's cell
        pass


def _remember(source, error):
    namespace = notebook().user_ns
    names, parses = _names(source, error)
    for name in names:
        cell = Cell(source.strip("\n"))
        if error is not None:
            cell.failure = _in_words(error, namespace)
            cell.failure += "" if parses else "\nIs that another cell? Then run your answer cell again."
            cell.value = namespace.get(name, _MISSING)
        cells[name] = cell


def _names(source, error):
    """The names that a cell defines, and whether it parses.

    A cell that failed and does not parse may be an answer with any slip (`Def f(x):`): there every name that
    an exercise asks for counts, wherever it stands.
    """
    try:
        return names_defined(_as_python(source)), True
    except Exception:
        if error is None:  # not Python, such as a cell of %%html
            return [], False
        words = set(re.findall(r"\w+", _OUR_CALLS.sub("", source)))
        asked_for = [name for exercise in catalogue.current().exercises for name in exercise.names]
        return [name for name in asked_for if name in words], False


def _as_python(source):
    """A cell as IPython runs it, without an indent, `>>>` or magics."""
    return notebook().transform_cell(_CELL_MAGICS.sub("", source))


def _in_words(error, namespace):
    if isinstance(error, SyntaxError) and error.lineno:
        line = (error.text or linecache.getline(error.filename or "", error.lineno or 0)).strip()
        where = f"In line {error.lineno}: `{line}`"
        kind = type(error).__name__ if isinstance(error, IndentationError) else "SyntaxError"
        missing = " (a bracket or a quote is still open)" if error.msg == "incomplete input" else ""
        return f"{kind}: {error.msg}{missing}\n{where}".strip()
    frame, line = learners_place(error, namespace)
    return kind_and_text(error) + (f"\n{place_in_words(frame, line)}" if frame else "")
