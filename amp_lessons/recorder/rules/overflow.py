"""Rules about skips, the scale's course, and inf or NaN in the forward pass."""

from amp_lessons.recorder.rules.rule import Sighting, rule

_BUFFERS_LOOKED_AT = 100  # skips; a look takes some hundredths of a second
_A_FEW = 3  # a scale that began near 1 falls below it with a single bad batch
_MANY_IN_A_ROW = 60  # more than any calibration takes: 2.0 ** 60 is larger than any useful start


@rule(
    "forward-overflow",
    on=["skip"],
    summary="the loss is inf or NaN before it is scaled",
    happened="The loss is {loss} before scaling, so the overflow happens in the forward pass, and a "
    "smaller loss scale cannot help; the scaler skipped the step.{where}",
    to_do="Look for the first module with a non-finite output. Use bfloat16, or run that module in float32 "
    "(autocast disabled, inputs .float()); check the batch for inf or NaN as well.",
)
def forward_overflow(loop, moment):
    found = moment.scaler.non_finite_loss()
    if found is not None:
        place, step, value = found
        yield Sighting({"loss": value, "where": loop.scan or ""}, place, step)


@rule(
    "scale-collapse",
    on=["updated", "skip"],
    summary="the loss scale falls below 1, or every step is skipped",
    happened="The loss scale is {scale} after {in_a_row} skipped steps in a row; the unscaled loss was "
    "{finite}.",
    to_do="A scale below 1 is a symptom: look at the forward pass and the loss for the first inf or NaN, "
    "and at the batch. No loss scale can mend it.",
)
def scale_collapse(loop, moment):
    scaler = moment.scaler
    if moment.kind == "updated":
        scale = moment.data["scale"]
        fell = scale is not None and scale < 1 and scaler.in_a_row >= _A_FEW
        if not fell:
            return
    elif scaler.in_a_row != _MANY_IN_A_ROW:
        return
    found = scaler.non_finite_loss()
    yield Sighting(
        {
            "scale": scaler.scale,
            "in_a_row": scaler.in_a_row,
            "finite": "finite" if found is None else f"{found[2]}",
        }
    )


@rule(
    "calibration-skips",
    severity="note",
    on=["skip"],
    beside=["scale-collapse", "non-finite-buffers"],
    summary="skipped steps while the scaler finds its scale: normal",
    happened="The scaler skipped step {step}: gradients overflowed at scale {scale}. This is how it finds"
    " its scale.",
    to_do="Nothing, as long as skips become rare and the scale stays above 1.",
)
def calibration_skips(loop, moment):
    scaler = moment.scaler
    early = loop.step < 20
    interval = getattr(scaler.ref(), "_growth_interval", 2000)
    if (early or scaler.clean_since_skip >= interval) and scaler.non_finite_loss() is None:
        yield Sighting({"step": moment.step, "scale": scaler.scale})


@rule(
    "non-finite-buffers",
    on=["skip"],
    summary="inf or NaN has got into running statistics, which a skipped step does not protect",
    happened="The step was skipped, but {names} now holds inf or NaN: the forward pass changed it before "
    "the scaler saw anything, and evaluation will use it.",
    to_do="Prevent the overflow in the forward pass; reset or restore these buffers, for they do not "
    "recover.",
)
def non_finite_buffers(loop, moment):
    optimizer = moment.optimizer.ref()
    if optimizer is None or moment.scaler.skipped > _BUFFERS_LOOKED_AT:
        return
    names = loop.models.non_finite(optimizer)
    if names:
        more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
        yield Sighting({"names": f"buffer {names[0]}{more}"})


RULES = [non_finite_buffers, forward_overflow, scale_collapse, calibration_skips]
