"""The exercises of lesson 05: sums of 16-bit numbers, BF16 true or emulated, the choice of a precision."""

import math

import torch

from amp_lessons.exercises import expect
from amp_lessons.exercises.cuda_stand_in import AVAILABLE, CAPABILITY, NAME, SUPPORTED, CudaStandIn, NoGpu
from amp_lessons.exercises.exercise import Choice, Exercise, Lesson, NotYet, QuickCheck, Test
from amp_lessons.exercises.faults import kind_and_text
from amp_lessons.exercises.mean_in_16_bits import look_at_mean
from amp_lessons.exercises.precision_choice import (
    COARSE,
    FINE,
    FINER,
    LARGE,
    MACHINES,
    ORDINARY,
    ROOM,
    look_at_choice,
)
from amp_lessons.exercises.shown import shown
from amp_lessons.exercises.unrun import has_run
from amp_lessons.formats import FP16

# accumulate-in-fp32 ------------------------------------------------------------------------------------


def _losses(values, dtype):
    return list(torch.tensor(values, dtype=dtype).unbind())


def _falling_losses(count=1000):
    """The losses of a run: 300 at its first step, then from 2.3 down to 0.05. The mean has many digits."""
    return [300.0] + [0.04 + 2.3 * math.exp(-step / 180) for step in range(1, count)]


def _many_small_losses(answer):
    look_at_mean(answer.mean_loss, _losses([0.01] * 1000, torch.bfloat16), "1,000 losses of 0.01 in BF16")


def _a_sum_beyond_fp16(answer):
    look_at_mean(answer.mean_loss, _losses([40.0] * 3000, torch.float16), "3,000 losses of 40 in FP16")


def _losses_of_a_run(answer):
    what = "1,000 losses of a run, the first 300, the last 0.05, in"
    look_at_mean(answer.mean_loss, _losses(_falling_losses(), torch.bfloat16), f"{what} BF16")
    look_at_mean(answer.mean_loss, _losses(_falling_losses(), torch.float16), f"{what} FP16")


def _one_loss_and_the_list_kept(answer):
    look_at_mean(answer.mean_loss, _losses([2.125], torch.float16), "[2.125] in FP16")
    values = [2.0, 1.5, 1.75]
    losses = _losses(values, torch.bfloat16)
    given = list(losses)
    has_run(answer.mean_loss(given), "mean_loss")
    if len(given) == len(losses) and all(one is other for one, other in zip(given, losses)):
        after = [loss.item() for loss in losses]
        if after == values:
            return
    else:
        after = given
    raise NotYet(
        f"The list {values} is {shown(after)} after mean_loss. Whoever called it still needs the losses: "
        "leave the list and its tensors as they are.",
        "changes-the-losses",
    )


ACCUMULATE_IN_FP32 = Exercise(
    id="accumulate-in-fp32",
    title="Accumulate in FP32",
    minutes=5,
    stub='''
def mean_loss(losses):
    """The mean of `losses`, as a Python float, as exact as FP32 allows.

    losses: a list of scalar tensors in one 16-bit dtype, all on one device, such as
    loss.detach() gives at each step when the loss is computed in 16 bits. Leave the list
    and its tensors as they are.
    """
    raise NotImplementedError
''',
    hints=(
        "Two things can go wrong: the sum, and the division that gives the mean. In which dtype is each of "
        "yours?",
        "A Python 0 takes the tensors' dtype when you add one to it. Convert each loss to FP32 before it is "
        "added, or start from an FP32 tensor.",
        "torch.stack(losses) gives one tensor. Its sum() and its mean() add in FP32 but round the result to "
        "16 bits; call .float() before, and .item() after.",
    ),
    tests=[
        Test("many small losses", 1, _many_small_losses),
        Test("a sum beyond FP16's largest number", 0.5, _a_sum_beyond_fp16),
        Test("large and small losses, exact to FP32", 1, _losses_of_a_run),
        Test("one loss, and a list left as it is", 0.5, _one_loss_and_the_list_kept),
    ],
    why="Each loss is converted before it is added, so sum, mean and result have at least FP32's 24 bits.",
)

# reads-true-or-emulated --------------------------------------------------------------------------------

# How the learner knows it: (the name it gives itself, its capability).
EMULATING = {
    "a T4": ("Tesla T4", (7, 5)),
    "a V100": ("Tesla V100-SXM2-16GB", (7, 0)),
    "a Quadro RTX 8000": ("Quadro RTX 8000", (7, 5)),
    "a GTX 1080": ("NVIDIA GeForce GTX 1080", (6, 1)),
}
COMPUTING = {
    "an A100": ("NVIDIA A100-SXM4-40GB", (8, 0)),
    "an RTX 3090": ("NVIDIA GeForce RTX 3090", (8, 6)),
    "an RTX 4090": ("NVIDIA GeForce RTX 4090", (8, 9)),
    "an H100": ("NVIDIA H100 80GB HBM3", (9, 0)),
    "a B200": ("NVIDIA B200", (10, 0)),
    "an RTX 5090": ("NVIDIA GeForce RTX 5090", (12, 0)),
}


def _computes(answer, cuda, what):
    """What the answer says of a stand-in: a bool."""
    called = f"computes_in_bf16(cuda) for {what}"
    try:
        returned = has_run(answer.computes_in_bf16(cuda), "computes_in_bf16")
    except NoGpu:
        raise NotYet(
            f"For {what} your answer raised an error: `{cuda.asked[-1]}` does, in torch.cuda too, where "
            "there is none to ask. Ask is_available() first.",
            "asks-without-a-gpu",
        ) from None
    except (AssertionError, RuntimeError) as error:
        if cuda.asked:
            raise
        raise NotYet(_nothing_asked(f"raised {kind_and_text(error)}"), "asks-this-machine") from None
    if callable(returned):
        name = getattr(returned, "__name__", type(returned).__name__)
        raise NotYet(
            f"Your answer gave the method {name} itself for {what}: call it with ().",
            "forgets-the-parentheses",
        )
    if not cuda.asked:
        raise NotYet(_nothing_asked(f"gave {shown(returned)} for {what}"), "asks-this-machine")
    return expect.boolean(returned, called)


def _nothing_asked(result):
    return (
        f"Your answer {result}, and asked its argument `cuda` nothing. torch.cuda is the machine you sit at; "
        "`cuda` may be another one's."
    )


def _gpus_that_emulate(answer):
    for what, (name, capability) in EMULATING.items():
        cuda = CudaStandIn(name, capability)
        if _computes(answer, cuda, what):
            said = f"You said True for {what}, whose capability is {_dotted(capability)}. "
            raise NotYet(*_too_much(said, cuda.asked))


def _too_much(said, asked):
    if SUPPORTED in asked:
        return (
            f"{said}is_bf16_supported() is True there as well, for it counts what PyTorch emulates. Ask it "
            "with including_emulation=False.",
            "trusts-emulation",
        )
    if CAPABILITY in asked:
        return f"{said}Units for BF16 begin at 8.0.", "limit-too-low"
    if NAME in asked:
        return _named(said)
    if set(asked) == {AVAILABLE}:
        return f"{said}It is a GPU, but without units for BF16. Ask what it can do.", "any-gpu-counts"
    return (
        f"{said}is_bf16_supported(including_emulation=False) is False there: it has no units for BF16.",
        None,
    )


def _named(said):
    return (
        f"{said}Names mislead, and new ones come every year. Ask for what the GPU can do.",
        "asks-the-name",
    )


def _gpus_that_compute(answer):
    for what, (name, capability) in COMPUTING.items():
        cuda = CudaStandIn(name, capability)
        if not _computes(answer, cuda, what):
            said = f"You said False for {what}, whose capability is {_dotted(capability)}. "
            raise NotYet(*_too_little(said, capability, cuda.asked))


def _too_little(said, capability, asked):
    if CAPABILITY in asked and capability == (8, 0):
        return f"{said}Units for BF16 begin at 8.0, and 8.0 itself belongs in.", "limit-too-high"
    if CAPABILITY in asked and capability >= (10, 0):
        return (
            f"{said}Every GPU from 8.0 on computes in BF16. If you compare text: "
            f'"{_dotted(capability)}" comes before "8.0". Compare the tuples: {capability} >= (8, 0).',
            "compares-as-text",
        )
    if CAPABILITY in asked:
        return f"{said}Every GPU from 8.0 on computes in BF16, not only those of 8.0.", "misses-newer-gpus"
    if NAME in asked:
        return _named(said)
    return f"{said}It has units for BF16.", None


def _no_gpu(answer):
    if _computes(answer, CudaStandIn(None, None), "a machine without a GPU"):
        raise NotYet(
            "You said True for a machine without a GPU. Nothing computes in BF16 there: give False.",
            "no-gpu-counts",
        )


def _dotted(capability):
    return f"{capability[0]}.{capability[1]}"


READS_TRUE_OR_EMULATED = Exercise(
    id="reads-true-or-emulated",
    title="True or emulated",
    minutes=3,
    stub='''
def computes_in_bf16(cuda):
    """True where an NVIDIA GPU itself computes in BF16, False where it only emulates it, and
    False where there is no GPU.

    cuda is torch.cuda, or stands in for that of another machine. Ask it:
    cuda.is_available()           whether there is a GPU: True or False
    cuda.get_device_capability()  a tuple, (7, 5) for a T4; raises an error without a GPU
    cuda.is_bf16_supported(including_emulation=True)
                                  True or False; False without a GPU
    cuda.get_device_name()        such as "Tesla T4"; raises an error without a GPU
    """
    raise NotImplementedError
''',
    hints=(
        "A T4 answers True to is_bf16_supported(). What does its default, including_emulation=True, mean?",
        "Two ways lead there: is_bf16_supported without emulation, or the capability, which begins at (8, 0) "
        "for BF16. One of them needs a GPU before you may ask.",
        "return cuda.is_bf16_supported(including_emulation=...), with the right value for the dots. Or: "
        "cuda.is_available() and cuda.get_device_capability() >= ...",
    ),
    tests=[
        Test("GPUs that emulate BF16", 1, _gpus_that_emulate),
        Test("GPUs that compute in BF16", 0.5, _gpus_that_compute),
        Test("no GPU", 0.5, _no_gpu),
    ],
    why="Units for BF16 begin at capability 8.0; below that PyTorch emulates it, which runs, slowly.",
)

# choose-a-precision ------------------------------------------------------------------------------------


def _ordinary_models(answer):
    for what, want in zip(MACHINES, ("BF16", "FP16 + scaler", "BF16", "FP32")):
        look_at_choice(answer.choose_precision, what, ORDINARY, COARSE, want)


def _large_activations(answer):
    look_at_choice(answer.choose_precision, "a T4", LARGE, COARSE, "FP32")
    look_at_choice(answer.choose_precision, "a T4", 20000.0, COARSE, "FP32")
    look_at_choice(answer.choose_precision, "an A100", LARGE, COARSE, "BF16")
    look_at_choice(answer.choose_precision, "a T4", 10000.0, COARSE, "FP16 + scaler")


def _fine_rounding(answer):
    look_at_choice(answer.choose_precision, "an A100", ORDINARY, FINE, "FP16 + scaler")
    look_at_choice(answer.choose_precision, "a T4", ORDINARY, FINE, "FP16 + scaler")
    look_at_choice(answer.choose_precision, "a CPU with BF16 instructions", ORDINARY, FINE, "FP32")
    look_at_choice(answer.choose_precision, "an A100", ORDINARY, FINER, "FP32")


def _both_at_once(answer):
    look_at_choice(answer.choose_precision, "an A100", LARGE, FINE, "TF32")
    look_at_choice(answer.choose_precision, "a T4", LARGE, FINE, "FP32")
    look_at_choice(answer.choose_precision, "an A100", LARGE, FINER, "FP32")


def _at_the_limits(answer):
    look_at_choice(answer.choose_precision, "an A100", ORDINARY, 0.006, "BF16")
    look_at_choice(answer.choose_precision, "an A100", ORDINARY, 2.0**-8, "BF16")
    look_at_choice(answer.choose_precision, "an A100", ORDINARY, 0.0035, "FP16 + scaler")
    look_at_choice(answer.choose_precision, "an A100", ORDINARY, 2.0**-11, "FP16 + scaler")
    look_at_choice(answer.choose_precision, "an A100", LARGE, 2.0**-11, "TF32")
    look_at_choice(answer.choose_precision, "a T4", FP16.largest / ROOM, COARSE, "FP16 + scaler")
    look_at_choice(answer.choose_precision, "a T4", FP16.largest / ROOM + 4, COARSE, "FP32")


CHOOSE_A_PRECISION = Exercise(
    id="choose-a-precision",
    title="Choose a precision",
    minutes=6,
    stub='''
def choose_precision(machine, model):
    """What to train `model` in on `machine`: "BF16", "FP16 + scaler", "TF32" or "FP32".

    machine["bf16"], machine["fp16"], machine["tf32"]: whether it has fast units for it
    model["largest_activation"]: the largest absolute value in a forward pass in FP32
    model["rounding"]: the largest relative rounding error of one operation that its
        results bear, found by comparing short runs with FP32; 2**-8 is common for deep nets

    A format fits where
    - the machine has fast units for it,
    - its range holds 4 times the largest activation: activations may grow in training,
    - its rounding error, half of its eps, is at most model["rounding"].
    Take the fastest that fits: 16 bits before TF32, TF32 before FP32, which always fits; of
    the two 16-bit formats the one that needs no scaler.

    torch.finfo(dtype) has max and eps of BF16 and FP16. TF32 has FP32's range and FP16's eps.
    """
    raise NotImplementedError
''',
    hints=(
        "Which of the four would you take if all of them fitted? And which if that one did not? Ask them in "
        "this order whether they fit.",
        "Put three candidates into a list, the best first: the name to return, the machine's key, the "
        "largest number, eps. A loop asks each its three conditions; FP32 is left when none fits.",
        'An entry: ("TF32", "tf32", torch.finfo(torch.float32).max, 2**-10). In the loop: if machine[key] '
        'and 4 * model["largest_activation"] <= largest and eps / 2 <= model["rounding"]: return name.',
    ),
    tests=[
        Test("an ordinary model on four machines", 1, _ordinary_models),
        Test("activations too large for FP16", 1, _large_activations),
        Test("results that bear little rounding", 1, _fine_rounding),
        Test("both at once", 1, _both_at_once),
        Test("at the limits", 1, _at_the_limits),
    ],
    why=(
        "The machine says what is fast, the activations what range is needed, the results what precision; "
        "of the formats that fit all three you take the fastest."
    ),
)

# quick checks ------------------------------------------------------------------------------------------

WHERE_SUMS_STOP = QuickCheck(
    id="where-sums-stop",
    question=(
        "A BF16 tensor `total` starts at 0, and a loop adds 1 to it 4,000 times. Where does it end? (BF16 "
        "has 7 bits of mantissa.)"
    ),
    choices=[
        Choice(
            "A",
            "At 4,000: BF16 has the range of FP32.",
            "4,000 is a BF16 number, and range is not what is missing. The sum never gets there: where "
            "BF16's numbers are 2 apart, adding 1 is lost.",
        ),
        Choice(
            "B",
            "At 256.",
            "From 256 on BF16's numbers are 2⁸ · 2⁻⁷ = 2 apart. 257 lies halfway to 258, and a tie goes to "
            "the even neighbour: 256, every time. FP16 gets to 2,048.",
            right=True,
        ),
        Choice(
            "C",
            "At 2,048, where the next number is 2 away.",
            "That is FP16, which has 10 bits of mantissa. BF16 has three fewer, so it stops 8 times earlier.",
        ),
    ],
)

BF16_NEEDS_NO_SCALER = QuickCheck(
    id="bf16-needs-no-scaler",
    question="FP16 training needs a `GradScaler`. Why does BF16 training do without one?",
    choices=[
        Choice(
            "A",
            "BF16 is more precise, so that small gradients are rounded less.",
            "It is less precise: 7 mantissa bits, FP16 has 10. A small gradient is kept, but with fewer "
            "digits.",
        ),
        Choice(
            "B",
            "GPUs with BF16 units scale the loss themselves.",
            "No hardware does that. And BF16 that is emulated, or on a CPU, needs no scaler either.",
        ),
        Choice(
            "C",
            "It has as many exponent bits as FP32.",
            "With 8 exponent bits it reaches down to 1.2e-38 with full precision, as FP32 does. What does "
            "not underflow needs no scaling.",
            right=True,
        ),
    ],
)

SCALER_CURES_OVERFLOW = QuickCheck(
    id="scaler-cures-overflow",
    question=(
        "In FP16 a layer's activations pass 65,504 in the forward pass, and the loss is NaN. Does a "
        "`GradScaler` help?"
    ),
    choices=[
        Choice(
            "A",
            "No. Run that part, with what computes its input, in FP32, or the model in BF16.",
            "The scale multiplies the loss, after the forward pass; what overflowed before stays infinite, "
            "or NaN, at any scale. A layer alone in FP32 may receive an infinity computed before it.",
            right=True,
        ),
        Choice(
            "B",
            "Yes: it halves the scale after each overflow and skips the step, until everything fits.",
            "It does, step after step, and skips every one of them. The activations do not depend on the "
            "scale, so nothing ever fits.",
        ),
        Choice(
            "C",
            "Yes, if it starts from a small scale, such as 1 in place of 65,536.",
            "A small scale helps where scaled gradients overflow. These activations overflowed before the "
            "scale came in.",
        ),
    ],
)

BASELINE_WITH_TF32 = QuickCheck(
    id="baseline-with-tf32",
    question=(
        "Two reports on the same model and the same A100. One says AMP is 7 times as fast as FP32, the other "
        "2 times. Which difference explains it best?"
    ),
    choices=[
        Choice(
            "A",
            "One trained in FP16 and the other in BF16.",
            "An A100's tensor cores multiply both at the same rate.",
        ),
        Choice(
            "B",
            "One measured without a `GradScaler`, whose work takes the time.",
            "The scaler looks at each gradient once and divides it. That costs a few per cent of a large "
            "step, not two thirds of it.",
        ),
        Choice(
            "C",
            "The second one's FP32 baseline used TF32.",
            "TF32 makes the baseline's matrix products several times as fast, so AMP gains less on top. It "
            "is off for them by default: a report has to say what it set.",
            right=True,
        ),
    ],
)

LESSON = Lesson(
    notebook="05_fp16_or_bf16",
    title="FP16 or BF16",
    promise="Choose the precision for a given machine and model, with reasons.",
    minutes_reading=30,
    minutes_exercises=14,
    exercises=[ACCUMULATE_IN_FP32, READS_TRUE_OR_EMULATED, CHOOSE_A_PRECISION],
    quick_checks=[WHERE_SUMS_STOP, BF16_NEEDS_NO_SCALER, SCALER_CURES_OVERFLOW, BASELINE_WITH_TF32],
)
