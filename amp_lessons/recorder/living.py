"""What exists when a recording begins, and whose buffers are whose.

PyTorch keeps no list of optimizers or modules, so this asks the garbage collector: once at the beginning,
some hundredths of a second, and once more when a step is skipped.
"""

import gc
import sys
import weakref

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase


def living(kind: type) -> list:
    """Return all living objects of a class or of one below it."""
    return [one for one in gc.get_objects() if issubclass(type(one), kind)]


class Models:
    """The modules there are, and which of them an optimizer trains. Holds modules weakly."""

    def __init__(self, modules):
        self._modules = [weakref.ref(module) for module in modules]
        self._trained = weakref.WeakKeyDictionary()  # optimizer: its modules, as (path, ref)

    def non_finite(self, optimizer) -> list[str]:
        """Return the names of running statistics with inf or NaN in the modules that ``optimizer`` trains.

        Only those of normalisation layers: other buffers may hold inf on purpose (an attention mask).
        """
        return [
            f"{path}.{name}" if path else name
            for path, module in self.modules_of(optimizer)
            if isinstance(module, _NormBase)
            for name in ("running_mean", "running_var")
            if (buffer := getattr(module, name)) is not None
            and buffer.device.type != "meta"
            and not bool(buffer.isfinite().all())
        ]

    def modules_of(self, optimizer) -> list[tuple]:
        """Return (path, module) of all modules in the models that ``optimizer`` trains."""
        if optimizer not in self._trained:
            self._trained[optimizer] = self._look_for_modules(optimizer)
        found = ((path, ref()) for path, ref in self._trained[optimizer])
        return [(path, module) for path, module in found if module is not None]

    def _look_for_modules(self, optimizer):
        ours = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        modules = [module for ref in self._modules if (module := ref()) is not None]
        known = {id(parameter) for module in modules for parameter in _part(module, "_parameters")}
        if not ours <= known:  # modules made since
            modules = living(nn.Module)
        parents = {id(child): module for module in modules for child in _part(module, "_modules")}
        roots = {}
        for module in modules:
            if not ours.isdisjoint(map(id, _part(module, "_parameters"))):
                root = _topmost(module, parents)
                roots[id(root)] = root
        return [
            (path, weakref.ref(module)) for root in roots.values() for path, module in root.named_modules()
        ]


def _part(module, name):
    """Return the values of a module's registry; none for a module whose __init__ never ran."""
    return list(module.__dict__.get(name, {}).values())


def _topmost(module, parents):
    seen = set()
    while id(module) in parents and id(module) not in seen:
        seen.add(id(module))
        module = parents[id(module)]
    return module


class Compiled:
    """Whether torch.compile is at work: the recorder does not look into what it compiles."""

    def __init__(self, modules):
        self._frames = _frames_compiled()
        self._modules = any(
            type(module).__name__ == "OptimizedModule"
            or module.__dict__.get("_compiled_call_impl") is not None
            for module in modules
        )

    def seen(self) -> bool:
        """Return whether a compiled module was there, or something has been compiled since."""
        return self._modules or _frames_compiled() not in (0, self._frames)


def _frames_compiled():
    utils = sys.modules.get("torch._dynamo.utils")
    return utils.counters["frames"]["total"] if utils is not None else 0


def snapshot() -> tuple[list, Models, Compiled]:
    """Return the living optimizers and models, and whether anything is compiled."""
    optimizers, modules = [], []
    for one in gc.get_objects():
        kind = type(one)
        if issubclass(kind, nn.Module):
            modules.append(one)
        elif issubclass(kind, torch.optim.Optimizer) and "param_groups" in one.__dict__:
            optimizers.append(one)
    return optimizers, Models(modules), Compiled(modules)
