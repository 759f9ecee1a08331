# Reference answers of lesson 03. Read as text by solution(); lessons and checks never import this file.
import torch
from torch import nn
from torch.nn import functional as F


# %% tell-a-skip
def step_and_tell(scaler, optimizer):
    """Call scaler.step(optimizer) and scaler.update().

    Returns True if the optimizer's step was skipped, else False.
    """
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale() < before  # a good step leaves the scale or makes it grow


# %% order-the-calls
def train_step(model, optimizer, scaler, x, y, max_norm):
    """One FP16 training step on the batch (x, y), with the gradients' norm clipped to max_norm.

    The loss is F.mse_loss(model(x), y). Returns it, as it is before scaling.
    Take the device for autocast from the tensors: x.device.type.
    """
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # clipping must see the gradients without the scale
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


# %% unscale-and-look
def unscale_and_look(optimizer, scale):
    """Divide the .grad of every parameter in `optimizer` by the number `scale`.

    Returns True if any of them holds inf or NaN, else False. A .grad may be None: skip it.
    """
    found_inf = False
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad /= scale
                found_inf = found_inf or not torch.isfinite(parameter.grad).all().item()
    return found_inf


# %% skip-or-step
def skip_or_step(optimizer, scale):
    """Unscale with your unscale_and_look; step the optimizer unless inf or NaN was found.

    Returns True if the step was skipped, else False.
    """
    found_inf = unscale_and_look(optimizer, scale)
    if not found_inf:
        optimizer.step()
    return found_inf


# %% grow-and-back-off
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    """The scale for the next step, and how many good steps in a row there now are.

    An overflow halves the scale and ends the row. The step that makes `growth_interval` good
    steps in a row doubles the scale and starts a new row at 0. Returns (scale, good_steps).
    (PyTorch also stops growing before FP32 ends, at 2**127; yours need not.)
    """
    if found_inf:
        return scale * 0.5, 0
    good_steps += 1
    if good_steps == growth_interval:
        return scale * 2.0, 0
    return scale, good_steps
