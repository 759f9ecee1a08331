"""Training under the recorder is the training without; afterwards PyTorch is as it was before."""

import contextlib
import random
import threading

import pytest
import torch
from torch import nn

from amp_lessons.recorder import record_loop
from tests.recorder.cases import clip_before_unscale
from tests.recorder.observe import expected, observe, said
from tests.recorder.toy_training import half, problem, sgd
from tests.recorder.what_torch_holds import HOOKS, differences, everything


def train(dtype, steps=12, scale=2.0**20):
    """All that a run leaves behind, bit for bit, and its objects."""
    torch.manual_seed(3)
    random.seed(3)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.02, total_steps=50)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, enabled=dtype == torch.float16)
    kept = []
    for _ in range(steps):
        optimizer.zero_grad()
        x = torch.randn(16, 4)
        with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
            loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= before:
            scheduler.step()
        kept += [loss.detach(), norm, torch.tensor(scaler.get_scale())]
    kept += list(net.state_dict().values()) + [p.grad for p in net.parameters()]
    kept += [each for state in optimizer.state.values() for each in state.values()]
    bits = [each.contiguous().reshape(-1).view(torch.uint8).tolist() for each in kept]
    randomness = (torch.get_rng_state().tolist(), random.getstate())
    left = (bits, randomness, scaler.state_dict(), scheduler.last_epoch)
    return left, (net, optimizer, scaler)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_training_is_bit_identical(dtype):
    alone, _ = train(dtype)
    with record_loop():
        recorded, _ = train(dtype)
    assert recorded == alone


def test_training_with_overflow_in_the_forward_is_bit_identical():
    alone = overflowing()
    with record_loop() as recording:
        recorded = overflowing()
    assert recorded == alone
    assert "forward-overflow" in [finding.rule for finding in recording.findings]


def overflowing():
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu")
    for size in (1.0, 1e6, 1e6, 1.0):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net[2](net[0](x * size)), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return [p.tolist() for p in net.parameters()], scaler.state_dict(), torch.get_rng_state().tolist()


@contextlib.contextmanager
def unchanged():
    """PyTorch holds the same objects afterwards."""
    train(torch.float16, 1)  # PyTorch itself wraps step() of an optimizer class when the first one is made
    before = everything()
    yield before
    assert differences(before, everything()) == []


def test_hooks_are_looked_at():
    assert {"_global_optimizer_pre_hooks", "_global_optimizer_post_hooks", "_global_forward_hooks"} <= {
        name for _, name in HOOKS
    }


def test_the_comparison_sees_what_the_recorder_changes():
    with unchanged() as before, record_loop():
        assert differences(before, everything()) != []


def test_everything_is_restored():
    with unchanged(), record_loop():
        train(torch.float16)


def test_everything_is_restored_after_an_exception():
    with unchanged(), pytest.raises(ZeroDivisionError), record_loop():
        train(torch.float16, 2)
        raise ZeroDivisionError


def test_everything_is_restored_when_interrupted_inside_a_region():
    with unchanged(), pytest.raises(KeyboardInterrupt), record_loop(), half():
        raise KeyboardInterrupt
    assert not torch.is_autocast_enabled("cpu")


def test_everything_is_restored_after_a_skip_that_no_forward_follows():
    with unchanged(), record_loop():
        _, objects = train(torch.float16, 1)
    net, optimizer, scaler = objects
    for module in net.modules():
        for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"):
            assert not vars(module)[name], name
    assert all(not p._backward_hooks and not p._post_accumulate_grad_hooks for p in net.parameters())


def test_nothing_is_left_in_the_objects_of_the_loop():
    _, alone = train(torch.float16)
    with record_loop():
        _, recorded = train(torch.float16)
    for one, other in zip(alone, recorded):
        assert vars(one).keys() == vars(other).keys()
    for one, other in zip(alone[0].modules(), recorded[0].modules()):
        assert vars(one).keys() == vars(other).keys()
    for one, other in zip(alone[0].parameters(), recorded[0].parameters()):
        assert vars(one).keys() == vars(other).keys()
        assert bool(one._backward_hooks) == bool(other._backward_hooks)


def test_recordings_one_after_another():
    findings, _ = expected(clip_before_unscale.wrong)
    with unchanged():
        assert [observe(clip_before_unscale.wrong).findings for _ in range(3)] == [findings] * 3


def test_a_recording_in_a_recording():
    findings, _ = expected(clip_before_unscale.wrong)
    with unchanged():
        with record_loop() as outer:
            with record_loop() as inner:
                clip_before_unscale.wrong()
            between = everything()
            clip_before_unscale.right()
            with record_loop() as second:
                clip_before_unscale.right()
            assert differences(between, everything()) == []
    assert said(inner.findings) == said(outer.findings) == findings
    assert second.findings == []


def test_two_recordings_that_end_in_the_order_they_began():
    with unchanged():
        first, second = record_loop(), record_loop()
        first.__enter__()
        recording = second.__enter__()
        first.__exit__(None, None, None)
        clip_before_unscale.wrong()
        second.__exit__(None, None, None)
    assert said(recording.findings) == expected(clip_before_unscale.wrong)[0]


def in_thread(function):
    """Run it in a thread to its end; give its result, or raise what it raised."""
    result = []

    def run():
        try:
            result.append(function())
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]


def test_a_thread_outside_trains_undisturbed_and_unseen():
    alone, _ = train(torch.float16)
    with unchanged(), record_loop() as recording:
        clip_before_unscale.right()
        count = len(recording.events)
        elsewhere = in_thread(lambda: train(torch.float16))[0]
        in_thread(clip_before_unscale.wrong)
        assert len(recording.events) == count
    # Bits, scale and schedule; the random state belongs to all threads.
    assert elsewhere == alone
    assert recording.findings == []


def test_a_thread_that_outlives_the_recording():
    go, halfway, done = threading.Event(), threading.Event(), []

    def train_for_long():
        net, x, y = problem()
        optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=128.0)
        for step in range(6):
            with half():
                loss = nn.functional.mse_loss(net(x), y)
                if step == 3:
                    halfway.set()
                    go.wait(10)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        done.append(step)

    with unchanged():
        with record_loop() as recording:
            thread = threading.Thread(target=train_for_long)
            thread.start()
            assert halfway.wait(10)
            clip_before_unscale.right()
        go.set()
        thread.join()
    assert done == [5] and recording.findings == []


def test_recordings_in_two_threads_at_once():
    both = threading.Barrier(2, timeout=10)
    said_in = {}

    def record(name, loop):
        with record_loop() as recording:
            both.wait()
            loop()
            both.wait()
        said_in[name] = said(recording.findings)

    with unchanged():
        threads = [
            threading.Thread(target=record, args=(name, getattr(clip_before_unscale, name)))
            for name in ("wrong", "right")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert said_in == {"wrong": expected(clip_before_unscale.wrong)[0], "right": []}
