# Reference answers of lesson 05. Read as text by solution(); lessons and checks never import this file.
import torch


# %% accumulate-in-fp32
def mean_loss(losses):
    """The mean of `losses`, as a Python float, as exact as FP32 allows."""
    return torch.stack(losses).float().mean().item()  # convert first: mean() gives what it is given


# %% reads-true-or-emulated
def computes_in_bf16(cuda):
    """True where an NVIDIA GPU itself computes in BF16, False where it emulates it or there is none."""
    return cuda.is_available() and cuda.get_device_capability() >= (8, 0)


# %% choose-a-precision
def choose_precision(machine, model):
    """What to train `model` in on `machine`: "BF16", "FP16 + scaler", "TF32" or "FP32"."""
    bf16, fp16, fp32 = (torch.finfo(each) for each in (torch.bfloat16, torch.float16, torch.float32))
    candidates = (
        ("BF16", "bf16", bf16.max, bf16.eps),
        ("FP16 + scaler", "fp16", fp16.max, fp16.eps),
        ("TF32", "tf32", fp32.max, fp16.eps),
    )
    for name, key, largest, eps in candidates:
        fits = 4 * model["largest_activation"] <= largest  # room for activations that grow
        if machine[key] and fits and eps / 2 <= model["rounding"]:
            return name
    return "FP32"
