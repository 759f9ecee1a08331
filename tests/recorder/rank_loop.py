"""One rank's training, for tests that compare ranks."""

import contextlib
import pickle

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from amp_lessons.recorder import record_loop
from tests.recorder.toy_training import half, problem, sgd


def train(net, scale, windows=(contextlib.nullcontext,)):
    """Three steps; each accumulates one backward pass for each of the windows' contexts."""
    _, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=scale)
    for _ in range(3):
        optimizer.zero_grad()
        for window in windows:
            with window():
                with half():
                    loss = nn.functional.mse_loss(net(x), y) / len(windows)
                scaler.scale(loss).backward()  # <- scale-differs-across-ranks
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def work(rank, path, scales, answers):
    """A process of a group of two; puts the pickled recording into the queue."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    net, _, _ = problem()
    model = DistributedDataParallel(net)
    with record_loop() as recording:
        train(model, scales[rank], (model.no_sync, contextlib.nullcontext))
    answers.put((rank, pickle.dumps(recording)))
    dist.destroy_process_group()
