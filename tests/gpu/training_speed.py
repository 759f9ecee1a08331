"""Seconds and peak memory of a whole training step, in one precision."""

import gc

import torch

from amp_lessons import memory
from amp_lessons.timing import median_seconds
from tests.gpu.precisions import PRECISIONS, tf32

REPEATS = 20


def measure(workload, name, device, seconds):
    """Measure a step of the workload in the precision of this name; give a dict.

    "seconds": the raw samples, in order. "peak_bytes": the most that tensors took up during a step, None
    without CUDA. "kept_bytes": what autograd keeps for backward. "loss": after all steps. "scale": the
    scaler's, after all steps, or None. seconds: about how long the timing may take; torch.OutOfMemoryError if
    it doesn't fit.
    """
    _free(device)
    precision = PRECISIONS[name]
    torch.manual_seed(0)
    model = workload.make_model().to(device)
    inputs, targets = workload.make_batch(device)
    optimizer = workload.make_optimizer(model.parameters())
    scaler = torch.amp.GradScaler(device, enabled=precision.scaler)

    def forward():
        enabled = precision.dtype != torch.float32
        with torch.autocast(device, precision.dtype if enabled else None, enabled=enabled):
            return workload.loss(model, inputs, targets)

    def step():
        optimizer.zero_grad()
        loss = forward()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    with tf32(precision.tf32):
        timed = median_seconds(step, device, warmup=5, repeats=REPEATS, at_most_seconds=seconds)
        result = {
            "model": workload.name,
            "precision": name,
            "batch": workload.batch,
            "optimizer": workload.optimizer,
            "parameters": sum(each.numel() for each in model.parameters()),
            "seconds": list(timed.raw),
            "peak_bytes": memory.peak(step, device),
            "loss": step().item(),
            "scale": scaler.get_scale() if precision.scaler else None,
        }
        optimizer.zero_grad()
        result["kept_bytes"] = memory.kept_for_backward(forward, model).total
    return result


def _free(device):
    """Give back what an earlier model held, so that this one is measured alone."""
    if device == "cuda":
        gc.collect()
        torch.cuda.empty_cache()
