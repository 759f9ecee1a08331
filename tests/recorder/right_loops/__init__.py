"""Training loops with nothing wrong in them, in the many ways that people write them."""

from tests.recorder.right_loops import (  # noqa: F401
    around_the_step,
    autocast_regions,
    backward_calls,
    by_hand,
    cleared_by_name,
    clipping,
    code_shapes,
    copies_of_weights,
    frozen_parts,
    optimizers,
    precisions,
    pytorch_recipes,
    runs_begun_anew,
    schedules,
    surrogates,
)
from tests.recorder.right_loops.registry import LOOPS  # noqa: F401
