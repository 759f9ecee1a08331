"""Answers to the exercises: the reference ones, and wrong ones that learners write.

Wrong answers stand in tests/wrong_answers/<lesson module>.py in cells "# %% exercise-id: name". A cell starts
with the comments "# says: part of the message" and, for a known mistake, "# mistake: code".
"""

import dataclasses
import pathlib
import re

from amp_lessons.exercises import catalogue
from amp_lessons.exercises.helping import reference_answer
from amp_lessons.exercises.percent import percent_cells

FOLDER = pathlib.Path(__file__).parent / "wrong_answers"


@dataclasses.dataclass(frozen=True)
class WrongAnswer:
    """A wrong answer, what the verdict must say to it, and its mistake's code or None."""

    exercise: str
    name: str
    source: str
    says: str
    mistake: str | None


def right_answer(exercise_id):
    """The reference answer's source."""
    source = reference_answer(exercise_id)
    assert source, f"amp_lessons/solutions has no answer to {exercise_id!r}"
    return source


def wrong_answers(lesson):
    """The wrong answers to a lesson's exercises, in the order of the file."""
    file = FOLDER / f"lesson_{lesson.notebook}.py"
    cells = percent_cells(file.read_text(encoding="utf-8")) if file.exists() else []
    return [read_wrong_answer(title, source) for title, source in cells]


def all_wrong_answers():
    """The wrong answers of all lessons."""
    return [wrong for lesson in catalogue.current().lessons for wrong in wrong_answers(lesson)]


def read_wrong_answer(title, source):
    """A WrongAnswer from a cell of the file. ValueError where it does not say what the verdict must say."""
    exercise, _, name = (part.strip() for part in title.partition(":"))
    notes = dict(re.findall(r"^# (says|mistake): (.*\S)\s*$", source, re.MULTILINE))
    if not name or "says" not in notes:
        raise ValueError(f"The wrong answer {title!r} needs a name and a line '# says: ...'.")
    source = re.sub(r"\A(# (says|mistake): .*\n)+", "", source).strip("\n")
    return WrongAnswer(exercise, name, source, notes["says"], notes.get("mistake"))
