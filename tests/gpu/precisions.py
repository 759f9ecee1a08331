"""The precisions that are compared, and FP32's products with and without TF32."""

import contextlib
from typing import NamedTuple

import torch


class Precision(NamedTuple):
    dtype: torch.dtype  # of autocast; float32: no autocast
    scaler: bool = False
    tf32: bool = False


PRECISIONS = {
    "fp32": Precision(torch.float32),
    "fp32 with tf32": Precision(torch.float32, tf32=True),
    "fp16 with scaler": Precision(torch.float16, scaler=True),
    "bf16": Precision(torch.bfloat16),
}


@contextlib.contextmanager
def tf32(on):
    """FP32 matrix products on CUDA with or without TF32, whatever is set; afterwards all is as before."""
    matmul = torch.backends.cuda.matmul
    if hasattr(matmul, "fp32_precision"):  # newer versions of PyTorch
        before, matmul.fp32_precision = matmul.fp32_precision, "tf32" if on else "ieee"
        try:
            yield
        finally:
            matmul.fp32_precision = before
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if on else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
