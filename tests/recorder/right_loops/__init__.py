"""Training loops with nothing wrong in them, in the many ways that people write them."""

from tests.recorder.right_loops import (  # noqa: F401
    around_the_step,
    autocast_regions,
    backward_calls,
    by_hand,
    clipping,
    code_shapes,
    optimizers,
    precisions,
    pytorch_recipes,
    schedules,
)
from tests.recorder.right_loops.registry import LOOPS  # noqa: F401
