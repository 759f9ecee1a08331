"""The exercises of lesson 01: where FP16 goes to zero, what that costs, and the scale that avoids it."""

import math

import torch

from amp_lessons.exercises import expect
from amp_lessons.exercises.exercise import Choice, Exercise, Lesson, NotYet, QuickCheck, Test
from amp_lessons.formats import power_of_two

# flush-to-zero -----------------------------------------------------------------------------------------


def _zero_or_not(answer, value, text, expected, explain, mistake=None):
    got = expect.boolean(answer.becomes_zero(value), f"becomes_zero({text})")
    if got is not expected:
        becomes = torch.tensor(value).half().item() + 0.0  # no minus sign on a 0
        raise NotYet(f"You said {got} for {text}, which FP16 turns into {becomes:.4g}. {explain}", mistake)


def _keeps_subnormals(answer):
    _zero_or_not(
        answer,
        1e-6,
        "1e-6",
        False,
        "Below 2⁻¹⁴ ≈ 6.1e-5 FP16 loses precision, but it still has 1,023 positive numbers there.",
        "smallest-normal-is-zero",
    )
    _zero_or_not(
        answer,
        1.4 * 2.0**-25,
        "1.4 * 2**-25",
        False,
        "The smallest positive number is 2⁻²⁴, yet everything above its half is rounded up to it.",
        "smallest-subnormal-is-zero",
    )
    _zero_or_not(
        answer, 1.001 * 2.0**-25, "1.001 * 2**-25", False, "Only at and below 2⁻²⁵ ≈ 2.98e-8 is the result 0."
    )
    _zero_or_not(answer, 1.0, "1.0", False, "Only very small numbers become 0.")


def _drops_what_is_tiny(answer):
    _zero_or_not(answer, 1e-8, "1e-8", True, "It is smaller than half of FP16's smallest number, 2⁻²⁴.")
    _zero_or_not(
        answer,
        2.0**-25,
        "2**-25",
        True,
        "It lies exactly in the middle between 0 and 2⁻²⁴, and a tie goes to 0, so the limit itself "
        "belongs in.",
        "keeps-the-tie",
    )


def _knows_signs(answer):
    _zero_or_not(
        answer, -1.0, "-1.0", False, "How far a number is from 0 counts, not its sign.", "forgets-the-sign"
    )
    _zero_or_not(
        answer, -1e-9, "-1e-9", True, "How far a number is from 0 counts, not its sign.", "forgets-the-sign"
    )
    _zero_or_not(
        answer, -1e-6, "-1e-6", False, "How far a number is from 0 counts, not its sign.", "forgets-the-sign"
    )
    _zero_or_not(answer, 0.0, "0.0", False, "It was 0 before: nothing has been lost.", "counts-zero-as-lost")


FLUSH_TO_ZERO = Exercise(
    id="flush-to-zero",
    title="Where FP16 goes to zero",
    minutes=4,
    stub='''
def becomes_zero(value):
    """True if the number `value` is not 0 but becomes 0 in FP16, else False."""
    raise NotImplementedError
''',
    hints=(
        "Two ways lead there: compare with a limit, or let PyTorch convert the number and look.",
        "The limit is not FP16's smallest number but half of it, and the sign plays no part: use abs(value).",
        "value != 0 and abs(value) <= 2.0**-25. Or convert: value != 0 and torch.tensor(value).half() == 0.",
    ),
    tests=[
        Test("small numbers that FP16 keeps", 1, _keeps_subnormals),
        Test("tiny numbers, and the tie", 0.5, _drops_what_is_tiny),
        Test("negative numbers and 0", 0.5, _knows_signs),
    ],
    why="FP16's smallest number is 2⁻²⁴; whatever is no larger than its half, 2⁻²⁵, rounds to 0.",
)

# share-lost --------------------------------------------------------------------------------------------


def _share(answer, tensor, expected, what, explain, known_mistakes=()):
    got = expect.number(answer.share_lost(tensor.clone()), f"share_lost({what})")
    if math.isclose(got, expected, rel_tol=5e-3, abs_tol=1e-6):  # room for a mean taken in 16 bits
        return
    for value, mistake, message in known_mistakes:
        if math.isclose(got, value, rel_tol=5e-3, abs_tol=1e-6):
            raise NotYet(f"You got {got:.4g} for {what}. {message}", mistake)
    raise NotYet(f"You got {got:.4g} for {what}; it is {expected:.4g}. {explain}")


def _share_without_zeros(answer):
    tensor = torch.tensor([1e-2, 1e-5, 1e-8, -1e-9])
    _share(
        answer,
        tensor,
        0.5,
        "[1e-2, 1e-5, 1e-8, -1e-9]",
        "The last two become 0 in FP16, the first two do not: 2 of 4.",
        [
            (2.0, "count-not-share", "That is how many are lost. Divide by how many could have been."),
            (50.0, "percent-not-share", "That is per cent. A share runs from 0 to 1."),
            (
                0.75,
                "smallest-normal-counts-as-lost",
                "1e-5 was counted as lost, but FP16 keeps it as a subnormal.",
            ),
            (0.25, "only-positive-values", "-1e-9 was not counted: the sign plays no part in underflow."),
        ],
    )


def _share_near_the_limit(answer):
    _share(
        answer,
        torch.tensor([5e-8, 2.0**-25, 1.0]),
        1 / 3,
        "[5e-8, 2**-25, 1.0]",
        "Only 2⁻²⁵ becomes 0: it is the limit itself, and 5e-8 lies above it.",
        [
            (
                2 / 3,
                "smallest-subnormal-counts-as-lost",
                "5e-8 was counted as lost. FP16 rounds it up to its smallest number, 2⁻²⁴.",
            ),
            (0.0, "keeps-the-tie", "2⁻²⁵ was not counted: halfway between 0 and 2⁻²⁴, it goes to 0."),
        ],
    )


def _share_beside_zeros(answer):
    tensor = torch.tensor([[0.0, 0.0, 0.0, 1e-8], [0.0, 1e-2, 0.0, 1e-3]])
    _share(
        answer,
        tensor,
        1 / 3,
        "[[0, 0, 0, 1e-8], [0, 1e-2, 0, 1e-3]]",
        "Three values are not 0, and one of them is lost: 1 of 3.",
        [
            (
                6 / 8,
                "old-zeros-as-lost",
                "The five values that were 0 before are counted as lost. FP16 did not make those.",
            ),
            (
                1 / 8,
                "old-zeros-in-the-total",
                "1 of 8: the zeros from before are in the total. They can't be lost.",
            ),
            (
                6 / 3,
                "old-zeros-above-the-line",
                "More than 1 is no share: above the line stand zeros that were there before.",
            ),
        ],
    )


def _share_of_nothing(answer):
    what = "a tensor of zeros"
    value = answer.share_lost(torch.zeros(3))
    if expect.is_nan(value):
        raise NotYet(
            f"You got nan for {what}: 0 / 0. Where no value could be lost, the share is 0.",
            "nan-for-no-values",
        )
    got = expect.number(value, f"share_lost({what})")
    if got != 0:
        raise NotYet(f"You got {got:.4g} for {what}. Where no value could be lost, the share is 0.")


SHARE_LOST = Exercise(
    id="share-lost",
    title="The share that FP16 loses",
    minutes=5,
    stub='''
def share_lost(gradient):
    """Share (0 to 1) of the non-zero values of an FP32 tensor that become 0 in FP16."""
    raise NotImplementedError
''',
    hints=(
        "You need two counts: how many values are not 0, and how many of those are 0 after gradient.half().",
        "A mask does it: non_zero = gradient != 0, and lost = non_zero & (gradient.half() == 0).",
        "lost.sum() / non_zero.sum(), as a number, and 0.0 where non_zero.sum() is 0.",
    ),
    tests=[
        Test("values of every size", 0.5, _share_without_zeros),
        Test("values near the limit", 0.5, _share_near_the_limit),
        Test("zeros from before", 0.5, _share_beside_zeros),
        Test("nothing to lose", 0.5, _share_of_nothing),
    ],
    why=(
        "Lost is what FP16 makes 0 among the values that were not 0; zeros from before say nothing about "
        "FP16."
    ),
)

# pick-a-scale ------------------------------------------------------------------------------------------


def _scale(answer, values, expected, what):
    try:
        got = expect.number(answer.pick_scale(torch.tensor(values)), f"pick_scale({what})")
    except OverflowError:
        raise NotYet(
            f"For {what} your scale grew past what FP32 can hold. Do you convert to FP16 before you look "
            f"for infinity?",
            "looks-in-fp32",
        ) from None
    if got == expected:
        return
    if not 0 < got < math.inf or math.log2(got) % 1:
        raise NotYet(
            f"You chose {got:g} for {what}. It must be a power of two, above 0: then multiplying "
            f"and dividing change only the exponent and cost no precision.",
            "no-power-of-two",
        )
    scale = power_of_two(int(math.log2(got)))
    if got > 2.0**100:
        raise NotYet(
            f"You chose {scale} for {what}. Times your values, that is where FP32 ends. Convert to FP16 "
            "before you look for infinity.",
            "looks-in-fp32",
        )
    largest = max(values, key=abs)
    overflows = f"{largest:g} times {scale} is {largest * got:g}, and from 65520 on FP16 is infinite"
    if got > expected:
        if largest < 0 and max(values) * got < 65520:
            raise NotYet(
                f"You chose {scale} for {what}, but {overflows}, on both sides. The largest magnitude "
                f"counts.",
                "forgets-the-sign",
            )
        raise NotYet(
            f"You chose {scale} for {what}: {overflows}.",
            "one-step-too-far" if got == 2 * expected else "overflows",
        )
    if 65504 < 2 * abs(largest * got) < 65520:
        raise NotYet(
            f"You chose {scale} for {what}. Twice that fits: {2 * largest * got:g} is rounded to 65504; "
            "infinity begins at 65520.",
            "limit-too-low",
        )
    if got == expected / 2:
        raise NotYet(
            f"You chose {scale} for {what}, and nothing overflows. Twice that still fits: "
            f"{largest:g} becomes {2 * largest * got:g}, and 65520 is the first number that does not fit.",
            "one-step-too-careful",
        )
    if got == 65536:
        raise NotYet(
            f"You chose {scale} for {what}, where GradScaler starts. Larger ones fit: "
            f"the largest value becomes only {largest * got:g}. Look at the values.",
            "default-scale",
        )
    raise NotYet(
        f"You chose {scale} for {what}, and nothing overflows, but larger ones fit: "
        f"the largest value becomes only {largest * got:g}.",
        "too-careful",
    )


def _scale_of_small_values(answer):
    _scale(answer, [3e-4, 1e-6], 2.0**27, "[3e-4, 1e-6]")
    _scale(answer, [1e-3, -5.0, 0.0], 2.0**13, "[1e-3, -5.0, 0.0]")
    _scale(answer, [1e-7], 2.0**39, "[1e-7]")


def _scale_at_the_cliff(answer):
    _scale(answer, [1.0], 2.0**15, "[1.0]")
    _scale(answer, [0.9999, 0.1], 2.0**15, "[0.9999, 0.1]")
    _scale(answer, [0.999, 0.1], 2.0**16, "[0.999, 0.1]")
    _scale(answer, [0.9996, 0.1], 2.0**16, "[0.9996, 0.1]")  # 65509.8 comes back to 65504
    _scale(answer, [65520 / 65536, 0.1], 2.0**15, "[65520 / 65536, 0.1]")


def _scale_of_large_values(answer):
    _scale(answer, [1e6, 2.0], 2.0**-4, "[1e6, 2.0]")
    _scale(answer, [1e20], 2.0**-51, "[1e20]")


PICK_A_SCALE = Exercise(
    id="pick-a-scale",
    title="The largest scale that fits",
    minutes=6,
    stub='''
def pick_scale(gradient):
    """The largest power of two by which the FP32 tensor `gradient` can be multiplied
    so that no value becomes infinite in FP16."""
    raise NotImplementedError
''',
    hints=(
        "Only the value with the largest magnitude matters. From which number on is FP16 infinite?",
        "Start from a scale that surely fits and double it while the next one fits as well. "
        "Mind tensors whose values are above 65520 already: there the scale is below 1.",
        "while (gradient * scale).half().isinf().any(): scale /= 2, starting from a scale that is far "
        "too large, such as 2.0**100.",
    ),
    tests=[
        Test("small gradients", 1, _scale_of_small_values),
        Test("close to the cliff", 1, _scale_at_the_cliff),
        Test("gradients beyond the cliff", 1, _scale_of_large_values),
    ],
    why="The largest magnitude times the scale stays below 65520, and the next power of two would not.",
)

# swallowed-update --------------------------------------------------------------------------------------


def _swallowed(answer, weight, update, expected, explain, mistake=None):
    got = expect.boolean(answer.is_swallowed(weight, update), f"is_swallowed({weight:g}, {update:g})")
    if got is not expected:
        before = torch.tensor(weight).half()
        after = before + torch.tensor(update).half()
        raise NotYet(
            f"You said {got} for weight {weight:g} and update {update:g}. In FP16 the weight is "
            f"{before.item():.6g} "
            f"before and {after.item():.6g} after. {explain}",
            mistake,
        )


def _plain_updates(answer):
    _swallowed(
        answer,
        1.0,
        1e-4,
        True,
        "Added in FP32 or as Python numbers the update survives; it must be added in FP16.",
        "adds-in-fp32",
    )
    _swallowed(answer, 1.0, 1e-2, False, "This update is larger than a step.")
    _swallowed(
        answer,
        0.0625,
        1e-4,
        False,
        "Near a small weight FP16's steps are small as well: it depends on both numbers.",
        "ignores-the-weight",
    )


def _asymmetric_updates(answer):
    _swallowed(
        answer,
        1.0,
        -4e-4,
        False,
        "Below a power of two the steps are half as wide as above it.",
        "same-up-and-down",
    )
    _swallowed(
        answer,
        1.0,
        4e-4,
        True,
        "Above a power of two the steps are twice as wide as below it.",
        "same-up-and-down",
    )
    _swallowed(
        answer,
        1.5,
        -4e-4,
        True,
        "Only next to a power of two are the steps below half as wide.",
        "half-steps-everywhere",
    )
    _swallowed(answer, -1.0, 4e-4, False, "Towards 0 the steps of -1 are the smaller ones.")
    _swallowed(answer, 1 + 2.0**-10, 2.0**-11, False, "A tie goes to the neighbour whose last bit is 0.")


def _stored_weights(answer):
    _swallowed(
        answer,
        0.3,
        1e-5,
        True,
        "Compare with the weight as FP16 stores it, not with the Python number, which FP16 does not have.",
        "compares-with-python-number",
    )
    _swallowed(answer, 0.3, 1e-3, False, "This update is larger than a step.")
    _swallowed(
        answer,
        0.30016,
        2e-5,
        True,
        "Store the weight first, then add: rounding only the sum of the Python numbers gives another number.",
        "stores-too-late",
    )


SWALLOWED_UPDATE = Exercise(
    id="swallowed-update",
    title="Is the update swallowed?",
    minutes=5,
    stub='''
def is_swallowed(weight, update):
    """True if `weight`, stored in FP16, is unchanged after `update` is added in FP16."""
    raise NotImplementedError
''',
    hints=(
        "Do what an FP16 optimizer would do, then compare before and after.",
        "Make two FP16 tensors, one of the weight and one of the update. Their sum is an FP16 tensor too.",
        "before = torch.tensor(weight, dtype=torch.float16), after = before + torch.tensor(update, "
        "dtype=torch.float16), "
        "then compare the two, as a bool.",
    ),
    tests=[
        Test("large and small updates", 1, _plain_updates),
        Test("up and down", 0.5, _asymmetric_updates),
        Test("weights that FP16 must round", 0.5, _stored_weights),
    ],
    why="An update smaller than half of FP16's step at that weight, on its side, rounds back to the weight.",
)

# quick checks ------------------------------------------------------------------------------------------

WHY_65504 = QuickCheck(
    id="why-65504",
    question="FP16 has 5 exponent bits and 10 mantissa bits. Why is 65504 its largest number?",
    choices=[
        Choice(
            "A",
            "It is 2¹⁶, less some room for rounding.",
            "2¹⁶ is 65536. Nothing is set aside for rounding: 65504 is the last pattern of bits "
            "before infinity.",
        ),
        Choice(
            "B",
            "The largest mantissa, 1.1111111111 in binary, times 2¹⁵; the exponent above is kept for inf "
            "and NaN.",
            "(2 − 2⁻¹⁰) × 2¹⁵ = 65504. Set these bits in the explorer: all exponent bits but the last, "
            "all mantissa bits.",
            right=True,
        ),
        Choice(
            "C",
            "PyTorch caps FP16 there, to leave room for the sum of two numbers.",
            "The limit belongs to the format itself (IEEE 754 binary16). 65504 + 65504 is infinite in FP16.",
        ),
    ],
)

SILENT_STOP = QuickCheck(
    id="silent-stop",
    question="The classifier trained well in FP16, the plate did not. What made the difference?",
    choices=[
        Choice(
            "A",
            "The plate's gradients were smaller than FP16 can hold while there was still much to learn.",
            "Small errors, an average over 4,096 points and a small last layer put those of every layer "
            "but the last below 2⁻²⁵, from the first step on.",
            right=True,
        ),
        Choice(
            "B",
            "Tanh does not work in FP16, ReLU does.",
            "The next section trains the same tanh layers in FP16, and they learn. Their gradients were "
            "merely too small.",
        ),
        Choice(
            "C",
            "Regression needs FP32, classification does not.",
            "The kind of task does not decide. With targets in millimetres, the same plate has errors, "
            "and so gradients, a thousand times larger.",
        ),
        Choice(
            "D",
            "The plate's learning rate was too small for FP16.",
            "The weights stay in FP32, so a small step is not lost. The gradient was 0 before the "
            "learning rate came in.",
        ),
    ],
)

SMALLEST_NORMAL = QuickCheck(
    id="smallest-normal",
    question='A colleague says: "FP16 flushes everything below 6.1e-5 (2⁻¹⁴) to zero." What is right?',
    choices=[
        Choice(
            "A",
            "That is right: 6.1e-5 is the smallest number FP16 has.",
            "6.1e-5 is 2⁻¹⁴, the smallest normal number. Below it FP16 has 1,023 more, the smallest "
            "being 2⁻²⁴ ≈ 6e-8. (Matrix units of some GPUs, AMD's MI200 among them, do flush these.)",
        ),
        Choice(
            "B",
            "Below 6.1e-5 FP16 only loses precision; it becomes 0 at and below about 3e-8.",
            "The subnormal numbers fill the gap with equal steps of 2⁻²⁴; from half a step down, 2⁻²⁵, "
            "all is 0.",
            right=True,
        ),
        Choice(
            "C",
            "Everything below 1e-3 becomes 0, since FP16 has three decimal digits.",
            "Digits count from the first non-zero one. In section 1 FP16 kept 1e-4 within a thousandth.",
        ),
    ],
)

WHEN_TO_DIVIDE = QuickCheck(
    id="when-to-divide",
    question="You multiply the loss by 1,024 before backward. Where must the division by 1,024 stand?",
    choices=[
        Choice(
            "A",
            "Before backward, so that the gradients come out right.",
            "Then backward sees the old loss, and the small gradients underflow as before.",
        ),
        Choice(
            "B",
            "Nowhere: a larger gradient only means a larger learning rate.",
            "With SGD it is one, 1,024 times too large. Adam hides the factor, but clipping does not, "
            "nor does a weight decay that is added to the gradient.",
        ),
        Choice(
            "C",
            "After backward and before the optimizer's step, on gradients in FP32.",
            "FP32 holds the small quotients, and the optimizer sees the true gradients.",
            right=True,
        ),
        Choice(
            "D",
            "After the step, on the weights.",
            "The step has then been taken with gradients 1,024 times too large; dividing weights does "
            "not undo it.",
        ),
    ],
)

LESSON = Lesson(
    notebook="01_fp16_underflow",
    title="FP16 underflow",
    promise=(
        "Why most of a network can stop learning in half precision, and the multiplication that saves it."
    ),
    minutes_reading=30,
    minutes_exercises=20,
    exercises=[FLUSH_TO_ZERO, SHARE_LOST, PICK_A_SCALE, SWALLOWED_UPDATE],
    quick_checks=[WHY_65504, SILENT_STOP, SMALLEST_NORMAL, WHEN_TO_DIVIDE],
)
