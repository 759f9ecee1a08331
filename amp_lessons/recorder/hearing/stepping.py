"""scaler.step, optimizer.step, update: the steps and the skips."""

import weakref

import torch
from torch.amp.grad_scaler import GradScaler

from amp_lessons.recorder.hearing.autocast import autocast_is_on
from amp_lessons.recorder.hearing.gradients import look_for_edits
from amp_lessons.recorder.hearing.heard import SCALER, argument, hears
from amp_lessons.recorder.later import Later, read
from amp_lessons.recorder.loop import Moment, StaleCache
from amp_lessons.recorder.places import here
from amp_lessons.recorder.scaler_state import DIVIDED, READY, STEPPED


@hears("scaler step", part_of=SCALER)
def scaler_step(loop, args, kwargs):
    state = loop.scaler_state(args[0])
    optimizer = argument(args, kwargs, 1, "optimizer")
    owner = loop.optimizer_state(optimizer)
    loop.stepped_inside, loop.fused_outcome, loop.scaler_under_way = False, None, state
    if state.enabled:
        stage = state.stage(id(optimizer))
        look_for_edits(loop, owner, state)
        if stage == DIVIDED and owner.unscaled_again is not None and not owner.waiting:
            # The loop expected the refusal of a second unscale_ and went on to the step, unharmed.
            again = owner.unscaled_again
            loop.withdrawn.add(("unscale-twice", again.file, again.line))
        if stage == READY:
            loop.happens("unscale", owner, state, stage=stage, implicit=True)
        closure = any(callable(one) for one in (*args[2:], kwargs.get("closure")))
        loop.happens("step", owner, state, stage=stage, closure=closure)
    yield
    if state.enabled:
        state.stages[id(optimizer)] = STEPPED
        state.checked = True
        _ended(loop, state, owner, _outcome(loop, args[0], optimizer))


def _outcome(loop, scaler, optimizer):
    """Return True (or a Later that is not 0) if the scaler skipped the step."""
    if loop.fused_outcome is not None:
        return loop.fused_outcome
    if loop.stepped_inside:
        return False
    hooked = getattr(type(optimizer).step, "hooked", False)
    per_optimizer = getattr(scaler, "_per_optimizer_states", {}).get(id(optimizer), {})
    found = [Later(one) for one in per_optimizer.get("found_inf_per_device", {}).values()]
    if not found:
        return hooked
    if all(one.known() for one in found):
        return any(one.value() for one in found)
    # To ask an accelerator takes a while: PyTorch's hook, which was not called, tells as well, unless the
    # step is compiled or replaced.
    return True if hooked and not _steps_unheard(loop, scaler, optimizer) else found[0]


def _steps_unheard(loop, scaler, optimizer):
    """Return whether an optimizer may step without its hooks: compiled, replaced, or by another method."""
    own = getattr(optimizer, "__dict__", {}).get("step")
    replaced = own is not None and not getattr(own, "_wrapped_by_lr_sched", False)
    other = getattr(type(scaler), "_maybe_opt_step", None) is not GradScaler._maybe_opt_step
    return replaced or other or loop.compiled.seen()


def _ended(loop, state, owner, outcome):
    place, loop.trained = loop.here(), True
    undecided = isinstance(outcome, Later) and not outcome.known()
    skipped = not undecided and bool(read(outcome))
    if undecided:
        loop.undecided.append((outcome, state, owner, place, loop.step))
    sharing = loop.sharing(owner)
    for one in sharing:
        one.tried, one.done = one.tried + 1, one.done + (not skipped)
    if skipped:
        _skipped(loop, state, owner, place)
    else:
        state.stepped += 1
        state.in_a_row = 0
        state.clean_since_skip += 1
        loop.happens("stepped", owner, state, place, bare=False)
    for one in sharing:
        one.stepped()


def _skipped(loop, state, owner, place):
    state.skipped += 1
    state.in_a_row += 1
    if state.non_finite_loss():
        loop.scan_the_next_forward(owner.ref())
    loop.happens("skip", owner, state, place, in_a_row=state.in_a_row)
    state.clean_since_skip = 0


def decide(loop, wait=False):
    """Take note of skips that a fused optimizer on an accelerator made known only later."""
    while loop.undecided and (wait or loop.undecided[0][0].known()):
        outcome, state, owner, place, step = loop.undecided.popleft()
        if outcome.value():
            owner.done -= 1
            state.stepped -= 1
            now, loop.step = loop.step, step
            _skipped(loop, state, owner, place)
            loop.step = now


def optimizer_step_begins(loop, optimizer):
    """PyTorch's hook before optimizer.step(), from scaler.step() or from the loop itself."""
    owner = loop.optimizer_state(optimizer)
    if "scaler step" in loop.inside:
        loop.stepped_inside = True
        found = getattr(optimizer, "found_inf", None)
        if isinstance(found, torch.Tensor) and getattr(optimizer, "_step_supports_amp_scaling", False):
            loop.fused_outcome = Later(found)
    elif not loop.watchful:
        pass
    elif owner.backwards:
        look_for_edits(loop, owner, loop.only_scaler())
    elif owner.used:
        owner.changed_by_hand()
    return owner


def optimizer_step_ends(loop, optimizer, owner):
    """The hook after it."""
    place = here()
    if loop.open_regions and torch.is_autocast_cache_enabled() and _was_cast(owner):
        _note_stale_copies(loop, optimizer, owner, place)
    if "scaler step" in loop.inside and loop.scaler_under_way.enabled:
        return
    owner.tried += 1
    owner.done += 1
    loop.trained = True
    loop.happens("stepped", owner, loop.only_scaler(), place, bare=True)
    owner.stepped(look=loop.watchful)
    if loop.lead is None or loop.lead() is None:
        loop.lead = weakref.ref(optimizer)
    if not any(state.enabled for state in loop.scalers.values()) and loop.lead() is optimizer:
        loop.between_steps = True


def _note_stale_copies(loop, optimizer, owner, place):
    """A step inside an autocast region: from now on its copies are old, if it has made any."""
    began, stepped = loop.open_regions[0].began, torch.autograd._get_sequence_nr()
    if began == stepped:
        return  # nothing was computed in this region yet
    weights = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    likely = bool(owner.backwards) and autocast_is_on(weights[0].device.type if weights else "cpu")
    moment = Moment("stale cache", loop.step, place, {}, owner)
    loop.stale_cache = StaleCache(moment, began, stepped, set(map(id, weights)), likely)


def _was_cast(owner):
    """Return False where graphs were looked at and had no 16-bit number: no copies to speak of."""
    dtypes = frozenset().union(*(one.dtypes for one in owner.backwards))
    return not dtypes or not dtypes.isdisjoint({"float16", "bfloat16"})


def optimizer_step_inside_backward(loop, optimizer):
    """An optimizer that steps on each gradient as it arrives."""
    backward = loop.backward_under_way
    if backward is not None:
        owner, step = loop.optimizer_state(optimizer), backward.step
        loop.judge(loop, Moment("stepped early", step, backward.place, backward.data, owner, backward.scaler))


@hears("update", part_of=SCALER)
def update(loop, args, kwargs):
    state = loop.scaler_state(args[0])
    if state.enabled:
        decide(loop)
        given = argument(args, kwargs, 1, "new_scale") is not None
        checked = state.checked or state.has_checks()
        loop.happens("update", scaler=state, checked=checked, given=given)
    yield
    if state.enabled:
        before = state.scale
        state.look_at_scale(loop.step)
        numbers = {"scale": state.scale, "before": before}
        numbers = {name: None if isinstance(one, Later) else one for name, one in numbers.items()}
        loop.happens("updated", scaler=state, **numbers)
        state.window_ends()
        loop.between_steps = True


@hears("get scale", part_of=SCALER)
def get_scale(loop, args, kwargs):
    state = loop.scaler_state(args[0])
    if state.enabled:
        loop.happens("scale read", scaler=state)
        state.scale_was_read = state.read_in_window = True
        state.scale_is_known, loop.penalty = True, None
    yield
