"""Gradients of layer outputs against gradients taken by hand; shares and counts against a plain loop."""

import math

import pytest
import torch
from torch import nn

from amp_lessons.formats import BF16, FP32
from amp_lessons.gradients import (
    activation_gradients,
    magnitude_counts,
    share_flushed,
    share_overflowed,
    shares_by_scale,
    weight_gradients,
)


def test_gradients_equal_those_of_retain_grad():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    x = torch.randn(7, 3)
    gradients = activation_gradients(model, lambda: model(x).square().mean())

    outputs = []
    hidden = x
    for layer in model:
        hidden = layer(hidden)
        hidden.retain_grad()
        outputs.append(hidden)
    hidden.square().mean().backward()

    assert list(gradients) == ["0", "1", "2"]
    for gradient, output in zip(gradients.values(), outputs):
        assert torch.equal(gradient, output.grad)
        assert not gradient.requires_grad


def test_weight_gradients_equal_those_of_backward_and_leave_grad_alone():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2), nn.Linear(4, 4))
    model[0].bias.requires_grad_(False)
    x = torch.randn(7, 3)
    gradients = weight_gradients(model, lambda: model[:3](x).square().mean())
    assert list(gradients) == ["0.weight", "2.weight", "2.bias"]  # frozen and unused ones are left out
    assert all(parameter.grad is None for parameter in model.parameters())
    model[:3](x).square().mean().backward()
    for name, gradient in gradients.items():
        assert torch.equal(gradient, model.get_parameter(name).grad)
    with pytest.raises(ValueError, match="one number"):
        weight_gradients(model, lambda: model[:3](x))


def test_grads_and_hooks_are_left_as_they_were():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    x = torch.randn(4, 3, requires_grad=True)
    kept = torch.ones_like(model[0].weight)
    model[0].weight.grad = kept
    activation_gradients(model, lambda: model(x).mean())
    assert model[0].weight.grad is kept
    assert torch.equal(kept, torch.ones_like(kept))
    assert model[2].weight.grad is None
    assert x.grad is None
    assert not any(module._forward_hooks for module in model.modules())


def test_hooks_are_removed_after_an_exception():
    model = nn.Sequential(nn.Linear(3, 1))

    def fails():
        model(torch.ones(2, 3))
        raise KeyError("in the learner's loss")

    with pytest.raises(KeyError, match="learner"):
        activation_gradients(model, fails)
    assert not any(module._forward_hooks for module in model.modules())


def test_in_place_layers_get_their_own_gradient():
    torch.manual_seed(0)
    # Unflatten gives a view, which the in-place ReLU then changes; Identity hands its own input on.
    layers = [
        nn.Linear(4, 6),
        nn.Unflatten(1, (2, 3)),
        nn.ReLU(),
        nn.Flatten(),
        nn.Identity(),
        nn.Linear(6, 1),
    ]
    plain = nn.Sequential(*layers)
    in_place = nn.Sequential(*layers)
    in_place[2] = nn.ReLU(inplace=True)
    x = torch.randn(5, 4)
    expected = activation_gradients(plain, lambda: plain(x).sum())
    found = activation_gradients(in_place, lambda: in_place(x).sum())
    assert list(found) == list(expected)
    for name in expected:
        assert torch.equal(found[name], expected[name]), name
    assert not torch.equal(found["1"], found["2"])  # before and after the ReLU are two things


def test_in_place_layer_after_a_linear():
    model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.ReLU(inplace=True))
    nn.init.constant_(model[0].weight, -1.0)
    gradients = activation_gradients(model, lambda: model(torch.ones(1, 1)).sum())
    assert gradients["0"].item() == 0  # ReLU lets nothing through
    assert gradients["1"].item() == 1


def test_a_layer_that_runs_twice_is_numbered():
    layer = nn.Linear(2, 2, bias=False)
    model = nn.Sequential(layer)
    x = torch.randn(3, 2)
    gradients = activation_gradients(model, lambda: model(model(x)).sum())
    assert list(gradients) == ["0", "0 (call 2)"]
    assert torch.equal(gradients["0 (call 2)"], torch.ones(3, 2))
    assert torch.allclose(gradients["0"], torch.ones(3, 2) @ layer.weight)


def test_forward_order_not_definition_order():
    class Backwards(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(2, 1)
            self.first = nn.Linear(2, 2)

        def forward(self, x):
            return self.last(self.first(x))

    model = Backwards()
    assert list(activation_gradients(model, lambda: model(torch.ones(1, 2)).sum())) == ["first", "last"]


def test_single_layer_frozen_layer_unused_layer_and_tuple_output():
    layer = nn.Linear(2, 1)
    assert list(activation_gradients(layer, lambda: layer(torch.ones(3, 2)).sum())) == ["Linear"]

    frozen = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)).requires_grad_(False)
    frozen[1].requires_grad_(True)
    assert list(activation_gradients(frozen, lambda: frozen(torch.ones(3, 2)).sum())) == ["1"]

    two = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])

    def loss_of_the_first():
        two[1](torch.ones(1, 2))
        return two[0](torch.ones(1, 2)).sum()

    assert list(activation_gradients(two, loss_of_the_first)) == ["0"]

    lstm = nn.LSTM(2, 3)
    gradients = activation_gradients(lstm, lambda: lstm(torch.ones(4, 1, 2))[0].sum())
    assert torch.equal(gradients["LSTM"], torch.ones(4, 1, 3))


def test_half_layers_under_autocast_give_half_gradients():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    x = torch.randn(8, 4)

    def loss():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x).float().mean()

    assert {gradient.dtype for gradient in activation_gradients(model, loss).values()} == {torch.bfloat16}


@pytest.mark.parametrize(
    "bad_loss",
    [
        lambda model: model(torch.ones(2, 2)),
        lambda model: 0.5,
        lambda model: torch.tensor(1.0),
        lambda model: None,
    ],
    ids=["several numbers", "a Python number", "no gradient", "nothing"],
)
def test_a_loss_that_is_none_says_what_to_return(bad_loss):
    model = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="loss_function has to return the loss"):
        activation_gradients(model, lambda: bad_loss(model))


@pytest.mark.parametrize("gradients_of", [activation_gradients, weight_gradients])
def test_a_loss_in_place_of_the_function_says_what_to_pass(gradients_of):
    model = nn.Linear(2, 2)
    loss = model(torch.ones(2, 2)).sum()
    with pytest.raises(TypeError, match=r"lambda: .* not a Tensor"):
        gradients_of(model, loss)
    assert not model._forward_hooks


def test_no_grad_says_what_to_do():
    model = nn.Linear(2, 2)
    with torch.no_grad(), pytest.raises(ValueError, match="no_grad"):
        activation_gradients(model, lambda: model(torch.ones(2, 2)).sum())


EDGE_VALUES = [
    0.0,
    2**-25,
    2**-25 * (1 + 2**-20),
    2**-24,
    1.0,
    65504.0,
    65519.0,
    65520.0,
    -(2**-26),
    -70000.0,
]


def test_shares_of_known_values():
    values = torch.tensor(EDGE_VALUES)
    assert share_flushed(values) == 2 / 9  # 2⁻²⁵ and -2⁻²⁶; the 0 doesn't count
    assert share_overflowed(values) == 2 / 9  # 65520 and -70000
    assert share_flushed(values, scale=2.0) == 1 / 9
    assert share_flushed(values, scale=4.0) == 0
    assert share_overflowed(values, scale=2.0) == 4 / 9
    assert share_flushed(values, fmt=BF16) == share_flushed(values, fmt=FP32) == 0
    assert share_overflowed([values, values], scale=2.0, fmt="fp16") == 4 / 9


def test_nothing_to_lose_is_a_share_of_zero():
    for empty in (torch.zeros(5), torch.zeros(0), []):
        assert share_flushed(empty) == share_overflowed(empty) == 0.0


def test_nan_and_infinite_values_as_documented():
    values = torch.tensor([math.nan, math.inf, 1.0, 2**-30])
    assert share_flushed(values) == 1 / 4
    assert share_overflowed(values) == 1 / 4


def test_tensors_of_any_shape_and_dtype():
    gradients = {"a": torch.full((2, 2), 2.0**-30), "b": torch.ones(4, dtype=torch.float16)}
    assert share_flushed(gradients.values()) == share_flushed(value for value in gradients.values()) == 0.5


def test_shares_by_scale_equal_the_single_calls():
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(5000, generator=generator) * 2.0 ** torch.randint(
        -40, 10, (5000,), generator=generator
    )
    table = shares_by_scale([values])
    assert [row[0] for row in table] == list(range(25))
    for exponent, flushed, overflowed in table:
        assert flushed == share_flushed(values, 2.0**exponent)
        assert overflowed == share_overflowed(values, 2.0**exponent)
    assert table[0][1] > table[24][1]
    assert table[0][2] < table[24][2]
    assert shares_by_scale(values, exponents=[3], fmt=BF16)[0] == (3, 0.0, 0.0)


def test_magnitude_counts_against_a_plain_loop():
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(3000, generator=generator) * 2.0 ** torch.randint(
        -30, 5, (3000,), generator=generator
    )
    values[:10] = 0
    exponents, counts, zeros = magnitude_counts(values)
    expected = {}
    for value in values.tolist():
        if value:
            exponent = math.frexp(value)[1] - 1
            expected[exponent] = expected.get(exponent, 0) + 1
    assert zeros == 10
    assert exponents.tolist() == list(range(min(expected), max(expected) + 1))
    assert counts.tolist() == [expected.get(exponent, 0) for exponent in exponents.tolist()]
    assert exponents.dtype == counts.dtype == torch.int64


def test_magnitude_counts_at_powers_of_two_and_subnormals():
    values = torch.tensor(
        [1.0, math.nextafter(1.0, 0.0) - 2**-24, 2.0, -4.0, 2.0**-149, math.nan, math.inf, 0.0]
    )
    exponents, counts, zeros = magnitude_counts(values)
    found = {e: c for e, c in zip(exponents.tolist(), counts.tolist()) if c}
    assert found == {-149: 1, -1: 1, 0: 1, 1: 1, 2: 1}
    assert zeros == 1
    assert magnitude_counts(torch.tensor([1.0]), scale=1024).exponents.tolist() == [10]
    nothing = magnitude_counts(torch.zeros(3))
    assert (len(nothing.exponents), len(nothing.counts), nothing.zeros) == (0, 0, 3)


@pytest.mark.parametrize("scale", [2.0**40, 2.0**1000, 2.0**-20, 2.0**-1000, 1e-3])
def test_magnitude_counts_where_the_product_leaves_fp32(scale):
    values = [1.0, -1e30, 1e-44, 2.0**-149, 3e38]
    exponents, counts, zeros = magnitude_counts(torch.tensor([*values, 0.0]), scale)
    expected = {}
    for value in torch.tensor(values).tolist():
        exponent = math.floor(math.log2(abs(value)) + math.log2(scale))
        expected[exponent] = expected.get(exponent, 0) + 1
    assert {e: c for e, c in zip(exponents.tolist(), counts.tolist()) if c} == expected
    assert zeros == 1


def test_a_gradient_that_is_none_says_to_run_backward():
    gradients = [parameter.grad for parameter in nn.Linear(2, 2).parameters()]
    for values in (gradients[0], gradients, [torch.ones(1), None]):
        for measure in (share_flushed, share_overflowed, shares_by_scale, magnitude_counts):
            with pytest.raises(TypeError, match=r"None.*run backward\(\)"):
                measure(values)


def test_wrong_arguments_say_what_to_pass():
    with pytest.raises(TypeError, match=r"\.values\(\)"):
        share_flushed({"a": torch.ones(1)})
    with pytest.raises(TypeError, match="only tensors"):
        share_flushed([0.5])
    with pytest.raises(TypeError, match="tensor"):
        magnitude_counts(0.5)
    for scale in (0, -1, math.inf, math.nan):
        with pytest.raises(ValueError, match="positive finite"):
            share_flushed(torch.ones(1), scale)
    for scale in (None, "much", torch.ones(2)):
        with pytest.raises(TypeError, match="single number"):
            share_flushed(torch.ones(1), scale)
    with pytest.raises(ValueError, match="fp16"):
        share_flushed(torch.ones(1), fmt="fp8")
