"""Rules about the order of unscale_, step and update: what the scaler refuses, and what it lets pass."""

from amp_lessons.recorder.optimizer_state import has_gradients
from amp_lessons.recorder.rules.rule import Sighting, rule
from amp_lessons.recorder.scaler_state import DIVIDED, READY, STEPPED


@rule(
    "unscale-twice",
    on=["unscale"],
    summary="unscale_ is called twice for one optimizer before update",
    happened="The method unscale_ is called a second time for this {optimizer}{shared} although "
    "scaler.update() has not run since the first.",
    to_do="Put unscale_, clipping, step and update together into the branch of the micro-batch that "
    "steps, so that unscale_ runs once per update().",
)
def unscale_twice(loop, moment):
    owner, scaler = moment.optimizer, moment.scaler
    if moment.data["stage"] == DIVIDED:
        yield Sighting()
    elif moment.data["stage"] == READY and owner.backwards and not owner.waiting and not owner.unknown:
        if scaler.scale_now != 1:
            yield Sighting({"shared": "'s parameters, now through another optimizer,"})


@rule(
    "update-without-step",
    on=["update"],
    beside=["bare-optimizer-step"],
    summary="update runs although nothing was unscaled or stepped since the last one",
    happened="The scaler's update() runs although no scaler.step() or unscale_() came since the "
    "{previous}, so it has no inf check to decide on.",
    to_do="Call scaler.update() once after the scaler.step() of each optimizer step, and not on micro-"
    "batches that only accumulate.",
)
def update_without_step(loop, moment):
    if not moment.data["checked"] and not moment.data["given"]:
        yield Sighting({"previous": "last update()" if moment.scaler.updates else "start"})


@rule(
    "missing-update",
    on=["unscale", "step"],
    summary="a second step without update in between",
    happened="The scaler's step() has already run for this {optimizer}, and scaler.update() has not run "
    "since.",
    to_do="Call scaler.update() once after scaler.step(optimizer), in every iteration that steps.",
)
def missing_update(loop, moment):
    if moment.data["stage"] == STEPPED and not moment.data.get("implicit"):
        yield Sighting()


@rule(
    "no-gradients",
    on=["step"],
    beside=["closure-with-scaler"],
    summary="no parameter of the optimizer has a gradient",
    happened="Not one of the {count} parameters of this {optimizer} has a gradient, so there is nothing "
    "to unscale and no inf check is recorded.",
    to_do="Look for a missing backward(), a zero_grad() between backward() and the step, a detached loss, "
    "frozen parameters, or an optimizer built from another copy of the model. If this optimizer is idle on "
    "purpose, skip its scaler.step().",
)
def no_gradients(loop, moment):
    optimizer, stage = moment.optimizer.ref(), moment.data["stage"]
    if optimizer is None or stage == STEPPED or has_gradients(optimizer):
        return
    if stage == READY or not moment.scaler.has_checks_of(id(optimizer)):
        yield Sighting({"count": sum(len(group["params"]) for group in optimizer.param_groups)})


@rule(
    "stepped-twice",
    on=["stepped"],
    summary="optimizer.step() is called after scaler.step() has used the same gradients",
    happened="{optimizer}.step() runs a second time on gradients that scaler.step() has already used.",
    to_do="Keep scaler.step(optimizer) and take optimizer.step() out: scaler.step() calls it for you.",
)
def stepped_twice(loop, moment):
    owner = moment.optimizer
    if moment.data["bare"] and owner.used and not owner.backwards and not owner.unknown:
        scaler = moment.scaler
        if scaler is not None and scaler.stage(id(owner.ref())) == STEPPED:
            yield Sighting()


@rule(
    "closure-with-scaler",
    on=["step"],
    summary="scaler.step is given a closure",
    happened="A closure is given to scaler.step() for this {optimizer}; gradients that a closure computes"
    " inside the step stay multiplied by the loss scale {scale}.",
    to_do="Use BF16 autocast or FP32 without a scaler for optimizers that need a closure.",
)
def closure_with_scaler(loop, moment):
    if moment.data["closure"]:
        yield Sighting({"scale": moment.scaler.scale_now})


@rule(
    "scheduler-on-skipped-step",
    on=["scheduler"],
    summary="the learning-rate schedule moves on although the optimizer step was skipped",
    happened="{name}.step() moves the schedule on, but since its last step the scaler has skipped "
    "{skipped} of {tried} optimizer steps.",
    to_do="Step the scheduler only if the optimizer stepped: remember scaler.get_scale() before "
    "scaler.update(), and step the scheduler if it did not fall.",
)
def scheduler_on_skipped_step(loop, moment):
    tried, done = moment.data["tried"], moment.data["done"]
    if tried > 0 and done == 0:
        yield Sighting({"name": moment.data["name"], "tried": tried, "skipped": tried})


@rule(
    "scale-read-after-update",
    severity="note",
    on=["scale read"],
    summary="get_scale() between update and the next scale describes the next step",
    happened="A get_scale() right after update() gives the scale of the next step, which may differ from "
    "the one that your present loss and gradients were multiplied by.",
    to_do="To undo the scale of a loss or gradient, read get_scale() before update(); for a log this is "
    "fine.",
)
def scale_read_after_update(loop, moment):
    if moment.scaler.just_updated and not moment.scaler.read_since_update:
        yield Sighting()


RULES = [
    unscale_twice,
    update_without_step,
    missing_update,
    no_gradients,
    stepped_twice,
    closure_with_scaler,
    scheduler_on_skipped_step,
    scale_read_after_update,
]
