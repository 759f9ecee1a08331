"""Cells that failed, and what the learner wrote, in a real IPython shell."""

import pytest

from amp_lessons import check, solution
from amp_lessons.exercises import helping, watch
from tests import toy

RIGHT = "def halve(x):\n    return x / 2"


@pytest.fixture(autouse=True)
def lesson(teach, notebook):
    teach(toy.lesson())
    notebook.run_cell("import torch\nfrom amp_lessons import check")
    watch.start()


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        ("def halve(x)\n    return x / 2", "SyntaxError: expected ':'\n  In line 1: `def halve(x)`"),
        ("def halve(x):\nreturn x", "IndentationError"),
        (RIGHT + "\nprint(halve(8)\n", "(a bracket or a quote is still open)\n  In line 3: `print(halve(8)`"),
        (
            RIGHT + "\n\nhalve(unknown)",
            "NameError: name 'unknown' is not defined\n  In line 4 of your cell: `halve(unknown)`",
        ),
        (RIGHT + "\nassert halve(8) == 5, 'hm'", "AssertionError: hm"),
        ("halve = 1 / 0", "ZeroDivisionError: division by zero\n  In line 1 of your cell: `halve = 1 / 0`"),
        ("%timeit -n1 -r1 1\nhalve = 1 / 0", "ZeroDivisionError"),
    ],
)
def test_after_a_failed_cell_an_older_definition_is_not_graded(failing, said, notebook, capsys):
    notebook.run_cell(RIGHT)
    assert check("halve").outcome == "correct"
    notebook.run_cell(failing)
    capsys.readouterr()
    verdict = check("halve")
    assert (verdict.outcome, verdict.points) == ("not yet", 0.0)
    assert "Your answer cell failed, so nothing is checked yet." in repr(verdict)
    assert said in repr(verdict)
    assert capsys.readouterr() == ("", "")
    notebook.run_cell(RIGHT)
    assert check("halve").outcome == "correct"


BROKEN = "def halve(x):\n    return x = 3"


@pytest.mark.parametrize(
    "failing",
    [
        "Def halve(x):\n    return 2 * x",
        "halve(x):\n    return 2 * x",
        "}def halve(x):\n    return 2 * x",
        "    def halve(x):\n        return x = 3",
        "    def halve(x):\n        return 2 * x\n    1 / 0",
        ">>> def halve(x):\n...     return x = 3",
        'hint("halve")\n' + BROKEN,
        BROKEN + '\nsolution("halve")',
        "%%time\n" + BROKEN,
        "%%time\nhalve = 1 +",
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    halve = 1 / 0",
    ],
)
def test_a_failed_answer_cell_is_known_however_it_is_written(failing, notebook):
    notebook.run_cell(RIGHT)
    notebook.run_cell(failing)
    assert "Your answer cell failed" in repr(check("halve"))
    notebook.run_cell(RIGHT)
    assert check("halve").outcome == "correct"


def test_a_slip_in_another_cell_that_uses_the_answer_says_what_to_do(notebook):
    notebook.run_cell(RIGHT)
    notebook.run_cell("print(halve(8)")
    assert "Is that another cell? Then run your answer cell again." in repr(check("halve"))
    notebook.run_cell(RIGHT)
    notebook.run_cell('print(check("halve")')
    notebook.run_cell("%%html\n<p>halve</p>")
    assert check("halve").outcome == "correct"
    assert watch.own_source(["halve"]) == RIGHT


def test_a_slip_below_a_magic_is_shown_with_its_own_line(notebook):
    notebook.run_cell("%%time\ndef halve(x) return x")
    assert "In line 1: `def halve(x) return x`" in repr(check("halve"))


def test_a_first_cell_that_failed_is_not_called_unattempted(notebook):
    notebook.run_cell("def halve(x) return x")
    assert check("halve").outcome == "not yet"


def test_a_stub_that_is_called_too_early_is_not_attempted(notebook):
    notebook.run_cell(toy.HALVE_STUB + "\nhalve(8)")
    assert check("halve").outcome == "not attempted"


def test_other_cells_play_no_part(notebook):
    notebook.run_cell(RIGHT)
    notebook.run_cell("print(halve(8)); 1 / 0")
    notebook.run_cell("other = halve == 3; 1 / 0")
    assert check("halve").outcome == "correct"


def test_answer_and_check_in_one_cell(notebook):
    notebook.run_cell("def halve(x) return x")
    result = notebook.run_cell(RIGHT + "\nverdict = check('halve')\nverdict")
    assert notebook.user_ns["verdict"].outcome == "correct"
    assert result.success


def test_the_hook_is_there_once_and_never_breaks_a_cell(notebook, monkeypatch, capsys):
    for _ in range(3):
        watch.start()
    ours = [each for each in notebook.events.callbacks["post_run_cell"] if each.__module__ == watch.__name__]
    assert len(ours) == 1
    monkeypatch.setattr(watch, "names_defined", lambda source: 1 / 0)
    assert notebook.run_cell("halve = 3").success
    assert capsys.readouterr() == ("", "")


def test_the_verdict_is_a_cells_result(notebook):
    notebook.run_cell(RIGHT)
    result = notebook.run_cell('check("halve")')
    data, _ = notebook.display_formatter.format(result.result)
    assert data["text/plain"] == "1.5"
    assert "Correct" in data["text/html"]
    assert data["application/vnd.amp-lessons.verdict+json"]["points"] == 1.5


def test_the_solution_stands_beside_the_learners_own(notebook, monkeypatch, tmp_path):
    monkeypatch.setattr(helping, "solutions_folder", tmp_path)
    assert "your instructor keeps it" in repr(solution("halve"))
    (tmp_path / "lesson_01_toy.py").write_text("# %% halve\ndef halve(x):\n    return x * 0.5\n")
    assert "You have run no answer" in repr(solution("halve"))
    notebook.run_cell("def halve(x):\n    return '<b>'")
    panel = solution("halve")
    assert "return '<b>'" in repr(panel) and "return x * 0.5" in repr(panel)
    html = panel._repr_mimebundle_()["text/html"]
    assert "&lt;b&gt;" in html and "<b>" not in html


@pytest.mark.parametrize(
    "answer",
    [
        'hint("halve")\n' + RIGHT,
        RIGHT + '\ncheck("halve")',
        "    def halve(x):\n        return x / 2",
        ">>> def halve(x):\n...     return x / 2",
        "%%time\n" + RIGHT,
    ],
)
def test_the_learners_own_is_known_however_the_cell_is_written(answer, notebook, monkeypatch, tmp_path):
    notebook.run_cell("from amp_lessons import hint")

    monkeypatch.setattr(helping, "solutions_folder", tmp_path)
    notebook.run_cell(answer)
    assert check("halve").outcome == "correct"
    (tmp_path / "lesson_01_toy.py").write_text("# %% halve\nhalve = 0")
    assert answer in repr(solution("halve"))
