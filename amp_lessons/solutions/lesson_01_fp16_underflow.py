# Reference answers of lesson 01. Read as text by solution(); lessons and checks never import this file.
import torch


# %% flush-to-zero
def becomes_zero(value):
    """True if the number `value` is not 0 but becomes 0 in FP16, else False."""
    return value != 0 and abs(value) <= 2.0**-25  # half of FP16's smallest number; a tie goes to 0


# %% share-lost
def share_lost(gradient):
    """Share (0 to 1) of the non-zero values of an FP32 tensor that become 0 in FP16."""
    non_zero = gradient != 0
    if not non_zero.any():
        return 0.0
    lost = non_zero & (gradient.half() == 0)
    return (lost.sum() / non_zero.sum()).item()


# %% pick-a-scale
def pick_scale(gradient):
    """The largest power of two by which the FP32 tensor `gradient` can be multiplied
    so that no value becomes infinite in FP16."""
    scale = 2.0**100  # far too large; halve until everything fits
    while (gradient * scale).half().isinf().any():
        scale /= 2
    return scale


# %% swallowed-update
def is_swallowed(weight, update):
    """True if `weight`, stored in FP16, is unchanged after `update` is added in FP16."""
    before = torch.tensor(weight, dtype=torch.float16)
    after = before + torch.tensor(update, dtype=torch.float16)
    return (after == before).item()
