"""The rule that ``compare_ranks`` follows, once all ranks have finished."""

from amp_lessons.recorder.rules.rule import Rule

SCALE_DIFFERS = Rule(
    "scale-differs-across-ranks",
    "finding",
    "ranks of one distributed training use different loss scales",
    "At step {step} the ranks use different loss scales ({scales}), although the gradients they share are"
    " an average over all ranks.",
    "Give every rank the same scaler settings, load the scaler's state on every rank, and let every rank "
    "step on the reduced gradients, so that all take the same decision.",
)

RULES = [SCALE_DIFFERS]
