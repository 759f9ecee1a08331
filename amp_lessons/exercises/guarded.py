"""Runs a learner's code so that nothing of it leaks: not its output, not its warnings, not its settings."""

import contextlib
import io
import random
import sys
import warnings

import torch

KEPT = 2000  # characters of output that are kept
KEPT_WARNINGS = 5


class Printed(io.TextIOBase):
    """Stands in for sys.stdout and sys.stderr: keeps the first characters and counts the rest."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self):
        self._parts = []
        self._kept = 0
        self.total = 0
        self._afterwards = None

    def write(self, text):
        text = str(text)
        if self._afterwards is not None:  # a logger made inside the check may hold on to this object
            return self._afterwards.write(text)
        self.total += len(text)
        if self._kept < KEPT:
            part = text[: KEPT - self._kept]
            self._parts.append(part)
            self._kept += len(part)
        return len(text)

    def flush(self):
        if self._afterwards is not None:
            self._afterwards.flush()

    def writable(self):
        return True

    def close(self):
        """Does nothing: the code that prints does not own it."""

    def hand_over(self, stream):
        """From now on pass everything on to `stream`."""
        self._afterwards = stream

    @property
    def text(self):
        """What was kept, with a last line that says how much was not."""
        kept = "".join(self._parts)
        if self.total > self._kept:
            kept += f"\n… and {self.total - self._kept:,} more characters"
        return kept


@contextlib.contextmanager
def guarded():
    """A `with` block around a learner's code; gives a Printed that collects what the code prints and warns.

    Inside, autocast is off, gradients are on and the default dtype is float32. These, the random states of
    torch, Python and NumPy, and the default device are afterwards as they were.
    """
    printed = Printed()
    with _streams(printed), _warnings(printed), _random_states(), _torch_settings():
        yield printed


def seed():
    """Seed torch, Python and NumPy, so that the same answer gets the same verdict."""
    random.seed(0)
    torch.default_generator.manual_seed(0)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)


@contextlib.contextmanager
def _streams(printed):
    out, err = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = printed
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
        printed.hand_over(out)


@contextlib.contextmanager
def _warnings(printed):
    seen = []

    def keep(message, category, filename, lineno, file=None, line=None):
        text = f"{category.__name__}: {message}"
        if text not in seen and len(seen) < KEPT_WARNINGS:
            seen.append(text)
            printed.write(text + "\n")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = keep
        yield


@contextlib.contextmanager
def _random_states():
    python, cpu = random.getstate(), torch.default_generator.get_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    numpy = sys.modules.get("numpy")
    numpys = numpy.random.get_state() if numpy else None
    try:
        yield
    finally:
        random.setstate(python)
        torch.default_generator.set_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        if numpys is not None:
            numpy.random.set_state(numpys)


@contextlib.contextmanager
def _torch_settings():
    gradients, dtype, device = torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_default_device()
    autocast = {kind: _autocast(kind) for kind in _kinds()}
    cache, depth = torch.is_autocast_cache_enabled(), _autocast_depth()
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    for kind in autocast:
        torch.set_autocast_enabled(kind, False)
    try:
        yield
    finally:
        torch.set_grad_enabled(gradients)
        torch.set_default_dtype(dtype)
        if torch.get_default_device() != device:
            torch.set_default_device(device)
        for kind, (enabled, kind_dtype) in autocast.items():
            torch.set_autocast_enabled(kind, enabled)
            torch.set_autocast_dtype(kind, kind_dtype)
        torch.set_autocast_cache_enabled(cache)
        for _ in range(_autocast_depth() - depth):  # an answer may enter autocast and never leave
            torch.autocast_decrement_nesting()
        torch.clear_autocast_cache()


def _kinds():
    return ("cpu", "cuda", "mps") if torch.backends.mps.is_available() else ("cpu", "cuda")


def _autocast(kind):
    return torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)


def _autocast_depth():
    depth = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return depth
