"""Recordings of several ranks, compared afterwards: talking while recording could block a rank."""

from amp_lessons.recorder.findings import Finding
from amp_lessons.recorder.rules.numbers import scale_text
from amp_lessons.recorder.rules.ranks import SCALE_DIFFERS


def compare_ranks(recordings) -> list[Finding]:
    """Return a finding for each scaler whose loss scale differs between the ranks' recordings.

    ``recordings`` are finished ``Recording`` objects, one per rank, in rank order (they can be pickled
    and sent). One rank alone agrees with itself. Raises TypeError for a recording that is not in a list.
    """
    if not hasattr(recordings, "__iter__"):
        raise TypeError("give the recordings of all ranks in a list: compare_ranks([first, second])")
    recordings = list(recordings)
    found = []
    for scaler in range(max((len(one.scales) for one in recordings), default=0)):
        courses = [one.scales[scaler] if scaler < len(one.scales) else [] for one in recordings]
        step = _first_difference(courses)
        if step is not None:
            found.append(_finding(recordings, courses, step))
    return found


def _at(course, step):
    """The scale in force at a step."""
    scale = None
    for since, value in course:
        if since > step:
            break
        scale = value
    return scale


def _first_difference(courses):
    for step in sorted({since for course in courses for since, _ in course}):
        if len({_at(course, step) for course in courses}) > 1:
            return step
    return None


def _finding(recordings, courses, step):
    scales = [_at(course, step) for course in courses]
    other = next(rank for rank, scale in enumerate(scales) if scale != scales[0])
    event = next((e for e in recordings[other].events if e.kind == "scale" and e.step >= step), None)
    place = event.place if event is not None else None
    words = ", ".join(f"rank {rank}: {scale_text(scale)}" for rank, scale in enumerate(scales))
    return Finding(
        SCALE_DIFFERS.name,
        SCALE_DIFFERS.severity,
        step,
        place.file if place else "",
        place.line if place else 0,
        place.code if place else "",
        SCALE_DIFFERS.happened.format(step=step, scales=words),
        SCALE_DIFFERS.to_do,
    )
