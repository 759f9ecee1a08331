"""Every exercise, tested three ways: its stub, its reference answer, wrong ones that learners write."""

import time
from pathlib import Path

import nbformat
import pytest
import torch._dynamo  # noqa: F401  (torch loads it at the first optimizer, which may take seconds: not in a check)

from amp_lessons import check
from amp_lessons.exercises import catalogue
from tests.answers import all_wrong_answers, right_answer

LESSON = Path(__file__).resolve().parents[1] / "notebooks" / "00_start_here.ipynb"
# Every lesson has the same: test_notebook_structure sees to that.
SET_UP = next(cell.source for cell in nbformat.read(LESSON, as_version=4).cells if cell.id == "set-up")
EXERCISES = [exercise.id for exercise in catalogue.current().exercises]
WRONG = all_wrong_answers()
VERDICTS = {}  # of wrong answers


def check_in(notebook, exercise_id, answer):
    """The verdict on an answer cell, run after the set-up cell and the right answers before it."""
    notebook.run_cell(SET_UP).raise_error()
    for earlier in catalogue.current().lesson_of(exercise_id).exercises:
        if earlier.id == exercise_id:
            break
        notebook.run_cell(right_answer(earlier.id)).raise_error()
    notebook.run_cell(answer)
    start = time.perf_counter()
    verdict = check(exercise_id)
    seconds = time.perf_counter() - start
    print(f"check({exercise_id!r}): {seconds:.3f} s")
    assert seconds < 2
    return verdict


def check_wrong(notebook, wrong):
    """The verdict on a wrong answer; two tests look at it, and it is checked once."""
    if wrong not in VERDICTS:
        VERDICTS[wrong] = check_in(notebook, wrong.exercise, wrong.source)
    return VERDICTS[wrong]


def test_all_lessons_can_be_used():
    assert catalogue.current().faults == []
    assert EXERCISES


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_the_stub_is_not_attempted(exercise_id, notebook):
    verdict = check_in(notebook, exercise_id, catalogue.current().exercise(exercise_id).stub)
    assert (verdict.outcome, verdict.points) == ("not attempted", 0.0)


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_the_reference_answer_earns_full_points(exercise_id, notebook):
    verdict = check_in(notebook, exercise_id, right_answer(exercise_id))
    assert verdict.outcome == "correct", verdict
    assert verdict.points == verdict.out_of > 0
    assert verdict.why in repr(verdict)
    assert verdict.printed == ""


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.exercise}: {wrong.name}")
def test_a_wrong_answer_gets_its_own_message(wrong, notebook):
    verdict = check_wrong(notebook, wrong)
    assert verdict.outcome == "not yet", verdict
    assert verdict.points < verdict.out_of
    assert wrong.says in repr(verdict)
    assert verdict.mistake == wrong.mistake


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_wrong_answers_differ_in_message_and_mistake(exercise_id, notebook):
    mine = [wrong for wrong in WRONG if wrong.exercise == exercise_id]
    assert len(mine) >= 3
    assert len({wrong.name for wrong in mine}) == len(mine)
    codes = [wrong.mistake for wrong in mine if wrong.mistake]
    assert len(set(codes)) == len(codes)
    verdicts = [check_wrong(notebook, wrong) for wrong in mine]
    messages = [next(result.message for result in each.results if not result.passed) for each in verdicts]
    assert len(set(messages)) == len(messages)


def test_every_wrong_answer_belongs_to_an_exercise():
    assert {wrong.exercise for wrong in WRONG} == set(EXERCISES)
