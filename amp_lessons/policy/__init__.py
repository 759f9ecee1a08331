"""Which dtype autocast gives an op, on cuda, cpu or mps, also where that device is absent.

    policy.ask("softmax", device="cuda", dtype=torch.float16).sentence

CPU and GPU follow different lists, so a CPU's answer is never shown as another device's. PyTorch itself is
asked; only where it cannot be is the answer read from its lists, and says so. An answer is about dtypes:
whether an absent device has a kernel for that dtype is not part of it.
"""

import dataclasses
import difflib
import functools

import torch

from amp_lessons.policy import asking, recorded
from amp_lessons.policy.answer import RULES, Answer, rule_of
from amp_lessons.policy.ops import TABLE
from amp_lessons.policy.wording import sentence_of

__all__ = ["DEVICES", "DTYPES", "OPS", "RULES", "Answer", "ask", "differences", "of_list"]

OPS = tuple(TABLE)
DEVICES = ("cuda", "cpu", "mps")
DTYPES = (torch.float16, torch.bfloat16)


def ask(op, device="cuda", dtype=torch.float16):
    """Say what autocast does with an op: gives an Answer. That takes milliseconds, the first time a second.

    op: a name from OPS. device: one of DEVICES. dtype: autocast's lower precision, one of DTYPES.
    ValueError for anything else.
    """
    answer = _ask(_checked_op(op), _checked_device(device), _checked_dtype(dtype))
    return dataclasses.replace(answer, outputs=dict(answer.outputs))


def of_list(rule, device="cuda", dtype=torch.float16):
    """Give the names of all ops with this rule, one of RULES, in the order of OPS. ValueError: see `ask`."""
    if rule not in RULES:
        raise ValueError(_unknown("rule", rule, RULES))
    return tuple(op for op in OPS if ask(op, device, dtype).rule == rule)


def differences(dtype=torch.float16):
    """Give the names of the ops whose rule differs between cuda and cpu. ValueError: see `ask`."""
    return tuple(op for op in OPS if ask(op, "cuda", dtype).rule != ask(op, "cpu", dtype).rule)


@functools.cache
def _ask(name, device, dtype):
    op = TABLE[name]
    outputs = asking.outputs_of(op, device, dtype)
    source = "asked" if outputs else "listed"
    if outputs:
        rule = rule_of(outputs, dtype)
    else:
        outputs = recorded.outputs_of(op, device, dtype, asking.combinations(op, dtype))
        rule = recorded.rule_of(op, device)
    sentence = sentence_of(op, device, dtype, rule, outputs, source)
    return Answer(name, device, dtype, rule, outputs, source, sentence)


def _checked_op(op):
    if isinstance(op, str) and op in TABLE:
        return op
    raise ValueError(_unknown("op", op, OPS) + " policy.OPS has all of them.")


def _checked_device(device):
    kind = device.type if isinstance(device, torch.device) else device
    if isinstance(kind, str) and kind in DEVICES:
        return kind
    raise ValueError(_unknown("device", device, DEVICES))


def _checked_dtype(dtype):
    if isinstance(dtype, torch.dtype) and dtype in DTYPES:
        return dtype
    raise ValueError(
        f"Autocast's lower precision is torch.float16 or torch.bfloat16 here, not {_short(dtype)}. "
        "Pass one of the two."
    )


def _unknown(what, given, known):
    """Say that there is no such name, and which are near: "nn.Softmax" is near "softmax"."""
    plain = given.rpartition(".")[2].lower() if isinstance(given, str) else ""
    near = difflib.get_close_matches(plain, known, n=3, cutoff=0.5) if len(known) > 5 else known
    near = near or known[:5]
    return f"There is no {what} {_short(given)} here. Try {' or '.join(repr(name) for name in near)}."


def _short(given):
    text = repr(given)
    return text if len(text) < 80 else f"of type {type(given).__name__}"
