"""What an autograd graph tells about a loss: whether it was scaled, and in which dtypes the forward ran.

The mark of a scaled loss lies on the graph's own node (its ``metadata``, which PyTorch keeps for notes like
this one), so it lives and dies with the learner's graph and keeps nothing alive.
"""

import math
from collections import deque
from dataclasses import dataclass, field

import torch
from torch.autograd.function import BackwardCFunction

_MARK = "amp_lessons: scaled by"
_GRADIENT = "amp_lessons: a scaled gradient"

# Through these nodes a factor passes unchanged: scaled + scaled is scaled, scaled / 4 is scaled.
_LINEAR = {
    "AddBackward0",
    "SubBackward0",
    "NegBackward0",
    "DivBackward0",
    "MulBackward0",
    "SumBackward0",
    "SumBackward1",
    "MeanBackward0",
    "MeanBackward1",
    "StackBackward0",
    "CatBackward0",
    "ViewBackward0",
    "ReshapeAliasBackward0",
    "UnsafeViewBackward0",
    "SqueezeBackward0",
    "UnsqueezeBackward0",
    "SelectBackward0",
    "CloneBackward0",
    "AliasBackward0",
    "ToCopyBackward0",
    "PermuteBackward0",
}
_PRODUCTS = {"MulBackward0", "DivBackward0"}
_CONTRACTIONS = {
    "DotBackward0",
    "VdotBackward0",
    "MvBackward0",
    "MmBackward0",
    "AddmmBackward0",
    "BmmBackward0",
}
# Between a layer's product and its weight.
_TO_A_WEIGHT = {
    "TBackward0",
    "ToCopyBackward0",
    "TransposeBackward0",
    "PermuteBackward0",
    "ViewBackward0",
    "ExpandBackward0",
    "UnsafeViewBackward0",
}
_PLAIN = {-1.0, 0.1, 0.5, 1.0, 2.0, 10.0}  # factors that are no 1 / scale
_LIMIT = 64  # nodes looked at for one loss


def node_of(root):
    """Return the graph node of a tensor or a GradientEdge, or None."""
    return getattr(root, "grad_fn", None) or getattr(root, "node", None)


def mark_scaled(outputs, scaler: int, call: int = 0) -> None:
    """Write on the nodes of ``outputs`` (a tensor, or nested lists) who scaled them."""
    if isinstance(outputs, torch.Tensor):
        if outputs.grad_fn is not None:
            outputs.grad_fn.metadata[_MARK] = scaler, call
    elif isinstance(outputs, (list, tuple)):
        for output in outputs:
            mark_scaled(output, scaler, call)


def has_own_gradient(root, gradient) -> bool:
    """Return whether a backward starts from a gradient that was given, not from the 1 of a plain loss.

    Such a gradient may carry the scale: nobody can tell from the graph.
    """
    if not isinstance(root, torch.Tensor) or root.numel() != 1:
        return True
    return isinstance(gradient, torch.Tensor) and gradient.device.type == "cpu" and gradient.item() != 1


@dataclass
class Origin:
    """Where a backward's root comes from: ``kind`` "scaled", "unscaled", "mixed" or "unknown"."""

    kind: str
    scaler: int | None = None
    calls: list[int] = field(default_factory=list)  # of that scaler's scale()
    product: float = 0.0  # multiplied by this on the way, by the scale, perhaps; inf where nobody knows


def origin_of(root) -> Origin:
    """Return the origin of a backward's root.

    Only names of nodes and our own marks are read. What a node has saved for its backward is not: that would
    run the learner's hooks for saved tensors, and recompute a checkpointed forward.
    """
    node = node_of(root)
    return Origin("unknown") if node is None else _origin(node, [_LIMIT])


def _origin(node, left):
    left[0] -= 1
    name = node.name()
    if left[0] < 0:
        return Origin("unknown")
    if name not in _LINEAR:
        return Origin("unknown" if _scaled_above(node) or _is_weighted(node, name) else "unscaled")
    if name == "MulBackward0" and _MARK in node.metadata:
        scaler, call = node.metadata[_MARK]
        return Origin("scaled", scaler, [call])
    parts = [_origin(one, left) for one, _ in node.next_functions if one is not None]
    kinds = {part.kind for part in parts}
    scaler = next((part.scaler for part in parts if part.scaler is not None), None)
    calls = [call for part in parts for call in part.calls]
    product = max((part.product for part in parts), default=0.0)
    if name == "MulBackward0" and scaler is None:
        factor = _factor(node, [one for one, _ in node.next_functions])
        product = math.inf if factor is None else max(product, 1.0) * abs(factor)
    if name in _PRODUCTS and scaler is not None:
        kind = "mixed" if "mixed" in kinds else "scaled"
    elif len(kinds) <= 1:
        kind = kinds.pop() if kinds else "unscaled"
    else:
        kind = "unknown" if "unknown" in kinds else "mixed"
    return Origin(kind, scaler, calls, product)


def _is_weighted(node, name) -> bool:
    """Return whether outputs are contracted with a constant: with their gradients, perhaps, scaled ones.

    Not a layer, which contracts with a weight, and not a weighted sum of losses.
    """
    if name not in _CONTRACTIONS:
        return False
    factors = [one for one, _ in node.next_functions[-2:]]
    if None not in factors:
        return False
    other = next((one for one in factors if one is not None), None)
    while other is not None and other.name() in _TO_A_WEIGHT:
        other = other.next_functions[0][0]
    return other is not None and not hasattr(other, "variable") and other.name() != "StackBackward0"


def has_own_backward(root) -> bool:
    """Return whether a loss comes from the learner's own autograd.Function, which may scale gradients."""
    return isinstance(node_of(root), BackwardCFunction)


def scaled_twice(root) -> bool:
    """Return whether scale() was given what the same scaler had scaled, and nothing has divided it since."""
    node, scaler = node_of(root), None
    for _ in range(_LIMIT):
        if node is None or node.name() not in _LINEAR:
            return False
        if node.name() in _PRODUCTS:
            by = node.metadata.get(_MARK, (None,))[0]
            if by is None or by == scaler:
                return by is not None
            scaler = by
        node = node.next_functions[0][0]
    return False


def _scaled_above(node) -> bool:
    """Return whether a mark stands further up: then what the factor has become is anybody's guess."""
    return any(one.name() == "MulBackward0" and _MARK in one.metadata for one in _nodes(node, _LIMIT))


def _nodes(start, limit):
    """Yield up to ``limit`` nodes of a graph, the nearest first."""
    waiting, seen = deque([start] if start is not None else ()), set()
    while waiting and len(seen) < limit:
        node = waiting.popleft()
        if node not in seen:
            seen.add(node)
            yield node
            waiting.extend(one for one, _ in node.next_functions if one is not None)


def mark_gradients(gradients) -> None:
    """Write on the nodes of gradients from autograd.grad that they are still multiplied by a loss scale."""
    for gradient in gradients if isinstance(gradients, (list, tuple)) else [gradients]:
        if isinstance(gradient, torch.Tensor) and gradient.grad_fn is not None:
            gradient.grad_fn.metadata[_GRADIENT] = True


def uses_scaled_gradients(root) -> bool:
    """Return whether a loss uses marked gradients otherwise than by first dividing them.

    A product with something that has no gradient may be one with 1 / scale.
    """
    for node in _nodes(node_of(root), 4 * _LIMIT):
        inputs = [one for one, _ in node.next_functions]
        if any(one is not None and _GRADIENT in one.metadata for one in inputs):
            perhaps = node.name() == "MulBackward0" and None in inputs and _factor(node, inputs) not in _PLAIN
            if node.name() != "DivBackward0" and not perhaps:
                return True
    return False


def _factor(node, inputs) -> float | None:
    """Return the constant that a product multiplies by; None where it cannot be had without running anything.

    Newer versions of PyTorch tell whether the learner's hooks lie on what a node has saved; only without
    them it is looked at.
    """
    saved = getattr(node, "_raw_saved_other", None)
    if saved is None or None not in inputs or getattr(saved, "unpack_hook", saved) is not None:
        return None
    number = saved.data
    try:
        return number.item() if type(number) is torch.Tensor and number.is_cpu else None
    except RuntimeError:  # of several values, or without any
        return None


def weight_copies(root, weights) -> list[int]:
    """Return when autocast made the copies of ``weights`` (their ids) that a loss was computed from.

    "When" is a sequence number of autograd's: it counts the nodes that a thread has made.
    """
    return [
        node._sequence_nr()
        for node in _nodes(node_of(root), 16 * _LIMIT)
        if node.name() == "ToCopyBackward0"
        for one, _ in node.next_functions
        if one is not None and id(getattr(one, "variable", None)) in weights
    ]


def made_at(root) -> int:
    """Return the sequence number of a loss."""
    node = node_of(root)
    return node._sequence_nr() if node is not None else 0


def forward_ran_in(root, limit: int = 200) -> tuple[frozenset, frozenset]:
    """Return names of the floating dtypes, and of the device types, in the graph of ``root``.

    Looks at ``limit`` nodes at most, from the loss on.
    """
    dtypes, devices = set(), set()
    for node in _nodes(node_of(root), limit):
        for output in getattr(node, "_input_metadata", ()):
            if output is not None and output.dtype.is_floating_point:
                dtypes.add(str(output.dtype).removeprefix("torch."))
                devices.add(output.device.type)
    return frozenset(dtypes), frozenset(devices)
