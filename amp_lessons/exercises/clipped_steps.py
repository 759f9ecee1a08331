"""Says whether a recorded loop clipped its gradients as an FP32 loop does, or what it did instead."""

import math

from amp_lessons.exercises.converted_loop import first_place, not_yet
from amp_lessons.exercises.exercise import NotYet

_CLOSE = 0.03  # FP16's gradients differ from FP32's by less


def look_at_clipping(training, limit, free):
    """NotYet unless the steps of a Trained with one job used gradients clipped to a norm of `limit`.

    In that job a gradient has either a norm well above the limit, or one below it, `free`.
    """
    recording, norms = training.recording, training.norms[0]
    finding = next((one for one in recording.findings if one.rule == "clip-before-unscale"), None)
    if finding is not None:
        raise _clipped_while_scaled(recording.events, finding)
    odd = next((norm for norm in norms if not (_near(norm, limit) or _near(norm, free))), None)
    if odd is not None:
        raise _not_clipped(recording.events, odd, limit) if odd > limit else _too_small(recording, odd, limit)
    stepped = next((event for event in recording.events if event.kind == "stepped"), None)
    if not norms and stepped is not None:
        raise not_yet(
            "another-optimizer",
            stepped.place,
            "The optimizer that train is given took no step: this is another one.",
            "Step the optimizer you are given. A conversion to AMP leaves it, and its settings, as they are.",
        )
    if not any(_near(norm, limit) for norm in norms):
        raise NotYet(
            f"Of {recording.steps} steps only {len(norms)} were taken, none of them with anything to clip: "
            "your scaler's scale starts so high that the others were skipped. Start lower."
        )


def _near(norm, wanted):
    return abs(norm - wanted) <= _CLOSE * wanted


def _clipped_while_scaled(events, finding):
    clips = [event for event in events if event.kind == "clip" and str(event.place) == finding.place]
    place = clips[0].place if clips else first_place(events, "step")
    happened = finding.happened
    # A number says more than the inf of a step that overflowed.
    norm = next((norm for clip in clips if math.isfinite(norm := clip.data.get("norm") or math.inf)), None)
    if norm is not None:
        happened = (
            "Gradients are clipped while they are still multiplied by the loss scale, so your limit is "
            f"compared with a norm of {norm:,.0f}."
        )
    unscale = next((one for one in events if one.kind == "unscale" and not one.data["implicit"]), None)
    if unscale is None:
        return not_yet(finding.rule, place, happened, finding.to_do)
    return not_yet(
        "unscale-after-clip",
        place,
        f"{happened} Your unscale_ comes only after that ({unscale.place}).",
        "Move scaler.unscale_(optimizer) up: after backward(), before you clip.",
    )


def _not_clipped(events, norm, limit):
    """What to say of a step with a gradient whose norm is above the limit."""
    kinds = [event.kind for event in events if event.kind in ("clip", "step")]
    step = first_place(events, "step")
    clip = next((event for event in events if event.kind == "clip"), None)
    said = f"The optimizer stepped with a gradient of norm {norm:.3g}; the FP32 script's limit is {limit:g}."
    if clip is None:
        return not_yet(
            "forgets-the-clip",
            step,
            f"{said} Nothing clips the gradients before this step.",
            "Clip as the script does, between backward and step. There the gradients may still be multiplied "
            "by the scale: which call divides them?",
        )
    if kinds[0] == "step":
        return not_yet(
            "clip-after-step",
            clip.place,
            f"{said} You clip when the step is over.",
            "Clip between scaler.unscale_(optimizer) and scaler.step(optimizer).",
        )
    if clip.data["function"] == "clip_grad_value_":
        return not_yet(
            "clips-by-value",
            clip.place,
            f"{said} clip_grad_value_ cuts each entry by itself, not the norm.",
            "Use nn.utils.clip_grad_norm_, as the script does.",
        )
    used = clip.data["limit"]
    if _is_number(used) and used >= 1000 * limit:
        return not_yet(
            "clips-by-scaled-limit",
            clip.place,
            f"{said} After unscale_ the gradients have their true size, and you compare them with {used:g}: "
            "nothing reaches that.",
            f"After unscale_ the script's own limit holds: {limit:g}.",
        )
    return _another_limit(clip, said, limit) or not_yet(
        "clips-something-else",
        clip.place,
        f"{said} Something is clipped here, but not all gradients together in every step.",
        f"Give all parameters to one call, in every step: clip_grad_norm_(model.parameters(), {limit:g}).",
    )


def _too_small(recording, norm, limit):
    """What to say of a step with a gradient smaller than the FP32 script's."""
    step = first_place(recording.events, "step")
    clip = next((event for event in recording.events if event.kind == "clip"), None)
    said = f"The optimizer stepped with a gradient of norm {norm:.3g}, smaller than the FP32 script's."
    if clip is not None and _another_limit(clip, said, limit):
        return _another_limit(clip, said, limit)
    if 1000 * norm < limit:
        return not_yet(
            "divided-twice",
            step,
            f"{said} scaler.step() divides by the scale whatever scaler.unscale_() has not divided, and here "
            "it had been divided already.",
            "Call scaler.unscale_(optimizer) in place of dividing yourself: the scaler then knows.",
        )
    return NotYet(f"{said} Change nothing but what the script clips: a norm above {limit:g}.")


def _another_limit(clip, said, limit):
    used = clip.data["limit"]
    if not _is_number(used) or math.isclose(used, limit):
        return None
    return not_yet(
        "another-limit",
        clip.place,
        f"{said} You clip at {used:g}, the script at {limit:g}.",
        f"Clip the unscaled gradients at the script's limit, {limit:g}.",
    )


def _is_number(value):
    return type(value) in (int, float)
