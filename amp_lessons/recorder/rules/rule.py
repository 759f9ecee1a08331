"""What a rule is: a name, when it looks, what it looks for, and its two sentences."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from amp_lessons.recorder.places import Place


@dataclass(frozen=True)
class Sighting:
    """Where a rule saw something, and the numbers for its sentences.

    Without ``place`` and ``step`` it is the call that the rule looked at.
    """

    numbers: dict = field(default_factory=dict)
    place: Place | None = None
    step: int | None = None


@dataclass(frozen=True)
class Rule:
    """A mistake ("finding") or something normal that looks alarming ("note").

    ``happened`` and ``to_do`` are templates for the numbers of a ``Sighting``. ``look(loop, moment)`` yields
    sightings; it is called at moments of the kinds in ``on``. A rule with an empty ``on`` only explains
    exceptions.
    """

    name: str
    severity: str
    summary: str
    happened: str
    to_do: str
    on: tuple[str, ...] = ()
    look: Callable[..., Iterable[Sighting]] | None = None
    beside: tuple[str, ...] = ()  # says nothing new where one of these rules has spoken


def rule(name, *, severity="finding", on=(), beside=(), summary, happened, to_do):
    """Make a ``Rule`` of the function that looks."""

    def make(look):
        return Rule(name, severity, summary, happened, to_do, tuple(on), look, tuple(beside))

    return make
