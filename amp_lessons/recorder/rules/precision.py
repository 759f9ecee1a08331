"""Rules about dtypes, devices and autocast's settings."""

import torch

from amp_lessons.recorder.optimizer_state import UNSCALED
from amp_lessons.recorder.rules.rule import Rule, Sighting, rule
from amp_lessons.recorder.scaler_state import READY


@rule(
    "fp16-without-scaler",
    on=["stepped", "stepped early"],
    summary="FP16 autocast with a plain backward and a step, no loss scaling",
    happened="The forward ran in float16, backward() ran on an unscaled loss, and {optimizer} stepped: "
    "small gradients become 0 in float16{disabled}.",
    to_do="Scale the loss with torch.amp.GradScaler, or use bfloat16, which needs no scaler.",
)
def fp16_without_scaler(loop, moment):
    owner = moment.optimizer
    if moment.kind == "stepped early":
        if moment.data["scaling"] == UNSCALED and "float16" in moment.data["dtypes"]:
            yield Sighting({"disabled": ""})
    elif moment.data["bare"] and owner.gradients == UNSCALED and not owner.edited:
        half = next((one for one in owner.waiting if "float16" in one.dtypes), None)
        if half is not None and not owner.may_be_divided():
            off = any(not scaler.enabled for scaler in loop.scalers.values())
            words = ", and the scaler is there but disabled" if off else ""
            yield Sighting({"disabled": words}, half.place, half.step)


@rule(
    "scaler-with-bf16",
    on=["unscale"],
    summary="a gradient scaler together with bfloat16",
    happened="The loss is scaled by {scale}, but the forward ran in bfloat16, which has the range of "
    "float32: there is nothing for a scaler to rescue.",
    to_do="Enable the scaler for float16 only: torch.amp.GradScaler(device, enabled=dtype == torch.float16).",
)
def scaler_with_bf16(loop, moment):
    owner = moment.optimizer
    scaled = [one for one in owner.waiting if one.kind == "scaled"]
    first = next((one for one in scaled if "bfloat16" in one.dtypes and "float16" not in one.dtypes), None)
    if first is not None and moment.data["stage"] == READY:
        yield Sighting({"scale": first.scale}, moment.scaler.last_scale_call or first.place, first.step)


# Only where PyTorch refuses: some scalers and fused optimizers are made to take float16 gradients.
half_parameters = Rule(
    "half-parameters-with-scaler",
    "finding",
    "trainable parameters are float16 although a scaler is used",
    "Trainable parameters of this {optimizer} are float16, and the scaler refuses to unscale float16 "
    "gradients.",
    "Keep trainable parameters in float32 (p.data = p.data.float(), and drop a p.grad that is there) and let "
    "autocast cast; frozen ones may stay float16.",
)


@rule(
    "autocast-wrong-device",
    on=["backward"],
    summary="autocast is on for another device than the tensors'",
    happened="You ask for autocast on {asked}, but the loss lies on {device}: the forward ran without "
    "autocast.",
    to_do="Take the device type from the tensors: torch.autocast(device_type=x.device.type, ...).",
)
def autocast_wrong_device(loop, moment):
    device = moment.data["device"]
    asked = [region for region in loop.regions.values() if region.wanted and region.grad]
    ran_on = {device, *moment.data["devices"]}  # a loss may be moved to the CPU at its end
    if asked and all(region.device not in ran_on for region in asked) and device != "meta":
        first = asked[0]
        yield Sighting({"asked": first.device, "device": device}, first.place, moment.step)


@rule(
    "autocast-default-dtype",
    severity="note",
    on=["autocast on"],
    summary="autocast without a dtype takes the device's default",
    happened="The autocast for {device} is given no dtype and takes this device's default, {dtype}.",
    to_do="Say which you mean, dtype=torch.float16 or dtype=torch.bfloat16: the default differs between "
    "devices.",
)
def autocast_default_dtype(loop, moment):
    if moment.data["default"]:
        yield Sighting({"device": moment.data["device"], "dtype": moment.data["dtype"]})


@rule(
    "low-precision-parameters",
    severity="note",
    on=["stepped"],
    summary="the parameters themselves are 16-bit numbers",
    happened="{optimizer} trains parameters in {dtype}: an update smaller than half the spacing of such "
    "numbers is lost{eps}.",
    to_do="Keep the parameters in float32 and let autocast compute in 16 bits, unless your optimizer keeps "
    "float32 copies of them or rounds at random.",
)
def low_precision_parameters(loop, moment):
    optimizer = moment.optimizer.ref()
    if moment.optimizer.tried > 1 or optimizer is None:
        return
    for group in optimizer.param_groups:
        dtypes = {p.dtype for p in group["params"] if p.requires_grad and p.grad is not None}
        for dtype in (torch.float16, torch.bfloat16):
            if dtype in dtypes:
                eps = group.get("eps", 0)
                lost = eps and torch.tensor(eps, dtype=dtype).item() == 0
                words = f", and the optimizer's eps of {eps:g} is 0 in float16" if lost else ""
                yield Sighting({"dtype": str(dtype).removeprefix("torch."), "eps": words})
                return


RULES = [
    fp16_without_scaler,
    scaler_with_bf16,
    half_parameters,
    autocast_wrong_device,
    autocast_default_dtype,
    low_precision_parameters,
]
