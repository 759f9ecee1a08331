"""Lessons on mixed-precision training with PyTorch: what they draw with, measure with and check with.

`import amp_lessons` loads nothing else. A name is loaded when it is first asked for, so that a cell which
needs a number format does not wait for matplotlib.
"""

import importlib

__version__ = "0.1.0"

_FROM_EXERCISES = (
    "check",
    "hint",
    "reset",
    "solution",
    "quick_check",
    "progress",
    "rebuild_progress",
    "compare_own_scaler",
)
_FROM_RECORDER = ("record_loop", "compare_ranks")
_SUBMODULES = (
    "figures",
    "widgets",
    "hardware",
    "formats",
    "gradients",
    "policy",
    "op_dtypes",
    "memory",
    "data",
    "models",
    "timing",
    "roofline",
)

__all__ = [*_FROM_EXERCISES, *_FROM_RECORDER, *_SUBMODULES]


def __getattr__(name):
    """Load `name` on first use (PEP 562)."""
    if name in _FROM_EXERCISES:
        value = getattr(importlib.import_module("amp_lessons.exercises"), name)
    elif name in _FROM_RECORDER:
        value = getattr(importlib.import_module("amp_lessons.recorder"), name)
    elif name in _SUBMODULES:
        value = importlib.import_module(f"amp_lessons.{name}")
    else:
        raise AttributeError(f"amp_lessons has no {name!r}. It has: {', '.join(__all__)}.")
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *__all__])
