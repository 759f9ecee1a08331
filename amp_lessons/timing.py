"""Honest timing: warm up, wait for the device, repeat, and give the median."""

import statistics
import time
from typing import NamedTuple

import torch


class Timing(NamedTuple):
    """What was measured, in seconds per call."""

    median: float
    spread: tuple  # (lower quartile, upper quartile): the middle half of the calls lies between them
    repeats: int  # how many calls were timed; fewer than asked for when the time was spent
    raw: tuple  # every timed call, in order


def median_seconds(function, device, warmup=3, repeats=10, at_most_seconds=1.0):
    """Time `function()` on `device` and give a Timing.

    device: "cpu", "cuda", "mps", "xpu" or a torch.device; where the function's work runs.
    warmup: calls that are made first and not timed. They pay for memory, caches and choosing kernels.
    repeats: calls that are timed. The median ignores a call that something else on the machine disturbed.
    at_most_seconds: no call starts after this time, warm-up included; no call is cut short. At least one
    call is timed, and one warm-up is made if any was asked for, however long they take.

    A GPU works on while Python goes on, so a clock around the call alone shows how long it took to ask for
    the work. The device is therefore waited for before and after every call. This makes a call on a GPU look
    a little slower (by some microseconds) than the same call among others: time work that takes longer.

    ValueError if repeats is not at least 1, warmup is negative or the time is not positive.
    """
    if repeats < 1 or warmup < 0 or at_most_seconds <= 0:
        raise ValueError("Use repeats of at least 1, warmup of at least 0 and at_most_seconds above 0.")
    device = torch.device(device)
    deadline = _now() + at_most_seconds

    for call in range(warmup):
        if call > 0 and _now() >= deadline:
            break
        function()

    raw = []
    wait_for(device)
    while len(raw) < repeats and (not raw or _now() < deadline):
        start = _now()
        function()
        wait_for(device)
        raw.append(_now() - start)
    return Timing(statistics.median(raw), _quartiles(raw), len(raw), tuple(raw))


def wait_for(device):
    """Wait until the device has done all the work it was given. A CPU has always done so."""
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
    elif device.type == "xpu":
        torch.xpu.synchronize(device)


def _now():
    return time.perf_counter()


def _quartiles(values):
    if len(values) == 1:
        return values[0], values[0]
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, upper
