"""Memory of a training step: what autograd keeps for backward, the whole step, and the peak on a GPU."""

from amp_lessons.memory.count import kept_for_backward
from amp_lessons.memory.kept import Kept, Row, text
from amp_lessons.memory.on_gpu import peak
from amp_lessons.memory.step import StepMemory
from amp_lessons.memory.step_traced import trace_step
from amp_lessons.memory.step_without_values import would_need
from amp_lessons.memory.without_values import would_keep

__all__ = [
    "Kept",
    "Row",
    "StepMemory",
    "kept_for_backward",
    "peak",
    "text",
    "trace_step",
    "would_keep",
    "would_need",
]
