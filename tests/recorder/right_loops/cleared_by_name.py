"""The cache of 16-bit copies is cleared under a name taken before the recording: nobody hears this call."""

import torch
from torch import clear_autocast_cache, nn

from tests.recorder.right_loops.registry import right
from tests.recorder.toy_training import problem, sgd


def bf16(**options):
    return torch.autocast("cpu", dtype=torch.bfloat16, **options)


@right(
    line="clear_autocast_cache()",
    becomes="pass",
    finds={"step-inside-autocast": "optimizer.step()"},
)
def cleared_under_a_name_of_its_own():
    net, x, y = problem()
    optimizer = sgd(net)
    with bf16():
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(x), y)
            with bf16(enabled=False):
                loss.backward()
            optimizer.step()
            clear_autocast_cache()
