"""The two models whose training step is measured, each with its data, its loss and its optimizer."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from amp_lessons import models

GIB = 2**30
CONTEXT, VOCABULARY = 1024, 50257
# What a step of the GPT needs in FP32, as memory.would_need counts it: 1.4 GiB, and 1.15 GiB for each text.
_GPT_FIXED, _GPT_PER_TEXT = 1.4 * GIB, 1.15 * GIB
_MOST_TEXTS = 32  # 32,768 tokens keep any GPU busy; more would only take longer


@dataclass(frozen=True)
class Workload:
    """make_model() -> module on the CPU. make_batch(device) -> (inputs, targets).
    loss(model, inputs, targets) -> a number. make_optimizer(parameters). batch: how many samples a step has.
    """

    name: str
    batch: int
    make_model: Callable
    make_batch: Callable
    loss: Callable
    make_optimizer: Callable
    optimizer: str


def digits_classifier(width=2048, batch=16_384):
    """Lesson 04's, at the size that it has on a GPU."""

    def make_batch(device):
        return torch.rand(batch, 64, device=device), torch.randint(10, (batch,), device=device)

    return Workload(
        f"digits_classifier({width})",
        batch,
        lambda: models.digits_classifier(width),
        make_batch,
        lambda model, x, y: F.cross_entropy(model(x), y),
        lambda parameters: torch.optim.SGD(parameters, lr=0.1),
        "SGD",
    )


def gpt(batch, vocabulary=VOCABULARY, width=768, layers=12, heads=12, context=CONTEXT):
    """A GPT of GPT-2's size: 12 layers, 768 wide, texts of 1,024 tokens out of 50,257."""

    def make_batch(device):
        tokens = torch.randint(vocabulary, (batch, context + 1), device=device)
        return tokens[:, :-1], tokens[:, 1:]

    def loss(model, tokens, following):
        return F.cross_entropy(model(tokens).flatten(0, 1), following.flatten())

    return Workload(
        f"TinyGPT({vocabulary}, {width}, {layers}, {heads}, {context}, tied=True)",
        batch,
        lambda: models.TinyGPT(vocabulary, width, layers, heads, context, tied=True),
        make_batch,
        loss,
        lambda parameters: torch.optim.AdamW(parameters, lr=1e-4),
        "AdamW",
    )


def texts_that_fit(free_bytes):
    """How many texts a step of the GPT gets: a power of two that fits with room to spare, at most 32."""
    fit = max(1, int((0.8 * free_bytes - _GPT_FIXED) / _GPT_PER_TEXT))
    return min(_MOST_TEXTS, 2 ** (fit.bit_length() - 1))
