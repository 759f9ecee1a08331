"""What this GPU has in hardware, and what PyTorch does with FP32: BF16 and TF32."""

import os
import subprocess
import sys

import pytest
import torch

from amp_lessons import hardware, matrix_speed
from tests.gpu.machine import ROOT
from tests.gpu.precisions import tf32

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
nvidia = pytest.mark.skipif(torch.version.hip is not None, reason="an AMD GPU has no compute capability")
TF32_ERROR = 1e-4  # a relative error above it: TF32's 10 bits; below it: FP32's 23

DEFAULTS = """
import torch
print(torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
"""


def ampere_or_newer():
    return torch.cuda.get_device_capability() >= (8, 0)


def error_of_a_product(multiply=torch.matmul, device="cuda"):
    """The relative error of an FP32 product of two matrices, against the same in FP64."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(512, 512, generator=generator).to(device) for _ in range(2))
    exact = a.double() @ b.double()
    return ((multiply(a, b) - exact).norm() / exact.norm()).item()


@nvidia
def test_bf16_in_hardware_from_capability_8_0():
    native = torch.cuda.is_bf16_supported(including_emulation=False)
    assert native is ampere_or_newer()
    assert hardware.describe("cuda").native_bf16 is native


def test_with_emulation_bf16_is_always_there():
    assert torch.cuda.is_bf16_supported() is True
    one = torch.ones(4, 4, dtype=torch.bfloat16, device="cuda")
    assert (one + one).tolist() == [[2.0] * 4] * 4


@nvidia
def test_the_machine_is_described_as_the_driver_does():
    machine, properties = hardware.describe(), torch.cuda.get_device_properties(0)
    assert (machine.device, machine.backend, machine.name) == ("cuda", "CUDA", properties.name)
    assert machine.capability == torch.cuda.get_device_capability()
    assert machine.memory_bytes == properties.total_memory
    assert machine.tf32 is ampere_or_newer()
    assert machine.has_code is True


def test_tf32_is_off_for_products_and_on_for_cudnn():
    # Container images set this variable, which changes the default.
    variables = {
        name: value for name, value in os.environ.items() if name != "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"
    }
    done = subprocess.run(
        [sys.executable, "-c", DEFAULTS],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert done.stdout.split() == ["False", "True"]


def test_products_follow_the_setting():
    before = error_of_a_product()
    for on in (False, True, False):
        with tf32(on):
            with_tf32 = on and torch.version.hip is None and ampere_or_newer()
            assert (error_of_a_product() > TF32_ERROR) is with_tf32
    assert error_of_a_product() == before


def test_speed_is_measured_without_tf32(monkeypatch):
    errors, timed = [], matrix_speed.median_seconds

    def watched(function, *arguments, **keywords):
        errors.append(error_of_a_product())
        return timed(function, *arguments, **keywords)

    monkeypatch.setattr(matrix_speed, "median_seconds", watched)
    with tf32(True):
        measurements = matrix_speed.measure(hardware.describe("cuda"), seconds=0.3)
    assert [each.format_name for each in measurements] == ["fp32", "fp16", "bf16"]
    assert max(errors) < TF32_ERROR
