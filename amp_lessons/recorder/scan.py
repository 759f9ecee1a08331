"""Which module's output is the first with inf or NaN: asked in one forward pass, after a skip."""

import threading
import weakref

import torch
from torch.nn.modules.module import register_module_forward_hook


class Scan:
    """One hook for the next forward pass of a model; ``str()`` says in words what it saw.

    Looking at every output costs about half of a small step and makes a GPU wait, so this is for one pass.
    The hook is PyTorch's global one: nothing lies in the modules, which may be copied or saved meanwhile.
    """

    def __init__(self, modules):
        self._thread = threading.get_ident()
        self._words = ""
        self._names = {id(module): (path, weakref.ref(module)) for path, module in modules}
        self._handle = register_module_forward_hook(self._look)

    def _look(self, module, inputs, output):
        if self._handle is None or threading.get_ident() != self._thread or torch.compiler.is_compiling():
            return
        path, ref = self._names.get(id(module), ("", None))
        if ref is None or ref() is not module or not torch.is_grad_enabled():
            return
        try:
            if not self._words and _is_not_finite(output):
                dtype = str(output.dtype).removeprefix("torch.")
                self._words = (
                    f" In the forward after it, the first inf or NaN comes out of module "
                    f"{path or 'itself'} ({type(module).__name__}, {dtype})."
                )
        except Exception:  # a tensor without numbers of its own: traced, transformed, fake
            pass
        if not path or self._words:
            self.end()  # that was the whole model, or all there is to say

    def end(self) -> None:
        """Take the hook away."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def __str__(self):
        return self._words


def _is_not_finite(output):
    if not isinstance(output, torch.Tensor) or not output.is_floating_point():
        return False
    if output.device.type == "meta" or torch._C._get_tracing_state() is not None:
        return False
    if output.is_cuda and torch.cuda.is_current_stream_capturing():
        return False
    return not bool(output.detach().isfinite().all())
