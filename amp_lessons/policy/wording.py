"""An answer about autocast in plain sentences.

Reasons are those that PyTorch's documentation of torch.amp gives, or arithmetic. Most ops have none.
"""

import torch

from amp_lessons.policy import recorded

_FASTER = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose2d")
_REDUCTIONS = ("sum", "cumsum", "norm", "logsumexp")
_BEYOND_FP16 = {
    "exp": "exp(12)",
    "expm1": "expm1(12)",
    "pow": "256 squared",
    "prod": "256 times 256",
    "cumprod": "256 times 256",
}


def sentence_of(op, device, dtype, rule, outputs, source):
    """Say in one to three sentences what autocast does with an Op."""
    parts = [
        _what_happens(op, device, dtype, rule),
        _what_it_calls(op, device),
        _mix_refused(rule, outputs),
        _reason(op, device, dtype, rule),
    ]
    if source == "listed":
        version = recorded.RECORDED_FROM
        parts.append(f"Read from the lists of PyTorch {version}: this op cannot be asked here.")
    return " ".join(part for part in parts if part)


def _what_happens(op, device, dtype, rule):
    name, low, place = op.name, str(dtype).removeprefix("torch."), device.upper()
    where = f"under {place} autocast"
    if rule == "lower precision":
        return f"{name} computes in {low} {where}: float32 inputs are cast to {low} first."
    if rule == "float32":
        return f"{name} computes in float32 {where}: its output is float32, also for 16-bit inputs."
    if rule == "refused":
        return (
            f"{name} is refused {where}, whatever comes in: leave out the sigmoid and use "
            "binary_cross_entropy_with_logits."
        )
    if rule == "promote" and recorded.RULES[device].get(name) == "promote":
        return f"{name} computes in the widest dtype among its inputs {where}: one float32 input is enough."
    if _calls_with_rules(op, device):
        unlisted = f"{place} autocast has no rule for {name} itself"
        return f"{unlisted}: its output has the dtype that comes in, the widest where they differ."
    if rule == "promote":
        return f"{place} autocast leaves {name} alone: PyTorch itself gives the widest dtype that comes in."
    return f"{place} autocast leaves {name} alone: its output has the dtype that comes in."


def _calls_with_rules(op, device):
    """Where the op itself is on no list: the ops that it calls and that are on one."""
    rules = recorded.RULES[device]
    return [] if op.name in rules else [name for name in op.calls if name in rules]


def _what_it_calls(op, device):
    calls = _calls_with_rules(op, device)
    found = " and ".join(f"{name} ({recorded.RULES[device][name]})" for name in calls)
    return f"Inside it calls {found}." if calls else ""


def _mix_refused(rule, outputs):
    _, _, *mixed = outputs.values()
    refused = rule != "refused" and any(isinstance(output, str) for output in mixed)
    return "It refuses a mix of dtypes." if refused else ""


def _reason(op, device, dtype, rule):
    slow = device == "cpu" and dtype == torch.float16  # most CPUs have no fast arithmetic for it
    if rule == "lower precision" and op.name in _FASTER and not slow:
        return "PyTorch's documentation: linear layers and convolutions are much faster that way."
    if rule == "float32" and dtype == torch.float16 and op.name in _BEYOND_FP16:
        return f"Even {_BEYOND_FP16[op.name]} is beyond float16's largest number, 65504."
    if rule == "float32" and op.name in _REDUCTIONS:
        return "PyTorch's documentation: reductions often need the range of float32."
    return ""
