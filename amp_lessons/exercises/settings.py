"""The settings of Python and torch that an answer may change: afterwards they are as they were."""

import contextlib
import random
import sys
import threading

import torch

_AS_IT_IS = object()
_CPU = torch.device("cpu")
_WAIT = 30.0  # seconds for another check to end
_turn = threading.RLock()


class Busy(Exception):
    """Another thread is running a check, and goes on running it."""


def _device(device):
    torch.set_default_device(None if device == _CPU else device)


def _anomaly():
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def _flushes_denormals():
    # torch sets this for all arithmetic of the thread, Python's too, and has no function that tells.
    return sys.float_info.min / 2 == 0


_SETTINGS = (  # how to read it, how to set it, how an answer finds it
    (torch.is_grad_enabled, torch.set_grad_enabled, True),
    (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    (torch.get_default_device, _device, _CPU),
    (_flushes_denormals, torch.set_flush_denormal, False),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, _AS_IT_IS),
    (_anomaly, lambda both: torch.autograd.set_detect_anomaly(*both), (False, True)),
    (torch.get_num_threads, torch.set_num_threads, 1),  # on a busy machine two threads wait for each other
    (sys.getrecursionlimit, sys.setrecursionlimit, _AS_IT_IS),
)


@contextlib.contextmanager
def one_at_a_time():
    """A `with` block for what changes the whole process's settings: its threads enter it in turn, or Busy."""
    if not _turn.acquire(timeout=_WAIT):
        raise Busy
    try:
        yield
    finally:
        _turn.release()


@contextlib.contextmanager
def settings_kept():
    """Inside, gradients are on, autocast is off, new tensors are float32 on the CPU, one thread is used."""
    with contextlib.ExitStack() as stack:  # undoes every part, whatever the others raise
        stack.enter_context(torch.inference_mode(False))
        for read, write, start in _SETTINGS:
            stack.callback(_put, read, write, read())
            if start is not _AS_IT_IS:
                _put(read, write, start)
        stack.enter_context(_autocast_kept())
        yield


def _put(read, write, value):
    if read() != value:
        write(value)


@contextlib.contextmanager
def random_states_kept():
    """Afterwards torch, Python and NumPy draw on from where they were."""
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


def seed():
    """Seed torch, Python and NumPy, so that the same answer gets the same verdict."""
    random.seed(0)
    torch.default_generator.manual_seed(0)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)


@contextlib.contextmanager
def _autocast_kept():
    before = {kind: (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in _kinds()}
    cache, depth = torch.is_autocast_cache_enabled(), _autocast_depth()
    for kind in before:
        torch.set_autocast_enabled(kind, False)
    _nest(-depth)  # inside an open region, leaving one would keep the copies of weights
    try:
        yield
    finally:
        for kind, (enabled, dtype) in before.items():
            torch.set_autocast_enabled(kind, enabled)
            torch.set_autocast_dtype(kind, dtype)
        torch.set_autocast_cache_enabled(cache)
        _nest(depth - _autocast_depth())  # an answer may enter autocast and never leave
        torch.clear_autocast_cache()


def _kinds():
    return ("cpu", "cuda", "mps") if torch.backends.mps.is_available() else ("cpu", "cuda")


def _nest(levels):
    """Count so many autocast regions more as entered, or fewer."""
    for _ in range(abs(levels)):
        (torch.autocast_increment_nesting if levels > 0 else torch.autocast_decrement_nesting)()


def _autocast_depth():
    depth = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return depth
