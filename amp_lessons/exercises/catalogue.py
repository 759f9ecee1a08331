"""Finds the lessons: every module lesson_*.py in this folder that holds a LESSON."""

import difflib
import functools
import importlib
import pkgutil

from amp_lessons.exercises.exercise import Lesson
from amp_lessons.exercises.shown import cut


class UnknownId(LookupError):
    """No lesson has this id. The text names the nearest ones."""


class Catalogue:
    """All lessons in order, and `faults`: what is wrong with those that can't be used."""

    def __init__(self, lessons, faults=()):
        self.lessons = []
        self.faults = list(faults)
        self._exercises = {}
        self._quick_checks = {}
        for lesson in sorted(lessons, key=lambda lesson: lesson.notebook):
            self._add(lesson)

    def _add(self, lesson):
        taken = {**self._exercises, **self._quick_checks}
        for entry in (*lesson.exercises, *lesson.quick_checks):
            if entry.id in taken:
                other = taken[entry.id][1].notebook
                self.faults.append(f"The id {entry.id!r} of {lesson.notebook} is taken by {other}.")
                return
        self.lessons.append(lesson)
        self._exercises.update({exercise.id: (exercise, lesson) for exercise in lesson.exercises})
        self._quick_checks.update({quick.id: (quick, lesson) for quick in lesson.quick_checks})

    @property
    def exercises(self):
        """Every exercise, in the order of the lessons."""
        return [exercise for exercise, _ in self._exercises.values()]

    def exercise(self, exercise_id):
        """The exercise of this id. UnknownId names the nearest."""
        return self._find(exercise_id, self._exercises, "exercise")[0]

    def quick_check(self, quick_id):
        """The quick check of this id. UnknownId names the nearest."""
        return self._find(quick_id, self._quick_checks, "quick check")[0]

    def lesson_of(self, exercise_id):
        """The lesson that an exercise belongs to."""
        return self._find(exercise_id, self._exercises, "exercise")[1]

    def knows(self, exercise_id):
        """Whether an exercise of this id exists."""
        return isinstance(exercise_id, str) and exercise_id in self._exercises

    def _find(self, wanted, known, what):
        if isinstance(wanted, str) and wanted in known:
            return known[wanted]
        raise UnknownId("\n".join([self._advice(wanted, known, what), *self.faults]))

    def _advice(self, wanted, known, what):
        if not isinstance(wanted, str):
            meant = _defining(getattr(wanted, "__name__", None), known)
            example = (meant or list(known) or ["flush-to-zero"])[0]
            return f'Give the {what}\'s id in quotes, for example "{example}".'
        if wanted in self._quick_checks:
            return f'`{wanted}` is a quick check: run `quick_check("{wanted}")`.'
        if wanted in self._exercises:
            return f'`{wanted}` is an exercise: run `check("{wanted}")`.'
        tidy = wanted.strip().lower().replace("_", "-").replace(" ", "-")
        near = _defining(wanted, known) or difflib.get_close_matches(tidy, known, n=3, cutoff=0.5)
        listed = ", ".join(f"`{each}`" for each in near or list(known)[:3])
        return f"There is no {what} `{cut(wanted, 80)}`." + (f" The nearest: {listed}." if listed else "")


def _defining(name, known):
    """The ids of those exercises that ask for a function or a variable of this name."""
    return [each for each, (entry, _) in known.items() if name in getattr(entry, "names", ())]


@functools.cache
def current():
    """The catalogue of the lessons in this folder, read once."""
    lessons, faults = [], []
    package = importlib.import_module(__package__)
    for found in pkgutil.iter_modules(package.__path__):
        if found.name.startswith("lesson_"):
            try:
                lessons.append(_lesson_in(f"{__package__}.{found.name}"))
            except Exception as error:  # one broken lesson leaves the others usable
                faults.append(f"{found.name}.py can't be used: {type(error).__name__}: {error}")
    return Catalogue(lessons, faults)


def _lesson_in(module_name):
    module = importlib.import_module(module_name)
    lesson = getattr(module, "LESSON", None)
    if not isinstance(lesson, Lesson):
        raise TypeError("it holds no LESSON made with Lesson(...).")
    if module_name.rpartition(".")[2] != f"lesson_{lesson.notebook}":
        raise ValueError(
            f"its notebook is {lesson.notebook!r}; the module should be lesson_{lesson.notebook}."
        )
    return lesson
