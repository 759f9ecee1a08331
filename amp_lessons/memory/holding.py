"""Hears what autograd keeps, while it keeps it, and lets go of it with autograd."""

import re
import threading
import weakref
from contextlib import contextmanager

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._pytree import tree_leaves

_enter = saved_tensors_hooks.__enter__  # PyTorch's own, which is replaced while anyone listens
_listening = []  # who listens now, pairs (thread, ledger): of one thread's, an inner one after its outer
_listening_changes = threading.Lock()


class Held:
    """What autograd keeps in one place instead of a tensor. It lives as long as that place in the graph."""

    __slots__ = ("packed", "whole", "tracked", "is_parameter", "is_weight_copy", "kept_for", "__weakref__")

    def __init__(self, tensor, packed):
        self.packed = packed
        self.kept_for = []
        self.tracked = tensor.requires_grad
        self.whole, self.is_parameter, self.is_weight_copy = None, False, False
        # Hooks of the learner's may keep something else in place of the tensor.
        if any(shares_memory(tensor, each) for each in self.tensors()):
            root = tensor if tensor._base is None else tensor._base
            self.whole = root.detach()  # what the tensor is a view of: the same memory, in its own shape
            self.is_parameter = isinstance(root, nn.Parameter)
            self.is_weight_copy = _is_cast_parameter(root)

    def tensors(self):
        return [each for each in tree_leaves(self.packed) if isinstance(each, torch.Tensor)]


class Ledger:
    """All that autograd began to keep while it was open. It holds no tensor itself."""

    def __init__(self):
        self._references = []
        self._looking = None  # a list while the graph is looked at: what unpacking came across

    def alive(self):
        """What autograd still keeps, in the order in which it began to."""
        return [held for held in (reference() for reference in self._references) if held is not None]

    def hooks(self, pack, unpack, may_look=False):
        """The same pair of hooks, heard. may_look: unpacking has no effects and may be done to look."""

        def heard_pack(tensor):
            held = Held(tensor, pack(tensor))
            self._references.append(weakref.ref(held))
            return held

        def heard_unpack(held):
            if self._looking is not None:
                self._looking.append(held)
                if not may_look:  # checkpointing computes a whole block again when it unpacks
                    raise _OnlyLooking
            return unpack(held.packed)

        return heard_pack, heard_unpack

    def name_keepers(self, loss):
        """Note at each Held the operations that keep it, as far as the loss depends on them."""
        nodes, seen = [loss.grad_fn], set()
        while nodes:
            node = nodes.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            nodes.extend(following for following, _ in node.next_functions)
            for name in _names_of_saved_tensors(node):
                for held in self._kept_under(node, name):
                    held.kept_for.append(operation(node))

    def _kept_under(self, node, name):
        self._looking = found = []
        try:
            getattr(node, name)
        except (_OnlyLooking, RuntimeError):
            pass  # RuntimeError: a backward inside the forward has used it up
        finally:
            self._looking = None
        return found


class _OnlyLooking(Exception):
    pass


@contextmanager
def listening():
    """Hear, in this thread, what autograd keeps; gives a Ledger.

    Hooks that the learner, checkpointing or save_on_cpu sets up meanwhile stay in charge: what they make of a
    tensor is what is kept.
    """
    ledger = Ledger()
    listener = threading.get_ident(), ledger
    with saved_tensors_hooks(*ledger.hooks(_pack, _unpack, may_look=True)):
        with _listening_changes:
            _listening.append(listener)
            saved_tensors_hooks.__enter__ = _enter_heard
        try:
            yield ledger
        finally:
            with _listening_changes:
                _listening.remove(listener)
                if not _listening:
                    saved_tensors_hooks.__enter__ = _enter


def _enter_heard(hooks):
    theirs = hooks.pack_hook, hooks.unpack_hook
    for thread, ledger in reversed(tuple(_listening)):
        if thread == threading.get_ident():
            hooks.pack_hook, hooks.unpack_hook = ledger.hooks(hooks.pack_hook, hooks.unpack_hook)
    try:
        return _enter(hooks)
    finally:
        hooks.pack_hook, hooks.unpack_hook = theirs


def _pack(tensor):
    # Detached: an operation that keeps its own output would otherwise keep itself alive.
    return tensor.detach(), tensor._version


def _unpack(packed):
    tensor, version = packed
    if tensor._version != version:  # PyTorch looks after this itself only where there are no hooks
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"a tensor of shape {tuple(tensor.shape)} and dtype {tensor.dtype} is at version "
            f"{tensor._version}; expected version {version} instead."
        )
    return tensor


def storage_key(tensor):
    """The same for tensors that share memory, as long as they live."""
    try:
        return tensor.untyped_storage()._cdata
    except RuntimeError:  # a sparse tensor has no memory in one piece
        return "no storage", id(tensor)


def shares_memory(one, other):
    return storage_key(one) == storage_key(other)


def _is_cast_parameter(tensor):
    node = tensor.grad_fn
    if node is None or node.name() != "ToCopyBackward0":
        return False
    return isinstance(getattr(node.next_functions[0][0], "variable", None), nn.Parameter)


def _names_of_saved_tensors(node):
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        return ["saved_tensors"]
    names = dir(type(node))
    return [name for name in names if name.startswith("_saved_") and f"_raw{name}" in names]


def operation(node):
    """What a node of the graph undoes: "log_softmax" for LogSoftmaxBackward0."""
    name = re.sub(r"Backward\d*$", "", node.name())
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        return name  # a Function of the learner's keeps its name
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", name).lower()
    name = re.sub(r"^(native|safe|unsafe|cudnn)_", "", name)
    return re.sub(r"^scaled_dot_product_.*attention.*", "scaled_dot_product_attention", name)
