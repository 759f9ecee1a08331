"""Puts an exception from a learner's code into words: what, where, and a likely cause in the notebook."""

import builtins
import linecache

import torch

from amp_lessons.exercises.shown import cut, kind_and_value
from amp_lessons.exercises.time_limit import INTERRUPTS

_SET_UP = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
_SET_UP_NAMES = {
    "check",
    "figures",
    "hint",
    "progress",
    "quick_check",
    "reset",
    "solution",
    "widgets",
    "device",
}
_ON_A_GPU = ("Torch not compiled with", "NVIDIA driver", "No CUDA GPUs", "on the same device")
_NOT_THEIRS = {"exit", "quit", "open", "input", "print", "help"}  # the notebook itself replaces some of these


def fault_in_words(error, namespace):
    """A message for an exception: its type and text, the learner's line, and a shadowed name it used."""
    frame, line = learners_place(error, namespace)
    parts = [kind_and_text(error)]
    if frame is None:
        parts[0] = f"Using your answer raised {parts[0]}"
    else:
        parts.append(place_in_words(frame, line))
        parts.extend(_shadowed(frame, namespace))
    if any(words in parts[0] for words in _ON_A_GPU):
        parts.append("The check's tensors are on the CPU, on every machine: leave them there.")
    return "\n".join(parts)


def kind_and_text(error):
    """The type and text of an exception on one or a few lines, safe to show."""
    kind = type(error).__name__
    try:
        text = str(error).strip()
    except INTERRUPTS:
        raise
    except BaseException:  # a learner's own __str__ may do anything
        return f"{kind} (its text can't be read)"
    if isinstance(error, NameError) and _name(error) in {*_SET_UP, *_SET_UP_NAMES}:
        text += ". Run the set-up cell at the top of the notebook first"
    return f"{kind}: {cut(text, 400)}" if text else kind


def learners_place(error, namespace):
    """The last frame and line number in the learner's own code, or (None, None)."""
    found = (None, None)
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_globals is namespace:
            found = (step.tb_frame, step.tb_lineno)
        step = step.tb_next
    return found


def is_stubs_own(error, namespace):
    """The name of the stub that raised its own bare NotImplementedError, or None for any other exception."""
    if type(error) is not NotImplementedError or error.args:
        return None
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    if last.tb_frame.f_globals is not namespace:
        return None
    return last.tb_frame.f_code.co_qualname.split(".")[0]


def place_in_words(frame, line):
    """ "In `f`, line 3 of its cell: `return x / 0`"."""
    name = frame.f_code.co_name
    where = (
        f"In line {line} of your cell" if name.startswith("<") else f"In `{name}`, line {line} of its cell"
    )
    source = linecache.getline(frame.f_code.co_filename, line).strip()
    return f"{where}: `{cut(source, 100)}`" if source else f"{where}."


def _shadowed(frame, namespace):
    """A sentence for each well-known name that the failing code used and the notebook has overwritten."""
    for name in frame.f_code.co_names:
        if name not in namespace:
            continue
        value = namespace[name]
        if name in _SET_UP and value is not _SET_UP[name]:
            now = kind_and_value(value)
            yield (
                f"In this notebook the name `{name}` is now {now}, no longer the module. "
                "Run the set-up cell again."
            )
        elif hasattr(builtins, name) and value is not getattr(builtins, name) and name not in _NOT_THEIRS:
            now = kind_and_value(value)
            yield (
                f"In this notebook the name `{name}` is now {now}, no longer Python's own. "
                f"Run `del {name}` in a cell to get it back."
            )


def _name(error):
    return getattr(error, "name", None)
