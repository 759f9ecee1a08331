"""What a caller passes as a number."""

from amp_lessons.formats import as_float


def as_number(value, refusal: str) -> float:
    """Return the value as a float, or raise ValueError with the text ``refusal`` where it is no number.

    Text and True are none, though Python would turn them into one.
    """
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        return as_float(value)
    except (TypeError, ValueError):
        raise ValueError(refusal) from None
