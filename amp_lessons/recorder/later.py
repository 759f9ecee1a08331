"""Numbers that stand in tensors, read without making the CPU wait for an accelerator."""

import torch


class Later:
    """A number from a tensor of one element; known at once on the CPU, a little later elsewhere.

    On CUDA the number is copied to pinned memory in the background. ``known()`` asks without waiting,
    ``value()`` waits: only ask for it once the loop is over, or right after the loop itself has waited.
    Holds a copy, never the learner's tensor. ``value()`` is None where there is nothing to read (meta).
    """

    __slots__ = ("_value", "_copy", "_done")

    def __init__(self, tensor: torch.Tensor):
        self._value, self._copy, self._done = None, None, None
        try:
            device = tensor.device.type
            if device == "cpu":
                self._value = tensor.item()
            elif device == "cuda":
                self._copy_in_the_background(tensor.detach())
            elif device != "meta":
                self._copy = tensor.detach().reshape(()).clone()
        except RuntimeError:  # a fake tensor, a tensor of several values: nothing to read
            self._copy = self._done = None

    def _copy_in_the_background(self, tensor):
        with torch.cuda.device(tensor.device):
            if torch.cuda.is_current_stream_capturing():
                return  # a CUDA graph is being captured: not even a copy may be added
            self._copy = torch.empty((), dtype=tensor.dtype, pin_memory=True)
            self._copy.copy_(tensor.reshape(()), non_blocking=True)
            self._done = torch.cuda.Event()
            self._done.record()

    def known(self) -> bool:
        """Return whether ``value()`` answers without waiting."""
        return self._copy is None or (self._done is not None and self._done.query())

    def value(self):
        """Return the number, waiting for it where needed."""
        if self._copy is not None:
            if self._done is not None:
                self._done.synchronize()
            self._value, self._copy, self._done = self._copy.item(), None, None
        return self._value


def read(number):
    """Return a plain number for a ``Later`` or a number."""
    return number.value() if isinstance(number, Later) else number
