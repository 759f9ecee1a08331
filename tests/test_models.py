"""The small nets: the ones of lesson 01 are its own, weight for weight; the GPT is a GPT."""

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from amp_lessons.models import TinyGPT, digits_classifier, plate_net

LESSON_01 = Path(__file__).parents[1] / "notebooks" / "01_fp16_underflow.ipynb"


def tiny_gpt(**changed):
    torch.manual_seed(0)
    return TinyGPT(**{"vocabulary": 11, "width": 16, "layers": 2, "heads": 4, "context": 8, **changed})


def tokens(batch=3, time=8, vocabulary=11):
    return torch.randint(vocabulary, (batch, time), generator=torch.Generator().manual_seed(1))


def made_by_lesson_01(function):
    """The net that a function of lesson 01 makes, after the cells that define and lead to it ran."""
    cells = json.loads(LESSON_01.read_text(encoding="utf-8"))["cells"]
    namespace = {}
    for wanted in ("set-up", "digits-model", "plate"):
        (source,) = ["".join(cell["source"]) for cell in cells if cell["id"] == wanted]
        exec(source, namespace)
    return namespace[function]().cpu()


@pytest.mark.parametrize(
    ("make", "function"), [(digits_classifier, "new_classifier"), (plate_net, "new_model")]
)
def test_the_nets_are_those_of_lesson_01(make, function):
    theirs = made_by_lesson_01(function)
    torch.manual_seed(0)
    ours = make()
    assert str(ours) == str(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for name, weight in ours.state_dict().items():
        assert torch.equal(weight, theirs.state_dict()[name]), name


def test_the_plate_net_starts_close_to_zero():
    torch.manual_seed(0)
    assert plate_net()(torch.rand(100, 2) * 2 - 1).abs().max() < 0.001


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: digits_classifier()(torch.rand(5, 64)), (5, 10)),
        (lambda: digits_classifier(width=7)(torch.rand(5, 64)), (5, 10)),
        (lambda: plate_net()(torch.rand(5, 2)), (5, 1)),
        (lambda: tiny_gpt()(tokens()), (3, 8, 11)),
        (lambda: tiny_gpt(heads=1, layers=1)(tokens(time=1)), (3, 1, 11)),
        (lambda: tiny_gpt(tied=True)(tokens(time=5)), (3, 5, 11)),
    ],
)
def test_shapes_and_dtypes_in_fp32_and_under_autocast(make, shape):
    output = make()
    assert (output.shape, output.dtype) == (shape, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = make()
    assert (output.shape, output.dtype) == (shape, torch.bfloat16)
    assert output.isfinite().all()


def test_a_width_is_the_width_of_both_hidden_layers():
    assert [tuple(weight.shape) for weight in digits_classifier(width=7).parameters()] == [
        (7, 64),
        (7,),
        (7, 7),
        (7,),
        (10, 7),
        (10,),
    ]


@pytest.mark.parametrize("make", [digits_classifier, plate_net, lambda: TinyGPT(11, 16, 2, 4, 8)])
def test_the_seed_alone_decides_the_weights(make):
    def weights(seed):
        torch.manual_seed(seed)
        return nn.utils.parameters_to_vector(make().parameters())

    assert torch.equal(weights(3), weights(3))
    assert not torch.equal(weights(3), weights(4))


def test_a_later_token_changes_no_earlier_logits():
    model, read = tiny_gpt(), tokens(batch=2)
    before = model(read)
    read[:, 5] = (read[:, 5] + 1) % 11
    after = model(read)
    assert torch.equal(before[:, :5], after[:, :5])
    assert (before[:, 5:] != after[:, 5:]).any(-1).all()  # it and every later place see the change


def test_the_place_of_a_token_counts():
    logits = tiny_gpt()(torch.zeros(1, 8, dtype=torch.int64))
    assert not torch.allclose(logits[0, 0], logits[0, 1])


def test_a_tied_head_is_one_parameter_less():
    own, tied = tiny_gpt(), tiny_gpt(tied=True)
    assert tied.head.weight is tied.token_embedding.weight
    assert sum(p.numel() for p in own.parameters()) - sum(p.numel() for p in tied.parameters()) == 11 * 16


@pytest.mark.parametrize("tied", [False, True])
def test_the_untrained_gpt_has_no_opinion_and_learns(tied):
    model = tiny_gpt(tied=tied)
    read, following = tokens()[:, :-1], tokens()[:, 1:]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(40):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(read).flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in model.parameters())
    assert losses[0] == pytest.approx(torch.tensor(11.0).log().item(), abs=0.4)
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, "8"], ids=repr)
def test_sizes_are_whole_numbers_from_1(wrong):
    with pytest.raises(ValueError, match="width is a whole number from 1; got"):
        digits_classifier(width=wrong)
    for name in ("vocabulary", "width", "layers", "heads", "context"):
        with pytest.raises(ValueError, match=f"{name} is a whole number from 1; got"):
            tiny_gpt(**{name: wrong})


def test_heads_divide_the_width():
    with pytest.raises(ValueError, match="multiple of 3, not 16"):
        tiny_gpt(heads=3)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (torch.zeros(1, 4), "int64 tensor, not torch.float32"),
        (torch.zeros(1, 4, dtype=torch.bool), "int64 tensor, not torch.bool"),
        ([[1, 2]], "int64 tensor, not a list"),
        (torch.tensor([[0, 11]]), "Tokens go from 0 to 10.*these go from 0 to 11"),
        (torch.tensor([[-1, 3]]), "these go from -1 to 3"),
    ],
    ids=str,
)
def test_tokens_are_whole_numbers_of_the_vocabulary(wrong, says):
    with pytest.raises(ValueError, match=says):
        tiny_gpt()(wrong)


@pytest.mark.slow
def test_the_gpt_compiles_as_one_graph():
    torch._dynamo.reset()
    model = tiny_gpt()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert torch.equal(compiled(tokens()), model(tokens()))


@pytest.mark.parametrize("shape", [(), (8,), (1, 9), (1, 0), (1, 2, 3)], ids=str)
def test_tokens_of_another_shape_are_named(shape):
    with pytest.raises(ValueError, match=r"\(batch, time\), time from 1 to 8, not \("):
        tiny_gpt()(torch.zeros(shape, dtype=torch.int64))
