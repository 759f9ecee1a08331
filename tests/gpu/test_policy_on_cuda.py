"""policy.ask's answers about CUDA against what real CUDA tensors give, asked with the GPU and without it."""

import json
import os
import subprocess
import sys

import pytest
import torch

from amp_lessons import policy
from amp_lessons.policy.ops import TABLE
from tests.gpu.machine import ROOT
from tests.test_policy import dtype_that_comes_out

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
ASK_EVERYTHING = """
import json, torch
from amp_lessons import policy
from tests.gpu.test_policy_on_cuda import as_text
assert not torch.cuda.is_available()
print(json.dumps({f"{op} {dtype}": as_text(policy.ask(op, "cuda", dtype).outputs)
                  for op in policy.OPS for dtype in policy.DTYPES}))
"""
EACH = [
    pytest.mark.parametrize("dtype", policy.DTYPES, ids=str),
    pytest.mark.parametrize("op", policy.OPS),
]


def as_text(outputs):
    """{"torch.float32 torch.float16": "torch.float32", ...}; "refused" for an error's text."""
    return {
        " ".join(map(str, dtypes)): "refused" if isinstance(output, str) else str(output)
        for dtypes, output in outputs.items()
    }


def on_real_tensors(op, dtype, outputs):
    def output(dtypes):
        try:
            return dtype_that_comes_out(TABLE[op], "cuda", dtype, dtypes) or "an error"
        except (RuntimeError, ValueError, TypeError):  # each is a way in which PyTorch refuses
            return "an error"

    return {dtypes: output(dtypes) for dtypes in outputs}


@pytest.fixture(scope="module")
def asked_without_a_gpu():
    done = subprocess.run(
        [sys.executable, "-c", ASK_EVERYTHING],
        cwd=ROOT,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@EACH[0]
@EACH[1]
def test_asked_with_the_gpu(op, dtype):
    outputs = policy.ask(op, "cuda", dtype).outputs
    assert as_text(outputs) == as_text(on_real_tensors(op, dtype, outputs))


@EACH[0]
@EACH[1]
def test_asked_without_the_gpu(op, dtype, asked_without_a_gpu):
    outputs = policy.ask(op, "cuda", dtype).outputs
    assert asked_without_a_gpu[f"{op} {dtype}"] == as_text(on_real_tensors(op, dtype, outputs))
