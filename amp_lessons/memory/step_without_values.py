"""The memory of a training step of a model that would not fit, or takes too long."""

from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.utils._pytree import tree_leaves

from amp_lessons.memory.living import Living
from amp_lessons.memory.step import (
    BACKWARD,
    GRADIENTS,
    OPTIMIZER_STATE,
    OPTIMIZER_STEP,
    PARAMETERS,
    summed_up,
)
from amp_lessons.memory.step_parts import (
    checked_loss,
    checked_optimizer,
    garbage_waits,
    gradients_of,
    parameters_and_buffers,
    parameters_of,
    state_of,
    uncompiled,
)
from amp_lessons.memory.without_values import (
    autocast_in,
    refuse_what_makes_nothing,
    values_explained,
    without_values,
)

_HOW = "optimizer is a function that takes the parameters and gives an optimizer, such as torch.optim.AdamW"


def would_need(make, optimizer=None, dtype=None):
    """Give, as a StepMemory, the bytes that would live during a training step, without computing anything.

    make: a function without arguments that builds the inputs and the model, runs the forward pass and returns
    the loss, as for `would_keep`: it must build everything itself, its tensors have no values, and any size
    takes little time and memory. Build the inputs before the model is called. What is there when it is called
    is taken to be there before the step and to stay; what is made from then on is made by the step.
    optimizer: a function that takes the list of all parameters that need a gradient and gives an optimizer:
    torch.optim.AdamW, or lambda parameters: torch.optim.SGD(parameters, lr=0.1). None: forward and backward
    only.
    dtype: None or torch.float32 as it stands; torch.float16 or torch.bfloat16 runs make(), and nothing else,
    under autocast in that dtype.

    The result equals that of `trace_step` for the same model on a CPU, with the exceptions that `would_keep`
    names: with an LSTM it comes out far too small. Sparse gradients, and what torch.optim.SparseAdam makes of
    them, aren't seen either. Like there, **it follows the CPU's lists**, and a device other than "cpu" is
    refused. On a GPU PyTorch's optimizers handle all parameters at once, which takes more temporary memory:
    foreach=True does that here too, as in lambda parameters: torch.optim.AdamW(parameters, foreach=True).

    TypeError if make or optimizer is not a function, make returns no tensor, or optimizer no optimizer.
    ValueError for another dtype or device, if make() or the optimizer uses a tensor from outside or needs a
    value, if make() makes a lazy module, if the loss is not one number, needs no gradient or comes from no
    nn.Parameter, or if the optimizer has none of the parameters that it is given or wants a closure. Other
    exceptions come through.
    """
    refuse_what_makes_nothing(make)
    if optimizer is not None and not callable(optimizer):
        raise TypeError(f"{_HOW}, not a {type(optimizer).__name__}: the parameters come to be in here.")
    autocast = autocast_in(dtype)
    living = _LivingFromMake()
    with _autocast_off(), garbage_waits(), uncompiled(), without_values("would_need"), living:
        with _modules_called(at_first=living.start) as modules, autocast:
            loss = make()
        torch.clear_autocast_cache()  # leaving autocast does it too, unless the call is inside another
        checked_loss(loss)
        living.forward_has_made(loss)
        parameters = _parameters(modules, loss)
        living.say(PARAMETERS, [*parameters, *parameters_and_buffers(modules)], from_start=True)
        living.phase = BACKWARD
        loss.backward()
        living.say(GRADIENTS, gradients_of(parameters))
        if optimizer is not None:
            optimizer = _stepped(optimizer, parameters, living)  # kept: it holds its state
        for each in parameters:
            each.grad = None
        del loss
        return summed_up(living.moments())


@contextmanager
def _autocast_off():
    """As if no autocast were around the call. One more around would keep the copies it caches too long."""
    enabled = torch.is_autocast_enabled("cpu")
    torch.set_autocast_enabled("cpu", False)
    try:
        yield
    finally:
        torch.set_autocast_enabled("cpu", enabled)


class _LivingFromMake(Living):
    """The step starts when make() calls a module or, without one, when it first computes with a parameter.

    What lives then is kept to the end, although make() lets go of its variables when it returns: in a
    training loop they would stay.
    """

    def __init__(self):
        super().__init__(torch.device("cpu"))
        self._started = False
        self._kept = []

    def start(self):
        if not self._started:
            self._started = True
            super().start()
            self._kept = self.storages()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        # Not when a parameter is made, which is a view of what it is given, or filled, under no_grad.
        computes = func.namespace != "prim" and not func.is_view and torch.is_grad_enabled()
        if not self._started and computes:
            if any(isinstance(each, nn.Parameter) for each in tree_leaves((args, kwargs))):
                self.start()
        return super().__torch_dispatch__(func, types, args, kwargs)


@contextmanager
def _modules_called(at_first):
    """The modules that are called meanwhile, without those inside them: a list that grows.

    at_first: a function that is called before the first of them runs.
    """
    outermost, inside = [], set()

    def before(module, args):
        if not outermost:
            at_first()
        if id(module) not in inside:
            outermost.append(module)
            inside.update(id(each) for each in module.modules())

    handle = module_hooks.register_module_forward_pre_hook(before)
    try:
        yield outermost
    finally:
        handle.remove()


def _parameters(modules, loss):
    """The parameters that need a gradient, each once: of modules, and others that the loss comes from."""
    found = [each for module in modules for each in module.parameters()]
    nodes, seen = [loss.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        nodes.extend(following for following, _ in node.next_functions)
        if isinstance(getattr(node, "variable", None), nn.Parameter):
            found.append(node.variable)
    found = list({id(each): each for each in found if each.requires_grad}.values())
    if not found:
        raise ValueError("The loss comes from no nn.Parameter. Build the model from torch.nn's modules.")
    return found


def _stepped(make_optimizer, parameters, living):
    """The optimizer, after a first step, which makes its state and doesn't count, and a second that does."""
    living.phase = None
    optimizer = checked_optimizer(make_optimizer(list(parameters)), _HOW)
    given = {id(each) for each in parameters}
    if not any(id(each) in given for each in parameters_of(optimizer)):
        raise ValueError(
            "This optimizer has none of the model's parameters. Make it from those that the function is "
            "given, as in lambda parameters: torch.optim.AdamW(parameters)."
        )
    advice = (
        f"{type(optimizer).__name__} reads some in step(), or uses a tensor from outside. Give it plain "
        "numbers, or measure with trace_step, or take one that reads none, such as torch.optim.AdamW."
    )
    with values_explained("would_need", advice):
        optimizer.step()
        living.say(OPTIMIZER_STATE, state_of(optimizer), from_start=True)
        living.phase = OPTIMIZER_STEP
        optimizer.step()
        living.say(OPTIMIZER_STATE, state_of(optimizer))
    return optimizer
