"""How long the run and its parts may take, in seconds. What would take longer is cut, and says so."""

import time

WHOLE_RUN = 450  # under eight minutes, the start of Python and the writing included
LESSONS, TESTS, SPEED = 220, 110, 120
ENOUGH_TO_START = 5  # with less left, the next piece is not begun


class Budget:
    """The seconds left of a number of seconds that count from now."""

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def left(self):
        return max(0.0, self._end - time.monotonic())

    def is_spent(self):
        return self.left() < ENOUGH_TO_START
