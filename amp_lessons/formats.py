"""The number formats of mixed precision: FP32, FP16 and BF16.

A format is described by two numbers, how many bits its exponent has and how many its mantissa has.
Everything else follows from them by arithmetic: the largest value, the smallest, the spacing, and the
two limits at which rounding gives 0 or infinity. Bits are read and written by PyTorch itself, so what
is shown here is what a tensor holds.

Source of the layout: IEEE 754-2019 (binary32, binary16); bfloat16 is the upper half of binary32.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import torch


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: 1 sign bit, then the exponent, then the mantissa.

    All properties are exact Python numbers (a Python float has 53 bits of precision, which is enough).
    """

    name: str
    label: str
    dtype: torch.dtype
    exponent_bits: int
    mantissa_bits: int

    @property
    def bits(self):
        """All bits of one number: sign, exponent and mantissa."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self):
        """What is subtracted from the stored exponent; also the largest exponent of a finite number."""
        return 2 ** (self.exponent_bits - 1) - 1

    @property
    def largest(self):
        """The largest finite number."""
        return math.ldexp(2 - 2.0**-self.mantissa_bits, self.bias)

    @property
    def smallest_normal(self):
        """The smallest positive number with full precision."""
        return math.ldexp(1.0, 1 - self.bias)

    @property
    def smallest_subnormal(self):
        """The smallest positive number."""
        return math.ldexp(1.0, 1 - self.bias - self.mantissa_bits)

    @property
    def eps(self):
        """The distance from 1 to the next larger number."""
        return math.ldexp(1.0, -self.mantissa_bits)

    @property
    def flush_limit(self):
        """Half of the smallest subnormal: a value of this size or smaller rounds to 0 (ties go to even)."""
        return self.smallest_subnormal / 2

    @property
    def overflow_limit(self):
        """Half a step above the largest number. A value of this size or larger rounds to infinity."""
        return math.ldexp(2 - 2.0 ** -(self.mantissa_bits + 1), self.bias)


FP32 = Format("fp32", "FP32", torch.float32, exponent_bits=8, mantissa_bits=23)
FP16 = Format("fp16", "FP16", torch.float16, exponent_bits=5, mantissa_bits=10)
BF16 = Format("bf16", "BF16", torch.bfloat16, exponent_bits=8, mantissa_bits=7)
FORMATS = {"fp32": FP32, "fp16": FP16, "bf16": BF16}

# A number and its bits take the same room, so a tensor of one can be viewed as a tensor of the other.
_INTEGER_OF_SAME_SIZE = {16: torch.int16, 32: torch.int32}


def format_of(name_or_dtype):
    """Give the Format for a name ("fp16"), a dtype (torch.float16) or a Format.

    ValueError for a name or dtype that is none of FP32, FP16, BF16; TypeError for anything else.
    """
    if isinstance(name_or_dtype, Format):
        return name_or_dtype
    if not isinstance(name_or_dtype, (str, torch.dtype)):
        raise TypeError(
            f"A format is a name or a torch dtype, not {type(name_or_dtype).__name__}. "
            'Write "fp16" or torch.float16.'
        )
    for fmt in FORMATS.values():
        if name_or_dtype == fmt.dtype or (
            isinstance(name_or_dtype, str) and name_or_dtype.lower() == fmt.name
        ):
            return fmt
    raise ValueError(f'There is no format {name_or_dtype!r} here. Choose one of "fp32", "fp16", "bf16".')


def round_to(value, fmt):
    """Round a Python number to the format, as PyTorch does, and give the result as a Python float.

    Rounding is to the nearest number, ties to even; too large becomes infinity, too small becomes 0.

    This is exactly `torch.tensor(value, dtype=torch.float64).to(fmt.dtype)`. PyTorch goes from 64 to 16 bits
    through FP32, so it rounds twice. For a value that is not an FP32 number and lies within half an FP32
    step of a tie, the result can be the other of the two neighbours: 2⁻²⁵ · (1 + 2⁻⁴⁰) gives 0, where
    `round_once` gives 2⁻²⁴. The values of a training run are FP32 numbers and are rounded once.
    """
    return float(_tensor(value, format_of(fmt)))


def round_once(value, fmt):
    """Round a Python number to the format in one go, as IEEE 754 asks; compare `round_to`."""
    fmt = format_of(fmt)
    value = as_float(value)
    if not math.isfinite(value):
        return value
    exponent = max(math.frexp(value)[1] - 1, 1 - fmt.bias)
    step = exponent - fmt.mantissa_bits  # numbers of the format near `value` are 2**step apart
    whole_steps = round(math.ldexp(value, -step))  # exact but for round, which gives ties to even
    size = math.ldexp(abs(whole_steps), step) if abs(value) < fmt.overflow_limit else math.inf
    return math.copysign(size, value)


def bits_of(value, fmt):
    """Give the bits of a number after rounding it to the format, as a string of "0" and "1", sign first."""
    fmt = format_of(fmt)
    integer = int(_tensor(value, fmt).view(_INTEGER_OF_SAME_SIZE[fmt.bits]))
    return format(integer % 2**fmt.bits, f"0{fmt.bits}b")


def value_of(bits, fmt):
    """Give the number that PyTorch reads from these bits, as a Python float (may be inf or NaN).

    bits: a string of "0" and "1", sign first; spaces between the fields are allowed.
    ValueError if it has another number of bits than the format, or other characters.
    """
    fmt = format_of(fmt)
    if not isinstance(bits, str):
        raise TypeError(f'Bits are given as text such as "{"0" * fmt.bits}", not as {type(bits).__name__}.')
    digits = bits.replace(" ", "")
    if len(digits) != fmt.bits or set(digits) - {"0", "1"}:
        raise ValueError(
            f"A number in {fmt.label} is written with {fmt.bits} digits, each 0 or 1; got {bits!r}."
        )
    return _number_with_bits(int(digits, 2), fmt)


def neighbours(value, fmt):
    """Give the nearest numbers of the format strictly below and strictly above `value`: (below, above).

    `value` itself need not be a number of the format. Above the largest finite number comes inf. Nothing
    is above inf or below -inf, so these are given back as they are. NaN has no neighbours: (nan, nan).
    """
    fmt = format_of(fmt)
    value = as_float(value)
    if math.isnan(value):
        return math.nan, math.nan
    rounded = round_to(value, fmt)
    below = rounded if rounded < value else _step(rounded, -1, fmt)
    above = rounded if rounded > value else _step(rounded, +1, fmt)
    return below, above


def power_of_two(n):
    """Write a power of two as text: power_of_two(-24) gives "2⁻²⁴"."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"The exponent is a whole number such as -24, not {n!r}.")
    return "2" + str(n).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def exact_text(value):
    """Write a number so that it can be read and is exact: "0.25", "65504", "2⁻²⁴", "1.5 × 2⁻¹⁵".

    Every FP16 and BF16 number is exact. A number that needs more than 12 digits starts with "≈".
    """
    value = as_float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    plain, plain_is_exact = _short_decimal(abs(value))
    sign = "-" if math.copysign(1, value) < 0 else ""
    if plain_is_exact and len(plain) <= 8:
        return sign + plain
    significand, exponent = math.frexp(abs(value))  # gives a significand from 0.5 to 1
    significand, exponent = 2 * significand, exponent - 1
    digits, is_exact = _short_decimal(significand)
    factor = power_of_two(exponent)
    text = factor if digits == "1" else digits if exponent == 0 else f"{digits} × {factor}"
    return ("" if is_exact else "≈ ") + sign + text


def _short_decimal(value):
    """Up to 12 significant digits without an exponent, and whether they are exact."""
    text = f"{value:.12g}"
    return text, Fraction(text) == Fraction(value)


def as_float(value):
    """Give a single number, a tensor with one number too, as a Python float.

    TypeError for anything else; ValueError for a whole number beyond the largest float.
    """
    try:
        return float(value)
    except OverflowError:
        raise ValueError(
            "This whole number is too large even for a Python float. Use a smaller one."
        ) from None
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: a tensor with several numbers
        raise TypeError(f"A single number is needed, such as 0.1; got {value!r}.") from None


def _tensor(value, fmt):
    return torch.tensor(as_float(value), dtype=torch.float64, device="cpu").to(fmt.dtype)


def _number_with_bits(integer, fmt):
    if integer >= 2 ** (fmt.bits - 1):  # the sign bit is set; PyTorch's integers are signed too
        integer -= 2**fmt.bits
    return float(torch.tensor(integer, dtype=_INTEGER_OF_SAME_SIZE[fmt.bits], device="cpu").view(fmt.dtype))


def _step(number, direction, fmt):
    """The next number of the format in the direction -1 or +1. Without the sign, the bits count upwards."""
    if math.isinf(number) and (number > 0) == (direction > 0):
        return number
    size = int(bits_of(abs(number), fmt), 2)
    position = (size if number > 0 else -size) + direction
    magnitude = _number_with_bits(abs(position), fmt)
    return magnitude if position >= 0 else -magnitude
