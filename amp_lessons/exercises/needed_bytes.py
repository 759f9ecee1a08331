"""A pretended model for the search for a batch size: gives a step's bytes, and notes what it was asked."""

import collections
import operator

from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.shown import kind_and_value, shown

MOST_CALLS = 60
LARGEST = 2**60  # beyond any machine: what is asked or answered beyond it is a mistake


class Needed:
    """Call it with a batch size, from 1 on. `bytes_of` gives the bytes; `asked` lists the batch sizes.

    NotYet where the batch size is no whole number, below 1 or beyond LARGEST, and at the first call after
    MOST_CALLS.
    """

    def __init__(self, bytes_of):
        self.bytes_of = bytes_of
        self.asked = []

    def __call__(self, batch_size):
        try:
            whole = operator.index(batch_size)
        except TypeError:
            raise NotYet(
                f"You called needed with {kind_and_value(batch_size)}. A batch size is a whole number (an "
                "int): halve with //.",
                "batch-not-whole",
            ) from None
        if whole < 1:
            raise NotYet(
                f"You called needed({shown(whole)}). The smallest batch has one sample: that 0 is the answer "
                "when not even one fits needs no call.",
                "asks-for-no-sample",
            )
        if whole > LARGEST:
            raise NotYet(
                f"You called needed({shown(whole)}), a batch beyond any machine. Stop at the first that does "
                "not fit."
            )
        if len(self.asked) == MOST_CALLS:
            raise NotYet(*self._too_many(whole))
        self.asked.append(whole)
        return self.bytes_of(whole)

    def _too_many(self, latest):
        said = f"After {MOST_CALLS} calls of needed you asked once more, for {latest:,}."
        if len({*self.asked[-3:], latest}) == 1 or len({*self.asked[-7:], latest}) == 2:
            said += " So you did the times before: the interval no longer shrinks. When it is only 1 wide, "
            return said + "its middle is its lower end; stop there.", "never-narrows"
        last = [*dict.fromkeys([*self.asked, latest])][-4:]
        steps = {later - earlier for earlier, later in zip(last, last[1:])}
        if steps in ({1}, {-1}):
            said += (
                " Trying one batch size after the other takes as many calls as the answer is large. Double "
            )
            return said + "until it no longer fits, then halve the interval.", "counts-one-by-one"
        if len(steps) == 1:
            said += f" You went on by {abs(steps.pop()):,} each time. Double until it no longer fits, then "
            return said + "halve the interval.", "goes-by-even-steps"
        counts = collections.Counter(self.asked)
        again = sum(times > 1 for times in counts.values())
        if len(self.asked) - len(counts) >= MOST_CALLS / 4:
            said = f"{said} You asked for {again} batch sizes more than once."
            return f"{said} Keep what needed gave in a variable.", "asks-twice"
        return said + " Doubling and halving the interval take about 40 for a million.", "too-many-calls"
