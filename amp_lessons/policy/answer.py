"""What an answer about autocast holds, and the rule that follows from the dtypes that came out."""

from dataclasses import dataclass, field

import torch

RULES = ("lower precision", "float32", "promote", "as the input", "refused")


@dataclass(frozen=True)
class Answer:
    """What autocast does with one op on one device.

    rule: one of RULES.
    outputs: input dtypes as a tuple -> the output's dtype, or an error's text where PyTorch refuses. An op
    that takes one tensor has one input dtype; of two, the first is that of the first tensor, the second that
    of all the others. Weights of a normalisation stay float32.
    source: "asked" if PyTorch itself answered, here and now; "listed" if the answer is read from its lists,
    as recorded from the version that the sentence names.
    sentence: the answer in words.
    """

    op: str
    device: str
    dtype: torch.dtype
    rule: str
    outputs: dict = field(hash=False)
    source: str
    sentence: str


def rule_of(outputs, dtype):
    """Derive the rule from what came out for float32, for the lower precision `dtype`, and for a mix."""
    in_float32, in_lower, *mixed = outputs.values()
    if isinstance(in_float32, str):
        return "refused"
    if in_float32 == dtype:
        return "lower precision"
    if in_lower == torch.float32:
        return "float32"
    return "promote" if torch.float32 in mixed else "as the input"
