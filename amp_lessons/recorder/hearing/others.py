"""Learning-rate schedulers, checkpoints, and optimizers made while recording."""

import weakref

from amp_lessons.recorder.hearing.heard import SCALER, hears


@hears("scheduler", part_of=["scheduler"])
def scheduler_step(loop, args, kwargs):
    """A step of a scheduler; one that its own constructor makes only begins the count."""
    scheduler = args[0]
    first = getattr(scheduler, "_is_initial", False) or getattr(scheduler, "_step_count", 1) == 0
    yield
    owner = loop.optimizers.get(id(getattr(scheduler, "optimizer", None)))
    if owner is None:
        return
    ref, tried, done = loop.schedulers.get(id(scheduler), (None, 0, 0))
    if ref is None or ref() is not scheduler:
        for key in [key for key, (gone, _, _) in loop.schedulers.items() if gone() is None]:
            del loop.schedulers[key]
        ref, tried, done = weakref.ref(scheduler), 0, 0
    if not first:
        name = type(scheduler).__name__
        loop.happens("scheduler", owner, name=name, tried=owner.tried - tried, done=owner.done - done)
    loop.schedulers[id(scheduler)] = ref, owner.tried, owner.done


@hears("make optimizer")
def optimizer_made(loop, args, kwargs):
    """Gradients that are there when an optimizer is made come from the last backward."""
    yield
    state = loop.optimizer_state(args[0])
    if state.unknown and loop.last_backward is not None:
        state.unknown = False
        state.receive_from(loop.last_backward)


@hears("load optimizer")
def optimizer_load(loop, args, kwargs):
    yield
    state = loop.optimizer_state(args[0])
    place = loop.happens("load optimizer", optimizer=state).place
    if state.tried or (loop.trained and not loop.saved):
        # Training starts anew in this very run, as the folds of a cross-validation do: no checkpoint.
        loop.withdrawn.add("resume-without-scaler-state")
    elif loop.trained and not loop.saved_beside_scaler:
        pass  # what was trained here until it was saved had no scaler: there is no state of one to load
    elif _comes_from_training(args[0], state):
        state.loaded = place


def _comes_from_training(optimizer, state):
    """Return whether the state that was loaded may be one that training left behind."""
    if optimizer.state:
        return True
    plain_sgd = all(group.get("momentum", 1) == 0 for group in optimizer.param_groups)
    return plain_sgd and not state.saved_untrained  # it keeps nothing, so its state never tells


@hears("save optimizer", part_of=["load optimizer"])
def optimizer_saved(loop, args, kwargs):
    yield
    if loop.trained:
        loop.saved = True
        loop.saved_beside_scaler = loop.saved_beside_scaler or loop.scaler_met
    else:
        loop.optimizer_state(args[0], active=False).saved_untrained = True


@hears("make scaler")
def scaler_made(loop, args, kwargs):
    yield
    state = loop.scaler_state(args[0])
    state.made_here = True
    start = getattr(args[0], "_init_scale", None)
    state.starts_as_read = any(one.was_read_at(start) for one in loop.scalers.values() if one is not state)


@hears("load scaler", part_of=SCALER)
def scaler_load(loop, args, kwargs):
    yield
    state = loop.scaler_state(args[0])
    state.loaded = True
    loop.happens("load scaler", scaler=state)
    state.look_at_scale(loop.step)


@hears("state dict", part_of=SCALER)
def scaler_state_dict(loop, args, kwargs):
    """Reads the scale: for a checkpoint if update() has just run, else perhaps to divide by it."""
    state = loop.scaler_state(args[0])
    if state.enabled and not state.just_updated:
        state.scale_was_read = state.scale_is_known = True
        loop.penalty = None
    yield


@hears("copy scaler", part_of=SCALER)
def scaler_copied(loop, args, kwargs):
    """Pickling and copying read the scale, but not for the loop."""
    yield
