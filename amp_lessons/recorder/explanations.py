"""Which rule explains which of PyTorch's own exceptions."""

import dis
import re

from amp_lessons.recorder.places import is_theirs

# Loosely: PyTorch's wording changes between versions.
_MEANINGS = [
    (r"unscale_\(\) has already been called", "unscale-twice"),
    (r"unscale_\(\) is being called after step", "missing-update"),
    (r"step\(\) has already been called since the last update", "missing-update"),
    (r"unscale FP16 gradients", "half-parameters-with-scaler"),
    (r"No inf checks were recorded prior to update", "update-without-step"),
    (r"No inf checks were recorded for this optimizer", "no-gradients"),
    (r"Attempted update but _scale is None", "update-without-step"),
    (r"Attempted \w+ but _scale is None", "unscaled-backward"),
    (r"Closure use is not currently supported", "closure-with-scaler"),
    (r"unsafe to autocast", "bce-under-autocast"),
    (r"unsupported ScalarType BFloat16", "numpy-without-bf16"),
    (r"cannot be converted to type .*(Half|BFloat16) without overflow", "constant-too-large-for-fp16"),
    (r"quantile\(\) input tensor must be", "op-needs-fp32"),
    (r"not implemented for '(Half|BFloat16)'", "op-needs-fp32"),
    (
        r"(have|has|expected|to have|requires) .*(same|matching|match) .*(dtype|scalar type)s?",
        "dtype-mismatch",
    ),
    (r"dtypes? .*match|match.* dtypes?", "dtype-mismatch"),
    (r"mixed dtype", "dtype-mismatch"),
    (r"expected scalar type \w+ but found", "dtype-mismatch"),
    (r"Found dtype \w+ but expected", "dtype-mismatch"),
    (r"(Input|input) type .* and (weight|bias|hidden).* (type|should be the same)", "dtype-mismatch"),
    (r"expected m1 and m2 to have the same dtype", "dtype-mismatch"),
    (r"[Ee]xpected self\.dtype to be equal to src\.dtype", "dtype-mismatch"),
    (r"self and (the )?(src|source|other).*(same|scalar) (dtype|type)", "dtype-mismatch"),
]

_NAMED = r"(?i)\b(double|float|float32|float64|int|long|bool)\b"
_NAMED_16_BIT = r"(?i)half|bfloat16|float16|mixed dtype"


def _raised_by_hand(error) -> bool:
    """Return whether a ``raise`` outside PyTorch raised the exception."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not is_theirs(last.tb_frame.f_code.co_filename):
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def rule_that_explains(error: BaseException) -> str | None:
    """Return the name of the rule that explains an exception of PyTorch's, or None."""
    if not isinstance(error, (RuntimeError, AssertionError, ValueError, TypeError)):
        return None
    if _raised_by_hand(error):
        return None
    text = str(error)
    name = next((name for pattern, name in _MEANINGS if re.search(pattern, text)), None)
    if name == "dtype-mismatch" and re.search(_NAMED, text) and not re.search(_NAMED_16_BIT, text):
        return None  # float32 beside float64 or integers: not autocast's doing
    return name
