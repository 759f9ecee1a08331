# Reference answers of lesson 04. Read as text by solution(); lessons and checks never import this file.
import torch
import torch.nn.functional as F
from torch import nn


# %% convert-the-loop
def train(model, optimizer, batches):
    """The loop below in mixed precision: FP16 autocast, and a GradScaler on x's device."""
    device_type = batches[0][0].device.type
    scaler = torch.amp.GradScaler(device_type)  # once: it learns the scale from step to step
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(device_type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)  # the limit is one for true gradients
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)  # steps unless a gradient was inf or NaN
        scaler.update()
        losses.append(loss.item())  # the loss itself, not the scaled one
    return losses


# %% any-device
def amp_settings(machine):
    """How to train on `machine`: (device_type, dtype, use_scaler)."""
    if machine["device"] == "cuda":
        native = machine["capability"] >= (8, 0)
        dtype = torch.bfloat16 if native else torch.float16
    else:
        dtype = torch.bfloat16 if machine["fast_bf16"] else torch.float32
    return machine["device"], dtype, dtype == torch.float16  # only FP16 needs a scaler


# %% resume-exactly
def save_checkpoint(path, model, optimizer, scaler):
    """Write all that the next epoch depends on to the file `path`."""
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(checkpoint, path)


def load_checkpoint(path, model, optimizer, scaler):
    """Put all of it back, into a model, an optimizer and a scaler that were just made."""
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    torch.set_rng_state(checkpoint["random"])
