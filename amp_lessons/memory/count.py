"""Counts what autograd keeps after a forward pass."""

import math

import torch

from amp_lessons.memory.holding import listening, shares_memory, storage_key
from amp_lessons.memory.kept import ACTIVATION, PARAMETER, WEIGHT_COPY, Kept, Row


def kept_for_backward(forward, model=None):
    """Run forward() once and give, as a Kept, the bytes that autograd then keeps for backward.

    forward: a function without arguments that computes the loss and returns it. There is no backward, and no
    `.grad` changes; what a forward pass changes otherwise (running statistics, random numbers drawn) changes.
    model: an nn.Module. Its parameters and buffers are counted apart, and copies of frozen parameters are
    recognised. Without it, parameters are what is an nn.Parameter.

    What is counted is what is still kept when forward() returns, with torch.autograd.graph's
    saved_tensors_hooks. Memory counts once, however many views of it are kept, and whole: a slice of an
    activation keeps all of it. Only of data that need no gradient, such as a batch cut out of a data set,
    no more counts than is kept, because the rest isn't there for backward. If hooks that forward() sets up,
    checkpointing or save_on_cpu keep something else in place of a tensor, that is what counts. A tensor that
    a custom Function stores on ctx without save_for_backward isn't seen.

    TypeError if forward is not a function or returns no tensor. An exception of forward's comes through.
    """
    if not callable(forward):
        raise TypeError(
            "Pass a function that computes the loss, for example lambda: loss_of(model(x)), "
            f"not a {type(forward).__name__}: the forward pass has to run in here."
        )
    if model is not None and not isinstance(model, torch.nn.Module):
        raise TypeError(f"model has to be an nn.Module, not a {type(model).__name__}.")
    modules = [] if model is None else [model]
    return count(forward, modules, lambda tensor: _copies_frozen_parameter(tensor, modules))


def count(forward, modules, copies_frozen_parameter):
    """The Kept of forward(). modules: whose parameters and buffers, read afterwards, count apart.

    copies_frozen_parameter: says of a tensor without a history whether it is a parameter in another dtype.
    """
    with listening() as ledger:
        loss = forward()
    if not isinstance(loss, torch.Tensor):
        raise TypeError(
            f"The function has to return the loss, a tensor; it returned a {type(loss).__name__}. "
            "Does it end in return loss?"
        )
    ledger.name_keepers(loss)
    own = [each for module in modules for each in (*module.parameters(), *module.buffers())]
    return _sum_up(_pieces(ledger.alive(), {storage_key(each) for each in own}, copies_frozen_parameter))


class _Piece:
    """One piece of memory, and everything that is kept of it."""

    def __init__(self, tensor, whole):
        self.size = _bytes_of(tensor)
        self.dtype = tensor.dtype
        self.view, self.whole = tensor.shape, whole.shape
        self.kinds, self.kept_for, self.views, self.tracked = set(), {}, {}, False

    @property
    def kind(self):
        return next(kind for kind in (PARAMETER, WEIGHT_COPY, ACTIVATION) if kind in self.kinds)

    @property
    def bytes(self):
        return self.size if self.tracked else min(self.size, sum(self.views.values()))

    def row(self):
        kept_for = ", ".join(self.kept_for) or "something else"
        # A linear layer keeps the transpose of its weight; attention keeps three slices of one output.
        shapes = [self.whole, self.view] if self.kind == WEIGHT_COPY else [self.view, self.whole]
        shape = next((each for each in shapes if each.numel() * self.dtype.itemsize == self.bytes), self.view)
        return Row(self.kind, kept_for, tuple(shape), self.dtype, self.bytes)


def _pieces(all_held, own_storages, copies_frozen_parameter):
    pieces = {}
    for held in all_held:
        for tensor in held.tensors():
            key = storage_key(tensor)
            whole = tensor if held.whole is None or not shares_memory(tensor, held.whole) else held.whole
            piece = pieces.setdefault(key, _Piece(tensor, whole))
            if held.is_parameter or key in own_storages:
                piece.kinds.add(PARAMETER)
            elif held.is_weight_copy or (not held.tracked and copies_frozen_parameter(whole)):
                piece.kinds.add(WEIGHT_COPY)
            else:
                piece.kinds.add(ACTIVATION)
            piece.tracked |= held.tracked
            piece.kept_for.update(dict.fromkeys(held.kept_for))
            if tensor.layout == torch.strided:
                view = tensor.storage_offset(), tensor.shape, tensor.stride()
                piece.views[view] = _bytes_spanned(tensor)
            else:
                piece.views[None] = piece.size
    return list(pieces.values())


def _sum_up(pieces):
    rows = [each.row() for each in pieces if each.kind != PARAMETER]
    rows.sort(key=lambda row: row.bytes, reverse=True)
    by_dtype = {}
    for row in rows:
        by_dtype[row.dtype] = by_dtype.get(row.dtype, 0) + row.bytes
    sizes = {
        kind: sum(each.bytes for each in pieces if each.kind == kind) for kind in (ACTIVATION, WEIGHT_COPY)
    }
    return Kept(
        total=sum(sizes.values()),
        by_dtype=dict(sorted(by_dtype.items(), key=lambda item: item[1], reverse=True)),
        activations=sizes[ACTIVATION],
        weight_copies=sizes[WEIGHT_COPY],
        parameters=sum(each.size for each in pieces if each.kind == PARAMETER),
        rows=tuple(rows),
    )


def _bytes_of(tensor):
    if tensor.layout == torch.sparse_coo:
        return _bytes_of(tensor._indices()) + _bytes_of(tensor._values())
    try:
        return tensor.untyped_storage().nbytes()
    except RuntimeError:
        return tensor.numel() * tensor.element_size()


def _bytes_spanned(tensor):
    """The memory of a view's own numbers; what expand() repeats is there once."""
    sizes = [size for size, stride in zip(tensor.shape, tensor.stride()) if stride != 0 or size == 0]
    return math.prod(sizes) * tensor.element_size()


def _copies_frozen_parameter(tensor, modules):
    # A frozen parameter leaves no trace in the graph. Its copy has its shape and, rounded, its values.
    return any(
        tensor.shape == frozen.shape
        and tensor.device == frozen.device
        and tensor.dtype != frozen.dtype
        and torch.equal(tensor, frozen.detach().to(tensor.dtype))
        for module in modules
        for frozen in module.parameters()
        if not frozen.requires_grad and tensor.is_floating_point()
    )
