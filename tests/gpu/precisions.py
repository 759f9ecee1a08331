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
    """FP32 matrix products with or without TF32, whatever is set; afterwards all is as before.

    Newer versions of PyTorch have a setting for each backend besides the older one for all. Where only one of
    them is set, asking the other raises: the older function sets both.
    """
    backends = [torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None)]
    backends = [backend for backend in backends if hasattr(backend, "fp32_precision")]
    before, each_before = _older_setting(), [backend.fp32_precision for backend in backends]
    torch.set_float32_matmul_precision("high" if on else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
        for backend, precision in zip(backends, each_before):
            backend.fp32_precision = precision


def _older_setting():
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:  # only the newer one was set
        return "high" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "highest"
