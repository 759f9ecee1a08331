"""Rules about where an autocast region begins and ends."""

from amp_lessons.recorder.rules.rule import Sighting, rule


@rule(
    "backward-inside-autocast",
    on=["backward"],
    summary="backward runs while autocast is on",
    happened="Autocast is still on when backward() runs on {device}, so matrix products of the backward "
    "are cast to 16 bits also where the forward kept FP32.",
    to_do="End the autocast block after the loss, and call backward() outside it.",
)
def backward_inside_autocast(loop, moment):
    if moment.data["autocast"]:
        yield Sighting({"device": moment.data["device"]})


@rule(
    "step-inside-autocast",
    on=["stale cache"],
    summary="weights change inside an autocast block that keeps 16-bit copies of them",
    happened="{optimizer}.step() changes the weights inside an open autocast block; whatever follows in that "
    "block would go on using the 16-bit copies made before.",
    to_do="Enter autocast once per forward pass and leave it before the step. If that is impossible, call "
    "torch.clear_autocast_cache() after the step.",
)
def step_inside_autocast(loop, moment):
    yield Sighting()


RULES = [backward_inside_autocast, step_inside_autocast]
