"""Peak memory on a GPU."""

import torch

from amp_lessons.memory.devices import as_device
from amp_lessons.timing import wait_for


def peak(step, device):
    """Run step() on a CUDA device and give the most bytes that PyTorch's tensors took up there meanwhile.

    step: a function without arguments, for example one training step. device: "cuda" or a torch.device.
    The parameters, gradients and optimizer state that were there before count as well. What is held back for
    reuse, and CUDA's own share, which nvidia-smi shows too, does not.

    Only CUDA's record is read: on a CPU and on any other device it gives None, and step is not run.
    TypeError if step is not a function. ValueError for a device that isn't here or is none.
    """
    if not callable(step):
        raise TypeError(f"Pass a function that does one step, not a {type(step).__name__}.")
    device = as_device(device)
    if device.type != "cuda":
        return None
    devices = torch.cuda.device_count()
    if (device.index or 0) >= devices:
        raise ValueError(
            f'PyTorch has {devices or "no"} CUDA device{"s" * (devices > 1)} here, so there is no "{device}".'
            ' With "cpu" peak gives None.'
        )
    wait_for(device)
    torch.cuda.reset_peak_memory_stats(device)
    step()
    wait_for(device)
    return torch.cuda.max_memory_allocated(device)
