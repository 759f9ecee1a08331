"""progress(): every lesson, what is done in it, and where to go on."""

import html

from amp_lessons.exercises import catalogue, progress_file
from amp_lessons.exercises.panel import STYLE, Panel, heading, number, paragraph, plural


def progress():
    """A panel of all lessons with the points earned in each exercise, and what is next."""
    lessons = catalogue.current()
    known = progress_file.read({exercise.id: exercise.points for exercise in lessons.exercises})
    notes = [_next(lessons, known), *_notes(known), *lessons.faults]
    body = heading("Your progress") + "".join(_lesson_html(lesson, known) for lesson in lessons.lessons)
    lines = ["Your progress"] + [line for lesson in lessons.lessons for line in _lesson_lines(lesson, known)]
    return Panel(body + "".join(map(paragraph, notes)), "\n".join([*lines, *notes]))


def _state(exercise, known):
    """The outcome of the best result, and that state in words."""
    points = known.points.get(exercise.id)
    if points is None:
        return "not attempted", f"not attempted, {plural(exercise.points, 'point')}"
    outcome = "correct" if points >= exercise.points else "not yet"
    return outcome, f"{STYLE[outcome][1].lower()}, {number(points)} of {plural(exercise.points, 'point')}"


def _summary(lesson, known):
    time = f"{number(lesson.minutes_reading)} min reading"
    if not lesson.exercises:
        return time
    earned = sum(known.points.get(exercise.id, 0.0) for exercise in lesson.exercises)
    exercises = f"{number(lesson.minutes_exercises)} min exercises"
    return f"{time}, {exercises}, {number(earned)} of {plural(lesson.points, 'point')}"


def _lesson_html(lesson, known):
    name = html.escape(lesson.notebook)
    title = f'<a href="{name}.ipynb">{name[:2]} {html.escape(lesson.title)}</a>'
    rows = ""
    for exercise in lesson.exercises:
        outcome, words = _state(exercise, known)
        symbol = STYLE[outcome][0]
        rows += f"<li>{symbol} {html.escape(exercise.title)}: {html.escape(words)}</li>"
    listed = f'<ul style="list-style:none;margin:0;padding-left:1.2em">{rows}</ul>' if rows else ""
    return f'<p style="margin:0.5em 0 0 0">{title} ({html.escape(_summary(lesson, known))})</p>{listed}'


def _lesson_lines(lesson, known):
    yield f"{lesson.notebook[:2]} {lesson.title} ({_summary(lesson, known)})"
    for exercise in lesson.exercises:
        outcome, words = _state(exercise, known)
        yield f"  {STYLE[outcome][0]} {exercise.title}: {words}"


def _next(lessons, known):
    """The first unsolved exercise from the last one worked on; before that one only if all later are done.

    Optional ones come when nothing else is left, or when the last one worked on was optional too.
    """
    exercises = lessons.exercises
    ids = [exercise.id for exercise in exercises]
    start = ids.index(known.last) if known.last in ids else 0
    unsolved = [each for each in exercises[start:] + exercises[:start] if _state(each, known)[0] != "correct"]
    if known.last not in ids or not exercises[start].optional:
        unsolved.sort(key=lambda exercise: exercise.optional)  # keeps their order otherwise
    if unsolved:
        lesson = lessons.lesson_of(unsolved[0].id)
        minutes = plural(unsolved[0].minutes, "minute")
        return f"Next: {unsolved[0].title}, in {lesson.notebook[:2]} {lesson.title} ({minutes})."
    return "Next: every exercise is solved." if exercises else "Next: there are no exercises yet."


def _notes(known):
    unsaved = len(progress_file.unsaved)
    if unsaved:
        be = "is" if unsaved == 1 else "are"
        yield f"{plural(unsaved, 'result')} of this session {be} not saved in {progress_file.where()}."
    if known.trouble:
        yield known.trouble
    elif not unsaved:
        yield f"Kept in {progress_file.path()}"
    if known.damaged:
        lines = plural(known.damaged, "line")
        be = "It is" if known.damaged == 1 else "They are"
        yield f"{lines} of that file can't be read. {be} skipped and kept."
