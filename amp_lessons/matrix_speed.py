"""A quick measurement: one matrix product in each format, and what it says in words."""

import contextlib
from dataclasses import dataclass

import torch

from amp_lessons.formats import FORMATS
from amp_lessons.timing import median_seconds


@dataclass(frozen=True)
class Measurement:
    """How long one product of two size × size matrices took in one format."""

    format_name: str  # "fp32", "fp16" or "bf16"
    median_seconds: float
    size: int
    spread: tuple | None = None  # (lower, upper) quartile in seconds, where known


# Large enough to keep a GPU busy. On a CPU small, because FP16 can take a hundred times as long as FP32
# there, but not so small that starting the threads takes longer than the product.
_SIZES = {"cuda": 4096, "mps": 2048, "xpu": 2048, "cpu": 512}


def measure(machine, seconds=2.0):
    """Time one matrix product in FP32, FP16 and BF16 on the machine; give a list of Measurement.

    seconds: how long all of it may take, about. FP32 is measured without TF32 and other shortcuts.
    A format in which the device can't compute is left out.
    """
    size = _SIZES[machine.device]
    generator = torch.Generator().manual_seed(0)
    matrix = torch.randn(size, size, generator=generator)
    measurements = []
    for fmt in FORMATS.values():
        try:
            factor = matrix.to(machine.device, fmt.dtype)
            with _full_fp32():
                timed = median_seconds(
                    lambda factor=factor: factor @ factor,
                    machine.device,
                    repeats=30,
                    at_most_seconds=seconds / len(FORMATS),
                )
        except (RuntimeError, TypeError):  # how PyTorch says that a device lacks a dtype
            continue
        measurements.append(Measurement(fmt.name, timed.median, size, timed.spread))
    return measurements


@contextlib.contextmanager
def _full_fp32():
    """Products of FP32 matrices really in FP32, whatever is set; afterwards all is set as before."""
    backends = [torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None)]
    backends = [backend for backend in backends if hasattr(backend, "fp32_precision")]
    if backends:  # newer versions of PyTorch: each backend has a setting of its own
        before = [backend.fp32_precision for backend in backends]
        try:
            for backend in backends:
                backend.fp32_precision = "ieee"
            yield
        finally:
            for backend, precision in zip(backends, before):
                backend.fp32_precision = precision
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def read_measurement(measurements):
    """Say in a few sentences what the measurements show. True whatever they show."""
    seconds = {measured.format_name: measured.median_seconds for measured in measurements}
    if not seconds.get("fp32"):
        return "FP32 could not be timed here, so there is nothing to compare with."
    size = measurements[0].size
    sentences = [
        f"A product of two {size} × {size} matrices took {format_seconds(seconds['fp32'])} in FP32 just now."
    ]
    for name, fmt in FORMATS.items():
        if name == "fp32":
            continue
        if not seconds.get(name):
            sentences.append(f"{fmt.label} could not be timed here.")
        else:
            sentences.append(f"In {fmt.label} {_compare(seconds['fp32'] / seconds[name])}.")
    if any(measured.spread and measured.spread[1] > 2 * measured.spread[0] for measured in measurements):
        sentences.append(
            "The calls took very uneven times, as when other programs run: measure again to be sure."
        )
    if any(seconds["fp32"] > _DOUBTFUL * seconds.get(name, seconds["fp32"]) for name in FORMATS):
        sentences.append(
            f"More than {_DOUBTFUL} times as fast is unusual: other programs may have held FP32 up, so "
            "measure again."
        )
    sentences.append(
        "Such times hold only while nothing else runs, and a training step does more: time yours as well."
    )
    return " ".join(sentences)


# Peak rates differ by less: 16 times between FP32 and FP16 on an A100 (19.5 and 312 TFLOPS).
_DOUBTFUL = 40


def _compare(speed):
    """speed: how many times as fast as FP32. Below a fifth, a difference may be chance."""
    if speed >= 1.2:
        return f"it was {_times(speed)} times as fast"
    if speed > 1 / 1.2:
        return "it took about as long"
    return f"it took {_times(1 / speed)} times as long"


def _times(ratio):
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:,.0f}"


def format_seconds(seconds):
    """Write a duration with three digits and a unit: "12.3 ms"."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 0.9995 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"
