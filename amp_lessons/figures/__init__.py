"""Every figure of the lessons; each function returns a ``Picture`` that a cell displays as its last value.

No figure goes through pyplot, so none piles up and none shows by itself. All numbers in a figure, its title
and its alternative text come from the arguments or from ``formats``.
"""

from amp_lessons.figures.activation_sizes import activation_sizes
from amp_lessons.figures.distributions import gradient_magnitudes
from amp_lessons.figures.memory_timeline import memory_timeline
from amp_lessons.figures.number_lines import around_one, format_ranges
from amp_lessons.figures.picture import Picture, show, to_html
from amp_lessons.figures.running_sums import running_sums
from amp_lessons.figures.scale_trace import scale_trace
from amp_lessons.figures.precision_table import precision_table
from amp_lessons.figures.product_speed import product_speed
from amp_lessons.figures.step import mixed_precision_step
from amp_lessons.figures.style import PRECISION_COLOURS, PRECISION_MARKERS, new_figure
from amp_lessons.figures.training import share_lost_over_training, training_runs

__all__ = [
    "PRECISION_COLOURS",
    "PRECISION_MARKERS",
    "Picture",
    "activation_sizes",
    "around_one",
    "format_ranges",
    "gradient_magnitudes",
    "memory_timeline",
    "mixed_precision_step",
    "new_figure",
    "precision_table",
    "product_speed",
    "running_sums",
    "scale_trace",
    "share_lost_over_training",
    "show",
    "to_html",
    "training_runs",
]
