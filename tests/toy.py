"""A toy lesson for the tests of the practice machinery."""

import linecache

import torch

from amp_lessons.exercises import expect
from amp_lessons.exercises.exercise import Choice, Exercise, Lesson, NotYet, QuickCheck, Test

HALVE_STUB = '''
def halve(x):
    """Half of x."""
    raise NotImplementedError
'''


def _of_eight(answer):
    got = expect.number(answer.halve(8), "halve(8)")
    if got == 16:
        raise NotYet("You doubled: halve(8) is 16.", mistake="doubles")
    expect.close(got, 4.0, "halve(8)")


def _of_one(answer):
    expect.close(answer.halve(1), 0.5, "halve(1)")


def exercise(id="halve", stub=HALVE_STUB, tests=None, seconds=5.0):
    tests = tests or [Test("an even number", 1, _of_eight), Test("an odd number", 0.5, _of_one)]
    hints = ("Think of two.", "Divide.", "x / 2")
    return Exercise(id, "Halve it", 3, stub, hints, tests, "x / 2 is half of x.", seconds)


def quick_check():
    choices = [
        Choice("A", "Three", "That is one too many."),
        Choice("B", "Two", "Two halves make one.", right=True),
    ]
    return QuickCheck("how-many-halves", "How many halves make one?", choices)


def lesson(*exercises, notebook="01_toy", title="Toy"):
    quick_checks = [quick_check()] if notebook == "01_toy" else []
    return Lesson(notebook, title, "You halve.", 5, 3, list(exercises or [exercise()]), quick_checks)


def run_cell(source, namespace=None, name="<toy cell>"):
    """Run a cell's source as a notebook does: its lines can be looked up afterwards."""
    namespace = {"torch": torch} if namespace is None else namespace
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec", dont_inherit=True), namespace)
    return namespace
