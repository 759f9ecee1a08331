"""What a recorded run said, and what the comments in its source say that it should say.

A line that a finding should name ends in `# <- rule-name`; for a note it is `# <- note rule-name`.
Several are separated by commas.
"""

import inspect
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from amp_lessons.recorder import record_loop

MARKER = re.compile(r"#\s*<-\s*(.+?)\s*$")


@dataclass
class Run:
    recording: object
    error: BaseException | None

    @property
    def findings(self):
        """(rule, file name, line) of every finding, sorted."""
        return said(self.recording.findings)

    @property
    def notes(self):
        """(rule, file name, line) of every note, sorted."""
        return said(self.recording.notes)


def said(findings):
    return sorted((each.rule, Path(each.file).name, each.line) for each in findings)


def observe(loop, *arguments):
    """Run a loop under the recorder; an exception that it raises ends it and is kept."""
    error = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns about some of the mistakes itself
        try:
            with record_loop() as recording:
                loop(*arguments)
        except Exception as raised:
            error = raised
    return Run(recording, error)


def run_alone(loop, *arguments):
    """The exception that a loop raises without the recorder, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            loop(*arguments)
        except Exception as raised:
            return raised
    return None


def same_error(one, other):
    """Both None, or of one type and one text."""
    return type(one) is type(other) and str(one) == str(other)


def expected(loop):
    """The findings and the notes that a function's source is marked with, as Run gives them."""
    lines, first = inspect.getsourcelines(loop)
    name = Path(inspect.getsourcefile(loop)).name
    findings, notes = [], []
    for number, line in enumerate(lines, start=first):
        marker = MARKER.search(line)
        for rule in marker.group(1).split(", ") if marker else ():
            kind = notes if rule.startswith("note ") else findings
            kind.append((rule.removeprefix("note "), name, number))
    return sorted(findings), sorted(notes)
