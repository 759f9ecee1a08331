"""The memory of a training step that really runs."""

import torch
from torch import nn

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


def trace_step(forward, optimizer, model=None):
    """Run two training steps and give, as a StepMemory, the bytes that live during the second.

    forward: a function without arguments that computes the loss and returns it, under autocast if you like.
    optimizer: one from torch.optim that has the model's parameters.
    model: an nn.Module. Its buffers count with its parameters. Without it they can't be told from data, and
    parameters are those of the optimizer and others that the step uses.

    A step is forward(), backward(), optimizer.step() and optimizer.zero_grad(). The first one makes the
    optimizer's state, which is there from then on. **Both are real: the weights change twice**, running
    statistics change and random numbers are drawn as forward() does it, and gradients that were there are
    let go.

    Tensors count on the device of the optimizer's parameters. Memory counts once, however many views of it
    there are, and whole: where the batch is a slice of a data set, all of the data set counts. Make the batch
    beforehand; made in forward() it would count as activations.

    Not seen are: memory that an operation takes and gives back before it returns, and tensors that the step
    doesn't touch. So on a GPU torch.cuda.max_memory_allocated tells more: cuBLAS's work space alone is 8 MiB,
    on a Hopper 32 MiB, and sizes are rounded up. A compiled model runs uncompiled in the step that counts.
    Python's garbage collector waits meanwhile: what it would clear up counts.

    TypeError if forward is not a function or returns no tensor, if optimizer is none, or model no nn.Module.
    ValueError if the loss is not one number or needs no gradient, if the optimizer wants a closure, has no
    parameters or has them on several devices, or if autocast is on around the call. Other exceptions come
    through.
    """
    if not callable(forward):
        raise TypeError(
            "Pass a function that computes the loss, for example lambda: loss_of(model(x)), "
            f"not a {type(forward).__name__}: the forward pass has to run in here."
        )
    checked_optimizer(
        optimizer, "Pass the optimizer itself, for example torch.optim.AdamW(model.parameters())"
    )
    if model is not None and not isinstance(model, nn.Module):
        raise TypeError(f"model has to be an nn.Module, not a {type(model).__name__}.")
    device = _device_of(parameters_of(optimizer))
    _refuse_autocast_around(device)
    optimizer.zero_grad(set_to_none=True)
    checked_loss(forward()).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)

    own = [*parameters_of(optimizer), *parameters_and_buffers([] if model is None else [model])]
    living = Living(device)
    living.say(PARAMETERS, own)
    living.say(GRADIENTS, gradients_of(own))  # of parameters that the optimizer doesn't have
    living.say(OPTIMIZER_STATE, state_of(optimizer))
    living.start()
    with garbage_waits(), uncompiled(), living:
        loss = checked_loss(forward())
        living.forward_has_made(loss)
        living.phase = BACKWARD
        loss.backward()
        living.say(GRADIENTS, gradients_of(own))
        living.phase = OPTIMIZER_STEP
        optimizer.step()
        living.say(OPTIMIZER_STATE, state_of(optimizer))  # of an optimizer that makes it anew at each step
        optimizer.zero_grad(set_to_none=True)
        del loss
    return summed_up(living.moments())


def _device_of(parameters):
    devices = {each.device for each in parameters}
    if not devices:
        raise ValueError("This optimizer has no parameters. Give it the model's: model.parameters().")
    if len(devices) > 1:
        names = " and ".join(sorted(map(str, devices)))
        raise ValueError(f"The parameters are on {names}. One device is counted: put the model on one.")
    return devices.pop()


def _refuse_autocast_around(device):
    # The copies that it caches would outlive the first step: more memory, and the second would compute with
    # weights from before the update.
    if torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type):
        raise ValueError(
            "Autocast is on around this call, so that backward and the optimizer would run under it too. "
            "Put it into the function: with torch.autocast(...) around the model and the loss only."
        )
