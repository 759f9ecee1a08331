"""What memory says, on a CPU too, against what CUDA really takes up, for models of half a gigabyte."""

import gc

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from amp_lessons import memory, models

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
FP32, FP16, BF16 = torch.float32, torch.float16, torch.bfloat16
WITHIN = 0.15
GPT = (50257, 768, 12, 12, 512)  # with a head of its own: 162 million parameters, 650 MB
EACH_DTYPE = pytest.mark.parametrize("dtype", [FP32, FP16, BF16], ids=str)


def region(device, dtype):
    return torch.autocast(device, BF16 if dtype == FP32 else dtype, enabled=dtype != FP32)


def stack(device, width=4096, layers=8):
    """Linear layers with GELU between: 8 of 4,096 are 537 MB."""
    pairs = [(nn.Linear(width, width), nn.GELU()) for _ in range(layers)]
    return nn.Sequential(*(each for pair in pairs for each in pair)).to(device)


def there_before(x, dtype):
    """Bytes kept for backward that no forward pass takes: the first layer keeps x, under autocast a copy."""
    return x.nbytes if dtype == FP32 else 0


def gpt_loss(model, tokens):
    return F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())


@pytest.fixture
def room():
    """room(bytes) skips the test where that much isn't free; what an earlier test held is given back."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")  # makes cuBLAS's workspace

    def room(size):
        free, _ = torch.cuda.mem_get_info()
        if free < size:
            pytest.skip(f"needs {memory.text(size)} of free GPU memory, has {memory.text(free)}")

    return room


@EACH_DTYPE
def test_a_forward_pass_takes_what_is_kept_for_backward(room, dtype):
    room(4 * 2**30)
    model = stack("cuda")
    x = torch.rand(4096, 4096, device="cuda")
    held = []

    def forward():
        with region("cuda", dtype):
            return model(x)[:, 0].sum()

    def hold():
        held.append(forward())

    kept = memory.kept_for_backward(forward, model).total
    before = torch.cuda.memory_allocated()
    peak = memory.peak(hold, "cuda") - before
    assert held and kept > 500e6
    assert kept - there_before(x, dtype) <= peak <= (1 + WITHIN) * kept


@EACH_DTYPE
def test_a_whole_step_takes_that_and_the_gradients_at_least(room, dtype):
    room(6 * 2**30)
    model = stack("cuda")
    x = torch.rand(4096, 4096, device="cuda")

    def forward():
        with region("cuda", dtype):
            return model(x)[:, 0].sum()

    def step():
        model.zero_grad()
        forward().backward()

    kept = memory.kept_for_backward(forward, model).total
    gradients = sum(each.nbytes for each in model.parameters())
    before = torch.cuda.memory_allocated()
    peak = memory.peak(step, "cuda") - before
    assert kept - there_before(x, dtype) <= peak <= (1 + WITHIN) * (kept + gradients)


@EACH_DTYPE
@pytest.mark.parametrize("texts", [1, 4])
def test_would_need_is_what_a_step_needs(room, texts, dtype):
    """With one text the optimizer's step is the largest, with four the backward."""
    tokens_shape = (texts, GPT[-1])

    def make():
        tokens = torch.randint(GPT[0], tokens_shape)
        return gpt_loss(models.TinyGPT(*GPT), tokens)

    # On CUDA an optimizer handles all parameters at once by default.
    needed = memory.would_need(make, lambda each: torch.optim.AdamW(each, foreach=True), dtype).peak
    room(int(1.5 * needed))
    before = torch.cuda.memory_allocated()
    model = models.TinyGPT(*GPT).to("cuda")
    tokens = torch.randint(GPT[0], tokens_shape, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        optimizer.zero_grad()
        with region("cuda", dtype):
            loss = gpt_loss(model, tokens)
        loss.backward()
        optimizer.step()

    step()
    optimizer.zero_grad()
    measured = memory.peak(step, "cuda") - before
    assert sum(each.nbytes for each in model.parameters()) > 500e6
    assert abs(needed - measured) <= WITHIN * measured, (memory.text(needed), memory.text(measured))
