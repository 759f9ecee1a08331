"""op_dtypes: which dtypes a model really ran in, without changing what it computes."""

import copy
import gc
import threading
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import _get_current_dispatch_mode

from amp_lessons import memory, op_dtypes, policy
from amp_lessons.policy.ops import TABLE

FP32, FP16, BF16 = torch.float32, torch.float16, torch.bfloat16
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def small_net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 4))


def loss_of(net, dtype=BF16):
    values = torch.linspace(-1, 1, 32).reshape(4, 8)
    with torch.autocast("cpu", dtype):
        return F.cross_entropy(net(values), torch.tensor([0, 1, 2, 3]))


def rows(calls, during="forward"):
    return [(call.name, call.inputs, call.output) for call in calls if call.during == during]


def test_a_forward_under_autocast_op_by_op():
    net = small_net()
    with op_dtypes.trace() as ops:
        loss_of(net)
    linear = ("addmm", (BF16, BF16, BF16), BF16)
    assert rows(ops) == [
        *[("cast", (FP32,), BF16)] * 3,
        linear,
        ("native_layer_norm", (BF16, FP32, FP32), BF16),
        ("relu", (BF16,), BF16),
        *[("cast", (FP32,), BF16)] * 2,
        linear,
        ("cast", (BF16,), FP32),
        ("_log_softmax", (FP32,), FP32),
        ("nll_loss_forward", (FP32, torch.int64), FP32),
    ]
    assert all(call.autocast for call in ops)


def test_without_autocast_everything_is_float32():
    net = small_net()
    with op_dtypes.trace() as ops:
        net(torch.ones(4, 8))
    assert [call.name for call in ops] == ["addmm", "native_layer_norm", "relu", "addmm"]
    assert {dtype for call in ops for dtype in (*call.inputs, call.output)} == {FP32}
    assert ops.casts == [] and not any(call.autocast for call in ops)


def test_backward_is_seen_too_and_ends_in_float32():
    net = small_net()
    with op_dtypes.trace() as ops:
        loss_of(net).backward()
    backward = rows(ops, "backward")
    assert ("mm", (BF16, BF16), BF16) in backward
    assert [call for call in ops if call.during == "backward" and call.autocast] == []
    to_float32 = [cast for cast in ops.casts if cast.during == "backward" and cast.to_dtype == FP32]
    # The gradients of two weights and two biases; those of the LayerNorm's are float32 anyway.
    assert sorted(cast.shape for cast in to_float32) == [(4,), (4, 8), (8,), (8, 8)]


@pytest.mark.parametrize(("cache", "casts", "of_weights"), [(True, 5, 2), (False, 9, 6)])
def test_autocasts_weight_cache_can_be_counted(cache, casts, of_weights):
    layer, values = nn.Linear(4, 4), torch.ones(2, 4)
    with op_dtypes.trace() as ops, torch.autocast("cpu", BF16, cache_enabled=cache):
        for _ in range(3):
            layer(values)
    assert len(ops.casts) == casts
    assert sum(cast.of_parameter for cast in ops.casts) == of_weights
    assert {(cast.from_dtype, cast.to_dtype, cast.during) for cast in ops.casts} == {(FP32, BF16, "forward")}
    assert [cast.shape for cast in ops.casts if not cast.of_parameter] == [(2, 4)] * 3


def test_a_cast_made_before_the_trace_is_not_made_again():
    """The trace neither empties nor bypasses autocast's cache."""
    layer, values = nn.Linear(4, 4), torch.ones(2, 4)
    with torch.autocast("cpu", BF16):
        layer(values)
        with op_dtypes.trace() as ops:
            layer(values)
        with op_dtypes.trace() as later:
            layer(values)
    assert [cast.of_parameter for cast in ops.casts] == [cast.of_parameter for cast in later.casts] == [False]


def test_the_parameters_to_count_can_be_given():
    net = small_net()
    with op_dtypes.trace(parameters=net[3].parameters()) as ops:
        loss_of(net)
    assert sorted(cast.shape for cast in ops.casts if cast.of_parameter) == [(4,), (4, 8)]


def test_whether_autocast_is_on():
    layer, values = nn.Linear(4, 4), torch.ones(2, 4)
    with torch.autocast("cpu", BF16), op_dtypes.trace() as ops:
        layer(values)
        with torch.autocast("cpu", enabled=False):
            layer(values)
        layer(values)
    assert [call.autocast for call in ops if call.name == "addmm"] == [True, False, True]


def test_the_old_spelling_for_the_cpu_is_heard():
    layer, values = nn.Linear(4, 4), torch.ones(2, 4)
    with op_dtypes.trace() as ops, pytest.warns(FutureWarning):
        with torch.cpu.amp.autocast(dtype=BF16):
            layer(values)
    assert [call.autocast for call in ops] == [True] * 4


# As text


def test_the_table():
    layer = nn.Linear(2, 2)
    with op_dtypes.trace() as ops, torch.autocast("cpu", BF16):
        F.mse_loss(layer(torch.ones(1, 2)), torch.ones(1, 2))
    assert str(ops) == repr(ops)
    assert str(ops).splitlines() == [
        "op        inputs                        output    during",
        "cast      float32                       bfloat16  forward",
        "cast      float32                       bfloat16  forward",
        "cast      float32                       bfloat16  forward",
        "addmm     bfloat16, bfloat16, bfloat16  bfloat16  forward",
        "cast      bfloat16                      float32   forward",
        "mse_loss  float32, float32              float32   forward",
    ]


def test_an_empty_table_and_a_long_one():
    with op_dtypes.trace() as ops:
        pass
    assert str(ops) == "op  inputs  output  during"
    with op_dtypes.trace(limit=100) as ops:
        for _ in range(1234):
            torch.ones(2).exp()
    assert len(str(ops).splitlines()) == 62
    assert str(ops).endswith("and 1,174 more")


def test_it_is_a_sequence():
    with op_dtypes.trace() as ops:
        torch.ones(2).exp().sum()
    assert len(ops) == 2
    assert ops[0] == op_dtypes.OpCall("exp", (FP32,), FP32, "forward", False)
    assert [call.name for call in ops[-1:]] == ["sum"]
    assert ops[0] in ops


# It changes nothing


def train(net, dtype, traced):
    """Losses, weights and gradients of three steps."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        with op_dtypes.trace() if traced else torch.enable_grad():
            loss = loss_of(net, dtype)
            loss.backward()
            optimizer.step()
        losses.append(loss.detach())
    return [*losses, *(p.detach() for p in net.parameters()), *(p.grad for p in net.parameters())]


@pytest.mark.parametrize("dtype", [BF16, FP16])
def test_training_is_the_same_bit_for_bit(dtype):
    net = small_net()
    plain, traced = train(copy.deepcopy(net), dtype, False), train(net, dtype, True)
    assert all(torch.equal(one, other) for one, other in zip(plain, traced, strict=True))


def run(entry, inputs, device):
    """An op's output under autocast, or the kind of error that PyTorch raises."""
    torch.manual_seed(0)
    with torch.autocast(device, BF16):
        try:
            return entry.call(*inputs)
        except RuntimeError as error:
            return type(error)


def assert_traced_like_plain(op, mode, device):
    entry = TABLE[op]
    for dtypes in ((FP32, FP32), (BF16, BF16), (BF16, FP32)):
        torch.manual_seed(1)
        inputs = [torch.rand(shape).to(device, dtypes[place > 0]) for place, shape in enumerate(entry.shapes)]
        with mode():
            plain = run(entry, inputs, device)
            with op_dtypes.trace() as ops:
                traced = run(entry, inputs, device)
        if isinstance(plain, torch.Tensor):
            assert traced.dtype == plain.dtype, op
            assert torch.equal(traced.nan_to_num(), plain.nan_to_num()), op
            assert op == "transpose" or len(ops) > 0
        else:
            assert traced is plain, op


EACH_MODE = pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])


@EACH_MODE
@pytest.mark.parametrize("op", policy.OPS)
def test_every_op_gives_the_same(op, mode):
    """In inference mode ops reach the trace whole: their parts must follow autocast as they do without it."""
    assert_traced_like_plain(op, mode, "cpu")


@needs_cuda
@EACH_MODE
def test_every_op_gives_the_same_on_cuda(mode):
    for op in policy.OPS:
        assert_traced_like_plain(op, mode, "cuda")


def test_inference_mode_shows_the_same_ops():
    net = small_net()
    with op_dtypes.trace() as ops:
        loss_of(net)
    with torch.inference_mode(), op_dtypes.trace() as inferred:
        loss_of(net)
    assert rows(inferred) == rows(ops)
    assert [call.autocast for call in inferred] == [call.autocast for call in ops]


def test_an_exception_passes_through_and_the_trace_ends():
    set_before = torch.set_autocast_enabled
    with pytest.raises(ZeroDivisionError):
        with op_dtypes.trace() as ops, torch.autocast("cpu", BF16):
            torch.ones(2).exp()
            _ = 1 / 0
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        with op_dtypes.trace() as failing:
            torch.ones(2, 3) @ torch.ones(2, 3)
    assert torch.set_autocast_enabled is set_before
    assert _get_current_dispatch_mode() is None
    assert not torch.is_autocast_enabled("cpu")
    torch.ones(2).exp()
    assert [call.name for call in ops] == ["exp"] and list(failing) == []


def test_traces_can_be_nested():
    net = small_net()
    with torch.inference_mode(), op_dtypes.trace() as outer:
        loss_of(net)
        with op_dtypes.trace() as inner:
            loss_of(net)
        loss_of(net)
    assert list(outer) == list(inner) * 3
    assert len(inner) > 10


def test_another_threads_autocast_is_not_taken_for_this_ones():
    with op_dtypes.trace() as ops:
        thread = threading.Thread(target=lambda: torch.set_autocast_enabled("cpu", True))
        thread.start()
        thread.join()
        policy._ask.cache_clear()
        policy.ask("linear", "cpu")
        torch.ones(2).exp()
    assert [(call.name, call.autocast) for call in ops] == [("exp", False)]


def test_traces_in_two_threads_that_overlap():
    first_open, second_open, first_done = (threading.Event() for _ in range(3))
    set_before, seen = torch.set_autocast_enabled, {}

    def first():
        with op_dtypes.trace() as ops:
            first_open.set()
            assert second_open.wait(10)
            loss_of(small_net())
        seen["first"] = list(ops)
        first_done.set()

    def second():
        assert first_open.wait(10)
        with op_dtypes.trace() as ops:
            second_open.set()
            assert first_done.wait(10)
            loss_of(small_net())
        seen["second"] = list(ops)

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    with op_dtypes.trace() as alone:
        loss_of(small_net())
    assert seen["first"] == seen["second"] == list(alone)
    assert any(call.autocast for call in alone)
    assert torch.set_autocast_enabled is set_before


def test_traces_that_end_in_the_order_in_which_they_began():
    set_before = torch.set_autocast_enabled
    one, other = op_dtypes.trace(), op_dtypes.trace()
    ops_of_one = one.__enter__()
    ops_of_other = other.__enter__()
    torch.ones(2).exp()
    one.__exit__(None, None, None)
    with torch.autocast("cpu", BF16):
        torch.ones(2).tanh()
    other.__exit__(None, None, None)
    torch.ones(2).sin()
    assert [call.name for call in ops_of_one] == ["exp"]
    assert [(call.name, call.autocast) for call in ops_of_other] == [("exp", False), ("tanh", True)]
    assert torch.set_autocast_enabled is set_before
    assert _get_current_dispatch_mode() is None


@pytest.mark.parametrize("dtype", [None, BF16])
def test_a_model_without_values(dtype):
    def make():
        net = small_net()
        return net(torch.ones(4, 8)).sum()

    alone = memory.would_keep(make, dtype)
    with op_dtypes.trace() as ops:
        traced = memory.would_keep(make, dtype)
    assert traced == alone
    assert "addmm" in [call.name for call in ops]
    assert not any(call.name == "device" for call in ops)


# Bounded memory


def test_no_tensor_is_kept():
    with op_dtypes.trace() as ops:
        net = small_net()
        loss = loss_of(net)
        loss.backward()
    gone = [weakref.ref(loss), *(weakref.ref(parameter) for parameter in net.parameters())]
    del net, loss
    gc.collect()
    assert [reference for reference in gone if reference() is not None] == []
    assert len(ops) > 10


def test_a_long_run_is_cut_and_counted():
    with op_dtypes.trace(limit=5) as ops:
        for _ in range(20):
            torch.ones(2).half().exp()
    assert len(ops) == 5 and len(ops.casts) == 3
    assert ops.left_out == 35
    assert ops[1] is ops[3]  # equal calls share one object


@pytest.mark.parametrize("limit", [0, -1, 2.5, "many", None, True])
def test_a_bad_limit(limit):
    with pytest.raises(ValueError, match="whole number above 0"):
        with op_dtypes.trace(limit=limit):
            pass


@pytest.mark.parametrize(
    "wrong, message",
    [
        (small_net(), r"model\.parameters\(\)"),
        (["weight"], r"model\.parameters\(\)"),
        (small_net().named_parameters(), r"model\.parameters\(\)"),
        (3, r"model\.parameters\(\)"),
        (small_net().parameters, r"with \(\)"),
        (small_net()[0].weight, r"=\[model\.weight\]"),
    ],
)
def test_bad_parameters(wrong, message):
    with pytest.raises(TypeError, match=message):
        with op_dtypes.trace(parameters=wrong):
            pass


@needs_cuda
def test_on_cuda_the_casts_and_the_backward_are_seen():
    layer, values = nn.Linear(4, 4, device="cuda"), torch.ones(2, 4, device="cuda")
    with op_dtypes.trace() as ops:
        with torch.autocast("cuda", FP16):
            for _ in range(3):
                out = layer(values)
            loss = F.softmax(out, -1).sum()
        loss.backward()
    assert sum(cast.during == "forward" and cast.to_dtype == FP16 for cast in ops.casts) == 5
    assert ("mm", (FP16, FP16), FP16) in rows(ops, "backward")
    assert [call.autocast for call in ops if call.name == "addmm"] == [True] * 3
