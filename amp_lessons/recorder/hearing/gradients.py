"""What happens to .grad between backward and step: cleared, clipped, unscaled, edited by hand."""

import sys

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
    caller = sys._getframe(1)
    while caller is not None and "clip_grad.py" not in caller.f_code.co_filename:
        caller = caller.f_back
    function = caller.f_code.co_name if caller is not None else ""
    if function in ("_clip_grads_with_norm_", "clip_grad_value_"):
        known = caller.f_locals
        name = "clip_grad_value_" if function == "clip_grad_value_" else "clip_grad_norm_"
        limit = known.get("max_norm", known.get("clip_value"))
        _clips(loop, name, args[0][0], limit, known.get("total_norm"))
        del known
    del caller
    yield


def _clips(loop, function, gradients, limit, norm):
    place = here()
    norm = Later(norm).value() if norm is not None and norm.device.type == "cpu" else None
    for _, state in loop.watched_optimizers():
        if not state.backwards and not state.used:
            continue
        own = state.gradient_ids()
        first = next(own, None)
        if all(id(gradient) != first for gradient in gradients) and set(own).isdisjoint(map(id, gradients)):
            continue
        scaler = loop.only_scaler()
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
        loop.happens("unscale", owner, state, stage=state.stage(id(optimizer)), implicit=False)
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
