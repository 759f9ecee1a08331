"""Hints, resets, quick checks, and what a verdict looks like."""

import html.parser
import sys

import ipywidgets
import pytest

import amp_lessons
from amp_lessons import check, hint, live, quick_check, reset
from amp_lessons.exercises.quick_checks import Buttons
from amp_lessons.exercises.verdict import Result, Verdict
from tests import toy


@pytest.fixture(autouse=True)
def lesson(teach):
    teach(toy.lesson())


def test_hints_come_one_by_one():
    assert "Hint 1 of 3: Halve it\nThink of two." in repr(hint("halve"))
    assert "Hint 2 of 3: Halve it\nDivide." in repr(hint("halve"))
    for _ in range(2):
        last = repr(hint("halve"))
        assert "Hint 3 of 3: Halve it\nx / 2" in last and 'solution("halve")' in last


def test_reset_gives_the_stub():
    assert toy.exercise().stub in repr(reset("halve"))
    assert "raise NotImplementedError" in reset("halve")._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("ask", [hint, reset, amp_lessons.solution, quick_check])
def test_an_unknown_id_names_the_nearest(ask):
    assert "The nearest:" in repr(ask("halv"))
    for nothing in (ask(), ask(None), ask(3), ask(b"halve")):
        assert "in quotes" in repr(nothing)


def test_an_exercise_and_a_quick_check_are_told_apart():
    for ask in (check, hint, reset, amp_lessons.solution):
        said = repr(ask("how-many-halves"))
        assert 'is a quick check: run `quick_check("how-many-halves")`' in said and "nearest" not in said
    assert 'is an exercise: run `check("halve")`' in repr(quick_check("halve"))


def test_buttons_answer_in_words():
    buttons = quick_check("how-many-halves")
    box = buttons.box(ipywidgets)
    assert isinstance(box, ipywidgets.VBox)
    assert [button.description for button in buttons.buttons] == ["A", "B"]
    assert buttons.reply.value == ""
    buttons.buttons[0].click()
    assert "Not quite. That is one too many." in buttons.reply.value
    buttons.buttons[1].click()
    assert "Right. Two halves make one." in buttons.reply.value and "Not quite" not in buttons.reply.value


@pytest.fixture
def displayed(monkeypatch):
    """What is displayed, in a list."""
    seen = []
    monkeypatch.setattr("IPython.display.display", lambda item, raw=False: seen.append(item))
    return seen


def test_without_a_kernel_the_answers_can_be_read(displayed):
    quick_check("how-many-halves")._ipython_display_()
    assert displayed[0]["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert "<details><summary>Answers" in displayed[0]["text/html"]
    assert "B: Right. Two halves make one." in displayed[0]["text/html"]


def test_colab_gets_the_widget_alone(displayed, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    widget = ipywidgets.HTML()
    live.show_live(widget, "<p>still</p>")
    assert displayed == [widget]


def test_without_ipywidgets_the_answers_stay(displayed, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    Buttons(toy.quick_check())._ipython_display_()
    assert "B: Right." in displayed[0]["text/html"] and "widget-view" not in str(displayed)


class Balanced(html.parser.HTMLParser):
    """Fails on a tag that is not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


NASTY = '</div><script>alert(1)</script>\n`<b>` & "quotes"'


@pytest.mark.parametrize("outcome", ["correct", "not yet", "not attempted"])
def test_a_verdict_in_three_forms(outcome):
    results = (Result("one", 1.0, 1.0, True), Result("two", 0.5, 0.0, False, NASTY, "a-mistake"))
    verdict = Verdict("halve", NASTY, outcome, 1.5, results, why=NASTY, printed=NASTY, note=NASTY)
    bundle = verdict._repr_mimebundle_(include=None, exclude=None)
    Balanced(bundle["text/html"])
    assert "<script" not in bundle["text/html"]
    word = {"correct": "✓ Correct", "not yet": "✗ Not yet", "not attempted": "○ Not attempted"}[outcome]
    assert word in bundle["text/html"] and repr(verdict).startswith(word)
    assert bundle["text/plain"] == ("0.0" if outcome == "not attempted" else "1.0")
    kept = bundle["application/vnd.amp-lessons.verdict+json"]
    assert kept["schema"] == 1 and kept["tests"][1]["mistake"] == "a-mistake"
    assert "alert" not in str(kept)


@pytest.mark.parametrize("earned", [float("nan"), float("inf"), -1.0, 99.0, 0.1 + 0.2])
def test_points_stay_in_range_whatever_a_test_claims(earned):
    verdict = Verdict("halve", "Halve", "not yet", 1.5, (Result("one", 1.0, earned, True),))
    assert 0 <= float(verdict._repr_mimebundle_()["text/plain"]) <= 1.5


def test_panels_are_balanced():
    for panel in (hint("halve"), reset("halve"), amp_lessons.progress(), amp_lessons.rebuild_progress([])):
        Balanced(panel._repr_mimebundle_()["text/html"])
    Balanced(check("halve", {})._repr_mimebundle_()["text/html"])


def test_unknown_names_of_the_package_are_explained():
    with pytest.raises(AttributeError, match="amp_lessons has no 'chek'"):
        amp_lessons.chek
    assert {"check", "figures"} <= set(dir(amp_lessons))
