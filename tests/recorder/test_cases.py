"""The mistakes that people really report, and their cures: every finding and note, with its file and line."""

import functools
import importlib
import inspect
import pkgutil

import pytest

from amp_lessons.recorder import RULES
from tests.recorder import cases
from tests.recorder.observe import expected, observe, run_alone, same_error

FINDINGS = {
    "autocast-wrong-device",
    "backward-inside-autocast",
    "bare-optimizer-step",
    "clip-before-unscale",
    "closure-with-scaler",
    "forward-overflow",
    "fp16-without-scaler",
    "gradient-penalty-still-scaled",
    "half-parameters-with-scaler",
    "missing-update",
    "mixed-scaling-in-window",
    "no-gradients",
    "non-finite-buffers",
    "resume-without-scaler-state",
    "scale-collapse",
    "scale-differs-across-ranks",
    "scaler-with-bf16",
    "scheduler-on-skipped-step",
    "step-inside-autocast",
    "unscale-twice",
    "unscaled-backward",
    "update-without-step",
}
NEIGHBOURS = {
    "backward-after-unscale",
    "bce-under-autocast",
    "constant-too-large-for-fp16",
    "dtype-mismatch",
    "gradients-not-zeroed",
    "numpy-without-bf16",
    "op-needs-fp32",
    "scale-changed-in-window",
    "scaled-twice",
    "stepped-twice",
    "wrong-scaler",
}
NOTES = {
    "autocast-default-dtype",
    "calibration-skips",
    "low-precision-parameters",
    "scale-read-after-update",
}

MODULES = [
    importlib.import_module(f"{cases.__name__}.{found.name}")
    for found in pkgutil.iter_modules(cases.__path__)
]
LOOPS = {
    f"{module.__name__.rpartition('.')[2]}-{name}": loop
    for module in MODULES
    for name, loop in inspect.getmembers(module, inspect.isfunction)
    if name.startswith(("wrong", "right")) and loop.__module__ == module.__name__
}
WRONG = {name: loop for name, loop in LOOPS.items() if "-wrong" in name}
RIGHT = {name: loop for name, loop in LOOPS.items() if "-right" in name}


@functools.cache
def ran(name):
    return observe(LOOPS[name])


@pytest.mark.parametrize("name", LOOPS)
def test_all_findings_and_notes(name):
    run = ran(name)
    findings, notes = expected(LOOPS[name])
    assert run.findings == findings
    assert run.notes == notes


@pytest.mark.parametrize("name", LOOPS)
def test_the_loop_ends_as_it_does_alone(name):
    assert same_error(ran(name).error, run_alone(LOOPS[name]))


@pytest.mark.parametrize("name", WRONG)
def test_what_is_said_can_be_read(name):
    recording = ran(name).recording
    for finding in [*recording.findings, *recording.notes]:
        assert finding.severity == ("finding" if finding in recording.findings else "note")
        assert isinstance(finding.step, int)
        for sentence in (finding.happened, finding.to_do):
            assert sentence.endswith("."), sentence
            assert not any(raw in sentence for raw in ("{", "tensor(", "unknown")), sentence


@pytest.mark.parametrize("name", [name for name in RIGHT if "as_far_as" not in name])
def test_a_right_loop_ends(name):
    assert ran(name).error is None


def test_every_wrong_loop_is_marked_and_no_right_loop_has_a_finding():
    for name, loop in WRONG.items():
        assert any(expected(loop)), name
    for name, loop in RIGHT.items():
        assert expected(loop)[0] == [], name


def test_every_named_rule_has_a_wrong_loop():
    marked = [expected(loop) for loop in WRONG.values()]
    findings = {rule for findings, _ in marked for rule, _, _ in findings}
    notes = {rule for _, notes in marked for rule, _, _ in notes}
    # Ranks are compared by a call of its own: test_ranks.py.
    assert findings | {"scale-differs-across-ranks"} >= FINDINGS
    assert notes == NOTES


def test_every_module_has_both_kinds():
    for module in MODULES:
        name = module.__name__.rpartition(".")[2]
        assert any(loop.startswith(f"{name}-wrong") for loop in LOOPS), name
        assert any(loop.startswith(f"{name}-right") for loop in LOOPS), name


def test_the_table_of_rules_names_them_all():
    table = str(RULES)
    assert [name for name in sorted(FINDINGS | NEIGHBOURS | NOTES) if name not in table] == []


def test_no_rule_is_without_a_wrong_loop():
    marked = {rule for loop in WRONG.values() for said in expected(loop) for rule, _, _ in said}
    assert set(RULES) - marked <= {"scale-differs-across-ranks", "bce-under-autocast"}
