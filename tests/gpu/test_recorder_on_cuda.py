"""The recorder on loops that run on CUDA, with each kind of optimizer that PyTorch has there."""

import pytest
import torch

from amp_lessons.recorder import record_loop
from tests.gpu.loops import FITS, OPTIMIZERS, TOO_LARGE, bits, train

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
FP32, FP16, BF16 = torch.float32, torch.float16, torch.bfloat16
EACH_OPTIMIZER = pytest.mark.parametrize("optimizer", OPTIMIZERS)


def recorded(**how):
    with record_loop() as recording:
        run = train("cuda", **how)
    return recording, run


def rules(found):
    return [each.rule for each in found]


@EACH_OPTIMIZER
@pytest.mark.parametrize(("dtype", "scale"), [(FP16, FITS), (BF16, None), (FP32, None)])
def test_a_right_loop_gets_no_finding(optimizer, dtype, scale):
    recording, _ = recorded(optimizer=optimizer, dtype=dtype, scale=scale)
    assert rules(recording.findings) == []
    assert recording.steps == 12
    assert recording.troubles == []


@EACH_OPTIMIZER
def test_clipping_after_unscale_is_right(optimizer):
    recording, _ = recorded(optimizer=optimizer, clip="unscaled")
    assert rules(recording.findings) == []


@EACH_OPTIMIZER
def test_clipping_before_unscale_is_found(optimizer):
    recording, _ = recorded(optimizer=optimizer, clip="scaled")
    assert rules(recording.findings) == ["clip-before-unscale"]
    assert "clip_grad_norm_" in recording.findings[0].code


@EACH_OPTIMIZER
@pytest.mark.parametrize("clip", [None, "unscaled"])
def test_steps_skipped_at_the_start_are_a_note(optimizer, clip):
    recording, (_, _, scaler, _) = recorded(optimizer=optimizer, scale=TOO_LARGE, clip=clip)
    assert rules(recording.findings) == []
    assert rules(recording.notes) == ["calibration-skips"]
    skipped = sum(event.kind == "skip" for event in recording.events)
    assert 0 < skipped < recording.steps
    assert scaler.get_scale() == TOO_LARGE / 2**skipped


@pytest.mark.parametrize("optimizer", ["Adam, fused", "SGD, foreach"])
def test_bf16_with_a_scaler_is_found(optimizer):
    recording, _ = recorded(optimizer=optimizer, dtype=BF16, scale=FITS)
    assert "scaler-with-bf16" in rules([*recording.findings, *recording.notes])


def test_fp16_without_a_scaler_is_found():
    recording, _ = recorded(dtype=FP16, scale=None)
    assert "fp16-without-scaler" in rules([*recording.findings, *recording.notes])


@EACH_OPTIMIZER
@pytest.mark.parametrize(
    ("dtype", "scale", "clip"),
    [(FP16, FITS, None), (FP16, TOO_LARGE, "unscaled"), (BF16, None, None), (FP32, None, None)],
)
def test_training_is_bit_identical(optimizer, dtype, scale, clip):
    how = {"optimizer": optimizer, "dtype": dtype, "scale": scale, "clip": clip}
    alone, rng = bits(*train("cuda", **how)), torch.cuda.get_rng_state()
    assert bits(*train("cuda", **how)) == alone  # else the comparison would say nothing
    _, run = recorded(**how)
    assert bits(*run) == alone
    assert torch.equal(torch.cuda.get_rng_state(), rng)
