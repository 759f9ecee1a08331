"""hint, reset and solution: help with an exercise, in growing doses."""

import functools
import html
import pathlib

from amp_lessons.exercises import catalogue, watch
from amp_lessons.exercises.panel import Panel, code_block, heading, paragraph
from amp_lessons.exercises.percent import percent_cells

hints_given = {}  # exercise id -> how many, in this session
solutions_folder = pathlib.Path(__file__).parents[1] / "solutions"


def _for_known(show):
    """Turn an unknown id into a panel that names the nearest."""

    @functools.wraps(show)
    def wrapped(exercise_id=None):
        try:
            return show(catalogue.current().exercise(exercise_id))
        except catalogue.UnknownId as unknown:
            return Panel(paragraph(str(unknown)), str(unknown))

    return wrapped


@_for_known
def hint(exercise):
    """The next of the exercise's three hints, from a nudge to nearly there."""
    given = min(hints_given.get(exercise.id, 0) + 1, 3)
    hints_given[exercise.id] = given
    title = f"Hint {given} of 3: {exercise.title}"
    text = exercise.hints[given - 1]
    further = f'Another: `hint("{exercise.id}")`'
    if given == 3:
        further = f'That is the last hint. The whole answer: `solution("{exercise.id}")`'
    return Panel(heading(title) + paragraph(text) + paragraph(further), f"{title}\n{text}\n{further}")


@_for_known
def reset(exercise):
    """The exercise's stub, to copy back into the answer cell."""
    title = f"The answer cell as it was: {exercise.title}"
    further = "Copy it into the answer cell to start again."
    body = heading(title) + code_block(exercise.stub) + paragraph(further)
    return Panel(body, f"{title}\n\n{exercise.stub}\n\n{further}")


@_for_known
def solution(exercise):
    """The reference answer beside the learner's own."""
    reference = reference_answer(exercise.id)
    if reference is None:
        text = f"The solution of `{exercise.id}` is not part of this copy: your instructor keeps it."
        return Panel(paragraph(text), text)
    own = watch.own_source(exercise.names) or "# You have run no answer in this session."
    columns = _column("Yours", own) + _column("One right answer", reference)
    body = heading(f"Solution: {exercise.title}") + paragraph(exercise.why)
    body += f'<div style="display:flex;flex-wrap:wrap;gap:1em">{columns}</div>'
    lines = [
        f"Solution: {exercise.title}",
        exercise.why,
        "",
        "Yours:",
        own,
        "",
        "One right answer:",
        reference,
    ]
    return Panel(body, "\n".join(lines))


def reference_answer(exercise_id):
    """The text of the reference answer, or None where this copy has none. It is read, never run."""
    lesson = catalogue.current().lesson_of(exercise_id)
    try:
        text = (solutions_folder / f"lesson_{lesson.notebook}.py").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return dict(percent_cells(text)).get(exercise_id)


def _column(title, source):
    return f'<div style="flex:1 1 20em"><strong>{html.escape(title)}</strong>{code_block(source)}</div>'
