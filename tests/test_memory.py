"""Bytes kept for backward: against counts by hand, through other people's hooks, and leaving no trace."""

import copy
import gc
import logging
import subprocess
import sys
import threading
import weakref
from contextlib import nullcontext
from pathlib import Path

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

from amp_lessons import memory
from amp_lessons.memory import kept_for_backward, would_keep
from amp_lessons.models import TinyGPT, digits_classifier, plate_net

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


def autocast(dtype):
    return nullcontext() if dtype is None else torch.autocast("cpu", dtype=dtype)


def gpt_loss(vocabulary=50257, width=768, layers=12, heads=12, context=1024, batch=4, tied=False):
    torch.manual_seed(0)
    model = TinyGPT(vocabulary, width, layers, heads, context, tied)
    tokens = torch.randint(vocabulary, (batch, context))
    return F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())


SMALL_GPT = {"vocabulary": 101, "width": 32, "layers": 2, "heads": 4, "context": 16, "batch": 2}


class Everything(nn.Module):
    """Convolution, batch norm with its buffers, dropout's mask, pooling's indices, a frozen layer."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4, affine=False)  # buffers and no parameter
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(0.5)
        self.frozen = nn.Linear(64, 24).requires_grad_(False)
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        x = self.pool(torch.tanh(self.norm(self.convolution(x))))
        return self.head(self.frozen(self.dropout(x).flatten(1)).exp())


def everything_loss(model=None):
    model = model or Everything()
    return F.cross_entropy(model(torch.rand(5, 1, 8, 8)), torch.arange(5) % 3)


def naive_count(forward, parameters=()):
    """Unique storages beyond the parameters, counted when they are packed: what eight lines give."""
    sizes, alive = {}, []

    def pack(tensor):
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        alive.append(tensor.detach())
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        forward()
    own = {each.untyped_storage().data_ptr() for each in parameters}
    return sum(size for pointer, size in sizes.items() if pointer not in own)


# Against counts by hand


def test_one_layer_in_fp32():
    model, x = nn.Linear(8, 4), torch.rand(16, 8)
    kept = kept_for_backward(lambda: model(x).exp().sum(), model)
    # The input, for the weight's gradient; exp's output, for its own. No weight: x needs no gradient.
    assert (kept.total, kept.activations, kept.weight_copies) == (16 * 8 * 4 + 16 * 4 * 4,) * 2 + (0,)
    assert kept.by_dtype == {FP32: kept.total}
    assert kept.parameters == 0
    assert kept.rows == (
        ("activation", "addmm", (16, 8), FP32, 512),
        ("activation", "exp", (16, 4), FP32, 256),
    )


def test_a_second_layer_needs_its_weight_which_costs_nothing():
    model, x = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2)), torch.rand(16, 8)
    for given in (model, None):
        kept = kept_for_backward(lambda: model(x).sum(), given)
        assert kept.parameters == 2 * 4 * 4
        # ReLU's output is kept by it and by the layer after it, and counts once.
        assert [(row.kept_for, row.bytes) for row in kept.rows] == [("addmm", 512), ("relu, addmm", 256)]
        assert kept.total == 512 + 256


def test_one_layer_under_autocast():
    model, x = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2)), torch.rand(16, 8)

    def forward():
        with autocast(BF16):
            return F.mse_loss(model(x), torch.zeros(16, 2))

    kept = kept_for_backward(forward, model)
    assert kept.weight_copies == 4 * 2 * 2
    assert [row for row in kept.rows if row.kind == "weight copy"] == [
        ("weight copy", "addmm", (2, 4), BF16, 16)
    ]
    # mse_loss computes in FP32: it keeps its two inputs in FP32, 16 times 2 numbers each.
    assert kept.by_dtype == {BF16: 16 * 8 * 2 + 16 * 4 * 2 + 4 * 2 * 2, FP32: 2 * 16 * 2 * 4}
    assert kept.parameters == 0
    assert kept.total == kept.activations + kept.weight_copies == sum(kept.by_dtype.values())


def test_tied_weights_are_copied_once():
    def forward():
        with autocast(BF16):
            return gpt_loss(**SMALL_GPT, tied=True)

    kept = kept_for_backward(forward)
    copies = {row.shape: row.bytes for row in kept.rows if row.kind == "weight copy"}
    assert copies[101, 32] == 101 * 32 * 2
    per_block = 32 * 96 + 32 * 32 + 2 * 32 * 128
    assert kept.weight_copies == 2 * (101 * 32 + 2 * per_block)


def test_without_autocast_s_cache_every_call_keeps_its_copy():
    layer, x = nn.Linear(8, 8), torch.rand(2, 8)

    def forward(cache):
        with torch.autocast("cpu", dtype=BF16, cache_enabled=cache):
            return layer(layer(layer(x))).float().sum()

    # The first call keeps none: x needs no gradient.
    assert kept_for_backward(lambda: forward(True), layer).weight_copies == 8 * 8 * 2
    assert kept_for_backward(lambda: forward(False), layer).weight_copies == 2 * 8 * 8 * 2


def test_a_cast_by_hand_is_a_weight_copy_and_a_cast_input_is_not():
    layer, x = nn.Linear(8, 8), torch.rand(2, 8, requires_grad=True)
    kept = kept_for_backward(lambda: F.linear(x.to(BF16), layer.weight.to(BF16)).sum(), layer)
    assert (kept.weight_copies, kept.activations) == (8 * 8 * 2, 2 * 8 * 2)


@pytest.mark.parametrize("dtype", [None, BF16])
def test_a_frozen_layer_s_copy_is_recognised_by_its_values(dtype):
    model, x = (
        nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6).requires_grad_(False), nn.Tanh()),
        torch.rand(6, 6),
    )

    def forward():
        with autocast(dtype):
            return model(x).float().sum()

    kept = kept_for_backward(forward, model)
    assert kept.weight_copies == (0 if dtype is None else 6 * 6 * 2)
    assert kept.parameters == (6 * 6 * 4 if dtype is None else 0)
    # Input and output of tanh, the input of the first layer; the frozen one doesn't keep its own.
    assert kept.activations == 2 * 6 * 6 * (4 if dtype is None else 2)


def test_buffers_of_the_model_count_as_parameters():
    model = Everything()
    without = kept_for_backward(lambda: everything_loss(model))
    with_model = kept_for_backward(lambda: everything_loss(model), model)
    assert with_model.parameters - without.parameters >= 2 * 4 * 4  # running mean and variance
    assert with_model.parameters + with_model.total == without.parameters + without.total


@pytest.mark.parametrize("dtype", [None, BF16, FP16])
def test_equals_a_count_of_storages(dtype):
    torch.manual_seed(0)
    model = TinyGPT(101, 32, 2, 4, 16)
    tokens = torch.randint(101, (2, 16))

    def forward():
        with autocast(dtype):
            return F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())

    # Input tokens are whole here and nothing is dropped on the way, so that the plain count is right too.
    kept = kept_for_backward(forward, model)
    assert kept.total == naive_count(forward, model.parameters())
    assert kept.total == sum(row.bytes for row in kept.rows)


def test_views_count_once_and_whole():
    x = torch.rand(3, 1000, requires_grad=True)

    def forward():
        whole = x * 2
        return (whole[0, :10].exp() + whole[1, :10].square()).sum()

    # square keeps ten numbers of `whole`, which keep all of it.
    assert sorted(row.bytes for row in kept_for_backward(forward).rows) == [40, 12000]


def test_a_batch_cut_out_of_a_data_set_counts_as_a_batch():
    data, model = torch.rand(1400, 64), digits_classifier()
    kept = kept_for_backward(lambda: model(data[128:192]).sum(), model)
    assert ("activation", "addmm", (64, 64), FP32, 64 * 64 * 4) in kept.rows
    both = kept_for_backward(lambda: model(data[:64]).sum() + model(data[:64]).sum(), model)
    assert [row.bytes for row in both.rows].count(64 * 64 * 4) == 1
    expanded = kept_for_backward(lambda: (data[:1].expand(100, 64) * model[0].weight[0]).sum())
    assert expanded.rows[0].bytes == 64 * 4


def test_what_is_let_go_before_forward_returns_is_not_kept():
    model, x = digits_classifier(), torch.rand(64, 64)

    def plain():
        return F.cross_entropy(model(x), torch.zeros(64, dtype=torch.int64))

    def with_a_metric():
        logits = model(x)
        logits.softmax(-1).log().max().item()  # keeps tensors for a backward that never comes
        return F.cross_entropy(logits, torch.zeros(64, dtype=torch.int64))

    assert kept_for_backward(with_a_metric, model) == kept_for_backward(plain, model)
    assert naive_count(with_a_metric) > naive_count(plain)


def test_nothing_is_kept_without_gradients():
    model, x = digits_classifier(), torch.rand(64, 64)
    with torch.no_grad():
        kept = kept_for_backward(lambda: model(x).sum(), model)
    assert (kept.total, kept.rows, kept.by_dtype, kept.parameters) == (0, (), {}, 0)
    assert str(kept).startswith("kept for backward  0 B\n")
    assert "Nothing is kept. Did you expect something? Under torch.no_grad()" in str(kept)
    assert "Nothing is kept." not in str(kept_for_backward(lambda: model(x).sum(), model))


def test_a_sparse_tensor_counts_its_values_and_indices():
    sparse = torch.eye(6).to_sparse()
    dense = torch.rand(6, 2, requires_grad=True)
    kept = kept_for_backward(lambda: torch.sparse.mm(sparse, dense).sum())
    assert kept.total == 6 * 4 + 2 * 6 * 8


# Other hooks


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


def hidden(model, x):
    return torch.tanh(model[2](torch.relu(model[0](x))))


def loss_plain(model, x):
    return model[4](hidden(model, x)).sum()


def loss_checkpointed(model, x):
    return model[4](checkpoint(hidden, model, x, use_reentrant=False)).sum()


def loss_checkpointed_reentrant(model, x):
    return model[4](checkpoint(hidden, model, x.requires_grad_(), use_reentrant=True)).sum()


def loss_offloaded(model, x):
    with save_on_cpu():
        return loss_plain(model, x)


def loss_in_half_precision(model, x):
    def pack(tensor):
        return tensor.dtype, tensor.half()

    def unpack(packed):
        return packed[1].to(packed[0])

    with saved_tensors_hooks(pack, unpack):
        return loss_plain(model, x)


def loss_with_a_function(model, x):
    return Square.apply(hidden(model, x)).sum()


def loss_with_a_gradient_penalty(model, x):
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss_plain(model, x), x, create_graph=True)
    return loss_plain(model, x) + gradient.square().sum()


LOSSES = [
    loss_plain,
    loss_checkpointed,
    loss_checkpointed_reentrant,
    loss_offloaded,
    loss_in_half_precision,
    loss_with_a_function,
    loss_with_a_gradient_penalty,
]


@pytest.mark.parametrize("loss_of", LOSSES, ids=lambda loss_of: loss_of.__name__)
@pytest.mark.parametrize("dtype", [None, BF16])
def test_results_are_bit_identical_also_of_a_backward_later(loss_of, dtype):
    torch.manual_seed(0)
    model, x = digits_classifier(16), torch.rand(8, 64)

    def results(watched):
        mine, losses = copy.deepcopy(model), []

        def forward():
            with autocast(dtype):
                losses.append(loss_of(mine, x.clone()))
            return losses[-1]

        if watched:
            assert kept_for_backward(forward, mine).total > 0
        else:
            forward()
        losses[-1].backward()
        return [losses[-1].detach(), *(each.grad for each in mine.parameters() if each.grad is not None)]

    plain, watched = results(False), results(True)
    assert len(plain) == len(watched) > 3
    assert all(torch.equal(one, other) for one, other in zip(plain, watched))


def kept_of(loss_of):
    model, x = digits_classifier(16), torch.rand(8, 64)
    return kept_for_backward(lambda: loss_of(model, x), model)


def test_checkpointing_keeps_the_inputs_only():
    plain = kept_of(loss_plain)
    assert plain.total == 8 * 64 * 4 + 2 * (8 * 16 * 4)
    for loss_of in (loss_checkpointed, loss_checkpointed_reentrant):
        kept = kept_of(loss_of)
        assert kept.total == 8 * 64 * 4 + 8 * 16 * 4, loss_of  # the block's input and its output


def test_looking_computes_no_checkpointed_block_again():
    calls = []

    def block(x):
        calls.append(1)
        return x.exp().tanh()

    x = torch.rand(4, requires_grad=True)
    kept_for_backward(lambda: checkpoint(block, x, use_reentrant=False).sum())
    assert calls == [1]


def test_what_hooks_make_of_a_tensor_is_what_is_kept():
    plain, half = kept_of(loss_plain), kept_of(loss_in_half_precision)
    # ReLU and the layer after it get a copy each. Weights become half too, and are the parameters no longer.
    assert half.by_dtype == {FP16: (8 * 64 + 4 * 8 * 16 + 16 * 16 + 10 * 16) * 2}
    assert half.parameters == 0 and half.weight_copies == 0
    assert plain.parameters == (16 * 16 + 10 * 16) * 4
    assert kept_of(loss_offloaded).total == plain.total  # on a CPU save_on_cpu changes nothing


def test_hooks_that_keep_nothing_in_memory_count_nothing():
    store = []

    def pack(tensor):
        store.append(tensor.numpy(force=True).tobytes())
        return len(store) - 1

    x = torch.rand(4, requires_grad=True)

    def forward():
        with saved_tensors_hooks(pack, store.__getitem__):
            return x.exp().sum()

    assert kept_for_backward(forward).total == 0
    assert len(store) == 1


def test_hooks_around_the_call_are_left_as_they_are():
    packed = []
    with saved_tensors_hooks(lambda tensor: packed.append(1) or tensor.detach(), lambda tensor: tensor):
        x = torch.rand(4, requires_grad=True)
        assert kept_for_backward(lambda: x.exp().sum()).total == 16
        seen = len(packed)
        x.exp()
    assert len(packed) == seen + 1


def test_a_function_s_tensors_carry_its_name():
    kept = kept_of(loss_with_a_function)
    assert "tanh, Square" in [row.kept_for for row in kept.rows]


def test_a_tensor_changed_in_place_is_still_refused_in_a_backward_inside_forward():
    x = torch.rand(4, requires_grad=True)

    def forward():
        y = x.exp()
        loss = y.sum()
        y.add_(1)
        return torch.autograd.grad(loss, x)[0]

    with pytest.raises(RuntimeError, match="modified by an inplace operation") as torch_s:
        forward()
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as ours:
        kept_for_backward(forward)
    for error in (torch_s, ours):
        assert "version 1; expected version 0 instead" in str(error.value)


def test_a_graph_used_up_inside_forward_is_not_kept():
    x = torch.rand(4, requires_grad=True)

    def forward():
        y = x.exp()
        torch.autograd.grad(y.sum(), x)
        return y.sum()

    assert kept_for_backward(forward).total == 0


def test_a_compiled_model_is_counted_as_compiled():
    model, x = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh()), torch.rand(4, 8)
    compiled = torch.compile(model, backend="aot_eager")
    frames = torch._dynamo.utils.counters["frames"]
    before = frames["ok"]
    kept = kept_for_backward(lambda: compiled(x).sum(), compiled)
    assert frames["ok"] > before
    assert any("Compiled" in row.kept_for for row in kept.rows)
    # aot_eager keeps what the plain model keeps: its input and the outputs of tanh.
    assert kept.activations == 3 * 4 * 8 * 4


# Leaving no trace


def test_no_tensor_is_kept_alive():
    model = digits_classifier(16)
    watched, storages = [], []

    def forward():
        with autocast(BF16):
            x = torch.rand(8, 64)
            logits = model(x)
            loss = F.cross_entropy(logits, torch.zeros(8, dtype=torch.int64))
        watched.extend(weakref.ref(each) for each in (logits, loss))
        watched.append(weakref.ref(loss.grad_fn.next_functions[0][0]._saved_result))
        storages.extend(
            StorageWeakRef(each.untyped_storage()) for each in (x, logits, loss.grad_fn._saved_self)
        )
        x = loss_plain  # nothing but the graph holds the input now
        return loss

    gc.disable()  # without a collection: no cycle keeps them until one comes along
    try:
        kept = kept_for_backward(forward, model)
        assert [each() for each in watched] == [None] * 3
        assert [each.expired() for each in storages] == [True] * 3
    finally:
        gc.enable()
    assert kept.total > 0
    assert not any(isinstance(each, torch.Tensor) for row in kept.rows for each in row)


def test_an_exception_comes_through_and_the_hooks_are_gone():
    enter = saved_tensors_hooks.__enter__
    x = torch.rand(4, requires_grad=True)

    def fails():
        x.exp()
        raise KeyError("mine")

    for measure in (kept_for_backward, would_keep):
        with pytest.raises(KeyError, match="mine"):
            measure(fails if measure is kept_for_backward else lambda: {}["mine"])
        assert saved_tensors_hooks.__enter__ is enter
        assert torch._C._len_torch_dispatch_stack() == 0
        y = x.exp()
        assert y.grad_fn._saved_result.data_ptr() == y.data_ptr()
        assert y.grad_fn._raw_saved_result is not None


def test_hooks_of_another_thread_are_not_heard():
    x, results = torch.rand(4, requires_grad=True), []

    def elsewhere():
        with saved_tensors_hooks(lambda tensor: tensor.detach(), lambda tensor: tensor):
            results.append(x.exp())

    def forward():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return x.tanh().sum()

    assert kept_for_backward(forward).total == 16
    assert torch.equal(torch.autograd.grad(results[0].sum(), x)[0], x.exp())


def test_a_count_in_another_thread_while_one_runs():
    """It waits for nothing, and neither hears the other; also where the inner one lasts longer."""
    inner_open, outer_done, inner = threading.Event(), threading.Event(), []
    x, enter = torch.rand(4, requires_grad=True), saved_tensors_hooks.__enter__

    def inner_forward():
        inner_open.set()
        assert outer_done.wait(10)
        with saved_tensors_hooks(lambda tensor: tensor.double(), lambda tensor: tensor.float()):
            return x.exp().tanh().sum()

    thread = threading.Thread(target=lambda: inner.append(kept_for_backward(inner_forward).total))

    def outer_forward():
        thread.start()
        assert inner_open.wait(10)
        return x.exp().sum()

    assert kept_for_backward(outer_forward).total == 16
    outer_done.set()
    thread.join(10)
    assert inner == [64]
    assert saved_tensors_hooks.__enter__ is enter


def test_counts_within_a_count():
    x, inner = torch.rand(4, requires_grad=True), []

    def forward():
        inner.append(kept_for_backward(lambda: x.exp().tanh().sum()).total)
        return x.exp().sum()

    assert (kept_for_backward(forward).total, inner) == (16, [32])


def test_gradients_and_random_numbers_are_left_alone():
    model, x = digits_classifier(16), torch.rand(8, 64)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    kept_for_backward(lambda: model(x).sum(), model)
    assert all(each.grad is None for each in model.parameters())
    assert torch.equal(torch.get_rng_state(), state)
    would_keep(lambda: gpt_loss(**SMALL_GPT))  # it calls manual_seed(0)
    assert torch.equal(torch.get_rng_state(), state)


# Without values


@pytest.mark.parametrize("dtype", [None, FP32, BF16, FP16], ids=str)
@pytest.mark.parametrize(
    "make",
    [
        lambda: gpt_loss(**SMALL_GPT),
        lambda: gpt_loss(**SMALL_GPT, tied=True),
        lambda: F.mse_loss(plate_net()(torch.rand(16, 2)), torch.rand(16, 1)),
        lambda: loss_plain(digits_classifier(16), torch.rand(8, 64)),
        lambda: loss_checkpointed(digits_classifier(16), torch.rand(8, 64)),
        lambda: loss_with_a_function(digits_classifier(16), torch.rand(8, 64)),
        lambda: loss_with_a_gradient_penalty(digits_classifier(16), torch.rand(8, 64)),
    ],
    ids=["gpt", "tied gpt", "plate", "digits", "checkpoint", "function", "penalty"],
)
def test_the_count_without_values_equals_the_real_one(make, dtype):
    def forward():
        with autocast(None if dtype == FP32 else dtype):
            return make()

    real = kept_for_backward(forward)
    assert would_keep(make, dtype) == real
    assert real.total > 0


@pytest.mark.parametrize("dtype", [None, BF16], ids=str)
def test_buffers_frozen_copies_and_masks_are_counted_without_values_too(dtype):
    model = Everything()

    def forward():
        with autocast(dtype):
            return everything_loss(model)

    real, fake = kept_for_backward(forward, model), would_keep(everything_loss, dtype)
    assert (fake.parameters, fake.weight_copies) == (real.parameters, real.weight_copies)
    # PyTorch's rules for tensors without values take these statistics for 16-bit ones.
    statistics = [row for row in real.rows if row.kept_for == "batch_norm" and row.shape == (4,)]
    assert len(statistics) == 2
    assert real.total - fake.total in (
        (0,) if dtype is None else (0, sum(row.bytes for row in statistics) // 2)
    )
    assert [row[:3] for row in fake.rows] == [row[:3] for row in real.rows]


def test_only_an_lstm_s_workspace_is_missed():
    def make():
        return nn.LSTM(5, 7)(torch.rand(3, 2, 5))[0].sum()

    real, fake = kept_for_backward(make), would_keep(make)
    different = set(real.rows) ^ set(fake.rows)
    assert all("rnn" in row.kept_for or "lstm" in row.kept_for for row in different)
    assert len(different) <= 2


def test_autocast_around_the_call_is_kept_out_unless_asked_for():
    plain, half = would_keep(everything_loss), would_keep(everything_loss, BF16)
    with autocast(BF16):
        assert would_keep(everything_loss) == plain
        assert would_keep(everything_loss, BF16) == half
        assert torch.is_autocast_enabled("cpu")
    assert plain != half


def test_a_gpt_that_would_not_fit():
    """With attention that keeps its (time, time) matrix, autocast saves a third: 5.29 and 3.4 GiB."""

    def explicit_attention(query, key, value, is_causal):
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        return scores.softmax(-1) @ value

    def make():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(F, "scaled_dot_product_attention", explicit_attention)
            return gpt_loss()

    explicit = would_keep(make)
    assert explicit.total / 2**30 == pytest.approx(5.29, abs=0.005)
    assert would_keep(make, FP16).total / 2**30 == pytest.approx(3.41, abs=0.005)
    fused = would_keep(gpt_loss)
    assert fused.total / 2**30 == pytest.approx(3.04, abs=0.005)
    # Per layer, the matrix of 4 x 12 heads; the fused one keeps one number for each of its rows instead.
    assert explicit.total - fused.total == pytest.approx(12 * 4 * 12 * 1024 * 1024 * 4, rel=0.01)


def test_autocast_keeps_more_where_the_weights_are_large():
    def make():
        return gpt_loss(width=64, layers=2, heads=4, context=64, batch=1)

    full, half = would_keep(make), would_keep(make, BF16)
    assert half.total > full.total
    assert half.activations < full.activations
    assert half.weight_copies > 50257 * 64 * 2


def test_the_math_attention_of_pytorch_can_be_asked_for():
    def make():
        with sdpa_kernel(SDPBackend.MATH):
            return gpt_loss(**SMALL_GPT)

    def real():
        with autocast(BF16):
            return make()

    assert would_keep(make, BF16) == kept_for_backward(real)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", torch.device("mps"), "meta", "xpu"], ids=str)
def test_another_device_is_refused_before_anything_runs(device):
    with pytest.raises(ValueError, match="counts on the CPU only"):
        would_keep(lambda: pytest.fail("it ran"), device=device)


@pytest.mark.parametrize("wrong", ["gpu", None, 2.5, ["cpu"]], ids=repr)
def test_what_names_no_device(wrong):
    for measure in (lambda make: would_keep(make, device=wrong), lambda step: memory.peak(step, wrong)):
        with pytest.raises(ValueError, match='device is "cpu", "cuda" or a torch.device; got ') as refused:
            measure(lambda: pytest.fail("it ran"))
        assert repr(wrong) in str(refused.value)


NO_ABORT = """
import torch
from torch import nn
from amp_lessons.memory import would_keep

def default_device():
    torch.set_default_device("cuda")
    try:
        return nn.Linear(2, 2)(torch.rand(2, 2)).sum()
    finally:
        torch.set_default_device(None)

def device_context():
    with torch.device("cuda"):
        return nn.Linear(2, 2)(torch.rand(2, 2)).sum()

attempts = [
    lambda: nn.Linear(2, 2, device="cuda")(torch.rand(2, 2, device="cuda")).sum(),
    lambda: nn.Linear(2, 2).to("cuda")(torch.rand(2, 2)).sum(),
    lambda: nn.Linear(2, 2).cuda()(torch.rand(2, 2)).sum(),
    lambda: nn.Linear(2, 2).to("meta")(torch.rand(2, 2)).sum(),
    lambda: torch.rand(2, 2, device="cuda", requires_grad=True).sum(),
    lambda: torch.rand(2, 2, requires_grad=True).to("cuda:0").sum(),
    lambda: torch.rand(2, 2, requires_grad=True).cuda().sum(),
    lambda: torch.zeros_like(torch.rand(2), device="cuda", requires_grad=True).sum(),
    lambda: torch.rand(2, requires_grad=True).new_zeros(2, device="cuda").requires_grad_().sum(),
    lambda: torch.tensor([1.0], device="cuda", requires_grad=True).sum(),
    lambda: torch.rand(2, device="mps", requires_grad=True).sum(),
    lambda: nn.Parameter(torch.empty(2, device="cuda")).sum(),
    lambda: nn.Linear(2, 2, device="meta").to_empty(device="cuda")(torch.rand(2, 2)).sum(),
    default_device,
    device_context,
]
for number, attempt in enumerate(attempts):
    for dtype in (None, torch.float16):
        try:
            print(number, "gave", would_keep(attempt, dtype).total)
        except (ValueError, AssertionError, RuntimeError) as error:
            print(number, type(error).__name__, str(error)[:60])
print("done", len(attempts))
"""


def test_no_device_inside_ends_the_interpreter():
    done = subprocess.run(
        [sys.executable, "-c", NO_ABORT],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert last == "done 15"
    assert len(lines) == 30
    assert not any(" gave " in line for line in lines)
    # .cuda() and torch.tensor ask for the driver first, and PyTorch itself refuses.
    assert sum("ValueError would_keep counts on the CPU only" in line for line in lines) >= 22, done.stdout


OUTSIDE = torch.rand(2, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Linear(2, 2)(OUTSIDE).sum(),
        lambda: nn.Linear(2, 2)(torch.rand(2, 2)).sum() * torch.rand(()).item(),
        lambda: nn.Linear(2, 2)(torch.rand(2, 2))[torch.rand(2) > 0.5].nonzero().sum(),
        lambda: float(nn.Linear(2, 2)(torch.rand(2, 2)).detach().numpy().sum()),
    ],
    ids=["a tensor from outside", "item", "a shape that depends on values", "numpy"],
)
def test_what_needs_values_is_explained(make):
    with pytest.raises(ValueError, match="tensors have no values. Build the model and its inputs inside"):
        would_keep(make)


@pytest.mark.parametrize("measure", [would_keep, memory.would_need])
@pytest.mark.parametrize("lazy", [lambda: nn.LazyLinear(2), lambda: nn.LazyBatchNorm1d(affine=False)])
def test_a_lazy_module_is_refused_in_words(measure, lazy):
    says = f"In {measure.__name__} lazy modules can't be made. Give the layer both sizes"
    with pytest.raises(ValueError, match=says):
        measure(lambda: lazy()(torch.rand(4, 3)).sum())


def test_layers_may_be_copied_in_make():
    def make():
        model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
        return model(torch.rand(3, 2, 8)).sum()

    assert would_keep(make) == kept_for_backward(make)
    one = sum(each.nbytes for each in nn.TransformerEncoderLayer(8, 2, 16).parameters())
    assert memory.would_need(make).largest["parameters"] == 2 * one


def test_an_error_of_the_learner_s_own_comes_through_unchanged_and_without_a_log(caplog):
    with pytest.raises(RuntimeError, match="must have same reduction dim"):
        would_keep(lambda: nn.Linear(2, 2)(torch.rand(2, 3)).sum())
    assert caplog.records == []
    assert not logging.getLogger("torch._subclasses.fake_tensor").disabled


# Arguments


@pytest.mark.parametrize("measure", [kept_for_backward, would_keep])
def test_wrong_functions_are_named(measure):
    with pytest.raises(TypeError, match="Pass a function that .* not a Tensor"):
        measure(torch.ones(()))
    with pytest.raises(
        TypeError, match="has to return the loss, a tensor; it returned a NoneType.*return loss?"
    ):
        measure(lambda: None)
    with pytest.raises(TypeError, match="it returned a float"):
        measure(lambda: 0.5)


def test_a_model_is_a_module():
    with pytest.raises(TypeError, match="model has to be an nn.Module, not a list"):
        kept_for_backward(lambda: torch.ones(()), [])


@pytest.mark.parametrize("dtype", ["float16", torch.float64, torch.int8, 16], ids=str)
def test_a_dtype_is_one_that_autocast_takes(dtype):
    with pytest.raises(ValueError, match="dtype is torch.float16 or torch.bfloat16, or None"):
        would_keep(lambda: pytest.fail("it ran"), dtype)


# Text


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "0.977 KiB"),
        (1024, "1 KiB"),
        (3_565_158, "3.4 MiB"),
        (5.29 * 2**30, "5.29 GiB"),
        (999 * 2**20, "999 MiB"),
        (1023 * 2**20, "0.999 GiB"),
        (2**50, "1024 TiB"),
        (-1536, "-1.5 KiB"),
        (99.96 * 1024, "100 KiB"),
        (numpy.int64(4096), "4 KiB"),
        (numpy.float32(1536), "1.5 KiB"),
    ],
)
def test_bytes_in_words(size, words):
    assert memory.text(size) == words


@pytest.mark.parametrize("wrong", [None, "3", True], ids=repr)
def test_what_is_no_number_of_bytes(wrong):
    with pytest.raises(TypeError, match="Pass a number of bytes, not"):
        memory.text(wrong)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")], ids=repr)
def test_bytes_are_finite(wrong):
    with pytest.raises(ValueError, match="finite number of bytes, not -?(nan|inf)"):
        memory.text(wrong)
    with pytest.raises(ValueError, match="too large"):
        memory.text(10**400)


def test_the_table():
    model, x = nn.Sequential(*[nn.Linear(8, 8), nn.ReLU()] * 3), torch.rand(16, 8)

    def forward():
        with autocast(BF16):
            return model(x).float().exp().sum()

    kept = kept_for_backward(forward, model)
    assert repr(kept) == str(kept)
    assert str(kept).splitlines() == [
        "kept for backward  1.62 KiB  (bfloat16 1.12 KiB, float32 512 B)",
        "  activations      1.5 KiB",
        "  weight copies    128 B",
        "",
        "bytes  pieces  dtype     shape    kind         kept for the backward of",
        "512 B       1  float32   (16, 8)  activation   exp",
        "512 B       2  bfloat16  (16, 8)  activation   relu, addmm",
        "256 B       1  bfloat16  (16, 8)  activation   addmm",
        "256 B       1  bfloat16  (16, 8)  activation   relu",
        "128 B       1  bfloat16  (8, 8)   weight copy  addmm",
    ]


def test_a_long_table_is_summed_up():
    def forward():
        return sum(torch.rand(size, requires_grad=True).exp().sum() for size in range(1, 31))

    kept = kept_for_backward(forward)
    table = str(kept).split("\n\n")[1].splitlines()
    assert len(table) == 1 + 15 + 1
    assert table[-1].split() == ["480", "B", "15", "(smaller", "ones)"]
    assert sum(range(1, 16)) * 4 == 480


# Peak


def test_peak_is_measured_around_the_step(monkeypatch):
    events = []
    for name, result in [
        ("reset_peak_memory_stats", None),
        ("synchronize", None),
        ("max_memory_allocated", 7),
    ]:
        monkeypatch.setattr(
            torch.cuda,
            name,
            lambda device, name=name, result=result: (events.append((name, str(device))), result)[1],
        )
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert memory.peak(lambda: events.append("step"), "cuda:1") == 7
    assert events == [
        ("synchronize", "cuda:1"),
        ("reset_peak_memory_stats", "cuda:1"),
        "step",
        ("synchronize", "cuda:1"),
        ("max_memory_allocated", "cuda:1"),
    ]


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu"), "mps"], ids=str)
def test_there_is_no_peak_elsewhere(device):
    assert memory.peak(lambda: pytest.fail("it ran"), device) is None


@pytest.mark.parametrize(
    ("count", "device", "says"),
    [
        (0, "cuda", 'has no CUDA device here, so there is no "cuda"'),
        (1, "cuda:1", 'has 1 CUDA device here, so there is no "cuda:1"'),
        (2, "cuda:7", 'has 2 CUDA devices here, so there is no "cuda:7"'),
    ],
)
def test_a_gpu_that_is_not_here(monkeypatch, count, device, says):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    with pytest.raises(ValueError, match=says):
        memory.peak(lambda: pytest.fail("it ran"), device)


def test_peak_wants_a_function():
    with pytest.raises(TypeError, match="function that does one step, not a int"):
        memory.peak(3, "cpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_peak_on_a_gpu():
    before = torch.cuda.memory_allocated()
    assert memory.peak(lambda: torch.empty(2**20, device="cuda").sum().item(), "cuda") >= before + 2**22
