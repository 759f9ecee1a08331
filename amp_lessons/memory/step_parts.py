"""What a training step is made of: the loss, the optimizer and what it remembers."""

import gc
import inspect
import sys
from contextlib import contextmanager, nullcontext

import torch
from torch.utils._pytree import tree_leaves


@contextmanager
def garbage_waits():
    """Python's garbage collector doesn't run meanwhile: when it would, depends on what ran before."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def uncompiled():
    """A context in which compiled models run as they were written.

    While every operation is watched, torch.compile gives a function up, for the rest of the process too.
    """
    if "torch._dynamo" in sys.modules:  # else nothing is compiled, and loading it takes a second
        return torch.compiler.set_stance("force_eager")
    return nullcontext()


def checked_loss(loss):
    """The loss, if there can be a backward from it. TypeError or ValueError if not."""
    if not isinstance(loss, torch.Tensor):
        raise TypeError(
            f"The function has to return the loss, a tensor; it returned a {type(loss).__name__}. "
            "Does it end in return loss?"
        )
    if loss.numel() != 1:
        raise ValueError(
            f"The function has to return one number, but its loss has the shape {tuple(loss.shape)}. "
            "Take its .mean()."
        )
    if not loss.requires_grad:
        raise ValueError(
            "This loss needs no gradient, so there is no backward. Was it computed under torch.no_grad(), "
            "with .detach() or from frozen parameters only?"
        )
    return loss


def checked_optimizer(optimizer, how):
    """The optimizer. TypeError that says how to get one if it is none, ValueError if it wants a closure."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        what = optimizer.__name__ if isinstance(optimizer, type) else f"a {type(optimizer).__name__}"
        raise TypeError(f"{how}, not {what}.")
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise ValueError(
            f"{type(optimizer).__name__} wants a closure and runs it several times a step. "
            "Measure with an optimizer whose step() stands alone, such as torch.optim.AdamW."
        )
    return optimizer


def parameters_and_buffers(modules):
    """All parameters and buffers of modules; what they share, several times."""
    return [each for module in modules for each in (*module.parameters(), *module.buffers())]


def parameters_of(optimizer):
    """The parameters that an optimizer changes."""
    return [each for group in optimizer.param_groups for each in group["params"]]


def state_of(optimizer):
    """The tensors that an optimizer remembers from step to step, a learning rate kept as one included."""
    settings = [
        {name: each for name, each in group.items() if name != "params"} for group in optimizer.param_groups
    ]
    return [each for each in tree_leaves([list(optimizer.state.values()), settings]) if _is_tensor(each)]


def gradients_of(tensors):
    """The gradients that leaves have by now."""
    return [each.grad for each in tensors if each.is_leaf and each.grad is not None]


def _is_tensor(value):
    return isinstance(value, torch.Tensor)
