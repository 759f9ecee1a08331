"""Watch a training loop and name the mixed-precision mistakes in it.

with record_loop() as recording:
    train(...)
print(recording)
"""

from amp_lessons.recorder.events import Event
from amp_lessons.recorder.findings import Finding
from amp_lessons.recorder.ranks import compare_ranks
from amp_lessons.recorder.recording import Recording, record_loop
from amp_lessons.recorder.rules import RULES

__all__ = ["RULES", "Event", "Finding", "Recording", "compare_ranks", "record_loop"]
