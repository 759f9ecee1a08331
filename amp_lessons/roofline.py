"""How long a matrix product takes at least on a named GPU: its arithmetic and the bytes that it moves.

A GPU needs time for the operations and time for moving the numbers from and to its memory. Both go on at
once, so the longer of the two is a lower bound on the time (the roofline model: Williams, Waterman and
Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009).

These are bounds from peak rates, not predictions. Real kernels reach a part of a peak rate, each needs a few
microseconds to start, and operands read twice cost twice. Where operands are still in a cache, less
is moved than is counted here.
"""

import math
import numbers as kinds_of_number
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from amp_lessons.formats import FORMATS, format_of

LABELS = {"fp32": "FP32", "tf32": "TF32", "fp16": "FP16", "bf16": "BF16"}
# TF32 is how tensor cores multiply FP32 tensors: in memory these have 32 bits as before.
BYTES = {"tf32": 4} | {name: fmt.bits // 8 for name, fmt in FORMATS.items()}
LARGEST_SIZE = 2**63 - 1  # a tensor's size is a whole number of 64 bits


@dataclass(frozen=True)
class Gpu:
    """Peak rates of one GPU, from its manufacturer's data sheet.

    ``rates`` maps "fp32", "tf32", "fp16", "bf16" to floating-point operations per second in dense matrix
    products (FP32 outside tensor cores, the others in them, with FP32 sums); a format that the GPU's hardware
    doesn't multiply is absent. ``bandwidth`` is in bytes per second, ``memory_bytes`` in bytes (10⁹ to a GB).
    """

    name: str
    capability: tuple[int, int]
    rates: Mapping[str, float] = field(hash=False)
    bandwidth: float
    memory_bytes: float
    source: str

    def __post_init__(self):
        object.__setattr__(self, "rates", MappingProxyType(dict(self.rates)))
        for what, value in {"bandwidth": self.bandwidth, **self.rates}.items():
            if not 0 < value < math.inf:
                raise ValueError(f"The {what} of {self.name} is {value!r}: give a finite number above 0.")

    def rate(self, format) -> float:
        """Return the peak rate in a format, in operations per second. ValueError if the GPU lacks it."""
        name = name_of(format)
        if name not in self.rates:
            raise ValueError(
                f"The {self.name} (compute capability {self.capability[0]}.{self.capability[1]}) has no "
                f"hardware for products in {LABELS[name]}. It has: "
                f"{', '.join(LABELS[known] for known in self.rates)}."
            )
        return self.rates[name]

    def balance(self, format) -> float:
        """Return the operations per byte at which arithmetic and memory take equally long in a format."""
        return self.rate(format) / self.bandwidth


# Data sheets of newer GPUs print the tensor cores' rates "with sparsity": for matrices of which half the
# numbers are zero in a fixed pattern. Training multiplies dense matrices, at half of these rates. So the
# rates of L4 and H100 below are halved; A100's data sheet prints both, and the dense ones stand here.
GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu(
            "T4",
            (7, 5),
            {"fp32": 8.1e12, "fp16": 65e12},
            bandwidth=320e9,
            memory_bytes=16e9,
            source="NVIDIA T4 Tensor Core GPU data sheet: 8.1 TFLOPS FP32, 65 TFLOPS mixed precision, 16 GB; "
            "the product page: 320 GB/s",
        ),
        Gpu(
            "V100 SXM2",
            (7, 0),
            {"fp32": 15.7e12, "fp16": 125e12},
            bandwidth=900e9,
            memory_bytes=16e9,  # also sold with 32 GB
            source="NVIDIA Tesla V100 GPU accelerator data sheet, SXM2: 15.7 TFLOPS single precision, 125 "
            "TFLOPS deep learning, 16 or 32 GB HBM2 at 900 GB/s",
        ),
        Gpu(
            "A100 SXM 40 GB",
            (8, 0),
            {"fp32": 19.5e12, "tf32": 156e12, "fp16": 312e12, "bf16": 312e12},
            bandwidth=1555e9,
            memory_bytes=40e9,
            source="NVIDIA A100 Tensor Core GPU data sheet and Ampere architecture whitepaper, SXM4 40 GB: "
            "19.5 TFLOPS FP32, 156 TF32, 312 FP16 and BF16 (dense), 1,555 GB/s",
        ),
        Gpu(
            "L4",
            (8, 9),
            {"fp32": 30.3e12, "tf32": 120e12 / 2, "fp16": 242e12 / 2, "bf16": 242e12 / 2},
            bandwidth=300e9,
            memory_bytes=24e9,
            source="NVIDIA L4 Tensor Core GPU data sheet: 30.3 TFLOPS FP32, 120 TF32 and 242 FP16 and BF16 "
            "with sparsity (halved here), 24 GB at 300 GB/s",
        ),
        Gpu(
            "H100 SXM",
            (9, 0),
            {"fp32": 67e12, "tf32": 989e12 / 2, "fp16": 1979e12 / 2, "bf16": 1979e12 / 2},
            bandwidth=3350e9,
            memory_bytes=80e9,
            source="NVIDIA H100 Tensor Core GPU data sheet, SXM: 67 TFLOPS FP32, 989 TF32 and 1,979 FP16 and "
            "BF16 with sparsity (halved here), 80 GB at 3.35 TB/s",
        ),
    )
}


@dataclass(frozen=True)
class Bound:
    """The least time that an operation can take, and what sets it."""

    operations: int  # floating-point operations; a multiplication and an addition are two
    bytes: int  # read from memory and written to it, each operand and the result once
    compute_seconds: float  # the operations at the peak rate
    memory_seconds: float  # the bytes at the peak bandwidth
    seconds: float  # the longer of the two: a lower bound on the time
    limited_by: str  # "arithmetic" or "memory": which of the two is longer
    intensity: float  # operations per byte


def product(gpu, format, m: int, k: int, n: int) -> Bound:
    """Return the bound of one product of an m × k and a k × n matrix: a lower bound on its time.

    It does 2·m·k·n operations and moves at least (m·k + k·n + m·n) numbers, the result in the dtype of the
    operands. ``gpu`` is a Gpu or a name in ``GPUS``; ``format`` "fp32", "tf32", "fp16", "bf16" or a torch
    dtype. Real kernels take longer: they reach a part of the peak rates and need a few microseconds to
    start. The operands are taken to lie in the GPU's memory; in a cache, they would be read faster.

    ValueError for a format that the GPU lacks, for another GPU, and for sizes below 1, over 2⁶³ − 1 or not
    whole.
    """
    gpu, name = gpu_of(gpu), name_of(format)
    rate = gpu.rate(name)
    m, k, n = (_whole(size, letter, 1) for size, letter in ((m, "m"), (k, "k"), (n, "n")))
    return _bound(gpu, 2 * m * k * n, rate, (m * k + k * n + m * n) * BYTES[name])


def elementwise(gpu, format, numbers: int, reads: int = 1, writes: int = 1) -> Bound:
    """Return the bound of an op such as ReLU, which does next to nothing with each number: bytes only.

    ``numbers`` is how many numbers one tensor has, ``reads`` and ``writes`` how many such tensors are read
    and written (an addition reads two). A lower bound on the time: no kernel moves bytes at the full peak
    bandwidth. Errors as for ``product``; and "tf32" is refused, since TF32 is for matrix products only.
    """
    gpu, name = gpu_of(gpu), name_of(format)
    if name == "tf32":
        raise ValueError("TF32 is for matrix products only: other ops on FP32 tensors compute in FP32.")
    gpu.rate(name)
    count = _whole(numbers, "numbers", 1)
    tensors = _whole(reads, "reads", 0) + _whole(writes, "writes", 0)
    if tensors == 0:
        raise ValueError(
            "An op that reads and writes nothing takes no time: give reads or writes, 1 or more."
        )
    return _bound(gpu, 0, gpu.rate(name), count * tensors * BYTES[name])


def gpu_of(gpu) -> Gpu:
    """Return a Gpu for its name in ``GPUS`` ("T4"), or the Gpu itself. ValueError for anything else."""
    if isinstance(gpu, Gpu):
        return gpu
    for name, known in GPUS.items():
        if isinstance(gpu, str) and gpu.strip().lower() == name.lower():
            return known
    raise ValueError(f"There is no GPU {gpu!r} here. Choose one of: {', '.join(GPUS)}.")


def name_of(format) -> str:
    """Return "fp32", "tf32", "fp16" or "bf16" for such a name, a torch dtype or a Format."""
    if isinstance(format, str):
        if format.lower() in LABELS:
            return format.lower()
        raise ValueError(f"There is no format {format!r} here. Choose one of: {', '.join(LABELS)}.")
    return format_of(format).name


def _bound(gpu, operations, rate, moved):
    compute, memory = operations / rate, moved / gpu.bandwidth
    return Bound(
        operations,
        moved,
        compute,
        memory,
        max(compute, memory),
        "memory" if memory > compute else "arithmetic",
        operations / moved,
    )


def _whole(value, name, least):
    whole = isinstance(value, kinds_of_number.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name} is a whole number, {least} or more, not {value!r}.")
    if value > LARGEST_SIZE:
        raise ValueError(f"{name} is too large: no tensor has a size over 2⁶³ − 1, about 9.2 × 10¹⁸.")
    return int(value)
