"""Turns what a learner's code returned into a plain value, or says in plain words what it should be.

Every function takes the value and a text `what` that names it ("becomes_zero(2**-25)"), and raises NotYet
with the learner's own value in the message. Types are asked first and tensors are compared by torch, so that
an object with an `__eq__` or `__class__` of its own has no say.
"""

import decimal
import math
import numbers
import sys

import torch

from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.shown import kind_and_value, shown


def boolean(value, what):
    """A bool from a bool, a boolean tensor with one element or a NumPy bool."""
    plain = _plain(value, what)
    if type(plain) is not bool:
        raise NotYet(f"{what} should be True or False; yours is {kind_and_value(value)}.")
    return plain


def number(value, what):
    """A float from a real number, a real tensor with one element or a NumPy number. NaN is refused."""
    result = _real(_plain(value, what))
    if result is None:
        raise NotYet(f"{what} should be a number; yours is {kind_and_value(value)}.")
    if math.isnan(result):
        raise NotYet(f"{what} should be a number; yours is NaN, which is not equal to anything.")
    return result


def is_nan(value):
    """Whether `value` is NaN: a real number, a NumPy number or a tensor with one element."""
    try:
        real = _real(_plain(value, ""))
    except NotYet:
        return False
    return real is not None and math.isnan(real)


def integer(value, what):
    """An int from an int, or from a whole number in a tensor with one element or a NumPy scalar."""
    plain = _plain(value, what)
    if type(plain) is bool or not issubclass(type(plain), int):
        raise NotYet(f"{what} should be a whole number (an int); yours is {kind_and_value(value)}.")
    return int.__int__(plain)


def text(value, what):
    """A str."""
    if not issubclass(type(value), str):
        raise NotYet(f"{what} should be a text (a str); yours is {kind_and_value(value)}.")
    return str.__str__(value)


def tensor(value, what, shape=None, dtype=None):
    """The tensor itself, of this `shape` (None stands for any size) and `dtype` (one, or a tuple of them)."""
    if not issubclass(type(value), torch.Tensor):
        raise NotYet(f"{what} should be a tensor; yours is {kind_and_value(value)}.")
    if shape is not None:
        sizes = tuple(value.shape)
        fits = len(sizes) == len(shape) and all(w is None or w == s for w, s in zip(shape, sizes))
        if not fits:
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise NotYet(f"{what} should have the shape ({wanted}); yours has {sizes}.")
    if dtype is not None:
        wanted = dtype if isinstance(dtype, tuple) else (dtype,)
        if value.dtype not in wanted:
            names = " or ".join(str(each) for each in wanted)
            raise NotYet(f"{what} should have the dtype {names}; yours has {value.dtype}.")
    return value


def dictionary(value, what, keys=None):
    """A plain dict with exactly these `keys` (any, where None)."""
    if not issubclass(type(value), dict):
        raise NotYet(f"{what} should be a dictionary; yours is {kind_and_value(value)}.")
    plain = dict(dict.items(value))
    if keys is not None:
        missing = [key for key in keys if key not in plain]
        extra = [key for key in plain if key not in keys]
        if missing:
            raise NotYet(f"{what} has no entry for {shown(missing[0])}; yours has {_listed(plain)}.")
        if extra:
            raise NotYet(f"{what} has an entry too many: {shown(extra[0])}.")
    return plain


def sequence(value, what, length=None):
    """A plain list from a list or a tuple with `length` entries (any number, where None)."""
    if not issubclass(type(value), (list, tuple)):
        raise NotYet(f"{what} should be a list; yours is {kind_and_value(value)}.")
    kind = list if issubclass(type(value), list) else tuple
    plain = list(kind.__iter__(value))
    if length is not None and len(plain) != length:
        raise NotYet(f"{what} should have {length} entries; yours has {len(plain)}: {shown(plain)}.")
    return plain


def close(got, want, what, relative=1e-6, absolute=0.0, mistake=None):
    """A number near `want` (a float), within the larger of the two tolerances; returned as a float."""
    plain = number(got, what)
    if plain != want and not math.isclose(plain, want, rel_tol=relative, abs_tol=absolute):
        raise NotYet(f"{what} should be {want:.6g}; yours is {plain:.6g}.", mistake=mistake)
    return plain


def close_tensor(got, want, what, relative=1e-6, absolute=0.0, mistake=None):
    """A tensor with `want`'s shape whose entries are near those of `want`; its dtype may differ."""
    tensor(got, what, shape=tuple(want.shape))
    mine, theirs = (each.detach().as_subclass(torch.Tensor).to("cpu", torch.float64) for each in (got, want))
    far = ~torch.isclose(mine, theirs, rtol=relative, atol=absolute, equal_nan=True)
    if far.any():
        first = tuple(far.nonzero()[0].tolist())
        place = f" at {list(first)}" if first else ""
        message = f"{what}{place} should be {theirs[first].item():.6g}; yours is {mine[first].item():.6g}."
        raise NotYet(message, mistake=mistake)
    return got


def _plain(value, what):
    """Python's own value out of a tensor with one element or a NumPy scalar; others come back as they are."""
    if value is ...:
        raise NotYet(f"{what} is still `...`: put your answer there.")
    if value is None:
        if "(" in what:
            raise NotYet(f"{what} is None. Is there a `return` missing?")
        raise NotYet(f"{what} is None: no value yet. (`print(...)`, for one, shows a value and gives None.)")
    if issubclass(type(value), torch.Tensor):
        if value.numel() != 1:
            raise NotYet(f"{what} should be one value; yours is {shown(value)}.")
        return value.detach().as_subclass(torch.Tensor).item()
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(type(value), (numpy.generic, numpy.ndarray)):
        if value.size != 1:
            raise NotYet(f"{what} should be one value; yours is an array of shape {value.shape}.")
        return value.item()
    return value


def _real(plain):
    """A float from a real number of any kind (Fraction and Decimal too), or None from anything else."""
    kind = type(plain)
    if kind is bool or not issubclass(kind, (numbers.Real, decimal.Decimal)):
        return None
    if issubclass(kind, float):
        return float.__float__(plain)
    try:
        return float(int.__int__(plain) if issubclass(kind, int) else plain)
    except OverflowError:
        return math.inf if plain > 0 else -math.inf


def _listed(plain):
    return ", ".join(shown(key) for key in list(plain)[:6]) or "none"
