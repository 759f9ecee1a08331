"""Lesson 05's exercises: right answers of other shapes, and the limits of what its checks accept."""

import math
import types

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from amp_lessons import check
from amp_lessons.exercises import lesson_04_full_amp_training as lesson_04
from amp_lessons.exercises import lesson_05_fp16_or_bf16 as lesson_05
from amp_lessons.exercises import mean_in_16_bits, precision_choice
from amp_lessons.exercises.cuda_stand_in import NATIVE, SUPPORTED, CudaStandIn, NoGpu
from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.percent import percent_cells
from amp_lessons.exercises.unrun import has_run
from tests.answers import right_answer

RIGHT = """
# %% accumulate-in-fp32: a float for each
def mean_loss(losses):
    return sum(loss.item() for loss in losses) / len(losses)

# %% accumulate-in-fp32: a total in FP32
def mean_loss(losses):
    total = torch.zeros((), device=losses[0].device)
    for loss in losses:
        total += loss
    return total.item() / len(losses)

# %% accumulate-in-fp32: mean with a dtype
def mean_loss(losses):
    return torch.stack(losses).mean(dtype=torch.float32).item()

# %% accumulate-in-fp32: sum from an FP32 tensor, a tensor of one element
def mean_loss(losses):
    return sum(losses, start=torch.zeros(1)) / len(losses)

# %% accumulate-in-fp32: a running mean in FP32
def mean_loss(losses):
    mean = torch.tensor(0.0, dtype=torch.float32)
    for i, loss in enumerate(losses):
        mean += (loss.float() - mean) / (i + 1)
    return float(mean)

# %% accumulate-in-fp32: each divided first
def mean_loss(losses):
    return sum(loss.to(torch.float32) / len(losses) for loss in losses).item()

# %% accumulate-in-fp32: exact sums
import math

def mean_loss(losses):
    return math.fsum(losses) / len(losses)

# %% accumulate-in-fp32: statistics
from statistics import fmean

def mean_loss(losses):
    return fmean([float(loss) for loss in losses])

# %% accumulate-in-fp32: NumPy
import numpy as np

def mean_loss(losses):
    return np.mean([loss.float().cpu().numpy() for loss in losses])

# %% accumulate-in-fp32: a new tensor
def mean_loss(losses):
    return torch.tensor([loss.item() for loss in losses]).mean().item()

# %% accumulate-in-fp32: from the last to the first, in FP64
def mean_loss(losses):
    total = losses[-1].double()
    for loss in losses[-2::-1]:
        total += loss
    return (total / len(losses)).item()

# %% reads-true-or-emulated: without emulation
def computes_in_bf16(cuda):
    return cuda.is_bf16_supported(including_emulation=False)

# %% reads-true-or-emulated: without emulation, by position
def computes_in_bf16(cuda):
    return cuda.is_available() and cuda.is_bf16_supported(False)

# %% reads-true-or-emulated: the major number
def computes_in_bf16(cuda):
    if not cuda.is_available():
        return False
    major, minor = cuda.get_device_capability()
    return major >= 8

# %% reads-true-or-emulated: properties of device 0
def computes_in_bf16(cuda):
    if cuda.device_count() == 0:
        return False
    return cuda.get_device_properties(cuda.current_device()).major > 7

# %% reads-true-or-emulated: caught, as a build for CUDA raises it
def computes_in_bf16(cuda):
    try:
        return cuda.get_device_capability(0) >= (8, 0)
    except RuntimeError:
        return False

# %% reads-true-or-emulated: caught, as a build for CPUs raises it
def computes_in_bf16(cuda):
    try:
        capability = cuda.get_device_capability()
    except AssertionError:
        return False
    else:
        return not capability < (8, 0)

# %% reads-true-or-emulated: one number
def computes_in_bf16(cuda):
    if cuda.is_available():
        major, minor = cuda.get_device_capability()
        return float(f"{major}.{minor}") >= 8.0
    return False

# %% reads-true-or-emulated: both ways, a tensor
def computes_in_bf16(cuda):
    native = cuda.is_bf16_supported(including_emulation=False)
    emulated = cuda.is_bf16_supported() and not native
    print(cuda.get_device_name() if cuda.is_available() else "no GPU", native, emulated)
    return torch.tensor(native)

# %% choose-a-precision: one condition after the other
def choose_precision(machine, model):
    largest = 4 * model["largest_activation"]
    rounding = model["rounding"]
    if machine["bf16"] and largest <= 3.38e38 and rounding >= 2**-8:
        return "BF16"
    if machine["fp16"] and largest <= 65504 and rounding >= 2**-11:
        return "FP16 + scaler"
    if machine["tf32"] and rounding >= 2**-11:
        return "TF32"
    return "FP32"

# %% choose-a-precision: the range of BF16 and TF32 taken for granted
def choose_precision(machine, model):
    if machine["bf16"] and torch.finfo(torch.bfloat16).eps / 2 <= model["rounding"]:
        return "BF16"
    precise = torch.finfo(torch.float16).eps / 2 <= model["rounding"]
    fits = model["largest_activation"] <= torch.finfo(torch.float16).max / 4
    if machine["fp16"] and precise and fits:
        return "FP16 + scaler"
    return "TF32" if machine["tf32"] and precise else "FP32"

# %% choose-a-precision: what is left of a list
def choose_precision(machine, model):
    half, brain, single = map(torch.finfo, (torch.half, torch.bfloat16, torch.float))
    known = {
        "BF16": (machine["bf16"], brain.max, brain.eps),
        "FP16 + scaler": (machine["fp16"], half.max, half.eps),
        "TF32": (machine["tf32"], single.max, half.eps),
        "FP32": (True, float("inf"), 0.0),
    }
    return [
        name
        for name, (fast, largest, eps) in known.items()
        if fast and model["largest_activation"] * 4 <= largest and eps <= 2 * model["rounding"]
    ][0]

# %% choose-a-precision: what rules a format out
def choose_precision(machine, model):
    range_needed, coarsest = 4 * model["largest_activation"], 2 * model["rounding"]

    def ruled_out(key, range_dtype, eps):
        return not machine[key] or range_needed > torch.finfo(range_dtype).max or eps > coarsest

    if not ruled_out("bf16", torch.bfloat16, 2**-7):
        return "BF16"
    if not ruled_out("fp16", torch.float16, 2**-10):
        return "FP16 + scaler"
    if not ruled_out("tf32", torch.float32, 2**-10):
        return "TF32"
    return "FP32"

# %% choose-a-precision: next, and spelled another way
def choose_precision(machine, model):
    candidates = [
        ("bf16", "bf16", torch.finfo(torch.bfloat16).max, 2**-8),
        ("fp16+scaler", "fp16", torch.finfo(torch.float16).max, 2**-11),
        ("tf32", "tf32", torch.finfo(torch.float32).max, 2**-11),
    ]
    fitting = (
        name
        for name, key, largest, error in candidates
        if machine[key]
        and model["largest_activation"] / largest <= 1 / 4
        and error <= model["rounding"]
    )
    return next(fitting, "fp32")

# %% choose-a-precision: tensors and logarithms
import math

def choose_precision(machine, model):
    bits = -math.log2(model["rounding"])
    exponent = math.log2(model["largest_activation"])
    if machine["bf16"] and bits <= 8:
        return "BF16"
    if bits <= 11:
        if machine["fp16"] and exponent <= math.log2(65504 / 4):
            return "FP16 + scaler"
        if machine["tf32"]:
            return "TF32"
    return "FP32"
"""
RIGHT_CELLS = percent_cells(RIGHT)


def names_after(source):
    """What a notebook holds after the set-up cell and this one, on a machine without a GPU."""
    names = {"torch": torch, "nn": nn, "F": F, "device": "cpu"}
    exec(compile(source, "<answer>", "exec"), names)
    return names


@pytest.mark.parametrize("title, source", RIGHT_CELLS, ids=[title for title, _ in RIGHT_CELLS])
def test_right_answers_of_every_shape_pass(title, source):
    verdict = check(title.partition(":")[0], names_after(source))
    assert (verdict.outcome, verdict.points) == ("correct", verdict.out_of), verdict


def test_there_are_five_of_each():
    for exercise in lesson_05.LESSON.exercises:
        assert sum(title.startswith(f"{exercise.id}:") for title, _ in RIGHT_CELLS) >= 5


def test_the_exercises_take_as_long_as_the_lesson_says():
    exercises = lesson_05.LESSON.exercises
    assert sum(exercise.minutes for exercise in exercises) == lesson_05.LESSON.minutes_exercises
    assert [exercise.minutes for exercise in exercises] == [5, 3, 6]
    assert [exercise.points for exercise in exercises] == [3, 2, 5]
    assert all(len(exercise.stub.splitlines()) <= 25 for exercise in exercises)


@pytest.mark.parametrize(
    ("old", "new", "mistake"), [("def ", "async def ", "async"), ("return ", "yield ", "yields")]
)
@pytest.mark.parametrize("exercise_id", [exercise.id for exercise in lesson_05.LESSON.exercises])
def test_a_generator_and_a_coroutine_are_named(exercise_id, old, new, mistake):
    verdict = check(exercise_id, names_after(right_answer(exercise_id).replace(old, new)))
    assert (verdict.outcome, verdict.mistake) == ("not yet", mistake)


# accumulate-in-fp32

CASES = {
    "small": ([0.01] * 1000, torch.bfloat16),
    "large": ([40.0] * 3000, torch.float16),
    "a run in BF16": (lesson_05._falling_losses(), torch.bfloat16),
    "a run in FP16": (lesson_05._falling_losses(), torch.float16),
}


@pytest.mark.parametrize("name", CASES)
def test_fp32_in_any_order_is_well_inside_the_tolerance(name):
    values, dtype = CASES[name]
    losses = [loss.float() for loss in lesson_05._losses(values, dtype)]
    true = math.fsum(losses) / len(losses)
    running = torch.zeros(())
    for count, loss in enumerate(losses, start=1):
        running += (loss - running) / count
    means = [
        sum(losses) / len(losses),
        sum(losses[::-1]) / len(losses),
        sum(sorted(losses)) / len(losses),
        sum(loss / len(losses) for loss in losses),
        torch.stack(losses).cumsum(0)[-1] / len(losses),
        running,
    ]
    errors = [abs(mean.item() / true - 1) for mean in means]
    print(f"{name}: off by at most {max(errors):.1e} of the mean")
    assert max(errors) < mean_in_16_bits.EXACT / 2


@pytest.mark.parametrize("name", ["a run in BF16", "a run in FP16"])
def test_a_rounded_mean_is_well_outside_the_tolerance(name):
    values, dtype = CASES[name]
    losses = torch.tensor(values, dtype=dtype)
    true = losses.double().mean().item()
    assert abs(losses.mean().item() / true - 1) > 5 * mean_in_16_bits.EXACT


SUMS = [
    "torch.stack(losses).sum().item() / len(losses)",
    "torch.stack(losses).sum().float().item() / len(losses)",
    "float(torch.sum(torch.stack(losses))) / len(losses)",
    "torch.stack(losses).sum().double() / len(losses)",
    "torch.cat([loss.view(1) for loss in losses]).sum().item() * (1 / len(losses))",
]


@pytest.mark.parametrize("returned", SUMS)
def test_a_sum_that_torch_rounded_is_told(returned):
    mean_loss = names_after(f"def mean_loss(losses): return {returned}")["mean_loss"]
    for test, became in (
        (lesson_05._many_small_losses, "10.00977 became 10"),
        (lesson_05._losses_of_a_run, "became"),
    ):
        with pytest.raises(NotYet, match=f"sum\\(\\) adds in FP32 but gives BF16: .*{became}") as told:
            test(types.SimpleNamespace(mean_loss=mean_loss))
        assert told.value.mistake == "rounds-the-sum"


def test_a_rounded_sum_divided_in_16_bits_is_told_as_well():
    mean_loss = names_after("def mean_loss(losses): return (torch.stack(losses).sum() / len(losses)).item()")
    with pytest.raises(NotYet, match="sum\\(\\) adds in FP32 but gives BF16") as told:
        lesson_05._losses_of_a_run(types.SimpleNamespace(**mean_loss))
    assert told.value.mistake == "rounds-the-sum"


def test_a_mean_rounded_to_decimals_is_not_taken_for_a_rounded_sum():
    for digits in (2, 3, 4):
        answer = types.SimpleNamespace(
            mean_loss=lambda losses: round(sum(map(float, losses)) / len(losses), digits)
        )
        with pytest.raises(NotYet, match="looks rounded to decimals") as told:
            lesson_05._many_small_losses(answer)
        assert told.value.mistake == "rounds-to-decimals"


LEFT_OUT = [
    "sum(map(float, losses[1:])) / len(losses)",
    "sum(map(float, losses[:-1])) / len(losses)",
    "sum(map(float, losses[1:])) / (len(losses) - 1)",
    "sum(losses[:-1], start=torch.zeros(())) / len(losses)",
    "torch.stack(losses).float()[1:].mean().item()",
]
TWICE = [
    "(float(losses[0]) + sum(map(float, losses))) / len(losses)",
    "sum(losses, start=losses[-1].float()) / len(losses)",
]


@pytest.mark.parametrize("returned", LEFT_OUT + TWICE)
def test_a_loss_left_out_or_added_twice_is_no_wrong_divisor(returned):
    verdict = check("accumulate-in-fp32", names_after(f"def mean_loss(losses): return {returned}"))
    assert verdict.mistake == ("leaves-one-out" if returned in LEFT_OUT else "counts-one-twice"), verdict
    assert "You divide by" not in repr(verdict), verdict


@pytest.mark.parametrize("other", ["+ 1", "- 1"])
@pytest.mark.parametrize("total", ["sum(map(float, losses))", "sum(losses, start=torch.zeros(()))"])
def test_a_wrong_divisor_is_no_loss_left_out(total, other):
    verdict = check(
        "accumulate-in-fp32", names_after(f"def mean_loss(losses): return {total} / (len(losses) {other})")
    )
    assert verdict.mistake == "another-count" and "missing" not in repr(verdict), verdict


@pytest.mark.parametrize(
    "quotient", ["loss / len(losses)", "loss.div(len(losses)).float()", "(loss / len(losses)).item()"]
)
def test_quotients_in_16_bits_are_told(quotient):
    source = f"""
def mean_loss(losses):
    total = torch.zeros(())
    for loss in losses:
        total += {quotient}
    return total.item()
"""
    verdict = check("accumulate-in-fp32", names_after(source))
    assert verdict.mistake == "divides-in-16-bit", verdict
    assert "rounds the quotient" in repr(verdict) and "add in" not in repr(verdict), verdict


@pytest.mark.parametrize(
    "returned",
    ["losses[-1].item()", "2 * torch.stack(losses).mean().item()", "torch.stack(losses).max().item()"],
)
def test_a_16_bit_number_far_from_the_mean_is_told_as_it_is(returned):
    answer = types.SimpleNamespace(**names_after(f"def mean_loss(losses): return {returned}"))
    with pytest.raises(NotYet, match="That is off by .* of the mean") as told:
        lesson_05._losses_of_a_run(answer)
    assert told.value.mistake is None


def test_an_fp16_number_has_its_article():
    losses = lesson_05._losses(lesson_05._falling_losses(), torch.float16)
    near = (1.01 * torch.stack(losses).double().mean()).half().item()
    with pytest.raises(NotYet, match="It is an FP16 number"):
        mean_in_16_bits.look_at_mean(lambda losses: near, losses, "losses")


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_nothing_is_said_to_overflow_where_nothing_does(value):
    answer = types.SimpleNamespace(mean_loss=lambda losses: value)
    for test in (lesson_05._many_small_losses, lesson_05._losses_of_a_run):
        with pytest.raises(NotYet) as told:
            test(answer)
        assert told.value.mistake is None and len(told.value.message) < 200
        assert "ends at" not in told.value.message and "neither infinite nor NaN" in told.value.message


@pytest.mark.parametrize("returned", ["0", "0.0", "0.01", "losses[0].item() * 0"])
def test_a_constant_is_no_rounding(returned):
    verdict = check("accumulate-in-fp32", names_after(f"def mean_loss(losses): return {returned}"))
    assert verdict.mistake is None and "That is off by" in repr(verdict), verdict
    assert not any(word in repr(verdict) for word in ("//", "decimals", "missing")), verdict


def test_a_nan_is_a_sum_that_overflowed():
    with pytest.raises(NotYet, match="yours is nan. The losses add up to 120,000") as told:
        lesson_05._a_sum_beyond_fp16(types.SimpleNamespace(mean_loss=lambda losses: math.nan))
    assert told.value.mistake == "sum-overflows"


def test_a_number_that_nothing_explains_is_told_as_it_is():
    with pytest.raises(NotYet, match="yours is 0.0123. That is off by 0.2 of the mean.") as told:
        lesson_05._many_small_losses(types.SimpleNamespace(mean_loss=lambda losses: 0.0123))
    assert told.value.mistake is None


@pytest.mark.parametrize(
    "change",
    [
        "losses.pop()",
        "losses.reverse()",
        "losses[0] = losses[0].float()",
        "losses[0].zero_()",
        "losses.append(mean)",
    ],
)
def test_an_answer_that_changes_the_losses_is_told_and_loses_only_that(change):
    source = f"def mean_loss(losses):\n    mean = sum(map(float, losses)) / len(losses)\n    {change}\n"
    verdict = check("accumulate-in-fp32", names_after(source + "    return mean"))
    assert (verdict.mistake, verdict.points) == ("changes-the-losses", 2.5), verdict


# reads-true-or-emulated

GPUS = {**lesson_05.EMULATING, **lesson_05.COMPUTING, "no GPU": (None, None)}


@pytest.mark.parametrize("what", GPUS)
@pytest.mark.skipif(torch.version.hip is not None, reason="PyTorch says yes to every AMD GPU")
def test_the_stand_in_answers_as_torch_does(what, monkeypatch):
    name, capability = GPUS[what]
    major, minor = capability or (None, None)
    properties = types.SimpleNamespace(name=name, major=major, minor=minor)
    cuda = CudaStandIn(name, capability)
    monkeypatch.setattr(torch.version, "cuda", "12.6")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: capability is not None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_, **__: properties)
    monkeypatch.setattr(torch.cuda, "_check_bf16_tensor_supported", lambda *_: True)  # emulated, slowly
    assert cuda.is_available() is torch.cuda.is_available()
    assert cuda.is_bf16_supported() is torch.cuda.is_bf16_supported()
    assert cuda.is_bf16_supported(False) is torch.cuda.is_bf16_supported(including_emulation=False)
    assert cuda.asked[1:] == [SUPPORTED, NATIVE]
    assert cuda.is_bf16_supported(False) is (what in lesson_05.COMPUTING)
    assert cuda.is_bf16_supported() is (what != "no GPU")
    if capability:
        assert cuda.get_device_capability() == torch.cuda.get_device_capability() == capability
        assert cuda.get_device_name() == torch.cuda.get_device_name() == name


def test_the_stand_in_refuses_without_a_gpu_and_names_what_it_has():
    cuda = CudaStandIn(None, None)
    assert (cuda.is_available(), cuda.device_count()) == (False, 0)
    for ask in (cuda.get_device_name, cuda.get_device_capability, cuda.get_device_properties):
        with pytest.raises(NoGpu, match="No CUDA GPUs are available"):
            ask()
    with pytest.raises(AttributeError, match="has no 'mem_get_info'. It has is_available"):
        cuda.mem_get_info()
    assert not hasattr(cuda, "_repr_html_")


def test_capabilities_are_those_of_lesson_04():
    before = {**lesson_04.GPUS_WITH_BF16, **lesson_04.GPUS_WITH_FP16, **lesson_04.OLDER_GPUS}
    shared = before.keys() & GPUS.keys()
    assert len(shared) >= 6
    assert all(GPUS[what][1] == before[what] for what in shared)


@pytest.mark.parametrize("answer", ["False", "True"])
def test_an_answer_that_asks_nothing_earns_nothing(answer):
    verdict = check("reads-true-or-emulated", names_after(f"def computes_in_bf16(cuda): return {answer}"))
    assert (verdict.mistake, verdict.points) == ("asks-this-machine", 0.0), verdict


@pytest.mark.skipif(torch.cuda.is_available(), reason="there torch.cuda answers")
def test_asking_torch_cuda_where_it_raises_is_told():
    source = "def computes_in_bf16(cuda): return torch.cuda.get_device_capability() >= (8, 0)"
    verdict = check("reads-true-or-emulated", names_after(source))
    assert verdict.mistake == "asks-this-machine" and "Your answer raised" in repr(verdict)


@pytest.mark.parametrize(
    "returned", ["cuda.get_device_capability", "cuda.is_available() and cuda.is_bf16_supported"]
)
def test_a_method_that_was_not_called_is_told(returned):
    verdict = check("reads-true-or-emulated", names_after(f"def computes_in_bf16(cuda): return {returned}"))
    assert verdict.mistake == "forgets-the-parentheses", verdict
    assert f"the method {returned.rpartition('.')[2]} itself for a T4: call it with ()" in repr(verdict)


def test_a_generator_function_and_a_generator_expression_are_told_apart():
    with pytest.raises(NotYet, match="It holds a `yield`"):
        has_run((lambda: (yield 1))(), "answer")
    with pytest.raises(NotYet, match="^answer gave a generator expression"):
        has_run((each for each in ()), "answer")


def test_newer_gpus_left_out_of_a_list_are_not_said_to_be_text():
    source = (
        "def computes_in_bf16(cuda):\n"
        "    return cuda.is_available() and (8, 0) <= cuda.get_device_capability() < (10, 0)"
    )
    text = repr(check("reads-true-or-emulated", names_after(source)))
    assert "Every GPU from 8.0 on computes in BF16" in text and "If you compare text" in text


def test_an_error_of_another_kind_is_told_as_it_is():
    source = "def computes_in_bf16(cuda):\n    assert cuda.get_device_capability() > (9, 0), 'old'\n"
    assert "AssertionError: old" in repr(check("reads-true-or-emulated", names_after(source)))


@pytest.mark.parametrize("what, question", [("a T4", "False"), ("an A100", "True")])
def test_an_answer_turned_round_is_told(what, question):
    cuda = CudaStandIn(*GPUS[what])
    answer = types.SimpleNamespace(computes_in_bf16=lambda cuda: not cuda.is_bf16_supported(False))
    test = lesson_05._gpus_that_emulate if what == "a T4" else lesson_05._gpus_that_compute
    with pytest.raises(NotYet, match=f"You said {not cuda.is_bf16_supported(False)} for {what}"):
        test(answer)


# choose-a-precision


def by_the_stub(machine, activation, rounding):
    """The stub's rule, written from torch.finfo alone."""
    half, brain, single = (torch.finfo(each) for each in (torch.float16, torch.bfloat16, torch.float32))
    if machine["bf16"] and 4 * activation <= brain.max and brain.eps / 2 <= rounding:
        return "BF16"
    if machine["fp16"] and 4 * activation <= half.max and half.eps / 2 <= rounding:
        return "FP16 + scaler"
    if machine["tf32"] and 4 * activation <= single.max and half.eps / 2 <= rounding:
        return "TF32"
    return "FP32"


def cases():
    """Every case that the tests ask, as (machine, activation, rounding), and what they want."""
    asked = []

    def note(machine, model):
        what = next(name for name, known in precision_choice.MACHINES.items() if known == machine)
        choice = by_the_stub(machine, model["largest_activation"], model["rounding"])
        asked.append((what, model["largest_activation"], model["rounding"], choice))
        return choice

    for test in lesson_05.CHOOSE_A_PRECISION.tests:
        test.run(types.SimpleNamespace(choose_precision=note))
    return asked


def test_the_cases_are_many_and_want_what_the_stub_says():
    asked = cases()
    assert len(asked) >= 20
    assert {want for *_, want in asked} == {"BF16", "FP16 + scaler", "TF32", "FP32"}


@pytest.mark.parametrize("choice", ["BF16", "FP16 + scaler", "TF32", "FP32"])
def test_every_wrong_choice_is_told_in_words(choice):
    told_of = 0
    for what, activation, rounding, want in cases():
        if choice == want:
            continue
        with pytest.raises(NotYet) as told:
            precision_choice.look_at_choice(lambda *_: choice, what, activation, rounding, want)
        assert told.value.message.startswith(f"For {what} and a model with activations up to")
        assert f"you chose {choice}." in told.value.message
        assert told.value.mistake
        told_of += 1
    assert told_of >= 10


@pytest.mark.parametrize("returned", ["", "AMP", "FP8", 16, ["BF16"], torch.float16, True])
def test_what_is_none_of_the_four_is_told(returned):
    with pytest.raises(NotYet, match='"BF16", "FP16 \\+ scaler", "TF32"'):
        lesson_05._ordinary_models(types.SimpleNamespace(choose_precision=lambda *_: returned))


def test_an_answer_may_keep_or_change_the_dicts_it_is_given():
    source = right_answer("choose-a-precision").replace('return "FP32"', 'machine.clear()\n    return "FP32"')
    assert check("choose-a-precision", names_after(source)).outcome == "correct"


def test_the_stub_leaves_the_order_to_the_learner():
    stub = lesson_05.CHOOSE_A_PRECISION.stub
    assert "first of" not in stub and "BF16, FP16 + scaler and TF32" not in stub
    assert "needs no scaler" in stub and "by comparing short runs with FP32" in " ".join(stub.split())


def test_an_answer_that_fails_when_it_is_probed_is_still_told():
    def chosen(machine, model):
        if model["rounding"] < 2.0**-10:
            raise ValueError
        return "BF16"

    with pytest.raises(NotYet, match="BF16 rounds by up to 2⁻⁸") as told:
        lesson_05._fine_rounding(types.SimpleNamespace(choose_precision=chosen))
    assert told.value.mistake == "bf16-for-fine-rounding"


# quick checks


def test_sums_of_ones_stop_where_the_quick_check_says():
    for dtype, end in ((torch.bfloat16, 256), (torch.float16, 2048)):
        assert (torch.tensor(end - 1, dtype=dtype) + 1).item() == end
        assert (torch.tensor(end, dtype=dtype) + 1).item() == end
        assert torch.tensor(4000, dtype=dtype).item() == 4000
    assert torch.tensor(257.0).bfloat16().item() == 256 and torch.tensor(258.0).bfloat16().item() == 258


def test_the_quick_check_on_sums_does_not_count_to_the_answer():
    asked = lesson_05.WHERE_SUMS_STOP
    assert "256" not in asked.question and "significant" not in asked.question
    assert not any("8 bits count" in choice.reply for choice in asked.choices)
    assert any("even" in choice.reply for choice in asked.choices if choice.right)


def test_the_length_of_a_choice_does_not_tell_the_right_one():
    longest = [
        max(each.choices, key=lambda choice: len(choice.text)) for each in lesson_05.LESSON.quick_checks
    ]
    assert not any(choice.right for choice in longest)


def test_the_right_choices_stand_at_different_places():
    right = {
        choice.label for each in lesson_05.LESSON.quick_checks for choice in each.choices if choice.right
    }
    assert len(right) == 3
    assert all(sum(choice.right for choice in each.choices) == 1 for each in lesson_05.LESSON.quick_checks)
