"""Timing against a clock that only the timed function moves."""

import time

import pytest
import torch

from amp_lessons import timing
from amp_lessons.timing import median_seconds


class FakeClock:
    """A clock that stands still until something takes time."""

    def __init__(self):
        self.now = 100.0

    def takes(self, *durations):
        """A function whose calls take these seconds in turn, the last one for ever."""
        remaining = list(durations)
        self.calls = 0

        def function():
            self.calls += 1
            self.now += remaining.pop(0) if len(remaining) > 1 else remaining[0]

        return function


@pytest.fixture
def clock(monkeypatch):
    fake = FakeClock()
    monkeypatch.setattr(time, "perf_counter", lambda: fake.now)
    return fake


def test_median_and_quartiles_without_the_warm_up(clock):
    slow_start_and_one_disturbed_call = clock.takes(0.5, 0.25, 0.001, 0.002, 0.003, 0.1, 0.004)
    measured = median_seconds(
        slow_start_and_one_disturbed_call, "cpu", warmup=2, repeats=5, at_most_seconds=10
    )
    assert measured.median == pytest.approx(0.003)
    assert measured.spread == (pytest.approx(0.002), pytest.approx(0.004))
    assert measured.raw == pytest.approx((0.001, 0.002, 0.003, 0.1, 0.004))
    assert measured.repeats == 5
    assert clock.calls == 7


def test_no_call_starts_after_the_time_is_spent(clock):
    measured = median_seconds(clock.takes(0.25), "cpu", warmup=1, repeats=100, at_most_seconds=1.0)
    assert measured.repeats == 3
    assert clock.calls == 4


def test_a_function_slower_than_the_time_is_called_twice(clock):
    measured = median_seconds(clock.takes(5.0), "cpu", warmup=3, repeats=10, at_most_seconds=1.0)
    assert clock.calls == 2  # one warm-up, one timed
    assert measured.repeats == 1
    assert measured.spread == (measured.median, measured.median) == (5.0, 5.0)


def test_without_warm_up(clock):
    assert median_seconds(clock.takes(5.0), "cpu", warmup=0).repeats == 1
    assert clock.calls == 1


@pytest.mark.parametrize(
    ("device", "module"),
    [("cuda", torch.cuda), ("mps", torch.mps), ("xpu", torch.xpu)],
    ids=["cuda", "mps", "xpu"],
)
def test_a_gpu_is_waited_for_around_every_timed_call(monkeypatch, clock, device, module):
    """The function only asks for work, the waiting takes the time: it has to count."""
    waits = []

    def wait(*_):
        waits.append(clock.calls)
        clock.now += 0.02

    monkeypatch.setattr(module, "synchronize", wait)
    measured = median_seconds(clock.takes(0.001), device, warmup=2, repeats=3, at_most_seconds=10)
    assert waits == [2, 3, 4, 5]  # after the warm-up, then after each timed call
    assert measured.median == pytest.approx(0.021)


def test_the_function_s_exception_comes_through():
    def fails():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        median_seconds(fails, "cpu")


@pytest.mark.parametrize("wrong", [{"repeats": 0}, {"warmup": -1}, {"at_most_seconds": 0}], ids=str)
def test_wrong_arguments_say_what_to_use(wrong):
    with pytest.raises(ValueError, match="repeats of at least 1"):
        median_seconds(lambda: None, "cpu", **wrong)


def test_on_the_real_clock():
    measured = median_seconds(lambda: time.sleep(0.002), "cpu", warmup=1, repeats=3)
    assert measured.median >= 0.002
    assert len(measured.raw) == 3
    assert timing.wait_for("cpu") is None
