"""Asks PyTorch itself which dtype an op gives, on a device that may be absent.

On cuda and mps the tensors are fake: they have a device, a shape and a dtype, and no values. **A fake cuda
tensor that requires grad ends the interpreter (SIGABRT).** So only the table's calls are made, on tensors
made here, with gradients off; nothing of a learner's ever enters. On the CPU, which is always there, they are
small real tensors: fake ones do not notice every mix of dtypes that the real op refuses.
"""

import contextlib
import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import torch
from torch._subclasses import fake_tensor

_one_at_a_time = threading.Lock()


def combinations(op, dtype):
    """The input dtypes to try: (that of the first tensor, that of all others), or (dtype,) for one tensor."""
    if len(op.shapes) == 1:
        return [(torch.float32,), (dtype,)]
    mixed = [(dtype, torch.float32)] if op.mixes else []
    return [(torch.float32, torch.float32), (dtype, dtype), *mixed]


def outputs_of(op, device, dtype):
    """Run an Op under autocast, once for each of the `combinations`.

    Gives a dict: input dtypes -> the output's dtype, or the text of the error that PyTorch raises. Gives None
    where PyTorch cannot be asked: it would turn to a GPU, or fails for lack of one.

    Autocast's state, its dtypes, the gradient mode and modes such as an active trace belong to a thread. So a
    thread of its own starts from PyTorch's defaults, and leaves nothing behind.
    """
    if op.touches_gpu and device == "cuda" and torch.backends.cuda.is_built():
        return None
    if device != "cpu":
        _enter_fake_mode_for_good()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_ask, op, device, dtype).result()


@functools.cache
def _enter_fake_mode_for_good():
    """Let a thread that never ends be the first to enter the mode.

    A PyTorch built for CUDA keeps, where there is no GPU, a pointer to what the first thread made there. Once
    that thread has ended, the next one to enter ends the interpreter (SIGSEGV; seen with 2.11.0+cu130).
    """
    entered = threading.Event()

    def stay():
        try:
            with fake_tensor.FakeTensorMode():
                pass
        finally:
            entered.set()
        threading.Event().wait()

    threading.Thread(target=stay, name="keeps the fake device", daemon=True).start()
    entered.wait()


def _ask(op, device, dtype):
    with _one_at_a_time:
        torch.set_autocast_dtype(device, dtype)
        torch.set_autocast_enabled(device, True)
        outputs = {dtypes: _output(op, device, dtypes) for dtypes in combinations(op, dtype)}
    # Only a mix of dtypes is refused by an op itself.
    in_one_dtype = [output for dtypes, output in outputs.items() if len(set(dtypes)) == 1]
    failed = any(isinstance(output, str) and "autocast" not in output for output in in_one_dtype)
    return None if failed and device != "cpu" else outputs


def _output(op, device, dtypes):
    with torch.no_grad(), _values() if device == "cpu" else _no_values():
        try:
            inputs = [
                torch.zeros(shape, dtype=dtypes[-1] if position else dtypes[0], device=device)
                for position, shape in enumerate(op.shapes)
            ]
            return op.call(*inputs).dtype
        except Exception as error:
            return str(error)


def _values():
    """Small real tensors on the CPU. What dropout draws does not change the learner's random numbers."""
    return torch.random.fork_rng(devices=[])


@contextlib.contextmanager
def _no_values():
    """Fake tensors, made without starting CUDA where there is a GPU, and without a log on stderr.

    Making a fake cuda tensor would start CUDA, for a later backward; running a real kernel, where PyTorch has
    no other way to know an output, would need it. Neither happens here.
    """
    with contextlib.ExitStack() as stack:
        no_start = mock.patch.object(fake_tensor, "init_gpu_context", lambda device: None, create=True)
        stack.enter_context(no_start)
        stack.enter_context(mock.patch.object(fake_tensor.log, "disabled", True))
        stack.enter_context(fake_tensor.FakeTensorMode(allow_fallback_kernels=False))
        yield
