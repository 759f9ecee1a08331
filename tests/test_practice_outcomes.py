"""check(): what it says about answers of every kind."""

import sys
import time

import pytest
import torch

from amp_lessons import check
from amp_lessons.exercises import catalogue, expect, watch
from amp_lessons.exercises.exercise import Test
from tests import toy

ENDLESS = "def halve(x):\n    while True:\n        pass"
ENDLESS_SWALLOWING = """
def halve(x):
    while True:
        try:
            for _ in range(10**9):
                pass
        except:
            pass
"""
ANSWERS = {  # source of an answer cell -> points and a part of the message
    "def halve(x):\n    return x / 2": (1.5, "x / 2 is half of x"),
    "def halve(x):\n    return torch.tensor(x / 2)": (1.5, "x / 2 is half of x"),
    "def halve(x):\n    return x // 2": (1.0, "halve(1) should be 0.5; yours is 0."),
    "def halve(x):\n    return 2 * x": (0.0, "You doubled: halve(8) is 16."),
    "def halve(x):\n    x / 2": (0.0, "halve(8) is None. Is there a `return` missing?"),
    "def halve(x):\n    return '4'": (0.0, "yours is a str ('4')"),
    "def halve(x):\n    return True": (0.0, "yours is a bool (True)"),
    "def halve(x):\n    return float('nan')": (0.0, "yours is NaN"),
    "def halve(x):\n    return '<script>alert(1)</script>'": (0.0, "<script>alert(1)</script>"),
    "def halve(x):\n    return y": (
        0.0,
        "NameError: name 'y' is not defined\nIn `halve`, line 2 of its cell: `return y`",
    ),
    "def halve(x):\n    raise SystemExit(3)": (0.0, "SystemExit: 3"),
    "def halve(x):\n    raise KeyboardInterrupt": (0.0, "You stopped the check"),
    "def halve(x):\n    return halve(x)": (0.0, "RecursionError"),
    "def halve(x):\n    raise MemoryError": (0.0, "MemoryError"),
    "def halve(x):\n    raise BaseException('odd')": (0.0, "BaseException: odd"),
    "def halve(x):\n    raise NotImplementedError('Half')": (0.0, "NotImplementedError: Half"),
    "def halve(x):\n    return torch.zeros(2, 2).view(3)": (0.0, "RuntimeError: shape"),
    "def halve():\n    return 4": (0.0, "TypeError: halve() takes 0 positional arguments but 1 was given"),
    "halve = 4": (0.0, "`halve` should be a function or a class; it now is an int (4)."),
    "class E(Exception):\n    def __str__(self):\n        raise ValueError\ndef halve(x):\n    raise E": (
        0.0,
        "E (its text can't be read)",
    ),
    "class E(Exception):\n    def __str__(self):\n        raise SystemExit\ndef halve(x):\n    raise E": (
        0.0,
        "E (its text can't be read)",
    ),
    "class R:\n    def __repr__(self):\n        raise SystemExit\ndef halve(x):\n    return [R()]": (
        0.0,
        "yours is a list (a list whose text can't be read)",
    ),
    "from fractions import Fraction\ndef halve(x):\n    return Fraction(x, 2)": (1.5, "x / 2 is half of x"),
    "class R:\n    def __repr__(self):\n        raise ValueError\ndef halve(x):\n    return R()": (
        0.0,
        "yours is a R (<R instance>).",
    ),
    "class R:\n    def __repr__(self):\n        return 'm' * 10**7\ndef halve(x):\n    return R()": (
        0.0,
        "mmm",
    ),
    "class Y:\n    def __eq__(self, other):\n        return True\ndef halve(x):\n    return Y()": (
        0.0,
        "a Y",
    ),
}


@pytest.fixture(autouse=True)
def lesson(teach):
    return teach(toy.lesson())


def assert_sound(verdict):
    """What holds for every verdict: the points that an autograder reads are a number in range."""
    bundle = verdict._repr_mimebundle_()
    assert 0 <= float(bundle["text/plain"]) <= verdict.out_of
    assert float(bundle["text/plain"]) == verdict.points
    assert "<script" not in bundle["text/html"]
    assert len(bundle["text/html"]) < 10_000 and len(repr(verdict)) < 10_000


@pytest.mark.parametrize("source", ANSWERS, ids=lambda source: source.splitlines()[-1].strip())
def test_answers_and_what_is_said(source, capsys):
    points, message = ANSWERS[source]
    verdict = check("halve", toy.run_cell(source))
    assert_sound(verdict)
    assert verdict.points == points
    assert verdict.outcome == ("correct" if points == 1.5 else "not yet")
    assert message in repr(verdict).replace("\n  ", "\n")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "source",
    [
        "",
        "halve = ...",
        toy.HALVE_STUB,
        toy.HALVE_STUB + "    # my thoughts",
        "def halve(x):\n    print('hm')\n    raise NotImplementedError",
        "def halve(x):\n    def inner():\n        raise NotImplementedError\n    return inner()",
    ],
)
def test_not_attempted(source, home):
    verdict = check("halve", toy.run_cell(source))
    assert_sound(verdict)
    assert (verdict.outcome, verdict.points) == ("not attempted", 0.0)
    assert "Fill in `halve`" in repr(verdict)
    assert not home.exists()


def test_only_the_first_failure_is_shown_and_all_tests_count(teach):
    def first(answer):
        expect.close(answer.halve(8), 5.0, "the first")

    def second(answer):
        expect.close(answer.halve(8), 6.0, "the second")

    def third(answer):
        expect.close(answer.halve(8), 4.0, "the third")

    tests = [Test("first", 1, first), Test("second", 1, second), Test("third", 2, third)]
    teach(toy.lesson(toy.exercise(tests=tests)))
    verdict = check("halve", toy.run_cell("def halve(x): return x / 2"))
    assert verdict.points == 2
    assert "the first should be 5; yours is 4." in repr(verdict)
    assert "the second" not in repr(verdict)


@pytest.mark.parametrize(
    "source", [ENDLESS, ENDLESS_SWALLOWING, "import time\ndef halve(x):\n    time.sleep(60)"]
)
def test_an_endless_answer_is_ended(source, teach):
    teach(toy.lesson(toy.exercise(seconds=0.3)))
    start = time.monotonic()
    verdict = check("halve", toy.run_cell(source))
    assert time.monotonic() - start < 5
    assert "ran for more than 0.3 seconds" in repr(verdict)
    assert [result.passed for result in verdict.results] == [False, False]


def test_after_a_time_out_the_rest_counts_as_failed_and_what_passed_stays(teach):
    teach(toy.lesson(toy.exercise(seconds=0.3)))
    verdict = check("halve", toy.run_cell("def halve(x):\n    while x == 1: pass\n    return x / 2"))
    assert [result.passed for result in verdict.results] == [True, False]
    assert verdict.points == 1


@pytest.mark.parametrize(
    ("shadow", "body", "said"),
    [
        ("torch = 3", "torch.tensor(1)", "`torch` is now an int (3), no longer the module"),
        ("max = [1]", "max(x, 1)", "`max` is now a list ([1]), no longer Python's own"),
    ],
)
def test_an_overwritten_name_is_named(shadow, body, said):
    verdict = check("halve", toy.run_cell(f"{shadow}\ndef halve(x):\n    return {body}"))
    assert said in repr(verdict)


def test_an_overwritten_name_that_plays_no_part_is_not_named():
    verdict = check("halve", toy.run_cell("max = 3\ndef halve(x):\n    return missing"))
    assert "`max`" not in repr(verdict)


def test_overwriting_torch_does_not_reach_the_check():
    verdict = check(
        "halve", toy.run_cell("import torch\ndef halve(x):\n    return torch.tensor(x / 2)\nF = nn = 1")
    )
    assert verdict.outcome == "correct"
    verdict = check("halve", toy.run_cell("torch = None\ndef halve(x):\n    return x / 2"))
    assert verdict.outcome == "correct"


def test_a_missing_set_up_cell_is_named():
    verdict = check("halve", toy.run_cell("def halve(x):\n    return torch.tensor(x / 2)", {}))
    assert "Run the set-up cell" in repr(verdict)


def test_several_names_partly_done(teach):
    def both(answer):
        expect.close(answer.scale, 2.0, "scale")
        expect.close(answer.halve(8), 4.0, "halve(8)")

    def only_scale(answer):
        expect.close(answer.scale, 2.0, "scale")

    stub = "scale = ...\n" + toy.HALVE_STUB
    teach(toy.lesson(toy.exercise(stub=stub, tests=[Test("scale", 1, only_scale), Test("both", 1, both)])))
    assert check("halve", toy.run_cell(stub)).outcome == "not attempted"
    half_done = check("halve", toy.run_cell(stub.replace("...", "2")))
    assert (half_done.outcome, half_done.points) == ("not yet", 1.0)
    assert "`halve` is still to do: it raises NotImplementedError." in repr(half_done)
    other_half = check("halve", toy.run_cell("scale = ...\ndef halve(x): return x / 2"))
    assert (other_half.outcome, other_half.points) == ("not yet", 0.0)
    assert "`scale` is still to do: it is `...`." in repr(other_half)
    gone = check("halve", toy.run_cell("def halve(x): return x / 2"))
    assert "`scale` is still to do: the notebook has no `scale` yet." in repr(gone)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("halv", "The nearest: `halve`"),
        ("HALVE ", "The nearest: `halve`"),
        ("zzz", "no exercise `zzz`"),
        ("<script>", "no exercise"),
        (None, 'in quotes, for example "halve"'),
        (b"halve", "in quotes"),
        (3.5, "in quotes"),
        (toy.exercise, "in quotes"),
    ],
)
def test_an_unknown_id_is_no_error(wanted, said):
    verdict = check(wanted, {})
    assert_sound(verdict)
    assert said in repr(verdict)


def test_a_function_in_place_of_its_id(teach):
    teach(toy.lesson(toy.exercise("other", "def other(): ..."), toy.exercise()))
    namespace = toy.run_cell("def halve(x): return x / 2")
    assert 'for example "halve"' in repr(check(namespace["halve"], namespace))


def test_the_name_of_a_function_in_place_of_the_id(teach):
    teach(toy.lesson(toy.exercise("other", "def other(): ..."), toy.exercise("by-two")))
    assert "The nearest: `by-two`." in repr(check("halve", {}))


def test_no_id_at_all():
    verdict = check()
    assert_sound(verdict)
    assert 'in quotes, for example "halve"' in repr(verdict)


@pytest.mark.parametrize("raises", [ValueError, SystemExit])
def test_an_id_that_fights_back_is_no_error(raises):
    class Id:
        def __repr__(self):
            raise raises

        __str__ = __hash__ = __repr__

        def __getattr__(self, name):
            raise raises

    assert_sound(check(Id(), {}))


def test_a_stop_at_any_moment_is_a_verdict(monkeypatch):
    def stopped():
        raise KeyboardInterrupt

    monkeypatch.setattr(watch, "start", stopped)
    assert "You stopped the check" in repr(check("halve", {}))


def test_an_answer_that_checks_itself_does_not_hang(teach):
    teach(toy.lesson(toy.exercise(seconds=0.5)))
    source = "from amp_lessons import check\ndef halve(x):\n    print(check('halve'))\n    return x / 2"
    verdict = check("halve", toy.run_cell(source))
    assert verdict.outcome == "correct"
    assert "check can't be called inside an answer" in verdict.printed
    verdict = check("halve", toy.run_cell(source.replace("print", "while True: print")))
    assert "ran for more than" in repr(verdict)


def test_a_fault_of_ours_is_a_verdict(monkeypatch):
    def broken():
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(catalogue, "current", broken)
    verdict = check("halve", {})
    assert_sound(verdict)
    assert "The check itself failed, which is no fault of yours: ZeroDivisionError: ours" in repr(verdict)


def test_the_callers_names_are_found_without_a_notebook():
    assert "IPython" not in sys.modules or sys.modules["IPython"].get_ipython() is None
    namespace = toy.run_cell(
        "from amp_lessons import check\ndef halve(x): return x / 2\nverdict = check('halve')"
    )
    assert namespace["verdict"].outcome == "correct"


def test_the_same_answer_gets_the_same_verdict(teach):
    seen = []
    teach(toy.lesson(toy.exercise(tests=[Test("draws", 1, lambda answer: seen.append(answer.halve(1)))])))
    namespace = toy.run_cell("def halve(x):\n    return torch.rand(1).item()")
    check("halve", namespace)
    torch.rand(5)
    check("halve", namespace)
    assert seen[0] == seen[1]
