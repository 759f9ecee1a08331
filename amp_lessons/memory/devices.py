"""What a learner passes as a device."""

import torch


def as_device(device):
    """Give a torch.device from its name. ValueError, in words, for what names none."""
    try:
        return torch.device(device)
    except (TypeError, RuntimeError):
        raise ValueError(f'device is "cpu", "cuda" or a torch.device; got {device!r}.') from None
