"""The warm-up of lesson 00: an exercise to get wrong on purpose, and then right."""

from amp_lessons.exercises import expect
from amp_lessons.exercises.exercise import Exercise, Lesson, NotYet, Test


def _bytes(answer):
    got = expect.number(answer.bytes_per_number, "bytes_per_number")
    if got == 2:
        return
    if got == 4:
        raise NotYet(
            "You answered 4. Four bytes, 32 bits, is what FP32 takes. FP16 has 16 bits, and a byte has 8.",
            "bytes-of-fp32",
        )
    if got == 16:
        raise NotYet(
            "You answered 16. That is how many bits one number has. A byte has 8 bits.", "bits-not-bytes"
        )
    raise NotYet(f"You answered {got:g}. FP16 has 16 bits, and a byte has 8 bits. How many bytes is that?")


BYTES_PER_NUMBER = Exercise(
    id="bytes-per-number",
    title="How an exercise works",
    minutes=1,
    stub="""
bytes_per_number = ...        # how many bytes does one FP16 number take?
""",
    hints=(
        "The name says it: FP16 has 16 bits.",
        "A byte has 8 bits.",
        "16 / 8. PyTorch knows as well: torch.tensor(1.0, dtype=torch.float16).element_size()",
    ),
    tests=[Test("bytes of one FP16 number", 1, _bytes)],
    why="16 bits are 2 bytes, half of what FP32 takes.",
)

LESSON = Lesson(
    notebook="00_start_here",
    title="Start here",
    promise="What mixed precision is, what this machine can do, and how the exercises work.",
    minutes_reading=5,
    minutes_exercises=1,
    exercises=[BYTES_PER_NUMBER],
)
