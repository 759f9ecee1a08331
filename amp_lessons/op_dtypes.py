"""Which dtypes a model really ran in, op by op, while it runs.

    with op_dtypes.trace() as ops:
        loss = model(x).sum()
        loss.backward()
    print(ops)

It listens below autocast, so it sees the casts that autocast inserts. Results stay the same bit for bit.
"""

import contextlib
import functools
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode
from torch.utils._pytree import tree_leaves

_MAKES_A_TENSOR = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "detach_")
_MOST_ROWS = 60
_BACKENDS = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "mps": "MPS",
    "xpu": "XPU",
}  # device -> key of PyTorch's dispatcher
_set_autocast_enabled = torch.set_autocast_enabled  # PyTorch's own, which is replaced while anyone listens
_listeners, _listeners_change = [], threading.Lock()


@dataclass(frozen=True)
class OpCall:
    """One op that ran: its name in ATen ("addmm"), or "cast" where only the dtype changes.

    inputs: the dtypes of the tensors that went in. output: that of the (first) tensor that came out.
    during: "forward" or "backward". autocast: whether autocast was on where it was called.
    """

    name: str
    inputs: tuple
    output: torch.dtype
    during: str
    autocast: bool


@dataclass(frozen=True)
class Cast:
    """One cast: from a dtype to a dtype, of a tensor of some shape; `of_parameter` if that is a parameter."""

    from_dtype: torch.dtype
    to_dtype: torch.dtype
    shape: tuple
    of_parameter: bool
    during: str


class OpCalls(Sequence):
    """The ops that ran, in order, each an OpCall; as text a table. It keeps names and dtypes, never tensors.

    casts: the casts among them, each a Cast. left_out: how many further ops ran after the limit.
    """

    def __init__(self):
        self._calls, self.casts, self.left_out = [], [], 0

    def __getitem__(self, index):
        return self._calls[index]

    def __len__(self):
        return len(self._calls)

    def __repr__(self):
        rows = [_cells(call) for call in self._calls[:_MOST_ROWS]]
        heads = ("op", "inputs", "output", "during")
        widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in (heads, *rows)]
        more = len(self) - len(rows) + self.left_out
        return "\n".join(line.rstrip() for line in [*lines, f"and {more:,} more" if more else ""]).rstrip()


@contextlib.contextmanager
def trace(parameters=None, limit=100_000):
    """Give an OpCalls that fills while the `with` block runs.

    parameters: the parameters whose casts count as `of_parameter`, such as model.parameters(); by default
    every nn.Parameter. limit: ops and casts are kept up to this number, later ones only counted.

    What computes nothing is left out: views, and making a tensor.
    ValueError for a limit that is no whole number above 0; TypeError if `parameters` are not tensors.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"The limit is a whole number above 0, such as 100_000; got {limit!r}.")
    calls = OpCalls()
    listener = _Listener(calls, _checked_parameters(parameters), limit)
    with _hearing_autocast(listener):
        listener.__enter__()
        try:
            yield calls
        finally:
            listener.end()


@contextlib.contextmanager
def _hearing_autocast(listener):
    """Tell the listener when autocast is set; traces may end in any order, and run in several threads."""
    with _listeners_change:
        _listeners.append(listener)
        torch.set_autocast_enabled = _set_and_tell
    try:
        yield
    finally:
        with _listeners_change:
            _listeners.remove(listener)
            if not _listeners:
                torch.set_autocast_enabled = _set_autocast_enabled


def _set_and_tell(*arguments, **keywords):
    _set_autocast_enabled(*arguments, **keywords)
    for listener in tuple(_listeners):
        listener.autocast_was_set()


class _Listener(TorchDispatchMode):
    """Notes every op of the thread that traces, and of its backward.

    Autocast is off for the mode while it handles an op, so its state is heard where torch.autocast sets it.
    """

    def __init__(self, calls, parameters, limit):
        super().__init__()
        self.calls, self.parameters, self.limit = calls, parameters, limit
        self.thread = threading.get_ident()
        self.autocast = _autocast_state()
        self.inside_listed = False
        self.ended = False

    def end(self):
        """Note no more. Of PyTorch's modes the innermost has to end first: an outer one waits for it."""
        self.ended = True
        while isinstance(mode := _get_current_dispatch_mode(), _Listener) and mode.ended:
            mode.__exit__(None, None, None)

    def autocast_was_set(self):
        if threading.get_ident() == self.thread:
            self.autocast = _autocast_state()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        inputs = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        kind = inputs[0].device.type if inputs else "cpu"
        if _is_composite(func, kind):
            return self._take_apart(func, args, kwargs, kind)
        # Read before the op runs: an op in place may change what it gets.
        dtypes = tuple(tensor.dtype for tensor in inputs)
        if _name(func) == "_trilinear" and not _is_listed("aten::bilinear", kind):
            with self._autocast_as_set(kind):  # its kernel calls bmm, which autocast casts for
                result = func(*args, **kwargs)
        else:
            result = func(*args, **kwargs)
        output = next((leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)), None)
        if output is not None and not self.ended and any(dtype.is_floating_point for dtype in dtypes):
            self._note(func, inputs, dtypes, output.dtype, kind)
        return result

    def _take_apart(self, func, args, kwargs, kind):
        """Run an op that calls other ops through this mode. In inference mode such an op arrives whole.

        If it is on autocast's lists, its inputs are cast by now and its parts run without autocast. If not,
        they follow autocast, as they would without this mode.
        """
        outer = self.inside_listed
        self.inside_listed = outer or _is_listed(func.name(), kind)
        try:
            with self._autocast_as_set(kind), self:
                return func.decompose(*args, **kwargs)
        finally:
            self.inside_listed = outer

    @contextlib.contextmanager
    def _autocast_as_set(self, kind):
        """Inside: autocast as the traced code has it, although a mode is handling an op."""
        if not self.autocast.get(kind, False) or self.inside_listed:
            yield
            return
        before = torch.is_autocast_enabled(kind)
        _set_autocast_enabled(kind, True)
        try:
            yield
        finally:
            _set_autocast_enabled(kind, before)

    def _note(self, func, inputs, dtypes, output, kind):
        name = _name(func)
        is_cast = name in ("_to_copy", "to") and output != dtypes[0]
        if not is_cast and (getattr(func, "is_view", False) or name in _MAKES_A_TENSOR):
            return
        if len(self.calls) >= self.limit:
            self.calls.left_out += 1
            return
        during = "forward" if torch._C._current_graph_task_id() == -1 else "backward"
        name = "cast" if is_cast else "copy" if name == "_to_copy" else name
        self.calls._calls.append(_op_call(name, dtypes, output, during, self.autocast.get(kind, False)))
        if is_cast:
            shape = tuple(inputs[0].shape)
            self.calls.casts.append(Cast(dtypes[0], output, shape, self._is_parameter(inputs[0]), during))

    def _is_parameter(self, tensor):
        if self.parameters is None:
            return isinstance(tensor, torch.nn.Parameter)
        return any(tensor is parameter for parameter in self.parameters)


def _autocast_state():
    return {kind: torch.is_autocast_enabled(kind) for kind in _BACKENDS}


@functools.lru_cache(maxsize=10_000)
def _op_call(*fields):
    """Equal calls share one object: a long run then takes 8 bytes an op."""
    return OpCall(*fields)


@functools.lru_cache(maxsize=10_000)
def _is_composite(func, kind):
    """Whether an op is computed by calling other ops, on this kind of device."""
    if not isinstance(func, torch._ops.OpOverload):
        return False
    if func.namespace == "prim":  # what a tensor without values is asked, such as its device: no op at all
        return False
    has_kernel = functools.partial(torch._C._dispatch_has_kernel_for_dispatch_key, func.name())
    return has_kernel("CompositeImplicitAutograd") and not has_kernel(_BACKENDS.get(kind, "CPU"))


@functools.lru_cache(maxsize=10_000)
def _is_listed(name, kind):
    """Whether the op of this name is on one of autocast's lists for this kind of device."""
    key = f"Autocast{_BACKENDS.get(kind, 'CPU')}"
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, key)


def _name(func):
    return getattr(func, "overloadpacket", func).__name__


def _cells(call):
    names = [str(dtype).removeprefix("torch.") for dtype in (*call.inputs, call.output)]
    return call.name, ", ".join(names[:-1]), names[-1], call.during


def _checked_parameters(parameters):
    if parameters is None:
        return None
    if isinstance(parameters, torch.nn.Module):
        raise TypeError("Pass the model's parameters, not the model: write model.parameters().")
    if isinstance(parameters, torch.Tensor):
        raise TypeError("Pass a list, also for a single parameter: parameters=[model.weight].")
    if callable(parameters):
        raise TypeError("Call the method, with (): write parameters=model.parameters().")
    parameters = list(parameters) if isinstance(parameters, Iterable) else [parameters]
    if not all(isinstance(parameter, torch.Tensor) for parameter in parameters):
        raise TypeError("Pass parameters as tensors, for example parameters=model.parameters().")
    return parameters
