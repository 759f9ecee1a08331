"""What a format loses of a set of gradients at each loss scale, in numbers and in words."""

from amp_lessons.figures.distributions import finite_values
from amp_lessons.figures.words import percent, scale_text
from amp_lessons.formats import format_of, power_of_two
from amp_lessons.gradients import magnitude_counts, shares_by_scale

# The exponents that the explorer offers: far enough to see both cliffs even for very small gradients.
SMALLEST, LARGEST = 0, 40
TOLERATED = 0.001  # share of zeros that a window allows: one in a thousand


class ScaleShares:
    """The shares lost at 2**0 ... 2**40, measured once: moving the slider then only looks them up.

    ``flushed`` and ``overflowed`` hold one share (of the non-zero, finite values) for each exponent;
    ``window`` holds the exponents at which nothing overflows and at most ``TOLERATED`` becomes zero: an
    infinity spoils the whole step, a few small values are hardly missed.
    """

    def __init__(self, values, fmt):
        self.fmt = format_of(fmt)
        finite, self.not_finite = finite_values(values)
        exponents, counts, self.zeros = magnitude_counts(finite)
        self.total = int(counts.sum())
        self.histogram_exponents = exponents.tolist()
        self.histogram_shares = [count / self.total for count in counts.tolist()]
        measured = shares_by_scale(finite, range(SMALLEST, LARGEST + 1), self.fmt)
        self.flushed = [flushed for _, flushed, _ in measured]
        self.overflowed = [overflowed for _, _, overflowed in measured]
        self.without_overflow = [k for k, _, overflowed in measured if self.total and overflowed == 0]
        self.window = [k for k in self.without_overflow if self.flushed[k - SMALLEST] <= TOLERATED]

    def sentence(self, exponent: int) -> str:
        """Say what is lost at this exponent."""
        scale = f"loss scale {scale_text(2.0**exponent)}"
        if not self.total:
            return f"{scale}: there is no non-zero gradient, and no loss scale brings one back"
        flushed, overflowed = percent(self.flushed[exponent]), percent(self.overflowed[exponent])
        return f"{scale}: {flushed} become zero, {overflowed} overflow"

    def window_sentence(self) -> str:
        """Say which loss scales lose next to nothing, or which comes closest, and what is left out."""
        return " ".join(filter(None, [self._window(), self._counted()]))

    def alt(self, exponent: int) -> str:
        """Return the alternative text of the figure at this exponent."""
        return (
            f"Left: histogram of the gradients times the loss scale, between the cliffs of {self.fmt.label}. "
            "Right: the shares that become zero and that overflow, against the loss scale. "
            f"{self.sentence(exponent)}. {self.window_sentence()}"
        )

    def _window(self):
        if not self.total:
            return ""
        keeps = f"overflows nothing and turns at most {percent(TOLERATED)} to zero"
        if not self.without_overflow:
            return f"Every loss scale from {power_of_two(SMALLEST)} on overflows something."
        if not self.window:
            best = self.without_overflow[-1]
            return (
                f"No loss scale {keeps}; {power_of_two(best)} is the largest that overflows nothing, and it "
                f"turns {percent(self.flushed[best - SMALLEST])} to zero."
            )
        first, last = power_of_two(self.window[0]), power_of_two(self.window[-1])
        if first == last:
            return f"Only the loss scale {first} {keeps}."
        return f"Every loss scale from {first} to {last} {keeps}."

    def _counted(self):
        left_out = []
        if self.zeros:
            left_out.append(f"{self.zeros:,} zero already in FP32")
        if self.not_finite:
            left_out.append(f"{self.not_finite:,} infinite or NaN")
        words = f"Counted: {self.total:,} non-zero gradients"
        return f"{words}; left out: {', '.join(left_out)}." if left_out else f"{words}."
