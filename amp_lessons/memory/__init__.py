"""The bytes that autograd keeps for backward and where they come from; peak memory on a GPU."""

from amp_lessons.memory.count import kept_for_backward
from amp_lessons.memory.kept import Kept, Row, text
from amp_lessons.memory.on_gpu import peak
from amp_lessons.memory.without_values import would_keep

__all__ = ["Kept", "Row", "kept_for_backward", "peak", "text", "would_keep"]
