"""Whether gradients look as if a hand-written limit had cut them."""

import torch

_CLOSE = 1e-5  # of the size: a limit of 1.0 leaves 0.999999 or 1.0000001


def looks_clipped(optimizer) -> tuple[str, float] | None:
    """Return ("norm" | "largest value", the size) if that size of all gradients is a limit people write.

    A size is taken for a limit if it is a number of one or two digits (1.0, 0.5, 0.25): a norm that nobody
    cut comes that close to one once in a few hundred times, and averaging never makes one. Reads values, so
    it is asked only once gradients were seen to be edited. None on accelerators, where reading would wait.
    """
    if optimizer is None:
        return None
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if not gradients or any(g.device.type != "cpu" or g.is_sparse for g in gradients):
        return None
    with torch.no_grad():
        norms = torch.stack([gradient.detach().float().norm() for gradient in gradients])
        largest = torch.stack([gradient.detach().float().abs().max() for gradient in gradients])
    for name, size in (("norm", norms.norm().item()), ("largest value", largest.max().item())):
        if 0 < size < float("inf") and abs(size - float(f"{size:.2g}")) <= _CLOSE * size:
            return name, float(f"{size:.2g}")
    return None
