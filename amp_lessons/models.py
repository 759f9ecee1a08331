"""Small nets that several lessons use. None of them sets a seed: call torch.manual_seed first."""

import torch
import torch.nn.functional as F
from torch import nn


def digits_classifier(width=128):
    """Give the net that lesson 01 trains on the digits: 64 - width - width - 10, with ReLU between.

    It takes images (batch, 64) float32 and gives logits (batch, 10) float32 (16-bit under autocast). With
    the same seed its weights equal those of the net that lesson 01 writes out. It is made on the CPU.

    ValueError if width is not a whole number from 1.
    """
    _whole_numbers(width=width)
    return nn.Sequential(
        nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    )


def plate_net():
    """Give the net that lesson 01 fits to the plate: 2 - 32 - 32 - 32 - 1, with tanh between.

    It takes points (batch, 2) float32 in metres and gives displacements (batch, 1) float32 in metres (16-bit
    under autocast). The last layer starts small, its weights times 0.001 and its bias 0, so that the first
    predictions are close to 0. With the same seed its weights equal those of lesson 01's net.
    """
    model = nn.Sequential(
        nn.Linear(2, 32),
        nn.Tanh(),
        nn.Linear(32, 32),
        nn.Tanh(),
        nn.Linear(32, 32),
        nn.Tanh(),
        nn.Linear(32, 1),
    )
    with torch.no_grad():
        model[-1].weight.mul_(0.001)
        model[-1].bias.zero_()
    return model


class TinyGPT(nn.Module):
    """A GPT: it reads tokens and says, at each place, which token it expects next.

    vocabulary: how many different tokens there are. width: numbers per token inside. layers: blocks.
    heads: heads per attention; width is a multiple of it. context: the longest text it can read, in tokens.
    tied: the head uses the embedding's weight instead of one of its own, as GPT-2 does.

    The layout is GPT-2's (Radford et al. 2019: layer norm before attention and MLP, and once at the end)
    without dropout. ValueError if a size is not a whole number from 1, or the heads don't divide the width.
    """

    def __init__(self, vocabulary, width, layers, heads, context, tied=False):
        _whole_numbers(vocabulary=vocabulary, width=width, layers=layers, heads=heads, context=context)
        if width % heads != 0:
            raise ValueError(
                f"The heads share the width: choose a width that is a multiple of {heads}, not {width}."
            )
        super().__init__()
        self.context = context
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.place_embedding = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        # GPT-2's start. PyTorch's own, with standard deviation 1, would make the logits of a tied head huge.
        nn.init.normal_(self.token_embedding.weight, std=0.02)
        nn.init.normal_(self.place_embedding.weight, std=0.02)
        if tied:
            self.head.weight = self.token_embedding.weight

    def forward(self, tokens):
        """tokens (batch, time) int64, time at most context -> logits (batch, time, vocabulary).

        The logits are float32, under autocast 16-bit. The logits at a place depend on the tokens up to it.
        Raises ValueError for tokens of another shape or dtype and, on a CPU, for one outside the vocabulary.
        """
        if not isinstance(tokens, torch.Tensor) or tokens.dtype not in (torch.int64, torch.int32):
            got = tokens.dtype if isinstance(tokens, torch.Tensor) else f"a {type(tokens).__name__}"
            raise ValueError(f"Pass tokens as an int64 tensor, not {got}.")
        if tokens.ndim != 2 or not 1 <= tokens.shape[1] <= self.context:
            raise ValueError(
                f"Pass tokens (batch, time), time from 1 to {self.context}, not {tuple(tokens.shape)}."
            )
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self._embed(tokens) + self.place_embedding(places)  # (batch, time, width)
        x = self.blocks(x)
        return self.head(self.norm(x))

    def _embed(self, tokens):
        try:
            return self.token_embedding(tokens)
        except IndexError:  # not looked for before: reading a number makes a GPU wait, and can't be compiled
            last = self.token_embedding.num_embeddings - 1
            raise ValueError(
                f"Tokens go from 0 to {last}, one less than the vocabulary; these go from {tokens.min()} to "
                f"{tokens.max()}."
            ) from None


class Block(nn.Module):
    """Attention, then an MLP, each added to what comes in: (batch, time, width) float32."""

    def __init__(self, width, heads):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = CausalAttention(width, heads)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class CausalAttention(nn.Module):
    """Self-attention in which a token sees itself and earlier ones: (batch, time, width), output as input."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, time, width = x.shape
        split = self.query_key_value(x).view(batch, time, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)  # each (batch, heads, time, width // heads)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


def _whole_numbers(**sizes):
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"{name} is a whole number from 1; got {size!r}.")
