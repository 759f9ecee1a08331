"""Everything in PyTorch that a recorder might change, to be compared by identity."""

import sys
import threading
import warnings

import torch
import torch.cpu.amp
import torch.cuda.amp
import torch.utils.checkpoint

OPTIMIZER = sys.modules["torch.optim.optimizer"]  # torch.optim deletes the name
MODULES = [
    torch,
    torch._tensor,
    torch.amp,
    torch.amp.autocast_mode,
    torch.amp.grad_scaler,
    torch.autograd,
    torch.autograd.graph,
    torch.cpu.amp,
    torch.cpu.amp.autocast_mode,
    torch.cpu.amp.grad_scaler,
    torch.cuda.amp,
    torch.cuda.amp.autocast_mode,
    torch.cuda.amp.grad_scaler,
    torch.nn.modules.module,
    torch.nn.utils,
    torch.nn.utils.clip_grad,
    torch.optim,
    torch.optim.lr_scheduler,
    OPTIMIZER,
    torch.optim.swa_utils,
    torch.utils.checkpoint,
]
CLASSES = [
    torch.Tensor,
    torch._C.TensorBase,
    torch.nn.Module,
    torch.amp.GradScaler,
    torch.amp.autocast,
    torch.optim.Optimizer,
    torch.optim.lr_scheduler.LRScheduler,
]
HOOKS = [
    (module, name)
    for module in (OPTIMIZER, torch.nn.modules.module)
    for name in dir(module)
    if name.startswith("_global_") and isinstance(getattr(module, name), dict)
]


def with_subclasses(kind):
    found = [kind]
    for each in kind.__subclasses__():
        if each.__module__.startswith("torch."):
            found += with_subclasses(each)
    return found


def everything():
    """What stands under each name now."""
    held = {}
    for module in MODULES:
        held.update({(module.__name__, name): value for name, value in vars(module).items()})
    for root in CLASSES:
        for kind in with_subclasses(root):
            held.update({(kind.__qualname__, name): value for name, value in vars(kind).items()})
    for module, name in HOOKS:
        hooks = getattr(module, name)
        held.update({(name, key): value for key, value in hooks.items()})
        held[name, "how many"] = len(hooks)
    held["trace"], held["profile"] = sys.gettrace(), sys.getprofile()
    held["thread hooks"] = (threading.gettrace(), threading.getprofile())
    held["showwarning"], held["excepthook"] = warnings.showwarning, sys.excepthook
    held["default hooks"] = torch._C._autograd._saved_tensors_hooks_is_enabled()
    held["modes"] = torch._C._len_torch_function_stack() + torch._C._len_torch_dispatch_stack()
    return held


def differences(before, after):
    """The names whose value came, went, or is another object now."""
    names = before.keys() | after.keys()
    return sorted(str(name) for name in names if not same(before.get(name), after.get(name)))


def same(one, other):
    # Counts and pairs of None are made anew at every look; a class hands out no bound methods by vars().
    return one is other or (isinstance(one, (int, tuple)) and one == other)
