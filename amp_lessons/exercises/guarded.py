"""Runs a learner's code so that nothing of it leaks: not its output, not its warnings, not its settings."""

import contextlib
import io
import sys
import warnings

from amp_lessons.exercises.displays import displays_counted
from amp_lessons.exercises.panel import plural
from amp_lessons.exercises.settings import random_states_kept, settings_kept

KEPT = 2000  # characters of output that are kept
KEPT_WARNINGS = 5


class Printed(io.TextIOBase):
    """Stands in for sys.stdout and sys.stderr: keeps the first characters and counts the rest.

    `displayed` counts what was not printed but displayed.
    """

    encoding = "utf-8"
    errors = "replace"

    def __init__(self):
        self._parts = []
        self._kept = 0
        self.total = 0
        self.displayed = 0
        self._afterwards = None

    def write(self, text):
        text = str(text)
        if self._afterwards is not None:  # a logger made inside the check may hold on to this object
            return self._afterwards.write(text)
        self.total += len(text)
        if self._kept < KEPT:
            part = text[: KEPT - self._kept]
            self._parts.append(part)
            self._kept += len(part)
        return len(text)

    def count_displayed(self):
        """Takes note that one thing was displayed."""
        self.displayed += 1

    def flush(self):
        if self._afterwards is not None:
            self._afterwards.flush()

    def writable(self):
        return True

    def close(self):
        """Does nothing: the code that prints does not own it."""

    def hand_over(self, stream):
        """From now on pass everything on to `stream`."""
        self._afterwards = stream

    @property
    def text(self):
        """What was kept, with last lines that say what was not."""
        kept = "".join(self._parts)
        if self.total > self._kept:
            kept += f"\n… and {self.total - self._kept:,} more characters"
        if self.displayed:
            kept += "\n" if kept and not kept.endswith("\n") else ""
            kept += f"It displayed {plural(self.displayed, 'thing')}, not shown here."
        return kept


@contextlib.contextmanager
def guarded():
    """A `with` block around a learner's code; gives a Printed that collects what it prints and warns.

    What it displays is counted. Inside, torch is set as in a new notebook (see settings_kept). Afterwards the
    settings and the random states are as they were.
    """
    printed = Printed()
    with (
        _streams(printed),
        _warnings(printed),
        random_states_kept(),
        settings_kept(),
        displays_counted(printed.count_displayed),
    ):
        yield printed


@contextlib.contextmanager
def _streams(printed):
    out, err = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = printed
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
        printed.hand_over(out)


@contextlib.contextmanager
def _warnings(printed):
    seen = []

    def keep(message, category, filename, lineno, file=None, line=None):
        text = f"{category.__name__}: {message}"
        if text not in seen and len(seen) < KEPT_WARNINGS:
            seen.append(text)
            printed.write(text + "\n")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = keep
        yield
