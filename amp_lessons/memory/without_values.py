"""The same count for a model that would not fit, or takes too long: with tensors that have no values."""

import logging
import re
from contextlib import ExitStack, contextmanager

import torch
from torch import nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.modules import module as module_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from amp_lessons.memory.count import count
from amp_lessons.memory.devices import as_device
from amp_lessons.memory.holding import storage_key


_NO_VALUES = re.compile("FakeTensor|not supported for tensor subclasses")


def would_keep(make, dtype=None, device="cpu"):
    """Give, as a Kept, the bytes that autograd would keep for backward, without computing anything.

    make: a function without arguments that builds the model and its inputs, runs the forward pass and returns
    the loss. It must build everything itself. Its tensors have shapes and dtypes but no values, so that any
    size takes little time and memory; a number can't be read from them, with .item() for example.
    dtype: None or torch.float32 as it stands; torch.float16 or torch.bfloat16 runs make() under autocast in
    that dtype.

    The count equals that of `kept_for_backward` on a CPU, except where PyTorch's rules for tensors without
    values differ from what it does: they leave out an LSTM's workspace, and take the statistics of a batch
    norm under autocast, a few numbers per channel, for 16-bit ones. Random numbers drawn in make() leave the
    generator as it was.

    **The count follows the CPU's lists**: on a GPU other operations run in 16 bits under autocast, and an
    operation may keep other things. A device other than "cpu" is refused, also within make().

    TypeError if make is not a function or returns no tensor. ValueError for another dtype or device, or if
    make() uses a tensor from outside or needs a value. Other exceptions of make's come through.
    """
    if not callable(make):
        raise TypeError(
            f"Pass a function that builds a model and returns a loss, not a {type(make).__name__}."
        )
    if dtype not in (None, torch.float32, torch.float16, torch.bfloat16):
        raise ValueError(f"dtype is torch.float16 or torch.bfloat16, or None for no autocast; got {dtype!r}.")
    _refuse_other_devices(as_device(device))
    half = dtype in (torch.float16, torch.bfloat16)
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=[]))
        modules = stack.enter_context(_modules_made())
        stack.enter_context(_values_explained())
        stack.enter_context(FakeTensorMode())
        watch = stack.enter_context(_OnlyCpu())
        stack.enter_context(torch.autocast("cpu", dtype if half else torch.bfloat16, enabled=half))
        return count(make, modules, watch.made_from_parameter)


class _OnlyCpu(TorchDispatchMode):
    """Sees every operation. Refuses other devices, and remembers copies of parameters in another dtype.

    A tensor without values that is on a GPU and requires a gradient ends the whole Python process on a build
    without CUDA (with one, at its first op). So none may come to be.
    """

    def __init__(self):
        super().__init__()
        self._copies = []  # weak, and none of their addresses is used again meanwhile

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for value in tree_leaves((args, kwargs)):
            if isinstance(value, torch.device):
                _refuse_other_devices(value)
            elif isinstance(value, torch.Tensor):
                _refuse_other_devices(value.device)
        result = func(*args, **kwargs)
        if func is torch.ops.aten._to_copy.default and isinstance(args[0], nn.Parameter):
            self._copies.append(StorageWeakRef(result.untyped_storage()))
        return result

    def made_from_parameter(self, tensor):
        return any(storage_key(tensor) == copy.cdata for copy in self._copies)


def _refuse_other_devices(device):
    if device.type != "cpu":
        raise ValueError(
            f'would_keep counts on the CPU only, not on "{device}". Build the model and its inputs on the '
            "CPU, inside your function too."
        )


@contextmanager
def _modules_made():
    """The modules that get a parameter or a buffer meanwhile, a collection that grows."""
    modules = {}

    def remember(module, name, value):
        modules[id(module)] = module

    handles = [
        module_hooks.register_module_parameter_registration_hook(remember),
        module_hooks.register_module_buffer_registration_hook(remember),
    ]
    try:
        yield modules.values()
    finally:
        for handle in handles:
            handle.remove()
        modules.clear()


@contextmanager
def _values_explained():
    """PyTorch's own errors about tensors without values, in words for who called would_keep."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    silent, log.disabled = log.disabled, True  # it writes a traceback for every error, the learner's own too
    try:
        yield
    except (AssertionError, RuntimeError) as error:
        no_values = (
            DataDependentOutputException,
            DynamicOutputShapeException,
            UnsupportedFakeTensorException,
        )
        if not isinstance(error, no_values) and not _NO_VALUES.search(str(error)):
            raise
        raise ValueError(
            "In would_keep tensors have no values. Build the model and its inputs inside the function, from "
            "nothing outside, and read no number from a tensor, with .item() for example."
        ) from error
    finally:
        log.disabled = silent
