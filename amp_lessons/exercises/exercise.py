"""What a lesson's module is written with: a lesson, its exercises, their tests, and quick checks."""

import dataclasses
import re
import textwrap
from collections.abc import Callable

from amp_lessons.exercises.stub import Stub

_WORDS = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NOTEBOOK = re.compile(r"[0-9]{2}_[a-z0-9_]+")


class NotYet(Exception):
    """Raised by a test that an answer does not pass.

    `message` is shown to the learner: it names their own number and the property it misses.
    `mistake` is the code of a known mistake ("clip-before-unscale"), or None.
    """

    def __init__(self, message, mistake=None):
        super().__init__(message)
        self.message = str(message)
        self.mistake = None if mistake is None else _words(mistake, "mistake")


@dataclasses.dataclass(frozen=True)
class Test:
    """One property of a right answer, worth `points`. `run(answer)` raises NotYet where it is missed."""

    __test__ = False  # not for pytest to collect

    name: str
    points: float
    run: Callable

    def __post_init__(self):
        _text(self.name, "name")
        _above_zero(self.points, f"points of the test {self.name!r}")
        if not callable(self.run):
            raise TypeError(f"run of the test {self.name!r} must be a function that takes the answer.")


@dataclasses.dataclass(frozen=True)
class Exercise:
    """An answer cell to fill, the tests that check it, and the hints on the way.

    `id` is in words ("flush-to-zero"), `minutes` an honest estimate, `stub` the text of the answer cell,
    `hints` three texts from a nudge to nearly there, `why` one sentence that says why a right answer is
    right, `seconds` how long an answer may run, `optional` whether the way through the lessons goes past it.
    Anything malformed raises ValueError or TypeError.
    """

    id: str
    title: str
    minutes: float
    stub: str
    hints: tuple[str, str, str]
    tests: list[Test]
    why: str
    seconds: float = 5.0
    optional: bool = False

    def __post_init__(self):
        _words(self.id, "id")
        for field in ("title", "why", "stub"):
            _text(getattr(self, field), f"{field} of the exercise {self.id!r}")
        for field in ("minutes", "seconds"):
            _above_zero(getattr(self, field), f"{field} of the exercise {self.id!r}")
        if isinstance(self.hints, str) or len(self.hints) != 3:
            raise ValueError(f"The exercise {self.id!r} needs three hints, from a nudge to nearly there.")
        for hint in self.hints:
            _text(hint, f"hint of the exercise {self.id!r}")
        if not self.tests:
            raise ValueError(f"The exercise {self.id!r} needs at least one test.")
        _unique([test.name for test in self.tests], f"test names of the exercise {self.id!r}")
        object.__setattr__(self, "stub", textwrap.dedent(self.stub).strip("\n"))
        object.__setattr__(self, "parsed_stub", Stub(self.stub, self.id))

    @property
    def points(self):
        """What a right answer earns: the sum over the tests."""
        return float(sum(test.points for test in self.tests))

    @property
    def names(self):
        """The names that the stub defines, in its order: what the check looks for."""
        return self.parsed_stub.names


@dataclasses.dataclass(frozen=True)
class Choice:
    """One choice of a quick check: its label ("A"), its text, the reply to it, and whether it is right."""

    label: str
    text: str
    reply: str
    right: bool = False

    def __post_init__(self):
        for field in ("label", "text", "reply"):
            _text(getattr(self, field), f"{field} of a choice")


@dataclasses.dataclass(frozen=True)
class QuickCheck:
    """A question with choices to click. Not graded."""

    id: str
    question: str
    choices: list[Choice]

    def __post_init__(self):
        _words(self.id, "id")
        _text(self.question, f"question of the quick check {self.id!r}")
        if len(self.choices) < 2 or not any(choice.right for choice in self.choices):
            raise ValueError(f"The quick check {self.id!r} needs two choices or more, one of them right.")
        _unique([choice.label for choice in self.choices], f"labels of the quick check {self.id!r}")


@dataclasses.dataclass(frozen=True)
class Lesson:
    """One notebook and what there is to do in it. `notebook` is the file's name without ".ipynb"."""

    notebook: str
    title: str
    promise: str
    minutes_reading: float
    minutes_exercises: float
    exercises: list[Exercise] = dataclasses.field(default_factory=list)
    quick_checks: list[QuickCheck] = dataclasses.field(default_factory=list)

    def __post_init__(self):
        if not isinstance(self.notebook, str) or not _NOTEBOOK.fullmatch(self.notebook):
            raise ValueError(f"notebook must read like '01_fp16_underflow', not {self.notebook!r}.")
        _text(self.title, "title")
        _text(self.promise, "promise")
        ids = [entry.id for entry in (*self.exercises, *self.quick_checks)]
        _unique(ids, f"ids of the lesson {self.notebook!r}")

    @property
    def points(self):
        """What all its exercises are worth."""
        return float(sum(exercise.points for exercise in self.exercises))


def _words(value, what):
    if not isinstance(value, str) or not _WORDS.fullmatch(value):
        raise ValueError(f"{what} must be words like 'flush-to-zero', not {value!r}.")
    return value


def _text(value, what):
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what} must be a text that is not empty, not {value!r}.")


def _above_zero(value, what):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise ValueError(f"{what} must be a number above 0, not {value!r}.")


def _unique(names, what):
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{what} must differ; here twice: {', '.join(twice)}.")
