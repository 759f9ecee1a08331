"""Right loops have no finding; change one line and the mistake is found, at its line."""

import pytest

from tests.recorder.observe import expected, observe, run_alone, same_error
from tests.recorder.right_loops import LOOPS


@pytest.mark.parametrize("name", LOOPS)
def test_a_right_loop_has_no_finding(name):
    run = observe(LOOPS[name].train)
    assert run.error is None
    assert run.findings == []
    assert run.notes == expected(LOOPS[name].train)[1]


@pytest.mark.parametrize("name", LOOPS)
def test_its_twin_has_exactly_the_finding_of_the_changed_line(name, tmp_path):
    train, findings = LOOPS[name].write_twin(tmp_path / f"twin_of_{name}.py")
    run = observe(train)
    assert run.findings == findings
    assert same_error(run.error, run_alone(train))


def test_there_are_enough_of_them():
    assert len(LOOPS) >= 25
    assert len({loop.line for loop in LOOPS.values()}) >= 20
    assert all(loop.finds for loop in LOOPS.values())
