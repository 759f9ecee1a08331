"""Rules that only an exception of PyTorch's brings up; ``explanations`` says which message means which."""

from amp_lessons.recorder.rules.rule import Rule


def _explains(name, summary, happened, to_do):
    return Rule(name, "finding", summary, happened, to_do)


RULES = [
    _explains(
        "dtype-mismatch",
        "tensors of different dtypes meet where autocast casts nothing",
        "Tensors of different dtypes meet where autocast does not cast them ({error}).",
        "Convert one to the dtype of the other: .float(), or .to(other.dtype). A layer after the autocast "
        "block may also move into it: leaving autocast, or disabling it, does not convert tensors back.",
    ),
    _explains(
        "constant-too-large-for-fp16",
        "a constant does not fit into a 16-bit tensor",
        "A constant is too large for this tensor's dtype ({error}); float16 ends at 65504.",
        "Use torch.finfo(x.dtype).min in place of the constant.",
    ),
    _explains(
        "bce-under-autocast",
        "binary_cross_entropy on probabilities is not allowed under autocast",
        "binary_cross_entropy takes probabilities, which 16 bits round to exactly 0 or 1 ({error}).",
        "Give the logits to binary_cross_entropy_with_logits (BCEWithLogitsLoss).",
    ),
    _explains(
        "numpy-without-bf16",
        "NumPy has no bfloat16",
        "A bfloat16 tensor is turned into a NumPy array, and NumPy has no such number ({error}).",
        "Call .float() first: tensor.float().cpu().numpy().",
    ),
    _explains(
        "op-needs-fp32",
        "an operation does not exist for 16-bit tensors",
        "This operation does not work on 16-bit tensors ({error}).",
        "Call it on x.float().",
    ),
]
