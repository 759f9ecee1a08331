"""All rules, in one table: print ``RULES`` to read it."""

from amp_lessons.recorder.rules import (
    clipping,
    exceptions,
    overflow,
    precision,
    ranks,
    regions,
    resume,
    scaling,
    stages,
)
from amp_lessons.recorder.rules.rule import Rule, Sighting

__all__ = ["RULES", "Rule", "Sighting"]


class RuleTable(dict):
    """Rules by name, in the order they are best read; prints as a table."""

    def __repr__(self):
        width = max(map(len, self))
        return "\n".join(f"{one.severity:8} {one.name:{width}}  {one.summary}" for one in self.values())


_PARTS = (clipping, stages, scaling, regions, precision, overflow, resume, ranks, exceptions)
_ALL = [one for part in _PARTS for one in part.RULES]
RULES = RuleTable((one.name, one) for one in sorted(_ALL, key=lambda one: one.severity))
