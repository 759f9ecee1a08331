"""Which module's output is the first with inf or NaN: asked in one forward pass, after a skip."""

import threading

import torch


class Scan:
    """Hooks on the modules of a model for its next forward pass; ``str()`` says in words what they saw.

    Looking at every output costs about half of a small step and makes a GPU wait, so this is for one pass.
    """

    def __init__(self, modules):
        self._thread = threading.get_ident()
        self._words = ""
        self._handles = [
            module.register_forward_hook(self._look_at(path, type(module).__name__))
            for path, module in modules
        ]

    def _look_at(self, path, kind):
        def look(module, inputs, output):
            if self._words or threading.get_ident() != self._thread or torch.compiler.is_compiling():
                return
            if isinstance(output, torch.Tensor) and output.is_floating_point():
                if output.device.type != "meta" and not bool(output.detach().isfinite().all()):
                    dtype = str(output.dtype).removeprefix("torch.")
                    self._words = (
                        f" In the forward after it, the first inf or NaN comes out of module "
                        f"{path or 'itself'} ({kind}, {dtype})."
                    )

        return look

    def end(self) -> None:
        """Take the hooks away."""
        while self._handles:
            self._handles.pop().remove()

    def __str__(self):
        return self._words
