"""Where in the learner's own code a call came from: file and line, or cell and line in a notebook."""

import ast
import functools
import linecache
import os
import re
import sys
from dataclasses import dataclass

import torch

# Frames in these folders are never the learner's. The rest of amp_lessons does not train anything.
_NOT_THEIRS = tuple(
    os.path.join(folder, "")
    for folder in (os.path.dirname(torch.__file__), os.path.dirname(os.path.dirname(__file__)))
)
_STANDARD = os.path.join(os.path.dirname(os.__file__), "")
_NOT_THEIR_FILES = ("contextlib.py", "functools.py")
_TIMED = ("<timed exec>", "<timed eval>")  # how the magic %%time names the code that it runs
_CELL_FILES = (re.compile(r"<ipython-input-(\d+)-"),)


@dataclass(frozen=True)
class Place:
    """A line of code: ``file`` is a path, or "cell 3" in a notebook; ``code`` is the line's text."""

    file: str
    line: int
    code: str = ""

    def __str__(self):
        if self.file.startswith("cell "):
            return f"{self.file}, line {self.line}"
        return f"{os.path.basename(self.file)}:{self.line}"


NOWHERE = Place("", 0)


@functools.lru_cache(maxsize=10_000)
def is_theirs(filename: str) -> bool:
    """Return whether code in ``filename`` is the learner's own."""
    return not (
        filename.startswith(_NOT_THEIRS)
        or filename.startswith("<frozen ")
        or os.path.basename(filename) in _NOT_THEIR_FILES
    )


@functools.lru_cache(maxsize=10_000)
def _is_installed(filename: str) -> bool:
    return "site-packages" in filename or "dist-packages" in filename or filename.startswith(_STANDARD)


@functools.lru_cache(maxsize=10_000)
def place_of(filename: str, line: int) -> Place:
    """Return the place for a file name and line as Python's frames give them."""
    code = linecache.getline(filename, line).strip()
    return Place(_notebook_cell(filename) or filename, line, code)


def here() -> Place:
    """Return the innermost line of the learner's code that is running in this thread now.

    A line of an installed library that trains on the learner's behalf counts only where there is no other.
    """
    frame, library = sys._getframe(1), None
    while frame is not None:
        filename = frame.f_code.co_filename
        if is_theirs(filename):
            if filename in _TIMED:
                return _timed_place(frame, frame.f_lineno) or library or NOWHERE
            if not _is_installed(filename):
                return place_of(filename, frame.f_lineno)
            library = library or place_of(filename, frame.f_lineno)
        frame = frame.f_back
    return library or NOWHERE


def running_code():
    """Yield (code, global names) of the learner's functions that are running in this thread now."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_theirs(frame.f_code.co_filename):
            yield frame.f_code, frame.f_globals
        frame = frame.f_back


def place_of_exception(error: BaseException) -> Place:
    """Return the innermost line of the learner's code that an exception passed through."""
    place, traceback = NOWHERE, error.__traceback__
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if filename in _TIMED:
            place = _timed_place(traceback.tb_frame, traceback.tb_lineno) or place
        elif is_theirs(filename) and (place is NOWHERE or not _is_installed(filename)):
            place = place_of(filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


def _timed_place(frame, line: int) -> Place | None:
    """Return the place of a line that %time or %%time runs: the cell is the next one further out."""
    while frame is not None and not _notebook_cell(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    place = place_of(frame.f_code.co_filename, frame.f_lineno)
    body = _body_of_cell_magic(place.code)
    return Place(place.file, line + 1, body[line - 1].strip()) if 0 < line <= len(body) else place


@functools.lru_cache(maxsize=100)
def _body_of_cell_magic(code: str) -> list[str]:
    """Return the lines below a %%magic, from the call that IPython makes of the cell; [] for another call."""
    try:
        call = ast.parse(code, mode="eval").body
        if isinstance(call, ast.Call) and call.func.attr == "run_cell_magic":
            return call.args[-1].value.splitlines()
    except (SyntaxError, AttributeError, IndexError):
        pass
    return []


def _notebook_cell(filename: str) -> str:
    """Return "cell 3" for the temporary file of a notebook's cell, or "" for any other file."""
    for pattern in _CELL_FILES:
        if found := pattern.search(filename):
            return f"cell {found[1]}"
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    names = getattr(getattr(shell, "compile", None), "_filename_map", None) or {}
    return f"cell {names[filename]}" if filename in names else ""
