"""The same count for a model that would not fit, or takes too long: with tensors that have no values."""

import logging
import re
import warnings
from contextlib import contextmanager

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
_FOR_MAKE = (
    "Build the model and its inputs inside the function, from nothing outside, and read no number from a "
    "tensor, with .item() for example."
)
_LAZY = re.compile("Tensor subclass Uninitialized")


def would_keep(make, dtype=None, device="cpu"):
    """Give, as a Kept, the bytes that autograd would keep for backward, without computing anything.

    make: a function without arguments that builds the model and its inputs, runs the forward pass and returns
    the loss. It must build everything itself. Its tensors have shapes and dtypes but no values, so that any
    size takes little time and memory; a number can't be read from them, with .item() for example.
    dtype: None or torch.float32 as it stands; torch.float16 or torch.bfloat16 runs make() under autocast in
    that dtype.

    The count equals that of `kept_for_backward` on a CPU, except where PyTorch's rules for tensors without
    values differ from what it does: they leave out an LSTM's workspace, most of what it keeps, so that a
    model with one comes out far too small, and take the statistics of a batch norm under autocast, a few
    numbers per channel, for 16-bit ones. Random numbers drawn in make() leave the generator as it was.

    **The count follows the CPU's lists**: on a GPU other operations run in 16 bits under autocast, and an
    operation may keep other things. A device other than "cpu" is refused, also within make().

    TypeError if make is not a function or returns no tensor. ValueError for another dtype or device, or if
    make() uses a tensor from outside, needs a value or makes a lazy module. Other exceptions of make's come
    through.
    """
    refuse_what_makes_nothing(make)
    autocast = autocast_in(dtype)
    _refuse_other_devices(as_device(device), "would_keep")
    with _modules_made() as modules, without_values("would_keep"), _CopiesOfParameters() as copies, autocast:
        return count(make, modules, copies.made)


def refuse_what_makes_nothing(make):
    """TypeError if make is not a function."""
    if not callable(make):
        raise TypeError(
            f"Pass a function that builds a model and returns a loss, not a {type(make).__name__}."
        )


def autocast_in(dtype):
    """Autocast on the CPU in a 16-bit dtype, none for None and float32. ValueError for another dtype."""
    if dtype not in (None, torch.float32, torch.float16, torch.bfloat16):
        raise ValueError(f"dtype is torch.float16 or torch.bfloat16, or None for no autocast; got {dtype!r}.")
    half = dtype in (torch.float16, torch.bfloat16)
    return torch.autocast("cpu", dtype if half else torch.bfloat16, enabled=half)


@contextmanager
def without_values(function):
    """Inside, tensors have shapes and dtypes but no values, and only CPU ones may be made.

    The random number generator stays as it was. PyTorch's errors about missing values become ValueErrors that
    say what to do; function is the name of the one that was called.
    """
    with (
        torch.random.fork_rng(devices=[]),
        values_explained(function),
        warnings.catch_warnings(),
        _NoValues() as mode,
        mode.parameters_movable(),
        _OnlyCpu(function),
    ):
        warnings.filterwarnings("ignore", "Accessing the data pointer of FakeTensor")  # copy.deepcopy asks
        yield


class _NoValues(FakeTensorMode):
    """PyTorch's mode for tensors without values, made so that models can be moved, cast and copied in it.

    It remembers tensors by weak references, and newer versions of model.to() refuse a parameter that has one.
    Nothing looks them up here: they serve tensors that have values, and such ones from outside are refused.
    """

    def __init__(self):
        super().__init__()
        self.fake_tensor_converter.set_tensor_memo = lambda tensor, fake: None

    def __deepcopy__(self, memo):
        return self  # copies of a tensor, as nn.TransformerEncoder makes them, belong to the same mode

    @contextmanager
    def parameters_movable(self):
        """Meanwhile no parameter is remembered for a value that is known, as that of torch.tensor(1.0) is."""

        def forget(module, name, parameter):
            constant = getattr(parameter, "constant", None)
            if constant is not None:
                self.fake_tensor_converter.invalidate_constant_aliases(constant)
                self.fake_tensor_converter.tensor_memo.clear()

        handle = module_hooks.register_module_parameter_registration_hook(forget)
        try:
            yield
        finally:
            handle.remove()


class _OnlyCpu(TorchDispatchMode):
    """Sees every operation and refuses other devices.

    A tensor without values that is on a GPU and requires a gradient ends the whole Python process on a build
    without CUDA (with one, at its first op). So none may come to be.
    """

    def __init__(self, function):
        super().__init__()
        self._function = function

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for value in tree_leaves((args, kwargs)):
            if isinstance(value, torch.device):
                _refuse_other_devices(value, self._function)
            elif isinstance(value, torch.Tensor):
                _refuse_other_devices(value.device, self._function)
        return func(*args, **kwargs)


class _CopiesOfParameters(TorchDispatchMode):
    """Sees every operation and remembers copies of parameters in another dtype."""

    def __init__(self):
        super().__init__()
        self._copies = []  # weak, and none of their addresses is used again meanwhile

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default and isinstance(args[0], nn.Parameter):
            self._copies.append(StorageWeakRef(result.untyped_storage()))
        return result

    def made(self, tensor):
        return any(storage_key(tensor) == copy.cdata for copy in self._copies)


def _refuse_other_devices(device, function):
    if device.type != "cpu":
        raise ValueError(
            f'{function} counts on the CPU only, not on "{device}". Build the model and its inputs on the '
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
def values_explained(function, advice=_FOR_MAKE):
    """PyTorch's own errors about tensors without values, in words for who called the function."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    silent, log.disabled = log.disabled, True  # it writes a traceback for every error, the learner's own too
    try:
        yield
    except (AssertionError, RuntimeError) as error:
        if _LAZY.search(str(error)):
            raise ValueError(
                f"In {function} lazy modules can't be made. Give the layer both sizes, "
                "for example nn.Linear(64, 10) instead of nn.LazyLinear(10)."
            ) from error
        no_values = (
            DataDependentOutputException,
            DynamicOutputShapeException,
            UnsupportedFakeTensorException,
        )
        if not isinstance(error, no_values) and not _NO_VALUES.search(str(error)):
            raise
        raise ValueError(f"In {function} tensors have no values. {advice}") from error
    finally:
        log.disabled = silent
