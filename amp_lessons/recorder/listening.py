"""What the recorder listens to, and how everything is put back.

One set of wrappers serves all recordings: the first to begin puts them in place, the last to end takes them
away. A wrapper asks which recordings belong to the calling thread; with none, it only passes on.
"""

import functools
import threading

import torch
import torch.nn.utils.clip_grad as clip_grad
from torch.amp.autocast_mode import autocast
from torch.amp.grad_scaler import GradScaler
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from amp_lessons.recorder.graph import mark_scaled
from amp_lessons.recorder.hearing import autocast as autocast_calls
from amp_lessons.recorder.hearing import gradients, losses, others, stepping

_lock = threading.RLock()
_sessions: list = []
_by_thread: dict[int, tuple] = {}  # the sessions of each thread that is recorded
_undo: list = []

_SCALER_METHODS = {
    "scale": losses.scale,
    "unscale_": gradients.unscale_,
    "step": stepping.scaler_step,
    "update": stepping.update,
    "get_scale": stepping.get_scale,
    "state_dict": others.scaler_state_dict,
    "load_state_dict": others.scaler_load,
    "__getstate__": others.scaler_copied,
}


def begin(session) -> None:
    """Let ``session`` hear what its thread does from now on."""
    with _lock:
        if not _sessions:
            try:
                _install()
            except BaseException:
                _restore()
                raise
        _sessions.append(session)
        _sort_by_thread()


def end(session) -> None:
    """Stop that; with no session left, everything is as it was before the first."""
    with _lock:
        if session in _sessions:
            _sessions.remove(session)
            _sort_by_thread()
            if not _sessions:
                _restore()


def _sort_by_thread():
    threads = {session.loop.thread for session in _sessions}
    sorted_now = {t: tuple(one for one in _sessions if one.loop.thread == t) for t in threads}
    _by_thread.clear()
    _by_thread.update(sorted_now)


def _listeners():
    return _by_thread.get(threading.get_ident(), ())


def _wrapped(original, heard):
    """Return ``original`` with ``heard`` told about each call that a recorded thread makes.

    Exceptions of ``original`` pass unchanged. It runs a dozen times a step: hence few layers.
    """
    thread_now, sessions_of = threading.get_ident, _by_thread.get

    @functools.wraps(original)
    def listening(*args, **kwargs):
        __tracebackhide__ = True  # IPython and pytest leave this frame out
        if torch.compiler.is_compiling():  # asked first: the compiler traces nothing of ours then
            return original(*args, **kwargs)
        sessions = sessions_of(thread_now())
        if sessions is None:
            return _elsewhere(original, heard, args, kwargs)
        started = [session.starts(heard, args, kwargs) for session in sessions]
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            for session, half in zip(reversed(sessions), reversed(started)):
                session.fails(half, error)
            raise
        for session, half in zip(reversed(sessions), reversed(started)):
            session.finishes(half, result)
        return result

    return listening


def _elsewhere(original, heard, args, kwargs):
    """A call by a thread that is not recorded, while another one is."""
    result = original(*args, **kwargs)
    for session in list(_sessions):
        session.guarded(session.loop.happened_elsewhere, heard.name, args)
    if _sessions and heard is losses.scale:
        for session in list(_sessions):
            session.loop.marked = True
        mark_scaled(result, id(args[0]))  # the recorded thread may call backward() on it
    return result


def _patch(owner, name, heard):
    own = vars(owner).get(name)
    if not callable(own):  # inherited, or a descriptor that is no plain function
        return
    ours = _wrapped(own, heard)
    setattr(owner, name, ours)

    def undo():
        if vars(owner).get(name) is ours:  # else the learner has put something there meanwhile
            setattr(owner, name, own)

    _undo.append(undo)


def _family(base):
    """Return a class and all classes below it."""
    found, waiting = [], [base]
    while waiting:
        cls = waiting.pop()
        if cls not in found:
            found.append(cls)
            waiting.extend(cls.__subclasses__())
    return found


def _install():
    for cls in _family(GradScaler):
        for name, heard in _SCALER_METHODS.items():
            _patch(cls, name, heard)
    _patch(autocast, "__init__", autocast_calls.made)
    _patch(autocast, "__enter__", autocast_calls.enter)
    _patch(autocast, "__exit__", autocast_calls.leave)
    _patch(torch, "clear_autocast_cache", autocast_calls.cache_cleared)
    # backward(), Tensor.backward() and grad() all look this up when they run, also where the learner
    # imported them long before.
    _patch(torch.autograd, "_engine_run_backward", losses.backward)
    # The same for every form of clipping.
    _patch(clip_grad, "_group_tensors_by_device_and_dtype", gradients.clip)
    for cls in _family(Optimizer):
        _patch(cls, "zero_grad", gradients.zero_grad)
        _patch(cls, "load_state_dict", others.optimizer_load)
        _patch(cls, "state_dict", others.optimizer_saved)
    _patch(Optimizer, "__init__", others.optimizer_made)
    _patch(GradScaler, "__init__", others.scaler_made)
    _patch(torch.nn.Module, "zero_grad", gradients.module_zero_grad)
    for cls in {*_family(LRScheduler), *_family(ReduceLROnPlateau)}:
        _patch(cls, "step", others.scheduler_step)
    for handle in (
        register_optimizer_step_pre_hook(_optimizer_step_begins),
        register_optimizer_step_post_hook(_optimizer_step_ends),
    ):
        _undo.append(handle.remove)


def _restore():
    while _undo:
        _undo.pop()()


def _optimizer_step_begins(optimizer, args, kwargs):
    if not torch.compiler.is_compiling():
        for session in _listeners():
            session.optimizer_step_begins(optimizer)


def _optimizer_step_ends(optimizer, args, kwargs):
    if not torch.compiler.is_compiling():
        for session in _listeners():
            session.optimizer_step_ends(optimizer)
