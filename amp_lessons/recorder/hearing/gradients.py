"""What happens to .grad between backward and step: cleared, clipped, unscaled, edited by hand."""

import sys

import torch

from amp_lessons.recorder.hearing.heard import SCALER, argument, hears
from amp_lessons.recorder.later import Later
from amp_lessons.recorder.optimizer_state import MIXED, SCALED
from amp_lessons.recorder.places import here
from amp_lessons.recorder.scaler_state import DIVIDED, READY


@hears("zero_grad")
def zero_grad(loop, args, kwargs):
    yield
    state = loop.optimizer_state(args[0])
    loop.happens("zero_grad", optimizer=state)
    loop.left_the_update()
    state.forget()


@hears("module zero_grad")
def module_zero_grad(loop, args, kwargs):
    """Whoever's gradients changed by it lost them."""
    yield
    loop.last_backward = None
    loop.left_the_update()
    for _, state in loop.watched_optimizers():
        before = state.sample
        state.look()
        if state.sample != before:
            state.forget()


@hears("clip")
def clip(loop, args, kwargs):
    """Hears a helper that every form of clipping calls; the caller's own arguments say what is asked for."""
    asked = _asked_of_clipping()
    if asked is not None:
        _clips(loop, *asked, args[0][0])
    yield


def clip_in_a_hook(loop, args):
    """A hook on a parameter clips while the backward is still running."""
    asked = _asked_of_clipping()
    if asked is not None and loop.clip_inside_backward is None:
        function, limit, norm = asked
        if limit is not None and (norm is None or norm > limit):
            loop.clip_inside_backward = here(), function, limit, norm


def _asked_of_clipping():
    """Return (function, limit, norm) of the clipping that is running; None if it only measures yet."""
    caller = sys._getframe(1)
    while caller is not None and "clip_grad.py" not in caller.f_code.co_filename:
        caller = caller.f_back
    function = caller.f_code.co_name if caller is not None else ""
    if function not in ("_clip_grads_with_norm_", "clip_grad_value_"):
        return None
    known = caller.f_locals
    if function == "clip_grad_value_":
        return function, _number(known.get("clip_value")), None
    return "clip_grad_norm_", _number(known.get("max_norm")), _number(known.get("total_norm"))


def _number(value):
    """Return a limit or a norm as a number; None if reading it would make an accelerator wait."""
    if isinstance(value, torch.Tensor):
        return Later(value).value() if value.device.type == "cpu" else None
    return value


def _clips(loop, function, limit, norm, gradients):
    place = loop.here()
    for _, state in loop.watched_optimizers():
        if not state.backwards and not state.used:
            continue
        own = state.gradient_ids()
        first = next(own, None)
        if all(id(gradient) != first for gradient in gradients) and set(own).isdisjoint(map(id, gradients)):
            continue
        scaler = loop.only_scaler()
        if loop.watchful:
            look_for_edits(loop, state, scaler)
        loop.happens("clip", state, scaler, place, function=function, limit=limit, norm=norm)
        state.change_explained, state.weight = True, None


@hears("unscale")
def unscale_(loop, args, kwargs):
    state = loop.scaler_state(args[0])
    optimizer = argument(args, kwargs, 1, "optimizer")
    owner = loop.optimizer_state(optimizer)
    part = any(name in loop.inside for name in SCALER)
    if state.enabled and not part:
        look_for_edits(loop, owner, state)
        stage = state.stage(id(optimizer))
        place = loop.happens("unscale", owner, state, stage=stage, implicit=False).place
        if stage == DIVIDED and owner.backwards and not owner.waiting:
            owner.unscaled_again = place
    yield
    if state.enabled:
        for one in loop.sharing(owner):
            one.divide()
        state.stages[id(optimizer)] = DIVIDED
        state.checked = True


def look_for_edits(loop, owner, state):
    """See whether the learner edited gradients that wait to be divided; afterwards editing is right."""
    key = id(owner.ref())
    if state is not None and state.stage(key) == DIVIDED != state.stages.get(key):
        owner.divide()  # unscale_ was called where nobody heard it: through a method bound long before
    if owner.backwards and not owner.waiting:
        return
    if not owner.changed_by_hand() or not owner.waiting:
        return
    first, owner.edited = not owner.edited, True
    if owner.gradients in (SCALED, MIXED) and state is not None:
        if state.scale_was_read:
            owner.unknown = True  # perhaps divided by hand
        elif state.stage(id(owner.ref())) == READY and first:
            loop.happens("edit", owner, state)
