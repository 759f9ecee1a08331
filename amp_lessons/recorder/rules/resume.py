"""Rules about checkpoints."""

from amp_lessons.recorder.rules.rule import Sighting, rule


@rule(
    "resume-without-scaler-state",
    on=["unscale"],
    summary="the optimizer's state was loaded, the scaler's was not",
    happened="This {optimizer} was loaded from a checkpoint, but the scaler was not: it starts again at "
    "{scale}.",
    to_do="Save scaler.state_dict() with the checkpoint, and call scaler.load_state_dict() before the "
    "first step.",
)
def resume_without_scaler_state(loop, moment):
    loaded, scaler = moment.optimizer.loaded, moment.scaler
    if (
        loaded is not None
        and scaler.made_here
        and not scaler.starts_as_read
        and scaler.loaded_before_first_scale is False
        and scaler.updates == 0
    ):
        yield Sighting({"scale": scaler.scale}, loaded)


RULES = [resume_without_scaler_state]
