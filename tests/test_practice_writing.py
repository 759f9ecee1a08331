"""What a lesson's author meets: validation, stubs, expect, the catalogue, percent scripts."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest
import torch

from amp_lessons.exercises import catalogue, expect
from amp_lessons.exercises.answer import Answer
from amp_lessons.exercises.exercise import Choice, Lesson, NotYet, QuickCheck, Test
from amp_lessons.exercises.percent import percent_cells
from amp_lessons.exercises.shown import shown
from amp_lessons.exercises.stub import Stub, names_defined
from tests import notebook_states, toy
from tests.answers import read_wrong_answer

MALFORMED = [
    lambda: toy.exercise(id="Not words"),
    lambda: toy.exercise(stub="def f("),
    lambda: toy.exercise(stub="import torch"),
    lambda: toy.exercise(stub="x = print()"),
    lambda: toy.exercise(tests=[Test("same", 1, print), Test("same", 1, print)]),
    lambda: toy.exercise(seconds=0),
    lambda: Test("one", 0, print),
    lambda: Test("one", float("nan"), print),
    lambda: Test("", 1, print),
    lambda: Test("one", 1, "not callable"),
    lambda: NotYet("message", mistake="Not words"),
    lambda: QuickCheck("q", "Which?", [Choice("A", "a", "no"), Choice("B", "b", "no")]),
    lambda: Lesson("toy", "Toy", "promise", 1, 1),
    lambda: toy.lesson(toy.exercise(), toy.exercise()),
]


@pytest.mark.parametrize("make", MALFORMED)
def test_what_is_malformed_is_refused_in_words(make):
    with pytest.raises((ValueError, TypeError), match="must|needs|does not parse|nothing to fill"):
        make()


def test_names_and_points_come_from_stub_and_tests():
    stub = "scale, (a, *b) = ..., ...\nclass Net: ...\nfor _ in []:\n    c: int = 3\ndef f(): ..."
    assert names_defined(stub) == ["scale", "a", "b", "Net", "c", "f"]
    assert toy.exercise(stub=stub).names == ["scale", "a", "b", "Net", "c", "f"]
    assert toy.exercise().points == 1.5


REPAIR = "def step(x, factor=2):\n    'Repair it.'\n    return [x * factor for _ in range(2)]"
NET = "class Net(torch.nn.Module):\n    size: int = 3\n    def forward(self, x):\n        return x * 2"


@pytest.mark.parametrize(
    ("stub", "answer", "untouched"),
    [
        (REPAIR, REPAIR, True),
        (REPAIR, "# a thought\n" + REPAIR.replace("factor=2", "factor = 2"), True),
        (REPAIR, REPAIR.replace("factor=2", "factor=3"), False),
        (REPAIR, REPAIR.replace("x * factor", "factor * x"), False),
        (REPAIR, REPAIR.replace("range(2)", "range(True)"), False),
        (NET, NET, True),
        (NET, NET.replace("x * 2", "x"), False),
        (NET, NET + "\n    def more(self): ...", False),
        ("value = [1, 2.0]", "value = [1, 2.0]", True),
        ("value = [1, 2.0]", "value = [True, 2.0]", False),
        ("value = None", "value = 0", False),
        ("parts = {'a': ..., 'b': ...}", "parts = {'a': ..., 'b': ...}", True),
        ("parts = {'a': ..., 'b': ...}", "parts = {'a': 1, 'b': ...}", False),
    ],
)
def test_a_stub_is_known_again(stub, answer, untouched):
    read = Stub(stub, "toy")
    (name,) = read.names
    assert read.is_untouched(name, toy.run_cell(answer)[name]) is untouched


def test_only_marked_names_are_to_fill():
    stub = Stub(
        "given = torch.ones(3)\ndef helper(x):\n    return x\ndef f(x):\n    raise NotImplementedError", "toy"
    )
    assert stub.to_fill == ["f"]


def test_a_test_that_asks_for_another_name_is_told_so():
    with pytest.raises(AttributeError, match="defines no 'other'"):
        Answer(toy.exercise(), {"other": 1}).other


HALF = torch.tensor(0.5, dtype=torch.float16)


@pytest.mark.parametrize(
    ("function", "value", "plain"),
    [
        (expect.boolean, True, True),
        (expect.boolean, torch.tensor([False]), False),
        (expect.boolean, numpy.bool_(True), True),
        (expect.number, 3, 3.0),
        (expect.number, HALF.requires_grad_(), 0.5),
        (expect.number, numpy.float32(0.5), 0.5),
        (expect.number, numpy.longdouble(2), 2.0),
        (expect.number, Fraction(1, 2), 0.5),
        (expect.number, Fraction(-(10**400)), -math.inf),
        (expect.number, Decimal("0.5"), 0.5),
        (expect.number, 10**400, math.inf),
        (expect.number, -(10**400), -math.inf),
        (expect.integer, torch.tensor([[7]]), 7),
        (expect.text, "bf16", "bf16"),
        (expect.dictionary, {"a": 1}, {"a": 1}),
        (expect.sequence, (1, 2), [1, 2]),
        (expect.is_nan, torch.tensor(math.nan), True),
        (expect.is_nan, numpy.longdouble("nan"), True),
        (expect.is_nan, Decimal("nan"), True),
        (expect.is_nan, "nan", False),
        (expect.is_nan, None, False),
    ],
)
def test_expect_gives_a_plain_value(function, value, plain):
    got = function(value) if function is expect.is_nan else function(value, "it")
    assert got == plain and type(got) is type(plain)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: expect.boolean(1, "it"), "it should be True or False; yours is an int (1)."),
        (
            lambda: expect.boolean(torch.tensor([True, False]), "it"),
            "it should be one value; yours is tensor",
        ),
        (lambda: expect.boolean(..., "it"), "it is still `...`"),
        (lambda: expect.number(None, "it(2)"), "it(2) is None. Is there a `return` missing?"),
        (lambda: expect.number(None, "it"), "it is None: no value yet."),
        (lambda: expect.number(Decimal("nan"), "it"), "yours is NaN"),
        (lambda: expect.number(numpy.bool_(True), "it"), "should be a number"),
        (lambda: expect.number(True, "it"), "it should be a number; yours is a bool (True)."),
        (lambda: expect.number(1j, "it"), "yours is a complex (1j)"),
        (lambda: expect.number(torch.tensor(math.nan), "it"), "yours is NaN"),
        (lambda: expect.number(torch.zeros(3), "it"), "yours is tensor([0., 0., 0.])"),
        (lambda: expect.number(numpy.zeros(3), "it"), "an array of shape (3,)"),
        (lambda: expect.integer(2.0, "it"), "should be a whole number (an int); yours is a float (2.0)."),
        (lambda: expect.text(b"x", "it"), "should be a text (a str); yours is a bytes"),
        (lambda: expect.tensor([1.0], "it"), "should be a tensor; yours is a list ([1.0])."),
        (
            lambda: expect.tensor(torch.zeros(2, 3), "it", shape=(2, None, 1)),
            "the shape (2, any, 1); yours has (2, 3)",
        ),
        (
            lambda: expect.tensor(torch.zeros(2), "it", dtype=torch.float16),
            "torch.float16; yours has torch.float32",
        ),
        (lambda: expect.dictionary([], "it"), "should be a dictionary"),
        (lambda: expect.dictionary({"a": 1}, "it", keys=["b"]), "no entry for 'b'; yours has 'a'"),
        (lambda: expect.dictionary({"a": 1}, "it", keys=[]), "an entry too many: 'a'"),
        (lambda: expect.sequence({1}, "it"), "should be a list"),
        (lambda: expect.sequence([1], "it", length=2), "2 entries; yours has 1: [1]"),
        (lambda: expect.close(1.5, 2.0, "it"), "it should be 2; yours is 1.5."),
        (lambda: expect.close(1.0, math.inf, "it"), "it should be inf; yours is 1."),
        (
            lambda: expect.close_tensor(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]), "it"),
            "it at [1] should be 3; yours is 2.",
        ),
    ],
)
def test_expect_says_what_it_should_be(ask, said):
    with pytest.raises(NotYet) as caught:
        ask()
    assert said in caught.value.message


def test_expect_lets_what_is_close_pass():
    assert expect.close(HALF, 0.5000001, "it") == 0.5
    near = torch.tensor([1.0, math.inf])
    assert expect.close_tensor(near, near.double(), "it") is near


def test_what_is_shown_is_short():
    for value in (
        "m" * 10**6,
        [1] * 10**6,
        {i: i for i in range(999)},
        torch.zeros(9, 9),
        10**5000,
        "a\nb",
        object(),
    ):
        assert len(shown(value)) <= 80 and "\n" not in shown(value) and "0x" not in shown(value)
    assert shown(torch.zeros(9, 9)) == "tensor of shape 9×9, torch.float32"


def test_a_broken_lesson_names_itself_and_leaves_the_others(monkeypatch, tmp_path):
    (tmp_path / "lesson_90_broken.py").write_text("1 / 0")
    (tmp_path / "lesson_91_empty.py").write_text("")
    monkeypatch.setattr(
        catalogue.importlib.import_module("amp_lessons.exercises"), "__path__", [str(tmp_path)]
    )
    found = catalogue.current.__wrapped__()
    assert found.lessons == []
    assert found.faults == [
        "lesson_90_broken.py can't be used: ZeroDivisionError: division by zero",
        "lesson_91_empty.py can't be used: TypeError: it holds no LESSON made with Lesson(...).",
    ]
    with pytest.raises(catalogue.UnknownId, match="lesson_90_broken.py can't be used"):
        found.exercise("flush-to-zero")


def test_an_id_that_is_taken_is_a_fault():
    toys = catalogue.Catalogue([toy.lesson(), toy.lesson(notebook="02_more")])
    assert [lesson.notebook for lesson in toys.lessons] == ["01_toy"]
    assert toys.faults == ["The id 'halve' of 02_more is taken by 01_toy."]


def test_percent_scripts():
    assert percent_cells("intro\n# %% a: b\n\nx = 1\n\n# %% c\n") == [("a: b", "x = 1"), ("c", "")]
    wrong = read_wrong_answer("halve: doubles", "# says: 16\n# mistake: doubles\n# a thought\nx = 1")
    assert (wrong.name, wrong.source, wrong.says, wrong.mistake) == (
        "doubles",
        "# a thought\nx = 1",
        "16",
        "doubles",
    )
    with pytest.raises(ValueError, match="says"):
        read_wrong_answer("halve: doubles", "x = 1")


def test_notebook_states(monkeypatch):
    def cell(source, **metadata):
        return {"cell_type": "code", "source": source, "metadata": metadata}

    answer = cell(["stub"], tags=["raises-exception"])
    notebook = {"cells": [cell("set up"), answer, cell(['check("halve")']), cell("check('other')")]}
    monkeypatch.setattr(notebook_states, "right_answer", lambda exercise: f"right {exercise}")
    cells = notebook_states.solved(notebook)["cells"]
    assert [each["source"] for each in cells][1] == "right halve" and len(cells) == 5
    assert cells[1]["metadata"]["tags"] == []
    assert 'outcome == "correct"' in cells[3]["source"]
    assert answer["source"] == ["stub"]
