"""check("exercise-id"): finds the answer in the notebook, tests it, says how it is, and keeps the result."""

import dataclasses
import sys
import time

from amp_lessons.exercises import catalogue, progress_file, watch
from amp_lessons.exercises.answer import Answer, ToDo, names_left
from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.faults import fault_in_words, is_stubs_own, kind_and_text
from amp_lessons.exercises.guarded import guarded
from amp_lessons.exercises.panel import number, plural
from amp_lessons.exercises.settings import Busy, one_at_a_time, seed
from amp_lessons.exercises.shown import shown
from amp_lessons.exercises.time_limit import INTERRUPTS, TookTooLong, is_inside, limited_to
from amp_lessons.exercises.verdict import Result, Verdict

_STOPPED = "You stopped the check before it was done."
_BUSY = "A check or comparison is still running in another thread. Run this one again when it is done."
_NESTED = "check can't be called inside an answer. Put it in a cell of its own, below the answer."


def check(exercise_id=None, namespace=None):
    """Check the answer to an exercise and return a Verdict. Never raises.

    `namespace` is a dict of the names to look in; left out, it is the notebook's, or the caller's globals.
    """
    outcome = "not yet"
    try:
        if is_inside(sys._getframe()):
            return Verdict("", "check", "not attempted", 0.0, message=_NESTED)
        if namespace is None:
            shell = watch.notebook()
            namespace = shell.user_ns if shell else sys._getframe(1).f_globals
        watch.start()
        exercise = catalogue.current().exercise(exercise_id)
        with one_at_a_time():
            return _saved(exercise, _verdict(exercise, namespace))
    except Busy:
        outcome, message = "not attempted", _BUSY
    except catalogue.UnknownId as unknown:
        outcome, message = "not attempted", str(unknown)
    except KeyboardInterrupt:
        message = _STOPPED
    except BaseException as fault:  # SystemExit too: a check must not end the notebook
        message = (
            f"The check itself failed, which is no fault of yours: {kind_and_text(fault)}. Please report it."
        )
    title = f"check({shown(exercise_id)})" if type(exercise_id) is str else "check"
    return Verdict("", title, outcome, 0.0, message=message)


def _verdict(exercise, namespace):
    start = {"exercise": exercise.id, "title": exercise.title, "out_of": exercise.points}
    to_fill = set(exercise.parsed_stub.to_fill)
    left = names_left(exercise, namespace)
    failed = watch.failed_cell(exercise.names, namespace)
    if failed and not (left == to_fill and failed.is_stub(exercise.stub)):
        message = f"Your answer cell failed, so nothing is checked yet.\n{failed.failure}"
        return Verdict(**start, outcome="not yet", results=_all_failed(exercise, message))
    if left == to_fill:
        return Verdict(**start, outcome="not attempted", results=_all_failed(exercise, _to_do(exercise)))
    run = _Run(exercise, namespace)
    with limited_to(exercise.seconds) as call, guarded() as printed:
        run.all_tests(call)
    left |= run.left
    if left >= to_fill and not any(result.passed for result in run.results):
        outcome = "not attempted"
        results = _all_failed(exercise, _to_do(exercise))
    else:
        outcome = "correct" if all(result.passed for result in run.results) else "not yet"
        results = tuple(run.results)
    return Verdict(**start, outcome=outcome, results=results, why=exercise.why, printed=printed.text)


class _Run:
    """One run of an exercise's tests, in order, within the exercise's time."""

    def __init__(self, exercise, namespace):
        self.exercise = exercise
        self.namespace = namespace
        self.results = []
        self.left = set()  # names that turned out to be still to do

    def all_tests(self, call):
        try:
            call(self._each_test)
            return
        except TookTooLong:
            seconds = plural(self.exercise.seconds, "second")
            message = (
                f"Your answer ran for more than {seconds} and was stopped. Is there a loop that never ends?"
            )
        except KeyboardInterrupt:
            message = _STOPPED
        done = len(self.results)
        self.results += [_failed(test, message) for test in self.exercise.tests[done:]]

    def _each_test(self):
        answer = Answer(self.exercise, self.namespace)
        end = time.monotonic() + self.exercise.seconds
        for test in self.exercise.tests:
            seed()
            result = self._result(test, answer)
            if time.monotonic() > end:  # ran where nothing interrupts it
                raise TookTooLong
            self.results.append(result)

    def _result(self, test, answer):
        try:
            test.run(answer)
        except ToDo as to_do:
            self.left.add(to_do.name)
            return _failed(test, to_do.message)
        except NotYet as not_yet:
            return _failed(test, not_yet.message, not_yet.mistake)
        except INTERRUPTS:
            raise
        except BaseException as error:  # SystemExit too: an answer must not end the notebook
            name = is_stubs_own(error, self.namespace)
            if name is None:
                return _failed(test, fault_in_words(error, self.namespace))
            self.left.add(name)
            return _failed(test, f"`{name}` is still to do: it raises NotImplementedError.")
        return Result(test.name, float(test.points), float(test.points), True)


def _failed(test, message, mistake=None):
    return Result(test.name, float(test.points), 0.0, False, message, mistake)


def _all_failed(exercise, message):
    return tuple(_failed(test, message) for test in exercise.tests)


def _to_do(exercise):
    names = ", ".join(f"`{name}`" for name in exercise.parsed_stub.to_fill)
    return f"Fill in {names} in the cell above, run it, then run this check again."


def _saved(exercise, verdict):
    """The verdict, kept in the progress file, with a note where that did not work."""
    if verdict.outcome == "not attempted":
        return verdict
    most = {each.id: each.points for each in catalogue.current().exercises}
    try:
        known = progress_file.read(most)
        progress_file.save(exercise.id, verdict.points, exercise.points, known)
    except progress_file.CannotSave as trouble:
        return _with_note(verdict, str(trouble))
    best = known.points.get(exercise.id, 0.0)
    if best > verdict.points:
        return _with_note(verdict, f"Your best so far, {number(best)} of {number(exercise.points)}, is kept.")
    return verdict


def _with_note(verdict, note):
    return dataclasses.replace(verdict, note=note)
