"""What a check says about an answer."""

import dataclasses
import math

from amp_lessons.exercises.panel import (
    STYLE,
    code_block,
    folded,
    framed,
    heading,
    number,
    paragraph,
    plural,
    sendable,
)

JSON_TYPE = "application/vnd.amp-lessons.verdict+json"
SCHEMA = 1


@dataclasses.dataclass(frozen=True)
class Result:
    """One test's result: what it was worth, what it earned, and what it says where it failed."""

    name: str
    points: float
    earned: float
    passed: bool
    message: str = ""
    mistake: str | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Verdict:
    """What a check says: `outcome` is "correct", "not yet" or "not attempted".

    In a notebook it shows as a panel. Its text/plain is the points as a plain number, which is what
    autograders read; the JSON carries each test's result, and nothing that the learner wrote.
    """

    exercise: str
    title: str
    outcome: str
    out_of: float
    results: tuple[Result, ...] = ()
    message: str = ""
    why: str = ""
    printed: str = ""
    note: str = ""

    @property
    def points(self):
        """What the answer earned: a finite number from 0 to `out_of`."""
        if self.outcome == "not attempted":
            return 0.0
        # NaN is not above 0: it earns nothing.
        earned = [min(each.earned, each.points) for each in self.results if each.passed and each.earned > 0]
        return round(min(math.fsum(earned), self.out_of), 6)

    @property
    def mistake(self):
        """The code of the mistake that the message is about, or None."""
        failed = self._first_failed()
        return failed.mistake if failed else None

    def __repr__(self):
        symbol, word, _ = STYLE[self.outcome]
        lines = [f"{symbol} {word}: {self.title} ({self._score()})"]
        lines += [f"  {line}" for text in self._texts() for line in text.splitlines()]
        if self.printed:
            lines.append("  Your answer printed:")
            lines += [f"  | {line}" for line in self.printed.splitlines()]
        return sendable("\n".join(lines))

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self._html(), "text/plain": str(float(self.points)), JSON_TYPE: self.to_json()}

    def to_json(self):
        """The verdict for programs: points, results by test, mistake codes. No text of the learner's."""
        return {
            "schema": SCHEMA,
            "exercise": self.exercise,
            "outcome": self.outcome,
            "points": self.points,
            "out_of": self.out_of,
            "tests": [
                {key: getattr(result, key) for key in ("name", "points", "earned", "passed", "mistake")}
                for result in self.results
            ],
        }

    def _html(self):
        symbol, word, _ = STYLE[self.outcome]
        body = heading(f"{symbol} {word}: {self.title}", f"({self._score()})")
        body += "".join(paragraph(text) for text in self._texts())
        if self.printed:
            body += folded("What your answer printed", code_block(self.printed))
        return framed(body, self.outcome)

    def _texts(self):
        failed = self._first_failed()
        texts = [self.message or (failed.message if failed else "")]
        if self.outcome == "correct":
            texts.append(self.why)
        elif self.out_of:
            texts.append(f'For a hint, run `hint("{self.exercise}")` in a new cell.')
        return [text for text in (*texts, self.note) if text]

    def _first_failed(self):
        return next((result for result in self.results if not result.passed), None)

    def _score(self):
        return f"{number(self.points)} of {plural(self.out_of, 'point')}"
