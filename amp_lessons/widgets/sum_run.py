"""One number added many times in a format: the totals, and where such a sum stops."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from amp_lessons.formats import Format, round_once, round_to


@dataclass(frozen=True)
class SumRun:
    """``addend`` (a finite float) added ``count`` times to 0, each total rounded to ``fmt``."""

    fmt: Format
    addend: float
    count: int

    @cached_property
    def stored(self) -> float:
        """The addend as the format holds it: this is what is added."""
        return round_to(self.addend, self.fmt)

    @cached_property
    def totals(self) -> list[float]:
        """The total after each addition, exactly as adding PyTorch tensors of this dtype gives it.

        A Python float has 53 bits, more than twice those of FP32 and two: a sum rounded to it first and then
        to the format is the sum rounded once (Figueroa, "When is double rounding innocuous?", 1995).
        """
        totals, total = [], 0.0
        for _ in range(self.count):
            after = round_once(total + self.stored, self.fmt)
            if after == total:
                return totals + [total] * (self.count - len(totals))
            totals.append(after)
            total = after
        return totals

    @property
    def total(self) -> float:
        """The total after the last addition."""
        return self.totals[-1]

    @cached_property
    def overflows_at(self) -> int | None:
        """The number of the first addition whose total is infinite, from 1."""
        if math.isfinite(self.total):
            return None
        return 1 + next(place for place, total in enumerate(self.totals) if math.isinf(total))

    @cached_property
    def stopped_after(self) -> int | None:
        """The number of additions after which no further one changed the total; None if it never stopped."""
        if not self.stored or not math.isfinite(self.total):
            return None
        place = self.totals.index(self.total) + 1
        return place if place < self.count else None

    @property
    def stop(self) -> float:
        """The total at which this sum stops if it goes on for long enough; infinite if it overflows first.

        A total stops where half of the format's spacing is as large as the addend. The spacing doubles at
        powers of two, and below this one each addition moves the total by at most one step of it: so the sum
        meets this power of two exactly, and there a tie goes to it, since it is even.
        """
        if not self.stored:
            return 0.0
        if not math.isfinite(self.stored):
            return self.stored
        significand, exponent = math.frexp(abs(self.stored))
        exponent = exponent - 1 if significand == 0.5 else exponent  # the next power of two, or itself
        exponent += self.fmt.mantissa_bits + 1
        size = math.inf if exponent > self.fmt.bias else math.ldexp(1.0, exponent)
        return math.copysign(size, self.stored)


def spacing(value: float, fmt: Format) -> float:
    """Return how far apart the numbers of a format are from ``value`` on, away from 0."""
    exponent = math.frexp(value)[1] - 1 if value else 1 - fmt.bias
    return math.ldexp(1.0, max(exponent, 1 - fmt.bias) - fmt.mantissa_bits)


def true_total(addend: float, count: int) -> float:
    """Return ``count`` times the addend, rounded only once, to a Python float."""
    return float(Fraction(addend) * count)
