"""Puts a learner's value into a few safe words: never long, never an error."""

import re
import reprlib
import sys

import torch

from amp_lessons.exercises.time_limit import INTERRUPTS

LIMIT = 80

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = LIMIT
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = 6


def shown(value):
    """A short text for `value`, whatever it is: at most about 80 characters, on one line."""
    try:
        text = _tensor(value) if issubclass(type(value), torch.Tensor) else _short.repr(value)
        text = re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(str(text).split()))  # an address tells nothing
    except INTERRUPTS:
        raise
    except BaseException:  # a learner's own __repr__ may do anything
        return with_article(value) + " whose text can't be read"
    return text if len(text) <= LIMIT else text[: LIMIT - 1] + "…"


def with_article(value):
    """The type of `value` with its article: "an int", "a Tensor"."""
    if value is None:
        return "None"
    if value is ...:
        return "`...`"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def kind_and_value(value):
    """The type and, where the type alone does not say it, the value: "an int (3)"."""
    if value is None or value is ... or issubclass(type(value), type(sys)) or callable(value):
        return with_article(value)
    if issubclass(type(value), torch.Tensor):
        return shown(value)
    return f"{with_article(value)} ({shown(value)})"


def cut(text, limit):
    """`text` with at most `limit` characters, the cut marked with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _tensor(value):
    if value.numel() <= 4:
        return repr(value.detach())
    shape = "×".join(str(size) for size in value.shape)
    return f"tensor of shape {shape}, {value.dtype}"
