"""What a recording keeps: plain numbers and names, never a tensor, a graph, a module or a frame."""

from collections import deque
from dataclasses import dataclass, field

from amp_lessons.recorder.places import NOWHERE, Place


@dataclass(slots=True)
class Event:
    """One thing that the loop did.

    ``kind`` is a word such as "scale", "backward", "unscale", "clip", "step", "skip" or "update"; ``step``
    counts from 0; ``data`` holds numbers, names and dtypes as text.
    """

    kind: str
    step: int
    place: Place = NOWHERE
    thread: int = 0
    data: dict = field(default_factory=dict)


class EventStore:
    """The first and the last events of a loop; those between are only counted.

    A loop of any length needs the memory of ``2 * half`` events.
    """

    def __init__(self, half: int = 1000):
        self.half = half
        self.first: list[Event] = []
        self.last: deque[Event] = deque(maxlen=half)
        self.total = 0

    def add(self, event: Event) -> None:
        """Keep ``event``, or count one that falls out of the middle."""
        self.total += 1
        if len(self.first) < self.half:
            self.first.append(event)
        else:
            self.last.append(event)

    @property
    def dropped(self) -> int:
        """How many events of the middle are counted but not kept."""
        return self.total - len(self.first) - len(self.last)

    def __iter__(self):
        yield from self.first
        yield from self.last

    def __len__(self):
        return len(self.first) + len(self.last)
