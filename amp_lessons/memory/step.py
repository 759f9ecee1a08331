"""What a training step needs, as numbers and as a table."""

from dataclasses import dataclass

from amp_lessons.memory.kept import text

FORWARD, BACKWARD, OPTIMIZER_STEP = PHASES = ("forward", "backward", "optimizer step")

PARAMETERS, OPTIMIZER_STATE, GRADIENTS = "parameters", "optimizer state", "gradients"
DATA, ACTIVATIONS, WEIGHT_COPIES, TEMPORARY = "data", "activations", "weight copies", "temporary"
KINDS = (PARAMETERS, OPTIMIZER_STATE, GRADIENTS, DATA, ACTIVATIONS, WEIGHT_COPIES, TEMPORARY)


@dataclass(frozen=True, repr=False)
class StepMemory:
    """The bytes of tensors that live during one training step. print() shows it as a table.

    peak: the most that lived at once.
    peak_phase: when: "forward", "backward" or "optimizer step".
    at_peak: a dict from kind to bytes, what the peak was made of.
    largest: a dict from kind to bytes, the most of this kind at any moment. The moments differ, so that the
    sum may be more than the peak.
    timeline: a tuple of pairs (phase, dict from kind to bytes), what lived at the start, then after each
    change. What one operation makes is one change, and so is what is let go between two operations.

    The kinds, in this order:
    "parameters": the model's parameters and buffers.
    "optimizer state": what the optimizer remembers from step to step.
    "gradients": what ends up in the parameters' .grad.
    "data": what else was there before the step: inputs and targets.
    "activations": what the forward pass makes and leaves for backward.
    "weight copies": copies of parameters in another dtype, as autocast makes them.
    "temporary": all else: gradients of activations, results that are let go again, the loss itself.
    """

    peak: int
    peak_phase: str
    at_peak: dict
    largest: dict
    timeline: tuple

    def __str__(self):
        lines = [("", "at the peak", "largest")]
        lines += [(kind, text(self.at_peak[kind]), text(self.largest[kind])) for kind in KINDS]
        lines.append(("together", text(self.peak), ""))
        widths = [max(map(len, column)) for column in zip(*lines)]
        rows = [
            f"{kind:<{widths[0]}}  {peak:>{widths[1]}}  {largest:>{widths[2]}}".rstrip()
            for kind, peak, largest in lines
        ]
        where = "the optimizer step" if self.peak_phase == OPTIMIZER_STEP else self.peak_phase
        return "\n".join([f"peak of the step  {text(self.peak)}, in {where}", "", *rows])

    __repr__ = __str__  # so that a cell can end in it


def summed_up(moments):
    """The StepMemory of moments, pairs (phase, dict from kind to bytes) in order, at least one."""
    timeline = tuple((phase, dict(living)) for phase, living in moments)
    peak_phase, at_peak = max(timeline, key=lambda moment: sum(moment[1].values()))
    return StepMemory(
        peak=sum(at_peak.values()),
        peak_phase=peak_phase,
        at_peak=dict(at_peak),
        largest={kind: max(living[kind] for _, living in timeline) for kind in KINDS},
        timeline=timeline,
    )
