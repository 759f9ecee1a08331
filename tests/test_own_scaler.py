"""The scaler that learners build: the reference one does what PyTorch's does, and the comparison says so."""

import math
import random

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import amp_lessons
from amp_lessons import compare_own_scaler
from amp_lessons.exercises import own_scaler
from amp_lessons.exercises.by_hand import by_hand
from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.own_scaler import Schedule, Trace, first_difference, own_trace, torchs_trace
from tests import toy
from tests.answers import right_answer

PARTS = ("unscale-and-look", "skip-or-step", "grow-and-back-off")
RIGHT = toy.run_cell("\n\n\n".join(map(right_answer, PARTS)), {"torch": torch}, "<reference scaler>")


@st.composite
def schedules(draw):
    """Up to 100 steps from 2¹⁶ with a growth interval of 1 to 5, and overflows of every kind anywhere."""
    steps = draw(st.integers(1, 100))  # drawn apart: lists alone are short ones, of six on average
    kinds = st.sampled_from([None, None, None, math.inf, -math.inf, math.nan])
    overflows = draw(st.lists(kinds, min_size=steps, max_size=steps))
    numbers = random.Random(draw(st.integers(0, 2**32)))
    gradients = [[[numbers.gauss(0, 1) for _ in range(n)] for n in (3, 2)] for _ in overflows]
    return Schedule(gradients, overflows, draw(st.integers(1, 5)))


def agrees(schedule):
    yours, torchs = Trace(), torchs_trace(schedule)
    own_trace(schedule, RIGHT["skip_or_step"], RIGHT["grow_and_back_off"], yours)
    assert first_difference(yours, torchs) == ""
    assert yours == torchs and len(yours.scales) == len(schedule.overflows)
    skipped = [overflow is not None for overflow in schedule.overflows]
    assert torchs.skipped == skipped


USUAL = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


@given(schedules())
@settings(max_examples=40, **USUAL)
def test_the_reference_scaler_agrees_with_pytorchs(schedule):
    agrees(schedule)


@pytest.mark.slow
@given(schedules())
@settings(max_examples=1000, **USUAL)
def test_the_reference_scaler_agrees_with_pytorchs_over_a_thousand_schedules(schedule):
    agrees(schedule)


@pytest.mark.parametrize("overflow", [None, math.inf])
def test_it_agrees_over_a_hundred_steps_one_way(overflow):
    gradients = [[[0.5, -1.0, 2.0], [1.0, 0.25]]] * 100
    agrees(Schedule(gradients, [overflow] * 100, growth_interval=1))


def test_only_at_the_end_of_fp32_do_they_differ():
    scale, count = torch.tensor(2.0**127), torch.tensor(0, dtype=torch.int32)
    torch._amp_update_scale_(scale, count, torch.tensor(0.0), 2.0, 0.5, 1)
    assert scale.item() == 2.0**127  # PyTorch's stays: twice as much would be inf
    assert count.item() == 0  # and the count starts again all the same
    assert RIGHT["grow_and_back_off"](2.0**127, 0, False, 1) == (2.0**128, 0)


# what compare_own_scaler says


def compared(change="", without=(), **arguments):
    namespace = {name: value for name, value in RIGHT.items() if name not in without}
    if "unscale_and_look" in RIGHT and change:  # functions look for each other where they were defined
        namespace = {"torch": torch}
        source = "\n\n\n".join(right_answer(part) for part in PARTS)
        toy.run_cell(f"{source}\n\n\n{change}\n", namespace, "<own scaler>")
    return compare_own_scaler(namespace, **arguments)


def test_it_says_that_they_agree_and_draws_both():
    panel = compared(seed=3, steps=30)
    assert "They agree over 30 steps: the scale, the skips and every weight, exactly." in repr(panel)
    assert "Loss scale of PyTorch's over" in repr(panel) and "Loss scale of yours over" in repr(panel)
    bundle = panel._repr_mimebundle_()
    assert "<figure" in bundle["text/html"] and "They agree over 30 steps" in bundle["text/html"]
    assert bundle["text/plain"] == repr(panel)


@pytest.mark.parametrize("seed", range(4))
def test_they_agree_over_as_many_steps_as_may_be_asked_for(seed):
    agrees(Schedule.drawn(seed, own_scaler.MOST_STEPS))


def test_a_count_of_another_kind_agrees_as_it_does_in_the_check():
    source = right_answer("grow-and-back-off").replace("good_steps += 1", "good_steps += 1.0")
    assert "They agree over 60 steps" in repr(compared(source.replace(", 0", ", torch.tensor(0.0)")))


def test_the_usual_schedule_has_skips_and_growth_and_is_the_same_each_time():
    trace = torchs_trace(Schedule.drawn(0, 60))
    assert 5 < sum(trace.skipped) < 30
    assert sum(b > a for a, b in zip(trace.scales, trace.scales[1:])) >= 3
    assert repr(compared()) == repr(compared())
    assert repr(compared(seed=1)) != repr(compared())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            "def grow_and_back_off(s, g, f, i=2000):\n"
            "    return (s / 2, 0) if f else (s * 2, 0) if g >= i else (s, g + 1)",
            "After step 6 they differ in the scale: yours is 8192, torch's 16384.",
        ),
        (
            "def skip_or_step(o, s):\n    unscale_and_look(o, s)\n    o.step()\n    return False",
            "At step 0 they differ in the skip: yours took the step, torch's skipped it.",
        ),
        (
            "def skip_or_step(o, s):\n    found = unscale_and_look(o, s)\n    o.step()\n    return found",
            "After step 0 they differ in a weight: yours is ",
        ),
        (
            "def skip_or_step(o, s):\n"
            "    for g in o.param_groups:\n        g['lr'] *= 1.0001\n"
            "    found = unscale_and_look(o, s)\n    if not found:\n        o.step()\n    return found",
            "After step 1 they differ in a weight: yours is 0.9",
        ),
        ("def grow_and_back_off(s, g, f, i=2000):\n    return -s, 0", "the scale: yours is -65536, torch's"),
        ("def grow_and_back_off(s, g, f, i=2000):\n    return s", "should be a list; yours is a float"),
        ("def grow_and_back_off(s, g, f, i=2000):\n    return s, 0.5", "should be a whole number"),
        (
            "def skip_or_step(o, s):\n    return missing(o)",
            "NameError: name 'missing' is not defined\nIn `skip",
        ),
        ("def skip_or_step(o, s):\n    raise SystemExit(3)", "SystemExit: 3"),
        ("skip_or_step = 3", "`skip_or_step` should be a function or a class; it now is an int (3)."),
        (
            "def skip_or_step(o, s):\n    return torch.amp.GradScaler('cpu').step(o)",
            "torch.amp.GradScaler is not allowed",
        ),
        (
            "def skip_or_step(o, s):\n    print('<b>hello</b>')\n    return bad",
            "Your functions printed:\n| <b>hello</b>",
        ),
    ],
)
def test_it_says_where_they_differ_or_what_went_wrong(change, says):
    panel = compared(change)
    assert says in repr(panel)
    assert "agree" not in repr(panel)
    html = panel._repr_mimebundle_()["text/html"]
    assert "<figure" in html and "<b>hello" not in html


@pytest.mark.parametrize(
    ("without", "says"),
    [
        (
            ("unscale_and_look", "skip_or_step", "grow_and_back_off"),
            "`unscale_and_look`, `skip_or_step` and `grow_and_back_off` are still to do.",
        ),
        (("grow_and_back_off",), "`grow_and_back_off` is still to do."),
    ],
)
def test_it_says_what_is_missing_and_shows_pytorchs_alone(without, says):
    panel = compared(without=without)
    assert says in repr(panel) and "This is PyTorch's scaler alone." in repr(panel)
    assert "Loss scale of PyTorch's over" in repr(panel) and "of yours over" not in repr(panel)
    assert "<figure" in panel._repr_mimebundle_()["text/html"]


def test_in_a_notebook_it_finds_the_functions_and_the_stubs_are_still_to_do(notebook):
    notebook.run_cell("import torch").raise_error()
    for part in PARTS[:2]:
        notebook.run_cell(right_answer(part)).raise_error()
    notebook.run_cell(own_scaler.GROW_AND_BACK_OFF.stub).raise_error()
    assert "`grow_and_back_off` is still to do." in repr(compare_own_scaler())
    notebook.run_cell("def grow_and_back_off(:")
    assert "The cell of `grow_and_back_off` failed.\nSyntaxError" in repr(compare_own_scaler())
    notebook.run_cell(f"{right_answer(PARTS[2])}\n1 / 0")
    assert "The cell of `grow_and_back_off` failed.\nZeroDivisionError" in repr(compare_own_scaler())
    notebook.run_cell(right_answer(PARTS[2])).raise_error()
    assert "They agree over 60 steps" in repr(compare_own_scaler())


@pytest.mark.parametrize("steps", [0, -1, 1.5, "60", True, 501, 10**9])
def test_an_odd_number_of_steps_is_told(steps):
    assert "`steps` is a whole number from 1 to 500." in repr(compared(steps=steps))


def test_a_call_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(own_scaler, "SECONDS", 0.3)
    panel = compared("def skip_or_step(o, s):\n    while True:\n        pass")
    assert "It ran for more than 0.3 seconds and was stopped." in repr(panel)


def test_what_the_notebook_has_set_does_not_count():
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            assert "They agree over 60 steps" in repr(compared())
        assert torch.get_default_dtype() is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_fault_of_ours_is_told_and_not_raised(monkeypatch):
    monkeypatch.setattr(own_scaler, "torchs_trace", lambda schedule: 1 / 0)
    assert "The comparison itself failed, which is no fault of yours: ZeroDivisionError" in repr(compared())


def test_the_package_hands_it_on():
    assert "compare_own_scaler" in amp_lessons.__all__ and "compare_own_scaler" in dir(amp_lessons)


# by_hand


def test_gradscaler_is_refused_and_back_afterwards():
    own_init, kernel = torch.amp.GradScaler.__init__, torch._amp_update_scale_
    made = torch.amp.GradScaler("cpu")
    made.scale(torch.zeros(()))
    weight = torch.nn.Parameter(torch.ones(1))
    weight.grad = torch.ones(1)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scale = torch.ones(1), torch.zeros(1, dtype=torch.int32), torch.zeros(1), 2.0, 0.5, 1
    uses = [
        lambda: torch.amp.GradScaler("cpu"),
        lambda: made.unscale_(optimizer),
        lambda: kernel(*scale),
        lambda: torch.ops.aten._amp_update_scale_(*scale),
        lambda: torch._C._VariableFunctions._amp_update_scale_(*scale),
    ]
    for use in uses:
        with pytest.raises(NotYet, match="is not allowed in this exercise") as refused:
            with by_hand():
                use()
        assert refused.value.mistake == "uses-gradscaler"
    assert torch.amp.GradScaler.__init__ is own_init
    made.unscale_(optimizer)  # works again


@pytest.mark.parametrize("afterwards", [lambda: None, lambda: 1 / 0])
def test_a_swallowed_refusal_counts_too(afterwards):
    with pytest.raises(NotYet, match="not allowed"):
        with by_hand():
            try:
                torch.amp.GradScaler("cpu")
            except Exception:
                pass
            afterwards()


def test_other_exceptions_pass_and_other_code_is_free():
    with pytest.raises(ZeroDivisionError):
        with by_hand():
            1 / 0
    with by_hand():
        assert torch.ones(2).sum() == 2
