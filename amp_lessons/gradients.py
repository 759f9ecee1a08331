"""How large a model's gradients are, and what share of them a 16-bit format loses at a loss scale."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch

from amp_lessons.formats import FP16, format_of


def activation_gradients(model, loss_function):
    """Give the gradient of the loss with respect to each layer's output.

    model: an nn.Module. Its layers are the modules that have no modules inside.
    loss_function: called once, without arguments; it runs the model and returns the loss, one number.

    Gives a dict from module name to a detached tensor, in the order in which the layers ran. The tensor has
    the shape, dtype and device of the layer's output. A layer that runs a second time appears again as
    "name (call 2)". Of an output that is a tuple (an LSTM's), the first tensor counts. A layer is left out
    if no gradient reaches its output: everything before it is frozen, or the loss doesn't use it.

    No `.grad` changes, of a parameter or of any other tensor, and the model keeps no hooks.
    ValueError if the loss is not one number with a gradient.
    """
    edges = {}  # name -> the place in autograd's graph where the gradient of this output passes
    calls = {}

    def remember(name):
        def hook(module, inputs, output):
            tensor = _first_tensor(output)
            if tensor is None or not tensor.requires_grad:
                return None
            # An in-place layer that changes a view rewrites the view's history, and its place in the graph
            # is lost. A copy has the same values and the same gradient, and can be changed safely.
            copied = tensor is output and tensor._is_view()
            if copied:
                tensor = tensor.clone()
            calls[name] = calls.get(name, 0) + 1
            key = name if calls[name] == 1 else f"{name} (call {calls[name]})"
            # Taken now, before a following in-place layer turns this tensor into its own output.
            edges[key] = torch.autograd.graph.get_gradient_edge(tensor)
            return tensor if copied else None

        return hook

    handles = []
    try:
        for name, module in model.named_modules():
            if not any(module.children()):
                # A model that is one layer has no name inside itself; its class has one.
                handles.append(module.register_forward_hook(remember(name or type(module).__name__)))
        loss = loss_function()
    finally:
        for handle in handles:
            handle.remove()

    return _gradients(loss, edges)


def weight_gradients(model, loss_function):
    """Give the gradient of the loss with respect to each parameter that requires one.

    model, loss_function: as for `activation_gradients`. Gives a dict from parameter name to a detached
    tensor of the parameter's shape, dtype and device. A parameter that the loss doesn't use is left out. No
    `.grad` changes. ValueError if the loss is not one number with a gradient.
    """
    parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}
    return _gradients(loss_function(), parameters)


def _gradients(loss, places):
    """The gradients of the loss at `places`, a dict of tensors or edges of the graph, where there are any."""
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or not loss.requires_grad:
        raise ValueError(
            "loss_function has to return the loss: a tensor with one number, computed with gradients on. "
            "Take its mean if it has several numbers, and do not call it under torch.no_grad()."
        )
    if not places:
        return {}
    # autograd.grad hands the gradients over instead of adding them to .grad as loss.backward() does.
    gradients = torch.autograd.grad(loss, list(places.values()), allow_unused=True)
    return {name: grad.detach() for name, grad in zip(places, gradients) if grad is not None}


def share_flushed(values, scale=1.0, fmt=FP16):
    """Give the share of the non-zero values that become 0 when multiplied by `scale` and rounded to `fmt`.

    values: a tensor or an iterable of tensors, for example `activation_gradients(...).values()`.
    scale: the loss scale, a positive finite number.

    The product is taken in FP32 and rounded once: what backward would hold if everything before this value
    were exact. Values that are 0 already don't count; without any other value the share is 0.0. NaN and
    infinite values count as non-zero and don't become 0.
    """
    values, scale, fmt = _as_fp32(values), _checked_scale(scale), format_of(fmt)
    return _shares(values, scale, fmt)[0]


def share_overflowed(values, scale=1.0, fmt=FP16):
    """Give the share of the non-zero values that become inf when multiplied by `scale` and rounded to `fmt`.

    Arguments as for `share_flushed`. A value that is infinite already counts; NaN does not.
    """
    values, scale, fmt = _as_fp32(values), _checked_scale(scale), format_of(fmt)
    return _shares(values, scale, fmt)[1]


def shares_by_scale(values, exponents=range(25), fmt=FP16):
    """Give a list of (exponent, share flushed, share overflowed) for the loss scales 2**exponent.

    Arguments as for `share_flushed`; the exponents are whole numbers.
    """
    values, fmt = _as_fp32(values), format_of(fmt)
    return [(exponent, *_shares(values, _checked_scale(2.0**exponent), fmt)) for exponent in exponents]


class MagnitudeCounts(NamedTuple):
    """How many values lie between one power of two and the next, and how many are 0."""

    exponents: torch.Tensor
    counts: torch.Tensor
    zeros: int


def magnitude_counts(values, scale=1.0):
    """Count values by magnitude, for a histogram over powers of two.

    Gives (exponents, counts, zeros). exponents: int64, every whole number from the smallest to the largest
    that occurs; counts: int64, how many values v have 2**exponent <= |v * scale| < 2**(exponent + 1);
    zeros: how many are 0. NaN and infinite values are left out. Exact, also for subnormal values.
    """
    values = (_as_fp32(values) * _checked_scale(scale)).cpu()
    zeros = int((values == 0).sum())
    values = values[values.isfinite() & (values != 0)]
    if values.numel() == 0:
        nothing = torch.zeros(0, dtype=torch.int64)
        return MagnitudeCounts(nothing, nothing.clone(), zeros)
    # frexp writes v as m * 2**e with 0.5 <= |m| < 1, so floor(log2(|v|)) is e - 1.
    exponents = torch.frexp(values).exponent.long() - 1
    smallest = int(exponents.min())
    counts = torch.bincount(exponents - smallest)
    return MagnitudeCounts(torch.arange(smallest, smallest + len(counts)), counts, zeros)


def _shares(values, scale, fmt):
    """(share flushed, share overflowed) of the non-zero values of an FP32 tensor."""
    non_zero = int(torch.count_nonzero(values))
    if non_zero == 0:
        return 0.0, 0.0
    rounded = (values * scale).to(fmt.dtype)
    flushed = non_zero - int(torch.count_nonzero(rounded))
    overflowed = int(rounded.isinf().sum())
    return flushed / non_zero, overflowed / non_zero


def _as_fp32(values):
    """One flat FP32 tensor with all the values."""
    if isinstance(values, torch.Tensor):
        values = [values]
    if isinstance(values, Mapping):
        raise TypeError("Pass the tensors of the dict, not the dict: write gradients.values().")
    try:
        values = list(values)
    except TypeError:
        raise TypeError(f"values is a tensor or a list of tensors, not {type(values).__name__}.") from None
    for value in values:
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"values holds a {type(value).__name__}; it may hold only tensors.")
    if not values:
        return torch.zeros(0)
    return torch.cat([value.detach().float().flatten() for value in values])


def _checked_scale(scale):
    scale = float(scale)
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"A loss scale is a positive finite number such as 65536; got {scale}.")
    return scale


def _first_tensor(output):
    if isinstance(output, torch.Tensor):
        return output
    if isinstance(output, (tuple, list)):
        return next((item for item in output if isinstance(item, torch.Tensor)), None)
    return None
