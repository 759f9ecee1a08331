"""Every FP16 and BF16 pattern, and the edges where rounding changes its mind."""

import math

import numpy
import pytest
import torch

from amp_lessons.formats import (
    BF16,
    FORMATS,
    FP16,
    FP32,
    bits_of,
    exact_text,
    format_of,
    neighbours,
    power_of_two,
    round_once,
    round_to,
    value_of,
)

SIXTEEN_BITS = [FP16, BF16]


def all_patterns(fmt):
    """Every bit pattern of a 16-bit format, in the order of the patterns, as PyTorch reads it."""
    return torch.arange(2**16, dtype=torch.int32).to(torch.uint16).view(fmt.dtype)


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=FORMATS)
def test_properties_equal_torch_finfo(fmt):
    info = torch.finfo(fmt.dtype)
    assert fmt.bits == info.bits
    assert fmt.largest == info.max
    assert fmt.smallest_normal == info.smallest_normal
    assert fmt.eps == info.eps
    assert fmt.smallest_subnormal == value_of("0" * (fmt.bits - 1) + "1", fmt)
    assert fmt.bias == 2 ** (fmt.exponent_bits - 1) - 1


def test_published_limits():
    assert (FP16.largest, FP16.overflow_limit, FP16.bias) == (65504, 65520, 15)
    assert (FP16.smallest_subnormal, FP16.flush_limit) == (2**-24, 2**-25)
    assert (BF16.smallest_subnormal, FP32.smallest_subnormal) == (2**-133, 2**-149)


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=FORMATS)
def test_limits_are_where_rounding_changes(fmt):
    """Tried just inside and outside, with values that FP32 can hold wherever the format is smaller."""
    assert round_to(fmt.flush_limit, fmt) == 0
    assert round_to(fmt.flush_limit * 1.001, fmt) == fmt.smallest_subnormal
    assert round_to(fmt.overflow_limit, fmt) == math.inf
    assert round_to(-fmt.overflow_limit, fmt) == -math.inf
    just_below = fmt.overflow_limit - fmt.largest * fmt.eps / 1000
    assert round_to(just_below, fmt) == fmt.largest


def test_the_examples_of_the_lesson():
    assert round_to(2**-25, FP16) == 0
    assert round_to(math.nextafter(2**-25, 1) * (1 + 2**-20), FP16) == 2**-24
    assert round_to(65519, FP16) == 65504
    assert round_to(65520, FP16) == math.inf
    assert round_to(1 + 2**-11, "fp16") == 1
    assert round_to(1 - 2**-11, torch.float16) == 0.99951171875


@pytest.mark.parametrize("fmt", SIXTEEN_BITS, ids=lambda fmt: fmt.name)
def test_every_pattern_reads_as_torch_reads_it_and_goes_back(fmt):
    for pattern, expected in enumerate(all_patterns(fmt).tolist()):
        bits = f"{pattern:016b}"
        value = value_of(bits, fmt)
        if math.isnan(expected):
            assert math.isnan(value)
            assert math.isnan(value_of(bits_of(value, fmt), fmt))
        else:
            assert (value, math.copysign(1, value)) == (expected, math.copysign(1, expected))
            assert bits_of(value, fmt) == bits


@pytest.mark.parametrize("fmt", SIXTEEN_BITS, ids=lambda fmt: fmt.name)
def test_neighbours_of_every_finite_number(fmt):
    numbers = sorted({value for value in all_patterns(fmt).tolist() if math.isfinite(value)})
    assert len(numbers) == 2 * (2**15 - 2**fmt.mantissa_bits) - 1  # both zeros are one number
    below = [-math.inf, *numbers[:-1]]
    above = [*numbers[1:], math.inf]
    for number, expected in zip(numbers, zip(below, above)):
        assert neighbours(number, fmt) == expected


def test_neighbours_at_the_ends_and_between():
    smallest = FP16.smallest_subnormal
    assert neighbours(0.0, FP16) == neighbours(-0.0, FP16) == (-smallest, smallest)
    assert neighbours(math.inf, FP16) == (65504, math.inf)
    assert neighbours(-math.inf, FP16) == (-math.inf, -65504)
    assert all(math.isnan(neighbour) for neighbour in neighbours(math.nan, FP16))
    assert neighbours(1e300, FP16) == (65504, math.inf)
    assert neighbours(0.1, FP16) == (0.0999755859375, 0.10003662109375)
    assert neighbours(2**-30, FP16) == (0, smallest)
    assert neighbours(FP32.largest, FP32)[1] == math.inf


def test_round_to_is_what_torch_gives():
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(500, dtype=torch.float64, generator=generator)
    values = (values * 2.0 ** torch.randint(-30, 18, (500,), generator=generator)).tolist()
    for fmt in FORMATS.values():
        for value in values:
            assert round_to(value, fmt) == torch.tensor(value, dtype=torch.float64).to(fmt.dtype).item()


def test_torch_rounds_a_python_float_twice_as_the_docstring_says():
    value = 2**-25 * (1 + 2**-40)
    assert numpy.float16(value) == 2**-24  # rounded once
    assert round_to(value, FP16) == 0  # rounded to FP32 first
    for fp32_number in torch.tensor([value, 1 + 2**-11 + 2**-23, 65519.996], dtype=torch.float32).tolist():
        assert round_to(fp32_number, FP16) == numpy.float16(fp32_number)


def test_round_once_is_what_numpy_gives():
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(500, dtype=torch.float64, generator=generator)
    values = (values * 2.0 ** torch.randint(-30, 18, (500,), generator=generator)).tolist()
    near_a_tie = [2**-25 * (1 + 2**-40), 65519.999, 65520.0, 2**-25, -(2**-26), 1 + 2**-11, 1 + 3 * 2**-11]
    ends = [0.0, 5e-324, 1e300, -1e300, math.inf, -math.inf]
    with numpy.errstate(over="ignore"):
        for value in [*values, *near_a_tie, *ends]:
            assert round_once(value, FP16) == float(numpy.float16(value)), value
            assert round_once(value, FP32) == float(numpy.float32(value)) == round_to(value, FP32), value
    assert math.copysign(1, round_once(-1e-300, FP16)) == -1 and math.isnan(round_once(math.nan, FP16))


@pytest.mark.parametrize("fmt", SIXTEEN_BITS, ids=lambda fmt: fmt.name)
def test_rounding_once_and_twice_agree_on_every_fp32_number(fmt):
    patterns = torch.arange(0, 2**31, 2**31 // 5003, dtype=torch.int64).to(torch.int32)
    for value in patterns.view(torch.float32).tolist():
        assert round_once(value, fmt) == round_to(value, fmt) or math.isnan(value)


def test_power_of_two():
    assert power_of_two(-24) == "2⁻²⁴"
    assert power_of_two(0) == "2⁰"
    assert power_of_two(16) == "2¹⁶"
    for wrong in (1.5, "3", True, None):
        with pytest.raises(TypeError, match="whole number"):
            power_of_two(wrong)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5 * 2**-15, "1.5 × 2⁻¹⁵"),
        (2**-24, "2⁻²⁴"),
        (-(2**-24), "-2⁻²⁴"),
        (65504, "65504"),
        (0.25, "0.25"),
        (-2, "-2"),
        (1 + 2**-10, "1.0009765625"),
        (0.0, "0"),
        (-0.0, "-0"),
        (0.1, "≈ 1.6 × 2⁻⁴"),
        (-0.1, "≈ -1.6 × 2⁻⁴"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "NaN"),
    ],
)
def test_exact_text(value, text):
    assert exact_text(value) == text


@pytest.mark.parametrize("fmt", SIXTEEN_BITS, ids=lambda fmt: fmt.name)
def test_exact_text_is_exact_for_every_sixteen_bit_number(fmt):
    superscripts = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    for value in all_patterns(fmt)[: 2**15].tolist():
        if not math.isfinite(value):
            continue
        text = exact_text(value)
        factor, _, power = text.rpartition(" × ") if " × " in text else ("1", "", text)
        if any(character in text for character in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"):
            read_back = float(factor) * 2.0 ** int(power[1:].translate(superscripts))
        else:
            read_back = float(text)
        assert read_back == value, text


def test_format_of():
    assert format_of("fp16") is format_of("FP16") is format_of(torch.float16) is format_of(FP16) is FP16
    assert format_of(torch.bfloat16) is BF16
    with pytest.raises(ValueError, match='"fp32", "fp16", "bf16"'):
        format_of("float8")
    with pytest.raises(ValueError, match="torch.float64"):
        format_of(torch.float64)
    with pytest.raises(TypeError, match="int"):
        format_of(16)


def test_bad_bits_and_values_say_what_to_do():
    assert value_of("0 00000 0000000001", FP16) == 2**-24
    for wrong in ("01", "2" * 16, "0" * 17):
        with pytest.raises(ValueError, match="16 digits"):
            value_of(wrong, FP16)
    with pytest.raises(TypeError, match="text"):
        value_of(1, FP16)
    with pytest.raises(TypeError, match="single number"):
        round_to("much", FP16)
    with pytest.raises(TypeError, match="single number"):
        neighbours(None, FP16)
    with pytest.raises(TypeError, match="single number"):
        bits_of(torch.ones(2), FP16)
    with pytest.raises(ValueError, match="too large"):
        round_to(10**400, FP16)
