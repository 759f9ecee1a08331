"""A pretended device with a clock of its own, to check how an answer times a step: no real time passes."""

from amp_lessons.exercises.exercise import NotYet

MOST_STEPS = 1000
SLOWER = 10  # a disturbed step takes this many times as long
PERIOD = 20  # steps from one disturbed step to the next


class PretendDevice:
    """Does what it is asked for one after the other, while whoever asks goes on. Times are in seconds.

    asking: how long step() takes. work: how long the device then works on it, from the moment that it is
    asked or has done what came before; it varies by 4 % both ways. slow_first: what the first steps take in
    place of that. busy: how much earlier work there is at the start. disturbed: None, or which step in every
    PERIOD, counted from 0, takes SLOWER times as long.
    """

    def __init__(self, asking=20e-6, work=3e-3, slow_first=(), busy=0.0, disturbed=None):
        self.asking, self.work = asking, work
        self.slow_first, self.disturbed = slow_first, disturbed
        self.steps = self.waits = self.readings = 0  # how often it was called
        self.readings_while_busy = 0  # how often the clock was read before all was done
        self.timed = []  # between one reading and the next: how many steps, and whether one was disturbed
        self._since = None  # the steps since the last reading: whether each is disturbed
        self._now = 1000.0
        self._done = self._now + busy

    @property
    def typical(self):
        """The seconds of a step that nothing disturbs."""
        return max(self.asking, self.work)

    def step(self):
        """Ask for one training step. NotYet where that is one too many."""
        if self.steps == MOST_STEPS:
            raise NotYet(
                f"You asked for more than {MOST_STEPS:,} steps. A few tens are enough for a median.",
                "too-many-steps",
            )
        begin = max(self._now, self._done)
        self._now += self.asking
        self._done = max(begin + self._seconds(self.steps), self._now)
        if self._since is not None:
            self._since.append(self._is_disturbed(self.steps))
        self.steps += 1

    def wait(self):
        """Let time pass until all is done."""
        self.waits += 1
        self._now = max(self._now, self._done)

    def clock(self):
        """The time in seconds. Reading it takes a microsecond."""
        self.readings += 1
        if self._since:
            self.timed.append((len(self._since), any(self._since)))
        self._since = []
        self.readings_while_busy += self._done > self._now
        self._now += 1e-6
        return self._now

    def _seconds(self, index):
        if index < len(self.slow_first):
            return self.slow_first[index]
        seconds = self.work * (1 + 0.04 * (7 * index % 11 - 5) / 5)
        return SLOWER * seconds if self._is_disturbed(index) else seconds

    def _is_disturbed(self, index):
        return index % PERIOD == self.disturbed and index >= len(self.slow_first)
