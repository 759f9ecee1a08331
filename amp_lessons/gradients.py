"""How large a model's gradients are, and what share of them a 16-bit format loses at a loss scale."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import torch

from amp_lessons.formats import FP16, as_float, format_of


def activation_gradients(model, loss_function):
    """Give the gradient of the loss with respect to each layer's output.

    model: an nn.Module. Its layers are the modules that have no modules inside.
    loss_function: called once, without arguments; it runs the model and returns the loss, one number.

    Gives a dict from module name to a detached tensor, in the order in which the layers ran. The tensor has
    the shape, dtype and device of the layer's output. A layer that runs a second time appears again as
    "name (call 2)". Of an output that is a tuple (an LSTM's), the first tensor counts. A layer is left out
    if no gradient reaches its output: everything before it is frozen, or the loss doesn't use it.

    No `.grad` changes, of a parameter or of any other tensor, and the model keeps no hooks.
    TypeError if loss_function is not a function, ValueError if the loss is not one number with a gradient.
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
        loss = _loss_of(loss_function)
    finally:
        for handle in handles:
            handle.remove()

    return _gradients(loss, edges)


def weight_gradients(model, loss_function):
    """Give the gradient of the loss with respect to each parameter that requires one.

    model, loss_function: as for `activation_gradients`. Gives a dict from parameter name to a detached
    tensor of the parameter's shape, dtype and device. A parameter that the loss doesn't use is left out. No
    `.grad` changes. Errors as there.
    """
    parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}
    return _gradients(_loss_of(loss_function), parameters)


def _loss_of(loss_function):
    """What loss_function gives, if it is a loss that has gradients."""
    if not callable(loss_function):
        raise TypeError(
            "Pass a function that computes the loss, for example lambda: loss_of(model(x)), "
            f"not a {type(loss_function).__name__}: the forward pass has to run in here."
        )
    loss = loss_function()
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or not loss.requires_grad:
        raise ValueError(
            "loss_function has to return the loss: a tensor with one number, computed with gradients on. "
            "Take its mean if it has several numbers, and do not call it under torch.no_grad()."
        )
    return loss


def _gradients(loss, places):
    """The gradients of the loss at `places`, a dict of tensors or edges of the graph, where there are any."""
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
    values, scale, fmt = flat_fp32(values), checked_scale(scale), format_of(fmt)
    return _shares(values, scale, fmt)[0]


def share_overflowed(values, scale=1.0, fmt=FP16):
    """Give the share of the non-zero values that become inf when multiplied by `scale` and rounded to `fmt`.

    Arguments as for `share_flushed`. A value that is infinite already counts; NaN does not.
    """
    values, scale, fmt = flat_fp32(values), checked_scale(scale), format_of(fmt)
    return _shares(values, scale, fmt)[1]


def shares_by_scale(values, exponents=range(25), fmt=FP16):
    """Give a list of (exponent, share flushed, share overflowed) for the loss scales 2**exponent.

    Arguments as for `share_flushed`; the exponents are whole numbers.
    """
    values, fmt = flat_fp32(values), format_of(fmt)
    return [(exponent, *_shares(values, checked_scale(2.0**exponent), fmt)) for exponent in exponents]


class MagnitudeCounts(NamedTuple):
    """How many values lie between one power of two and the next, and how many are 0."""

    exponents: torch.Tensor
    counts: torch.Tensor
    zeros: int


def magnitude_counts(values, scale=1.0):
    """Count values by magnitude, for a histogram over powers of two.

    Gives (exponents, counts, zeros). exponents: int64, every whole number from the smallest to the largest
    that occurs; counts: int64, how many values v have 2**exponent <= |v * scale| < 2**(exponent + 1);
    zeros: how many values are 0. NaN and infinite values are left out. Nothing is rounded to FP32 after the
    multiplication: products too large or too small for it are counted where they lie.
    """
    values = flat_fp32(values).cpu()
    factor, shift = math.frexp(checked_scale(scale))
    zeros = int((values == 0).sum())
    values = values[values.isfinite() & (values != 0)]
    if values.numel() == 0:
        nothing = torch.zeros(0, dtype=torch.int64)
        return MagnitudeCounts(nothing, nothing.clone(), zeros)
    # frexp writes v as m * 2**e with 0.5 <= |m| < 1, so floor(log2(|v|)) is e - 1. The exponents of value and
    # scale are added up, because no float could hold every product.
    mantissas, exponents = torch.frexp(values)
    exponents = exponents.long() + shift + torch.frexp(mantissas.double() * factor).exponent - 1
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


def flat_fp32(values):
    """Give all the values of a tensor, or of an iterable of tensors, as one flat FP32 tensor.

    It is on the device of the first tensor. TypeError for anything that is no tensor.
    """
    if isinstance(values, Mapping):
        raise TypeError("Pass the tensors of the dict, not the dict: write gradients.values().")
    is_one = isinstance(values, torch.Tensor) or not isinstance(values, Iterable)
    values = [values] if is_one else list(values)
    for value in values:
        if value is None:
            raise TypeError(
                "A gradient is None, not a tensor: run backward() first. Leave out gradients that are None "
                "even then: no gradient reaches that parameter."
            )
        if not isinstance(value, torch.Tensor):
            raise TypeError(
                "Give the gradients as a tensor or as a list that holds only tensors, for example "
                f"weight.grad; there is a {type(value).__name__} in what you gave."
            )
    if not values:
        return torch.zeros(0)
    device = values[0].device
    return torch.cat([value.detach().to(device, torch.float32).flatten() for value in values])


def checked_scale(scale):
    """Give a loss scale as a Python float; ValueError or TypeError unless it is positive and finite."""
    scale = as_float(scale)
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"A loss scale is a positive finite number such as 65536; got {scale}.")
    return scale


def _first_tensor(output):
    if isinstance(output, torch.Tensor):
        return output
    if isinstance(output, (tuple, list)):
        return next((item for item in output if isinstance(item, torch.Tensor)), None)
    return None
