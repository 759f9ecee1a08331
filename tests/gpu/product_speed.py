"""Seconds of a product of two square matrices, in each format."""

import torch

from amp_lessons.timing import median_seconds
from tests.gpu.precisions import tf32

SIZES = (1024, 2048, 4096, 8192)
FORMATS = {
    "fp32": (torch.float32, False),
    "fp32 with tf32": (torch.float32, True),
    "fp16": (torch.float16, False),
    "bf16": (torch.bfloat16, False),
}
REPEATS = 20


def measure(size, name, device, seconds):
    """Time products of two size × size matrices; give a dict.

    "seconds": the raw samples, each of "products_per_sample" products in a row. A small product is over
    sooner than a clock can tell, so that several are timed together.
    """
    dtype, with_tf32 = FORMATS[name]
    generator = torch.Generator().manual_seed(0)
    matrix = torch.randn(size, size, generator=generator).to(device, dtype)
    together = min(64, max(1, (max(SIZES) // size) ** 2))
    out = torch.empty_like(matrix)

    def products():
        for _ in range(together):
            torch.matmul(matrix, matrix, out=out)

    with tf32(with_tf32):
        timed = median_seconds(products, device, repeats=REPEATS, at_most_seconds=seconds)
    return {"precision": name, "size": size, "products_per_sample": together, "seconds": list(timed.raw)}
