"""What recording costs: python -m tests.recorder.benchmark_overhead (nothing is asserted; it prints)

A model of more than 50 modules, with a batch for which a step takes about 20 ms. Stretches with and without
the recorder take turns, so that a busy machine slows both alike; a round is eight of them and gives two
medians. The first steps of a stretch do not count: caches warm up, and the recorder looks at things that it
then knows.
"""

import argparse
import contextlib
import statistics
import time

import torch
from torch import nn

from amp_lessons.recorder import record_loop

WARM_UP = 8


def block(width):
    return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))


def model(width=128):
    torch.manual_seed(0)
    return nn.Sequential(*(block(width) for _ in range(12)), nn.Linear(width, 1))


def loop(batch, dtype):
    """A generator: one training step at each next()."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1000)
    scaler = torch.amp.GradScaler("cpu", init_scale=128.0, enabled=dtype == torch.float16)
    x = torch.randn(batch, net[-1].in_features)
    while True:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
            loss = net(x).float().square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= before:
            scheduler.step()
        yield


def seconds(steps, count):
    """The seconds of each of `count` steps, after a warm-up."""
    times = []
    for _ in range(WARM_UP + count):
        start = time.perf_counter()
        next(steps)
        times.append(time.perf_counter() - start)
    return times[WARM_UP:]


def batch_for(dtype, wanted):
    """The batch whose step takes about the wanted seconds."""
    batch = 16
    for _ in range(4):
        taken = seconds(loop(batch, dtype), 5)
        batch = max(1, round(batch * wanted / statistics.median(taken)))
    return batch


def measure(dtype, rounds, count, wanted):
    batch = batch_for(dtype, wanted)
    steps = loop(batch, dtype)
    print(f"{dtype}: {len(list(model().modules()))} modules, batch {batch}, {torch.get_num_threads()} thread")
    costs, extras = [], []
    for _ in range(rounds):
        taken = {False: [], True: []}
        for recorded in (False, True, True, False) * 2:
            with record_loop() if recorded else contextlib.nullcontext():
                taken[recorded] += seconds(steps, count)
        without, within = (statistics.median(taken[recorded]) for recorded in (False, True))
        extras.append(within - without)
        costs.append(extras[-1] / without)
        print(f"  {without * 1e3:7.2f} ms without, {within * 1e3:7.2f} ms with: {costs[-1]:+.2%}")
    extra = statistics.median(extras) * 1e6
    print(f"  median {statistics.median(costs):+.2%}, {extra:.0f} microseconds a step")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--milliseconds", type=float, default=20.0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        measure(dtype, arguments.rounds, arguments.steps, arguments.milliseconds / 1e3)


if __name__ == "__main__":
    main()
