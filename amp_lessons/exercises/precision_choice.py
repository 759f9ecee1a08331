"""Looks at an answer that chooses a precision, and says which condition a wrong choice misses."""

import math

from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.shown import kind_and_value, shown
from amp_lessons.exercises.unrun import has_run
from amp_lessons.formats import BF16, FP16, FP32, power_of_two

ROOM = 4  # times the largest activation
TF32_EPS = FP16.eps  # TF32 has FP16's 10 mantissa bits and FP32's 8 exponent bits
# What is preferred first: (key of the machine, largest number, half of eps).
PRECISIONS = {
    "BF16": ("bf16", BF16.largest, BF16.eps / 2),
    "FP16 + scaler": ("fp16", FP16.largest, FP16.eps / 2),
    "TF32": ("tf32", FP32.largest, TF32_EPS / 2),
}
MACHINES = {
    "an A100": {"bf16": True, "fp16": True, "tf32": True},
    "a T4": {"bf16": False, "fp16": True, "tf32": False},
    "a CPU with BF16 instructions": {"bf16": True, "fp16": False, "tf32": False},
    "a CPU without BF16 instructions": {"bf16": False, "fp16": False, "tf32": False},
}
ORDINARY, LARGE = 42.0, 66246.0  # activations
COARSE, FINE, FINER = 0.01, 2.0**-10, 2.0**-20  # rounding errors that a model bears


def _asked(choose_precision, machine, activation, rounding):
    model = {"largest_activation": activation, "rounding": rounding}
    return has_run(choose_precision(dict(machine), model), "choose_precision")


def _chosen(returned, said):
    """The learner's choice as one of the four names."""
    if returned is None:
        raise NotYet(f"{said} nothing: choose_precision gave None. Is there a `return` missing?")
    if not issubclass(type(returned), str):
        raise NotYet(
            f'{said} {kind_and_value(returned)}. It should be a text: "BF16", "FP16 + scaler", "TF32" or '
            '"FP32".'
        )
    known = {_squeezed(name): name for name in (*PRECISIONS, "FP32")}
    choice = _squeezed(str.__str__(returned))
    if choice == _squeezed("BF16 + scaler"):
        raise NotYet(
            f"{said} {shown(returned)}. BF16 has the range of FP32: nothing underflows that a scaler could "
            "save.",
            "scaler-for-bf16",
        )
    if choice == "fp16":
        raise NotYet(
            f"{said} {shown(returned)}. Small gradients become 0 in FP16: it goes with a scaler, "
            '"FP16 + scaler".',
            "fp16-without-scaler",
        )
    if choice not in known:
        raise NotYet(
            f'{said} {shown(returned)}. It should be one of "BF16", "FP16 + scaler", "TF32" and "FP32".'
        )
    return known[choice]


def _squeezed(text):
    return "".join(text.lower().split())


def look_at_choice(choose_precision, what, activation, rounding, want):
    """NotYet where the answer's choice for the machine `what` and a model with this largest activation, which
    bears this rounding error, is not `want`."""
    machine = MACHINES[what]
    said = (
        f"For {what} and a model with activations up to {activation:,.0f}, which bears rounding errors of "
        f"{_size(rounding)}, you chose"
    )
    choice = _chosen(_asked(choose_precision, machine, activation, rounding), said)
    if choice == want:
        return
    said = f"{said} {choice}."
    missed = choice != "FP32" and _missed(choice, what, activation, rounding)
    if not missed:
        sentence, mistake = _a_better_one(choose_precision, want, choice, activation, rounding)
    elif not missed[1].endswith("lacks") and _looks_only_at(choose_precision, machine, choice):
        sentence = f"You choose that for this machine whatever the model. {missed[0]}"
        mistake = "only-looks-at-the-machine"
    else:
        sentence, mistake = missed
    raise NotYet(f"{said} {sentence}", mistake)


def _missed(choice, what, activation, rounding):
    """The first condition that a choice misses, in words, with the mistake's code; or None."""
    key, largest, error = PRECISIONS[choice]
    label = choice.split()[0]
    if not MACHINES[what][key]:
        return f"machine[{key!r}] is False: it has no fast units for {label}.", "precision-it-lacks"
    if ROOM * activation > largest:
        if activation > largest:
            return (
                f"{label} ends at {largest:,.0f}: the forward pass overflows, and no scaler helps there.",
                f"{key}-overflows",
            )
        return (
            f"They fit today, but with room to grow they are {ROOM} · {activation:,.0f} = "
            f"{ROOM * activation:,.0f}, and {label} ends at {largest:,.0f}.",
            "no-room",
        )
    if error > rounding:
        return (
            f"{label} rounds by up to {_size(error)} (half of its eps), more than {_size(rounding)}.",
            f"{key}-for-fine-rounding",
        )
    return None


def _a_better_one(choose_precision, want, choice, activation, rounding):
    """What to say of a choice that fits, where another that fits is preferred."""
    key, largest, error = PRECISIONS[want]
    preferred = "needs no scaler" if choice == "FP16 + scaler" else "is faster"
    sentence = (
        f"{want} fits as well and {preferred}: the machine has fast units for it, "
        f"{ROOM} · {activation:,.0f} = {ROOM * activation:,.0f} is no more than its largest number, "
        f"{_largest(largest)}, and it rounds by up to {_size(error)}, no more than {_size(rounding)}."
    )
    if error < rounding < 2 * error:
        return f"{sentence} Rounding errors are at most half of eps.", "eps-not-halved"
    if rounding == error or ROOM * activation == largest:
        return f"{sentence} The limit itself belongs in.", "limit-left-out"
    if want == "TF32" and choice == "FP32":
        only_tf32 = {"bf16": False, "fp16": False, "tf32": True}
        if _tried(choose_precision, only_tf32, ORDINARY, COARSE) == "TF32":
            return f"{sentence} TF32 has FP32's range, not FP16's.", "tf32-with-fp16-range"
        return sentence, "forgets-tf32"
    if choice == "FP32":
        return sentence, "stays-in-fp32"
    return sentence, "scaler-without-need" if choice == "FP16 + scaler" else "tf32-before-16-bits"


def _size(error):
    """A rounding error in words: a power of two as such, with its size; another number as it is."""
    mantissa, exponent = math.frexp(error)
    return f"{power_of_two(exponent - 1)} ≈ {error:.2g}" if mantissa == 0.5 else f"{error:g}"


def _largest(value):
    return f"{value:,.0f}" if value < 1e6 else f"{value:.3g}"


def _looks_only_at(choose_precision, machine, choice):
    """Whether the answer's choice for this machine is the same for models that differ in everything."""
    models = ((ORDINARY, COARSE), (LARGE, COARSE), (ORDINARY, FINER), (1e38, FINER))
    return all(_tried(choose_precision, machine, *model) == choice for model in models)


def _tried(choose_precision, machine, activation, rounding):
    try:
        return _chosen(_asked(choose_precision, machine, activation, rounding), "")
    except Exception:  # a look aside, to name the mistake: a failure says nothing
        return None
