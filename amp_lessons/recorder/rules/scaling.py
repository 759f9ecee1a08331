"""Rules about gradients: scaled, not scaled, or both in one sum."""

from amp_lessons.recorder.later import read
from amp_lessons.recorder.optimizer_state import MIXED, SCALED, UNSCALED
from amp_lessons.recorder.rules.numbers import scale_of
from amp_lessons.recorder.rules.rule import Sighting, rule
from amp_lessons.recorder.scaler_state import DIVIDED, READY


@rule(
    "bare-optimizer-step",
    on=["stepped"],
    summary="optimizer.step() is called on gradients that are still scaled",
    happened="{optimizer}.step() uses gradients that are still multiplied by the loss scale {scale}, "
    "without any check for inf.",
    to_do="Call scaler.step(optimizer) and scaler.update() in place of optimizer.step().",
)
def bare_optimizer_step(loop, moment):
    owner = moment.optimizer
    if moment.data["bare"] and owner.gradients in (SCALED, MIXED) and not owner.edited:
        if any(one.kind == SCALED and not one.divided for one in owner.backwards):
            scale = scale_of(owner, moment)
            if scale != 1 and not owner.may_be_divided():
                yield Sighting({"scale": scale})


@rule(
    "unscaled-backward",
    on=["unscale"],
    summary="a loss that scaler.scale never multiplied, then scaler.step divides its gradients",
    happened="A backward() runs on a loss that did not go through scaler.scale(), and its gradients are "
    "then divided by the loss scale {scale}.",
    to_do="Write scaler.scale(loss).backward().",
)
def unscaled_backward(loop, moment):
    owner, scaler = moment.optimizer, moment.scaler
    if scaler.last_scale_call is None and getattr(scaler.ref(), "_scale", None) is not None:
        return  # it scales where nobody hears it: through a method bound long before
    if moment.data["stage"] == READY and owner.waiting and owner.gradients == UNSCALED:
        first = owner.waiting[0]
        yield Sighting({"scale": moment.scaler.scale_now}, first.place, first.step)


@rule(
    "mixed-scaling-in-window",
    on=["unscale"],
    summary="scaled and unscaled losses add up in the same gradients",
    happened="This window adds up gradients of scaled losses and of one that was not scaled; all are then "
    "divided by the loss scale {scale}, so the unscaled one nearly vanishes.",
    to_do="Scale every loss of the window: scaler.scale(loss_a + loss_b).backward(), or scaler.scale() "
    "around each.",
)
def mixed_scaling(loop, moment):
    owner = moment.optimizer
    if moment.data["stage"] != READY or owner.unknown:
        return
    kinds = {one.kind for one in owner.waiting}
    odd = [one for one in owner.waiting if one.kind in (UNSCALED, MIXED)]
    if odd and (SCALED in kinds or MIXED in kinds):
        yield Sighting({"scale": moment.scaler.scale_now}, odd[0].place, odd[0].step)


@rule(
    "gradients-not-zeroed",
    on=["unscale"],
    beside=["bare-optimizer-step"],
    summary="scaled gradients are added to those of the step before",
    happened="A backward() adds scaled gradients to those that the step before has used and unscaled: "
    "nobody cleared them, and unscaling divides the old ones by {scale} again.",
    to_do="Call optimizer.zero_grad() once per optimizer step, before the first backward() of the window.",
)
def gradients_not_zeroed(loop, moment):
    owner = moment.optimizer
    first = next((one for one in owner.waiting if one.onto == "used" and one.kind == SCALED), None)
    if first is not None and not owner.unknown and moment.data["stage"] == READY:
        if read(owner.old_size) != 0:
            yield Sighting({"scale": moment.scaler.scale_now}, first.place, first.step)


@rule(
    "backward-after-unscale",
    on=["step"],
    summary="a scaled backward adds to gradients that unscale_ has divided already",
    happened="A backward() comes after unscale_ in the same window: its gradients are multiplied by the loss "
    "scale {scale}, and nothing divides them before the step.",
    to_do="Call scaler.unscale_(optimizer) after the last backward() of the window.",
)
def backward_after_unscale(loop, moment):
    owner = moment.optimizer
    if moment.data["stage"] != DIVIDED:
        return
    late = next((one for one in owner.waiting if one.kind == SCALED), None)
    if late is None or (late.onto != "unscaled" and (owner.unknown or owner.edited)):
        return
    # Where the gradients were cleared in between, they may have been divided by hand.
    if late.onto == "unscaled" or (read(late.scale) != 1 and not owner.may_be_divided()):
        yield Sighting({"scale": late.scale}, late.place, late.step)


@rule(
    "scale-changed-in-window",
    on=["unscale"],
    summary="the scale changed between backward and unscale",
    happened="These gradients were multiplied by {before} and are divided by {after}: scaler.update() ran"
    " between backward() and the step.",
    to_do="Call scaler.update() once, after the scaler.step() of every optimizer, and not inside an "
    "accumulation window.",
)
def scale_changed(loop, moment):
    owner = moment.optimizer
    after = moment.scaler.scale
    first = next(
        (
            o
            for o in owner.waiting
            if o.kind == SCALED and o.scaler is moment.scaler and not _same(o.scale, after)
        ),
        None,
    )
    if first is not None and not owner.unknown and moment.data["stage"] == READY:
        yield Sighting({"before": first.scale, "after": after})


def _same(before, after):
    plain = all(isinstance(one, float) for one in (before, after))
    return before == after or not plain  # on an accelerator: not asked, that would make the CPU wait


@rule(
    "scaled-twice",
    on=["backward"],
    summary="a loss goes through scaler.scale twice",
    happened="This loss was multiplied by the loss scale {scale} twice; unscaling divides by it once, so the "
    "optimizer would step on gradients that are {scale} times too large.",
    to_do="Call scaler.scale(loss) once, on the loss as it is, and scaled.backward() on what it returns.",
)
def scaled_twice(loop, moment):
    if moment.data["scaled_twice"] and moment.scaler is not None and moment.scaler.scale_now != 1:
        yield Sighting({"scale": moment.scaler.scale_now}, moment.scaler.last_scale_call)


@rule(
    "wrong-scaler",
    on=["unscale"],
    summary="a loss is scaled by one scaler, and its gradients are divided by another",
    happened="The loss was multiplied by the scale {before} of one scaler, and {optimizer} is stepped by "
    "another one, whose scale is {after}.",
    to_do="Use the same scaler for scale(loss) and for unscale_(optimizer), step(optimizer) and update().",
)
def wrong_scaler(loop, moment):
    owner = moment.optimizer
    if owner.gradients != SCALED or moment.data["stage"] != READY:
        return
    first = owner.waiting[0]
    if all(one.scaler is not None and one.scaler is not moment.scaler for one in owner.waiting):
        yield Sighting({"before": first.scale, "after": moment.scaler.scale_now})


@rule(
    "gradient-penalty-still-scaled",
    on=["backward"],
    summary="a penalty is built from gradients that are still scaled",
    happened="Here autograd.grad() returns gradients multiplied by the loss scale {scale}, and the next "
    "backward() uses what is built from them without dividing by it.",
    to_do="Divide these gradients by scaler.get_scale() before you build the penalty from them.",
)
def gradient_penalty(loop, moment):
    pending = loop.penalty
    if pending is not None:
        scale = pending.scaler.scale if pending.scaler is not None else None
        yield Sighting({"scale": scale}, pending.place, pending.step)


RULES = [
    bare_optimizer_step,
    unscaled_backward,
    mixed_scaling,
    gradients_not_zeroed,
    backward_after_unscale,
    scale_changed,
    scaled_twice,
    wrong_scaler,
    gradient_penalty,
]
