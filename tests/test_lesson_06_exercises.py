"""Lesson 06's exercises: right answers of other shapes, and the limits of what its checks accept."""

import json
import pathlib
import types

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from amp_lessons import check, memory
from amp_lessons.exercises import lesson_06_memory_and_speed as lesson_06
from amp_lessons.exercises import no_speedup
from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.linear_stack import PARTS, counted, mistaken
from amp_lessons.exercises.needed_bytes import MOST_CALLS, Needed
from amp_lessons.exercises.percent import percent_cells
from amp_lessons.exercises.pretend_device import MOST_STEPS, PretendDevice
from tests.answers import right_answer, wrong_answers

RIGHT = """
# %% predict-the-bytes: layer by layer
def predict_bytes(sizes, batch_size, amp):
    parameters = activations = copies = 0
    for i in range(len(sizes) - 1):
        parameters += sizes[i] * sizes[i + 1] + sizes[i + 1]
        activations += batch_size * sizes[i] * (2 if amp else 4)
        if amp and i > 0:
            copies += sizes[i] * sizes[i + 1] * 2
    return {
        "parameters": parameters * 4,
        "gradients": parameters * 4,
        "optimizer": 2 * parameters * 4,
        "activations": activations,
        "copies": copies,
    }

# %% predict-the-bytes: a net without memory
def predict_bytes(sizes, batch_size, amp):
    layers = [nn.Linear(a, b, device="meta") for a, b in zip(sizes[:-1], sizes[1:])]
    bytes_of_all = sum(each.numel() * each.element_size() for layer in layers for each in layer.parameters())
    element = torch.finfo(torch.bfloat16 if amp else torch.float32).bits // 8
    read = sum(layer.in_features for layer in layers) * batch_size * element
    copies = sum(layer.weight.numel() * element for layer in layers[1:]) if amp else 0
    return dict(parameters=bytes_of_all, gradients=bytes_of_all, optimizer=2 * bytes_of_all,
                activations=read, copies=copies)

# %% predict-the-bytes: numpy
import numpy as np

def predict_bytes(sizes, batch_size, amp):
    sizes = np.array(sizes)
    weights = sizes[:-1] * sizes[1:]
    n = weights.sum() + sizes[1:].sum()
    half = int(amp)
    return {"parameters": 4 * n, "gradients": 4 * n, "optimizer": 8 * n,
            "activations": (4 - 2 * half) * batch_size * sizes[:-1].sum(),
            "copies": 2 * half * weights[1:].sum()}

# %% predict-the-bytes: one from the other, floats, an entry more
def predict_bytes(sizes, batch_size, amp):
    result = {}
    count = sum((a + 1) * b for a, b in zip(sizes, sizes[1:]))
    result["copies"] = 16 / 8 * sum(a * b for a, b in zip(sizes[1:], sizes[2:])) * amp
    result["parameters"] = result["gradients"] = 32 / 8 * count
    result["optimizer"] = 2 * result["parameters"]
    result["activations"] = (16 if amp else 32) / 8 * batch_size * (sum(sizes) - sizes[-1])
    result["total"] = sum(result.values())
    return result

# %% predict-the-bytes: counted
from amp_lessons import memory

def predict_bytes(sizes, batch_size, amp):
    model = nn.Sequential()
    for a, b in zip(sizes, sizes[1:]):
        model.extend([nn.Linear(a, b), nn.ReLU()])
    x = torch.randn(batch_size, sizes[0])

    def forward():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
            return model[:-1](x).sum()

    kept = memory.kept_for_backward(forward, model)
    size = sum(each.nbytes for each in model.parameters())
    values = size, size, 2 * size, kept.activations, kept.weight_copies
    return dict(zip(("parameters", "gradients", "optimizer", "activations", "copies"), values))

# %% predict-the-bytes: tensors
def predict_bytes(sizes, batch_size, amp):
    s = torch.tensor(sizes)
    weights = s[:-1] * s[1:]
    n = (weights + s[1:]).sum()
    width = 2 if amp else 4
    return {"parameters": n * 4, "gradients": n * 4, "optimizer": n * 8,
            "activations": width * batch_size * s[:-1].sum(),
            "copies": weights[1:].sum() * 2 if amp else torch.tensor(0)}

# %% largest-batch: bisect
import bisect

def largest_batch(needed, budget):
    return bisect.bisect_right(range(1, 2**40), budget, key=needed)

# %% largest-batch: bit by bit
def largest_batch(needed, budget):
    batch_size = 0
    for power in range(40, -1, -1):
        if needed(batch_size + 2**power) <= budget:
            batch_size += 2**power
    return batch_size

# %% largest-batch: recursive
def largest_batch(needed, budget, low=0, high=None):
    if high is None:
        high = 1
        while needed(high) <= budget:
            low, high = high, high * 2
    if high - low == 1:
        return low
    middle = low + (high - low) // 2
    if needed(middle) > budget:
        return largest_batch(needed, budget, low, middle)
    return largest_batch(needed, budget, middle, high)

# %% largest-batch: steps that shrink again
def largest_batch(needed, budget):
    best, step = 0, 1
    while needed(best + step) <= budget:
        best += step
        step *= 2
    while step:
        step //= 2
        if step and needed(best + step) <= budget:
            best += step
    return best

# %% largest-batch: with a memory, both ends inside
from functools import cache

def largest_batch(needed, budget):
    @cache
    def fits(batch_size):
        return needed(batch_size) <= budget

    if not fits(1):
        return 0
    high = 1
    while fits(high):
        high *= 4
    low, high = high // 4, high - 1
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low

# %% largest-batch: numpy's whole numbers
import numpy as np

def largest_batch(needed, budget):
    low, high = np.int64(0), np.int64(1)
    while needed(high) <= budget:
        low, high = high, 2 * high
    while high > low + 1:
        middle = (low + high) // 2
        low, high = (middle, high) if needed(middle) <= budget else (low, middle)
    return low

# %% time-it-right: as in the lessons' timing
import statistics

def seconds_per_step(step, wait, clock):
    for _ in range(3):
        step()
    raw = []
    wait()
    while len(raw) < 10:
        start = clock()
        step()
        wait()
        raw.append(clock() - start)
    return statistics.median(raw)

# %% time-it-right: blocks of three
def seconds_per_step(step, wait, clock):
    for _ in range(10):
        step()
    wait()
    times = []
    for _ in range(15):
        start = clock()
        for _ in range(3):
            step()
        wait()
        times.append((clock() - start) / 3)
    return sorted(times)[len(times) // 2]

# %% time-it-right: the fastest
def seconds_per_step(step, wait, clock):
    def once():
        wait()
        start = clock()
        step()
        wait()
        return clock() - start

    return min(once() for _ in range(30))

# %% time-it-right: for as long as it takes
def seconds_per_step(step, wait, clock):
    step(), step(), step(), wait()
    end, times = clock() + 1.0, []
    while clock() < end and len(times) < 500:
        before = clock()
        step()
        wait()
        times.append(clock() - before)
    return torch.tensor(times, dtype=torch.float64).median()

# %% time-it-right: readings in a row
import numpy as np

def seconds_per_step(step, wait, clock):
    readings = []
    for _ in range(40):
        step()
        wait()
        readings.append(clock())
    return np.median(np.diff(readings[5:]))

# %% time-it-right: a mean of the middle
def seconds_per_step(step, wait, clock):
    times = []
    for i in range(45):
        start = clock()
        step()
        wait()
        if i >= 5:
            times.append(clock() - start)
    middle = sorted(times)[10:-10]
    return sum(middle) / len(middle)

# %% time-it-right: no warm-up, but a median of many
import statistics

def seconds_per_step(step, wait, clock):
    times = []
    for _ in range(101):
        start = clock(); step(); wait(); times.append(clock() - start)
    return statistics.median(times)

# %% why-no-speedup: other capitals and hyphens
causes = {
    "A": "tf32 in the baseline",
    "B": "Memory-bound ops",
    "C": "odd sizes ",
    "D": "small-work",
    "E": "emulated_bf16",
    "F": "OLD HARDWARE",
}

# %% why-no-speedup: dict
causes = dict(A="TF32 in the baseline", B="memory-bound ops", C="odd sizes", D="small work",
              E="emulated BF16", F="old hardware")

# %% why-no-speedup: zip
causes = dict(zip("ABCDEF", ["TF32 in the baseline", "memory-bound ops", "odd sizes", "small work",
                             "emulated BF16", "old hardware"]))

# %% why-no-speedup: one by one
causes = {}
causes["F"] = "old hardware"
causes["E"] = "emulated BF16"
causes["D"] = "small work"
causes["C"] = "odd sizes"
causes["B"] = "memory-bound ops"
causes["A"] = "TF32 in the baseline"

# %% why-no-speedup: a dict of another kind
from collections import OrderedDict

causes = OrderedDict(A="TF32 in the baseline", B="memory-bound ops", C="odd sizes", D="small work",
                     E="emulated BF16", F="old hardware")
"""
RIGHT_CELLS = percent_cells(RIGHT)


def names_after(source):
    """What a notebook holds after the set-up cell and this one, on a machine without a GPU."""
    names = {"torch": torch, "nn": nn, "F": F, "device": "cpu"}
    exec(compile(source, "<answer>", "exec"), names)
    return names


@pytest.mark.parametrize("title, source", RIGHT_CELLS, ids=[title for title, _ in RIGHT_CELLS])
def test_right_answers_of_every_shape_pass(title, source):
    exercise_id = title.partition(":")[0]
    verdict = check(exercise_id, names_after(source))
    assert (verdict.outcome, verdict.points) == ("correct", verdict.out_of), verdict


def test_there_are_five_of_each():
    for exercise in lesson_06.LESSON.exercises:
        assert sum(title.startswith(f"{exercise.id}:") for title, _ in RIGHT_CELLS) >= 5


# predict-the-bytes

NETS = [*lesson_06.NETS, ((3, 3), 1), ((10, 20, 5, 30), 7), ((2, 2, 2, 2, 2, 2), 2)]


@pytest.mark.parametrize("amp", [False, True])
@pytest.mark.parametrize("sizes, batch_size", NETS, ids=str)
def test_the_reference_answer_is_what_a_real_net_counts(sizes, batch_size, amp):
    predict = names_after(right_answer("predict-the-bytes"))["predict_bytes"]
    assert predict(sizes, batch_size, amp) == counted(sizes, batch_size, amp)


def test_fp16_keeps_as_many_bytes_as_bf16():
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    x = torch.ones(5, 6)
    with torch.autocast("cpu", dtype=torch.float16):
        kept = memory.kept_for_backward(lambda: model(x).sum(), model)
    want = counted((6, 16, 4), 5, True)
    assert (kept.activations, kept.weight_copies) == (want["activations"], want["copies"])


@pytest.mark.parametrize("amp", [False, True])
@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.AdamW])
def test_adam_keeps_what_is_said_of_it(make, amp):
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = make(model.parameters())
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
        loss = model(torch.ones(5, 6)).float().sum()
    loss.backward()
    optimizer.step()
    kept = {
        name: sum(state[name].nbytes for state in optimizer.state.values())
        for name in ("exp_avg", "exp_avg_sq", "step")
    }
    assert kept["exp_avg"] + kept["exp_avg_sq"] == counted((6, 16, 4), 5, amp)["optimizer"]
    with_counters = counted((6, 16, 4), 5, amp)["optimizer"] + kept["step"]
    codes = {value: code for value, code, _ in mistaken("optimizer", (6, 16, 4), 5, amp)}
    assert codes[with_counters] == "counts-the-step-counters"


@pytest.mark.parametrize("amp", [False, True])
@pytest.mark.parametrize("part", PARTS)
def test_each_mistake_gives_bytes_of_its_own(part, amp):
    sizes, batch_size = lesson_06.NETS[0]
    known = mistaken(part, sizes, batch_size, amp)
    values = [value for value, _, _ in known]
    assert len(values) == len(set(values))
    assert counted(sizes, batch_size, amp)[part] not in values


@pytest.mark.parametrize("amp", [False, True])
@pytest.mark.parametrize("part", PARTS)
def test_each_known_mistake_is_told_by_its_code(part, amp):
    sizes, batch_size = lesson_06.NETS[0]
    for value, code, sentence in mistaken(part, sizes, batch_size, amp):
        with pytest.raises(NotYet) as told:
            lesson_06._one_part({part: value}, "predict_bytes(...)", part, sizes, batch_size, amp)
        assert told.value.mistake == code and told.value.message.endswith(sentence)
        assert f"gave {value:,} bytes" in told.value.message


def test_each_part_earns_its_own_point():
    source = right_answer("predict-the-bytes")
    for key, points in {"parameters": 3, "optimizer": 3, "activations": 3, "copies": 3}.items():
        verdict = check("predict-the-bytes", names_after(source.replace(f'"{key}":', '"else":')))
        assert verdict.points == points and f'no entry "{key}"' in repr(verdict)


@pytest.mark.parametrize("part", ["activations", "copies"])
@pytest.mark.parametrize("value", [None, False])
def test_nothing_in_place_of_a_number_is_no_missing_return(part, value):
    with pytest.raises(NotYet, match=f"is {value}. ") as told:
        lesson_06._one_part({part: value}, "predict_bytes(...)", part, (8, 4), 3, False)
    assert "return" not in told.value.message
    assert ("Write 0 where there are none" in told.value.message) is (part == "copies")


def test_a_print_in_place_of_a_number_is_told():
    source = right_answer("predict-the-bytes").replace('"parameters": ', '"parameters": print(0) and ')
    with pytest.raises(NotYet, match="is None. It should be a number of bytes.*print") as told:
        lesson_06._parameters_and_gradients(types.SimpleNamespace(**names_after(source)))
    assert "return" not in told.value.message


def test_copies_left_out_where_there_are_none_are_told():
    source = right_answer("predict-the-bytes").replace("    return {", "    result = {")
    verdict = check(
        "predict-the-bytes",
        names_after(
            source
            + """
    if not amp:
        del result["copies"]
    return result
"""
        ),
    )
    assert 'has no entry "copies". Write 0 where there are none.' in repr(verdict), verdict
    assert verdict.points == 3


def test_a_list_in_place_of_a_dict_is_told():
    verdict = check("predict-the-bytes", names_after("def predict_bytes(sizes, batch_size, amp): return [1]"))
    assert "should be a dictionary; yours is a list" in repr(verdict)


# largest-batch


def test_needed_counts_what_it_is_asked():
    needed = Needed(lambda batch_size: 10 * batch_size)
    assert (needed(3), needed(True), needed(torch.tensor(4))) == (30, 10, 40)
    assert needed.asked == [3, 1, 4]
    for wrong in (0, -1, 2.0, "3", None):
        with pytest.raises(NotYet):
            needed(wrong)
    assert needed.asked == [3, 1, 4]


@pytest.mark.parametrize(
    "sizes, mistake",
    [
        (range(1, 100), "counts-one-by-one"),
        (range(1000, 1, -1), "counts-one-by-one"),
        (range(1, 10_000, 100), "goes-by-even-steps"),
        ([7] * 100, "never-narrows"),
        ([2**n for n in range(20)] + [28, 29] * 40, "never-narrows"),
        ([n**2 for n in range(1, 100)], "too-many-calls"),
        ([n**2 for n in range(1, 100) for _ in range(2)], "asks-twice"),
        ([n**2 for n in [*range(1, 41), *range(1, 41)]], "asks-twice"),
        ([n for n in range(1, 100) for _ in range(2)], "counts-one-by-one"),
    ],
)
def test_too_many_calls_are_told_by_their_kind(sizes, mistake):
    needed = Needed(lambda batch_size: batch_size)
    with pytest.raises(NotYet) as told:
        for batch_size in sizes:
            needed(batch_size)
    assert told.value.mistake == mistake and len(needed.asked) == MOST_CALLS


FUNCTIONS = [lesson_06._grows_evenly, lesson_06._peaks_in_the_optimizer_step, lesson_06._in_blocks]


@pytest.mark.parametrize("bytes_of", FUNCTIONS)
def test_the_bytes_never_fall_and_the_truth_is_the_largest(bytes_of):
    sizes = [bytes_of(batch_size) for batch_size in range(1, 200)]
    assert sizes == sorted(sizes)
    for budget in (10, 1_200_000_000, 2_999_999_999, 3_000_000_000, 4_000_000_000):
        assert lesson_06._true_largest(bytes_of, budget) == sum(size <= budget for size in sizes)


@pytest.mark.parametrize("bytes_of", FUNCTIONS)
def test_every_wrong_size_is_told(bytes_of):
    budget = 3_000_000_000
    want = lesson_06._true_largest(bytes_of, budget)
    for size in {*range(-2, 60), 10**6, 2**60} - {want}:
        answer = types.SimpleNamespace(largest_batch=lambda needed, budget: size)
        with pytest.raises(NotYet) as told:
            lesson_06._fits(answer, bytes_of, budget, "About.")
        assert f"your largest batch is {size:,}" in told.value.message


@pytest.mark.parametrize("line", ["return size", "return needed(size)"])
@pytest.mark.parametrize("size", ["2**60 + 1", "10**30", "10**5000", "-(10**5000)"])
def test_a_size_beyond_any_machine_is_told_in_words(size, line):
    verdict = check("largest-batch", names_after(f"size = {size}\ndef largest_batch(needed, budget): {line}"))
    text = repr(verdict)
    assert verdict.outcome == "not yet" and "Exceeds the limit" not in text, verdict
    assert "beyond any machine" in text or verdict.mistake in ("below-0", "asks-for-no-sample"), verdict
    assert all(len(result.message) < 400 for result in verdict.results)


@pytest.mark.parametrize("size", [1, 2, 16])
def test_a_constant_after_one_large_call_did_not_double(size):
    source = f"""
def largest_batch(needed, budget):
    needed(10**6)
    return {size}
"""
    assert "You doubled" not in repr(check("largest-batch", names_after(source)))


def test_a_line_through_two_points_passes_only_where_bytes_grow_evenly():
    source = """
def largest_batch(needed, budget):
    low, high = needed(4), needed(40)
    return max(0, 4 + (budget - low) * 36 // (high - low))
"""
    verdict = check("largest-batch", names_after(source))
    assert [result.passed for result in verdict.results] == [True, False, False]
    assert verdict.mistake == "trusts-two-points"


def test_one_after_the_other_fails_only_where_the_answer_is_large():
    wrong = {each.name: each for each in wrong_answers(lesson_06.LESSON)}
    verdict = check("largest-batch", names_after(wrong["one-by-one"].source))
    assert [result.passed for result in verdict.results] == [True, True, False]


def test_another_division_by_0_is_told_as_it_is():
    verdict = check("largest-batch", names_after("def largest_batch(needed, budget): return 1 // 0"))
    assert verdict.mistake is None and "ZeroDivisionError" in repr(verdict)


def test_a_batch_that_is_no_whole_number_is_told():
    source = right_answer("largest-batch").replace("return fits", "return float(fits)")
    assert "should be a whole number (an int); yours is a float (28.0)" in repr(
        check("largest-batch", names_after(source))
    )


# time-it-right


def test_a_pretended_device_works_while_python_goes_on():
    device = PretendDevice(asking=1.0, work=10.0, slow_first=(30.0, 20.0))
    start = device.clock()
    device.step()
    assert device.clock() - start == pytest.approx(1.0, abs=1e-4)
    device.step()
    device.wait()
    assert device.clock() - start == pytest.approx(50.0, abs=1e-4)
    device.wait()
    assert device.clock() - start == pytest.approx(50.0, abs=1e-4)
    assert (device.steps, device.waits, device.readings, device.readings_while_busy) == (2, 2, 4, 1)


def test_a_pretended_device_that_is_asked_slowly_keeps_up():
    device = PretendDevice(asking=1.0, work=0.1)
    start = device.clock()
    device.step()
    device.wait()
    assert device.clock() - start == pytest.approx(1.0, abs=1e-4) and device.typical == 1.0


def test_a_pretended_device_may_be_busy_at_first():
    device = PretendDevice(busy=7.0)
    start = device.clock()
    device.wait()
    assert device.clock() - start == pytest.approx(7.0, abs=1e-4)


def test_its_steps_vary_a_little_and_one_in_twenty_is_disturbed():
    device = PretendDevice(work=1.0, disturbed=3)
    times = []
    for _ in range(220):
        start = device.clock()
        device.step()
        device.wait()
        times.append(device.clock() - start)
    quiet = [time for i, time in enumerate(times) if i % 20 != 3]
    assert min(quiet) == pytest.approx(0.96, abs=1e-3) and max(quiet) == pytest.approx(1.04, abs=1e-3)
    assert sum(quiet) / len(quiet) == pytest.approx(1.0, abs=2e-3)
    assert all(9 < time < 11 for time in times[3::20])


def test_its_steps_are_limited():
    device = PretendDevice()
    for _ in range(MOST_STEPS):
        device.step()
    with pytest.raises(NotYet):
        device.step()


MEAN = """
def seconds_per_step(step, wait, clock):
    for _ in range({warm_up}):
        step()
    wait()
    start = clock()
    for _ in range({steps}):
        step()
    wait()
    return (clock() - start) / {steps}
"""


@pytest.mark.parametrize("steps", [2, 5, 10, 20, 100, 900])
@pytest.mark.parametrize("warm_up", [2, 3, 7, 20])
def test_a_mean_fails_whatever_its_length(warm_up, steps):
    verdict = check("time-it-right", names_after(MEAN.format(warm_up=warm_up, steps=steps)))
    assert (verdict.mistake, verdict.points) == ("mean-of-disturbed", 2), verdict


BLOCKS = """
import statistics

def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    times = []
    for _ in range({count}):
        start = clock()
        for _ in range({steps}):
            step()
        wait()
        times.append((clock() - start) / {steps})
    return {average}(times)
"""


@pytest.mark.parametrize(
    "steps, count, says",
    [
        (10, 20, "You timed 10 steps at once, and 10 of your 20 times hold such a step"),
        (10, 4, "You timed 10 steps at once, and 2 of your 4 times hold such a step"),
        (20, 10, "You timed 20 steps at once, and all your 10 times hold such a step"),
        (25, 4, "You timed 25 steps at once, and all your 4 times hold such a step"),
        (9, 2, "You timed 9 steps at once, and 1 of your 2 times holds such a step"),
    ],
)
def test_a_median_over_long_blocks_is_told_why_it_fails(steps, count, says):
    source = BLOCKS.format(steps=steps, count=count, average="statistics.median")
    verdict = check("time-it-right", names_after(source))
    assert (verdict.mistake, verdict.points) == ("long-blocks", 2), verdict
    assert says in repr(verdict) and "a mean" not in repr(verdict), verdict


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_a_mean_over_short_blocks_is_told_as_a_mean(steps):
    verdict = check(
        "time-it-right", names_after(BLOCKS.format(steps=steps, count=30, average="statistics.mean"))
    )
    assert (verdict.mistake, verdict.points) == ("mean-of-disturbed", 2), verdict


@pytest.mark.parametrize("steps", [2, 3, 5])
def test_a_median_over_short_blocks_passes(steps):
    source = BLOCKS.format(steps=steps, count=30, average="statistics.median")
    assert check("time-it-right", names_after(source)).outcome == "correct"


@pytest.mark.parametrize("steps", [1, 3, 10, 100])
@pytest.mark.parametrize("warm_up", [0, 1])
def test_too_short_a_warm_up_is_told(warm_up, steps):
    verdict = check("time-it-right", names_after(MEAN.format(warm_up=warm_up, steps=steps)))
    assert (verdict.mistake, verdict.points) == ("times-the-warm-up", 1), verdict


MEDIAN = """
import statistics

def seconds_per_step(step, wait, clock):
    for _ in range({warm_up}):
        step()
    {before}
    times = []
    for _ in range({steps}):
        start = clock()
        step()
        wait()
        times.append(clock() - start)
    return statistics.median(times)
"""


@pytest.mark.parametrize("before", ["wait()", "pass"])
@pytest.mark.parametrize("steps", [5, 6, 11, 20, 101])
@pytest.mark.parametrize("warm_up", [2, 3, 10, 100])
def test_a_median_passes_whatever_its_length(warm_up, steps, before):
    source = MEDIAN.format(warm_up=warm_up, steps=steps, before=before)
    assert check("time-it-right", names_after(source)).outcome == "correct"


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e-9, 20e-6, 1e-3, 5e-3, 3.0, 1e3, 1e30, float("inf")])
def test_a_constant_is_told_whatever_it_is(seconds):
    source = f"def seconds_per_step(step, wait, clock): return float('{seconds}')"
    verdict = check("time-it-right", names_after(source))
    assert verdict.mistake == "never-steps" and "You gave" in repr(verdict)


def test_what_comes_later_waits_for_the_first_test():
    verdict = check("time-it-right", names_after("def seconds_per_step(step, wait, clock): return 3e-3"))
    assert [result.passed for result in verdict.results] == [False, False, False]
    assert sum("This comes next" in result.message for result in verdict.results) == 2


def test_the_same_answer_gets_the_same_verdict_to_the_digit():
    answer = names_after(MEAN.format(warm_up=2, steps=10))
    first, again = (repr(check("time-it-right", answer)) for _ in range(2))
    assert first == again and "You gave 9.42 ms" in first


@pytest.mark.parametrize("seconds, text", [(20e-6, "20 µs"), (3.02e-3, "3.02 ms"), (2.5, "2.5 s")])
def test_times_are_told_in_a_unit_that_fits(seconds, text):
    assert lesson_06._time(seconds) == text


def test_the_praise_names_nothing_that_an_accepted_answer_may_lack():
    why = lesson_06.TIME_IT_RIGHT.why.lower()
    assert not any(word in why for word in ("warm", "first wait"))  # one without either passes, above


# why-no-speedup


def test_every_wrong_choice_has_a_reply_of_its_own_that_keeps_the_answer():
    for letter, right in no_speedup.RIGHT.items():
        replies = no_speedup.AGAINST[letter]
        assert set(replies) == set(no_speedup.CAUSES) - {right}
        assert len(set(replies.values())) == len(replies)
        assert not any(right.lower() in reply.lower() for reply in replies.values())


@pytest.mark.parametrize("letter", no_speedup.CASES)
def test_every_wrong_choice_is_told_with_its_reply(letter):
    for cause, reply in no_speedup.AGAINST[letter].items():
        verdict = check("why-no-speedup", {"causes": {**no_speedup.RIGHT, letter: cause}})
        assert verdict.points == 2.5 and reply in repr(verdict)
        assert verdict.mistake.startswith(f"case-{letter.lower()}-")


def test_two_causes_are_left_over():
    assert list(no_speedup.RIGHT) == list(no_speedup.CASES) == list("ABCDEF")
    assert len(no_speedup.CAUSES) - len(set(no_speedup.RIGHT.values())) == 2


def test_a_sentence_on_waiting_does_not_rule_a_cause_out_everywhere():
    told = [text for text in no_speedup.CASES.values() if "synchroni" in text or "waited" in text]
    assert 1 <= len(told) <= 2


def test_the_parts_of_a_step_add_up():
    assert 150 + 40 == 190 and 142 + 18 == 160 and 210 * 7 == pytest.approx(1500, rel=0.03)
    assert all(f"{number} ms" in no_speedup.CASES["B"] for number in (150, 40, 190, 142, 18, 160))


def test_the_exercises_take_as_long_as_the_lesson_says():
    minutes = [exercise.minutes for exercise in lesson_06.LESSON.exercises]
    assert minutes == [8, 6, 5, 4] and lesson_06.LESSON.minutes_exercises == 23
    assert all(len(exercise.stub.splitlines()) <= 25 for exercise in lesson_06.LESSON.exercises)


def test_no_case_names_a_cause():
    for text in no_speedup.CASES.values():
        assert not any(cause.lower() in text.lower() for cause in no_speedup.CAUSES)


def test_the_stub_lists_every_cause():
    stub = lesson_06.WHY_NO_SPEEDUP.stub
    assert all(f'#   "{cause}" ' in stub and text in stub for cause, text in no_speedup.CAUSES.items())


def test_a_case_left_out_and_a_number_are_told():
    causes = {letter: cause for letter, cause in no_speedup.RIGHT.items() if letter != "C"}
    assert 'no entry "C"' in repr(check("why-no-speedup", {"causes": causes}))
    verdict = check("why-no-speedup", {"causes": {**causes, "C": 5}})
    assert 'causes["C"] should be a text (a str); yours is an int (5)' in repr(verdict)


def test_the_notebook_tells_the_cases_as_they_are():
    file = pathlib.Path(__file__).resolve().parents[1] / "notebooks" / "06_memory_and_speed.ipynb"
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    text = " ".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    flat = " ".join(text.split())
    assert [letter for letter, case in lesson_06.CASES.items() if case not in flat] == []


# quick checks


def test_the_length_of_a_choice_does_not_tell_the_right_one():
    longest = [
        max(each.choices, key=lambda choice: len(choice.text)) for each in lesson_06.LESSON.quick_checks
    ]
    assert not any(choice.right for choice in longest)


def test_the_numbers_in_the_replies_are_right():
    parameters, gradients, adam, activations = 1, 1, 2, 8
    assert parameters + gradients + adam + activations / 2 + parameters / 2 == 8.5
    operations, numbers = 2 * 8 * 4096**2, 4096**2 + 2 * 8 * 4096
    assert operations == pytest.approx(0.27e9, rel=0.01)
    assert operations / 8e12 == pytest.approx(34e-6, rel=0.02)
    assert 4 * numbers / 300e9 == pytest.approx(220e-6, rel=0.03)
    assert 2 * numbers / 300e9 == pytest.approx(110e-6, rel=0.03)
    assert 1 / (0.5 + 0.5 / 8) == pytest.approx(1.78, abs=0.005)
