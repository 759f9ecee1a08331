"""Findings and notes: what a rule saw, as plain text and numbers."""

from dataclasses import dataclass

from amp_lessons.recorder.later import Later, read
from amp_lessons.recorder.places import Place
from amp_lessons.recorder.rules import Rule
from amp_lessons.recorder.rules.numbers import scale_text, shown

_SCALES = {"scale", "before", "after"}
_MOST = 500  # different places with findings: nobody reads more


@dataclass(frozen=True)
class Finding:
    """A mistake in a loop ("finding") or something normal that may alarm ("note").

    ``rule`` is the rule's name; ``step`` counts from 0 and is the first at which it was seen; ``file`` is
    a path, or "cell 3" in a notebook; ``line`` and ``code`` are the line's number and text; ``happened``
    and ``to_do`` are a sentence or two each; ``times`` counts how often it was seen at this line;
    ``error`` is the message of the exception it explains, or "".
    """

    rule: str
    severity: str
    step: int
    file: str
    line: int
    code: str
    happened: str
    to_do: str
    times: int = 1
    error: str = ""

    @property
    def place(self) -> str:
        """The line in short: "train.py:12" or "cell 3, line 4"."""
        return str(Place(self.file, self.line))


class _Words(dict):
    """For templates: a rule that only explains an exception knows no numbers."""

    def __missing__(self, name):
        return {"optimizer": "optimizer"}.get(name, "")


@dataclass
class _Found:
    rule: Rule
    step: int
    place: Place
    numbers: dict
    times: int = 1
    error: str = ""

    def finding(self) -> Finding:
        words = {**self.numbers, "times": self.times, "error": self.error}
        words = _Words({name: scale_text(v) if name in _SCALES else shown(v) for name, v in words.items()})
        return Finding(
            self.rule.name,
            self.rule.severity,
            self.step,
            self.place.file,
            self.place.line,
            self.place.code,
            self.rule.happened.format_map(words),
            self.rule.to_do.format_map(words),
            self.times,
            self.error,
        )


class Findings:
    """What was found so far, each rule once per line of code."""

    def __init__(self):
        self._found: dict[tuple, _Found] = {}
        self.recent: list[_Found] = []  # of the call that is running now
        # What later calls have shown to be wrong: rules, or one of them at a line, as (rule, file, line).
        self.withdrawn: set = set()

    def add(self, rule: Rule, place: Place, step: int, numbers: dict, error: str = "") -> None:
        """Add what ``rule`` saw, or count it if the rule has seen the same at this line."""
        key = rule.name, place.file, place.line
        self.withdrawn.discard(key)
        found = self._found.get(key)
        if found is not None:
            found.times += 1
            found.error = found.error or error
        elif len(self._found) < _MOST:
            numbers = {name: _settled(number) for name, number in numbers.items()}
            found = self._found[key] = _Found(rule, step, place, numbers, error=error)
        if found is not None:
            self.recent.append(found)

    def of_rules(self, names, step: int | None = None):
        """Return the first of these rules' findings, at ``step`` if that is given, or None."""
        return next(
            (
                one
                for one in self._found.values()
                if one.rule.name in names and (step is None or one.step == step)
            ),
            None,
        )

    def of(self, severity: str) -> list[Finding]:
        """Return all findings ("finding") or notes ("note"), in the order of their steps."""
        return [
            one.finding()
            for key, one in sorted(self._found.items(), key=lambda item: item[1].step)
            if one.rule.severity == severity
            and self.withdrawn.isdisjoint((one.rule.name, key))
            and self.of_rules(one.rule.beside) is None
        ]

    def shown(self, found: _Found) -> _Found:
        """Return what is told in the place of ``found``: itself, or what it says nothing new beside."""
        others = found.rule.beside
        return self.of_rules(others, found.step) or self.of_rules(others) or found


def _settled(number):
    return read(number) if isinstance(number, Later) and number.known() else number
