"""Which precision to try first on a machine, and why."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Recommendation:
    """Which precision to try first on a machine, and why."""

    dtype: torch.dtype  # for torch.autocast; float32 means: work without autocast
    scaler: bool  # whether to use torch.amp.GradScaler
    reason: str  # one or two sentences


def recommend(machine):
    """Give a Recommendation for a Machine. It follows from the hardware; only a measurement proves it."""
    if not machine.has_code:
        return Recommendation(
            torch.float32,
            False,
            "This build of PyTorch has no code for this GPU, so nothing runs on it. Work on the CPU "
            '(device = "cpu" in the set-up cell), or install a build that supports the GPU.',
        )
    if machine.backend == "CUDA":
        return _recommend_cuda(machine)
    if machine.backend == "ROCm":
        return Recommendation(
            torch.bfloat16,
            False,
            "BF16 has the range of FP32, so it needs no loss scaling. PyTorch does not tell whether an "
            "AMD GPU computes in BF16 itself: measure, and compare with FP16 and GradScaler.",
        )
    if machine.backend == "MPS":
        return Recommendation(
            torch.bfloat16,
            False,
            "Autocast on an Apple GPU takes FP16 and, from macOS 14, BF16, which has the range of FP32 "
            "and so needs no loss scaling (GradScaler fails there before PyTorch 2.8). Measure whether it "
            "saves time on yours.",
        )
    if machine.backend == "XPU":
        return Recommendation(
            torch.bfloat16,
            False,
            "Autocast on an Intel GPU takes FP16 and BF16, which has the range of FP32 and so needs no "
            "loss scaling. Measure whether it saves time on yours.",
        )
    return _recommend_cpu(machine)


def _recommend_cuda(machine):
    if machine.native_bf16:
        return Recommendation(
            torch.bfloat16,
            False,
            "This GPU has tensor cores for BF16, which has the range of FP32 and so needs no loss "
            "scaling. FP16 with GradScaler works here as well.",
        )
    if machine.fp16_fast:
        return Recommendation(
            torch.float16,
            True,
            "This GPU has tensor cores for FP16 but not for BF16, which PyTorch can only emulate here, "
            "slowly. Small gradients become 0 in FP16, so use GradScaler.",
        )
    if machine.capability >= (7, 0):
        return Recommendation(
            torch.float32,
            False,
            "This card reports capability 7.5 but has no tensor cores, and users report NaN from FP16 "
            "convolutions on cards of its kind (PyTorch issues 58123 and 77955). FP16 with GradScaler may "
            "still save memory: measure, and look at the loss.",
        )
    return Recommendation(
        torch.float16,
        True,
        "A GPU below capability 7.0 has no tensor cores: mixed precision saves memory, but seldom time. "
        "It has no BF16 either, so use FP16 with GradScaler, or stay in FP32 where memory is enough.",
    )


def _recommend_cpu(machine):
    if machine.native_bf16:
        return Recommendation(
            torch.bfloat16,
            False,
            "This processor has instructions for BF16, which has the range of FP32 and so needs no loss "
            "scaling. FP16 is usually much slower on a CPU: keep it to small examples.",
        )
    if machine.native_bf16 is None:
        return Recommendation(
            torch.float32,
            False,
            "Whether this processor has instructions for BF16 could not be found out, so FP32 is the safe "
            "choice for real work. BF16 and FP16 are fine for small examples.",
        )
    return Recommendation(
        torch.float32,
        False,
        "This processor has no instructions for BF16, so 16 bits seldom save time here. Use FP32 for real "
        "work; BF16 and FP16 are fine for small examples.",
    )
