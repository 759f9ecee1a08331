"""The learner's file of results: JSON lines that are only ever appended.

Two notebooks may write at once: lines go out in one write to the file's end. A line that can't be read is
skipped, counted and kept.
"""

import dataclasses
import datetime
import json
import math
import os
import pathlib

NAME = "progress.jsonl"
LONGEST_LINE = 10_000  # bytes; ours have about 150

unsaved = {}  # exercise id -> (points, most points): what could not be written yet, shown all the same


class CannotSave(Exception):
    """The file can't be written. The text says where it is, why, and what to do."""


@dataclasses.dataclass
class Known:
    """What is known: `points` by exercise (0 for tried), the `last` exercise written, `damaged` lines."""

    points: dict[str, float]
    last: str | None = None
    damaged: int = 0
    trouble: str = ""


def path():
    """Where the file is: in $AMP_LESSONS_HOME if that is set, else in the user's data folder."""
    home = os.environ.get("AMP_LESSONS_HOME")
    if home:
        return pathlib.Path(home).expanduser().absolute() / NAME
    import platformdirs

    return pathlib.Path(platformdirs.user_data_dir("amp_lessons", appauthor=False)) / NAME


def read(exercise_points):
    """What is Known of the exercises in `exercise_points`, a dict of id -> most points. Never raises."""
    known = Known(points={})
    try:
        with open(path(), "rb") as file:
            for line in _lines(file):
                _take(line, exercise_points, known)
    except FileNotFoundError:
        pass
    except Exception as error:
        known.trouble = _reason(error)
    for exercise, (points, _) in unsaved.items():
        if exercise in exercise_points:
            known.points[exercise] = max(points, known.points.get(exercise, 0.0))
            known.last = exercise
    return known


def save(exercise, points, most, known):
    """Append a result if it is new or better, and all that is unsaved. CannotSave says why not."""
    if exercise not in known.points or points > known.points[exercise]:
        unsaved.pop(exercise, None)
        unsaved[exercise] = (points, most)  # the latest stands last
    if not unsaved:
        return
    try:
        _append(path(), b"".join(_line(each, *result) for each, result in unsaved.items()))
    except Exception as error:
        raise CannotSave(_reason(error)) from error
    unsaved.clear()


def where():
    """Where the file is, for showing: its path, or its name where that can't be told."""
    try:
        return path()
    except Exception:
        return NAME


def _line(exercise, points, most):
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    line = {"schema": 1, "time": now, "exercise": exercise, "points": points, "out_of": most}
    return json.dumps(line, allow_nan=False).encode() + b"\n"


def _append(file, lines):
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    try:
        size = os.fstat(handle).st_size
        if size:
            os.lseek(handle, size - 1, os.SEEK_SET)
            if os.read(handle, 1) != b"\n":  # a line broken off by a crash must not spoil these
                lines = b"\n" + lines
        if os.write(handle, lines) != len(lines):
            raise OSError("the disk is full")
    finally:
        os.close(handle)


def _lines(file):
    """The file's lines, of an over-long one only its beginning."""
    while line := file.readline(LONGEST_LINE):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE)
        yield line


def _take(line, exercise_points, known):
    if not line.strip():
        return
    try:
        entry = json.loads(line)
        exercise, points = entry["exercise"], float(entry["points"])
        if not isinstance(exercise, str) or isinstance(entry["points"], (bool, str)) or math.isnan(points):
            raise ValueError
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        known.damaged += 1
        return
    if exercise in exercise_points:  # others come from a newer version: kept, not shown
        points = min(max(points, 0.0), exercise_points[exercise])
        known.points[exercise] = max(points, known.points.get(exercise, 0.0))
        known.last = exercise


def _reason(error):
    return (
        f"Progress can't be saved in {where()} ({type(error).__name__}: {error}). "
        "Set the environment variable AMP_LESSONS_HOME to a folder that you can write to, then restart."
    )
