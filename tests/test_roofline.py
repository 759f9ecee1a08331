"""The arithmetic of a matrix product's least time, and the data of the GPUs that it is done for."""

import dataclasses

import pytest
import torch

from amp_lessons import roofline
from amp_lessons.formats import BF16, FP16
from amp_lessons.roofline import GPUS, Gpu, elementwise, product


def test_a_product_by_hand():
    """8 × 4096 times 4096 × 4096 in FP16 on a T4."""
    bound = product("T4", "fp16", 8, 4096, 4096)
    assert bound.operations == 2 * 8 * 4096 * 4096
    assert bound.bytes == 2 * (8 * 4096 + 4096 * 4096 + 8 * 4096)
    assert bound.compute_seconds == bound.operations / 65e12
    assert bound.memory_seconds == bound.bytes / 320e9
    assert bound.seconds == bound.memory_seconds and bound.limited_by == "memory"
    assert bound.intensity == bound.operations / bound.bytes


def test_a_large_product_is_limited_by_arithmetic_and_gains_the_ratio_of_the_rates():
    full, half = (product("T4", name, 4096, 4096, 4096) for name in ("fp32", "fp16"))
    assert full.limited_by == half.limited_by == "arithmetic"
    assert full.seconds == full.operations / 8.1e12
    assert full.seconds / half.seconds == pytest.approx(65 / 8.1)
    assert full.bytes == 2 * half.bytes and half.intensity == 2 * full.intensity


def test_between_the_two_the_gain_is_between_2_and_the_ratio_of_the_rates():
    full, half = (product("V100 SXM2", name, 100, 1000, 3000) for name in ("fp32", "fp16"))
    assert (full.limited_by, half.limited_by) == ("arithmetic", "memory")
    assert 2 < full.seconds / half.seconds < 125 / 15.7


def test_the_balance_is_where_the_limit_changes():
    for gpu in GPUS.values():
        for name in gpu.rates:
            for m in (1, 8, 64, 512, 4096):
                bound = product(gpu, name, m, 4096, 4096)
                assert (bound.intensity < gpu.balance(name)) == (bound.limited_by == "memory")


def test_tf32_moves_the_bytes_of_fp32():
    full, tf32 = (product("A100 SXM 40 GB", name, 8, 512, 512) for name in ("fp32", "tf32"))
    assert full.bytes == tf32.bytes and tf32.compute_seconds == pytest.approx(full.compute_seconds / 8)


def test_an_elementwise_op_counts_bytes_only():
    bound = elementwise("L4", "bf16", 1_000_000)
    assert (bound.operations, bound.bytes) == (0, 4_000_000)
    assert bound.seconds == bound.memory_seconds == 4_000_000 / 300e9
    assert (bound.compute_seconds, bound.intensity, bound.limited_by) == (0, 0, "memory")
    assert elementwise("L4", "fp32", 10, reads=2, writes=1).bytes == 120


@pytest.mark.parametrize("format", ["fp16", "FP16", torch.float16, FP16], ids=str)
def test_a_format_is_a_name_a_dtype_or_a_format(format):
    assert product(GPUS["T4"], format, 8, 8, 8) == product("t4", "fp16", 8, 8, 8)


@pytest.mark.parametrize("format", ["bf16", torch.bfloat16, BF16, "tf32"])
@pytest.mark.parametrize("gpu", ["T4", "V100 SXM2"])
def test_a_format_that_the_gpu_lacks_is_refused_in_words(gpu, format):
    with pytest.raises(ValueError, match=rf"The {gpu} \(compute.*has no hardware.*It has: FP32, FP16\."):
        product(gpu, format, 8, 8, 8)


def test_bf16_on_a_t4_is_refused_elementwise_too_and_tf32_everywhere():
    with pytest.raises(ValueError, match="The T4 .* has no hardware for products in BF16"):
        elementwise("T4", "bf16", 10)
    with pytest.raises(ValueError, match="TF32 is for matrix products only"):
        elementwise("H100 SXM", "tf32", 10)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("K80", "fp32", 8, 8, 8), "no GPU 'K80' here. Choose one of: T4, V100"),
        ((None, "fp32", 8, 8, 8), "no GPU None here"),
        (("T4", "fp8", 8, 8, 8), "no format 'fp8' here. Choose one of: fp32, tf32, fp16, bf16"),
        (("T4", torch.float64, 8, 8, 8), "no format torch.float64"),
        (("T4", "fp32", 0, 8, 8), "m is a whole number, 1 or more, not 0"),
        (("T4", "fp32", 8, 2.5, 8), "k is a whole number, 1 or more, not 2.5"),
        (("T4", "fp32", 8, 8, True), "n is a whole number, 1 or more, not True"),
        (("T4", "fp32", 8, 8, "8"), "n is a whole number, 1 or more, not '8'"),
        (("T4", "fp32", 10**200, 8, 8), "m is too large: no tensor has a size over 2⁶³ − 1"),
        (("T4", "fp32", 8, 8, 2**63), "n is too large"),
    ],
)
def test_what_cannot_be_computed_gets_advice(arguments, words):
    with pytest.raises(ValueError, match=words):
        product(*arguments)


def test_an_op_that_moves_nothing_is_refused():
    with pytest.raises(ValueError, match="reads and writes nothing"):
        elementwise("T4", "fp16", 10, reads=0, writes=0)
    with pytest.raises(ValueError, match="reads is a whole number, 0 or more, not -1"):
        elementwise("T4", "fp16", 10, reads=-1)
    with pytest.raises(ValueError, match="numbers is too large"):
        elementwise("T4", "fp16", 10**200)


def test_the_largest_sizes_have_a_bound():
    largest = 2**63 - 1
    assert product("T4", "fp16", largest, largest, largest).operations == 2 * largest**3
    assert elementwise("T4", "fp16", largest, largest, largest).limited_by == "memory"


@pytest.mark.parametrize(("rate", "bandwidth", "what"), [(0, 1.0, "fp32"), (1.0, 0, "bandwidth")])
def test_a_gpu_of_your_own_needs_rates_above_0(rate, bandwidth, what):
    with pytest.raises(ValueError, match=f"The {what} of mine is 0: give a finite number above 0"):
        Gpu("mine", (8, 0), {"fp32": rate}, bandwidth, 1e9, "")


def test_sizes_may_come_from_a_tensor_library():
    size = torch.ones(8, 4).numpy().shape[0]
    assert product("T4", "fp16", size, 8, 8).operations == 1024


# The data

# Multiprocessors × boost clock × operations per clock and multiprocessor, from the architecture whitepapers:
# an independent way to the same peak rates. FP32 cores do one multiply-add (2 operations) a clock.
HARDWARE = {
    "T4": (40, 1.59e9, {"fp32": 64 * 2, "fp16": 8 * 64 * 2}),
    "V100 SXM2": (80, 1.53e9, {"fp32": 64 * 2, "fp16": 8 * 64 * 2}),
    "A100 SXM 40 GB": (108, 1.41e9, {"fp32": 64 * 2, "tf32": 1024, "fp16": 2048, "bf16": 2048}),
    "L4": (58, 2.04e9, {"fp32": 128 * 2, "tf32": 512, "fp16": 1024, "bf16": 1024}),
    "H100 SXM": (132, 1.83e9, {"fp32": 128 * 2, "tf32": 2048, "fp16": 4096, "bf16": 4096}),
}


@pytest.mark.parametrize("name", GPUS)
def test_rates_agree_with_the_hardware_and_are_dense(name):
    """Within 10 %: data sheets round, and some quote another clock for some rates. Sparse rates are twice."""
    multiprocessors, clock, per_clock = HARDWARE[name]
    assert set(per_clock) == set(GPUS[name].rates)
    for format, operations in per_clock.items():
        assert GPUS[name].rates[format] == pytest.approx(multiprocessors * clock * operations, rel=0.1)


@pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)
def test_every_gpu_has_its_source_and_sensible_data(gpu):
    assert gpu.source.startswith("NVIDIA ") and "data sheet" in gpu.source
    assert f"{gpu.rates['fp32'] / 1e12:g} " in gpu.source
    assert GPUS[gpu.name] is gpu and {"fp32", "fp16"} <= set(gpu.rates) <= set(roofline.LABELS)
    ampere = gpu.capability >= (8, 0)
    assert ("bf16" in gpu.rates) == ("tf32" in gpu.rates) == ampere
    assert 1e11 < gpu.bandwidth < 1e13 and 1e10 < gpu.memory_bytes < 1e12


def test_a_gpu_cannot_be_changed_and_one_of_your_own_works():
    gpu = Gpu("mine", (8, 6), {"fp32": 1e12}, bandwidth=1e11, memory_bytes=8e9, source="a guess")
    assert product(gpu, "fp32", 10, 10, 10).memory_seconds == 1200 / 1e11
    assert len({gpu, *GPUS.values()}) == len(GPUS) + 1
    with pytest.raises(TypeError):
        gpu.rates["fp16"] = 1e15
    with pytest.raises(dataclasses.FrozenInstanceError):
        gpu.bandwidth = 1
