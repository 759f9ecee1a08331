"""What the lessons' notebooks have in common: clean, built the same way, at one with their exercises."""

import ast
import importlib
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
CHECK = re.compile(r'check\("([a-z0-9-]+)"\)')
QUICK_CHECK = re.compile(r'quick_check\("([a-z0-9-]+)"\)')
EFFORT = re.compile(r"\((?:optional, )?([\d.]+) minutes?, ([\d.]+) points?\b")


class Notebook:
    """A lesson's notebook, and the lesson that its module describes."""

    def __init__(self, path):
        self.path = path
        # Not nbformat.read: that repairs in silence what is to be found here.
        self.content = nbformat.from_dict(json.loads(path.read_text(encoding="utf-8")))
        self.cells = self.content.cells
        for cell in self.cells:
            cell.source = "".join(cell.source)  # a list of lines in the file
        self.code = [cell for cell in self.cells if cell.cell_type == "code"]
        self.text = [cell for cell in self.cells if cell.cell_type == "markdown"]

    @property
    def lesson(self):
        return importlib.import_module(f"amp_lessons.exercises.lesson_{self.path.stem}").LESSON

    def found(self, pattern):
        """[(index, id)] of the cells that are exactly one call, for example check("flush-to-zero")."""
        matches = ((i, pattern.fullmatch(cell.source)) for i, cell in enumerate(self.cells))
        return [(i, match[1]) for i, match in matches if match]


def lines(cell):
    return [line for line in cell.source.splitlines() if line.strip()]


def prose(cell):
    """A text cell's words, without code in it."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"```.*?```", "", cell.source, flags=re.S))


def flat(text):
    return " ".join(text.split())


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return Notebook(request.param)


def test_there_are_lessons_and_each_has_a_notebook():
    modules = Path(importlib.import_module("amp_lessons.exercises").__file__).parent.glob("lesson_*.py")
    expected = sorted(module.stem.removeprefix("lesson_") for module in modules)
    assert expected and [path.stem for path in NOTEBOOKS] == expected


# Clean to commit


def test_it_is_valid_and_its_cells_have_ids_that_stay(notebook):
    assert (notebook.content.nbformat, notebook.content.nbformat_minor) == (4, 5)
    ids = [cell.id for cell in notebook.cells]
    assert len(ids) == len(set(ids))
    nbformat.validate(notebook.content)
    renumbered = [name for name in ids if name.isdigit()]
    assert renumbered == [], "nbstripout has renumbered the cells: it needs --keep-id"


def test_it_holds_no_trace_of_a_run(notebook):
    assert [cell.id for cell in notebook.code if cell.outputs or cell.execution_count is not None] == []
    assert "widgets" not in notebook.content.metadata
    assert notebook.content.metadata.kernelspec.name == "python3"
    command = [sys.executable, "-m", "nbstripout", "--verify", "--keep-id", str(notebook.path)]
    verified = subprocess.run(command, capture_output=True, text=True)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_its_code_is_plain_python(notebook):
    for cell in notebook.code:
        ast.parse(cell.source, cell.id)  # a magic or a !command is a SyntaxError
        assert not re.search(r"get_ipython|pyplot|plt\.show|\bsolutions\b", cell.source), cell.id


# Built the same way


def test_the_set_up_cell_is_short_and_the_same_everywhere(notebook):
    assert notebook.code[0].source == Notebook(NOTEBOOKS[0]).code[0].source
    assert len(lines(notebook.code[0])) <= 8


def test_there_is_something_to_run_between_two_texts(notebook):
    kinds = [cell.cell_type for cell in notebook.cells]
    pairs = [notebook.cells[i].id for i in range(1, len(kinds)) if kinds[i - 1] == kinds[i] == "markdown"]
    assert pairs == []
    assert set(kinds) == {"markdown", "code"} and all(cell.source.strip() for cell in notebook.cells)


def test_its_cells_are_short(notebook):
    code = [len(lines(cell)) for cell in notebook.code]
    words = [len(cell.source.split()) for cell in notebook.text]
    print(
        f"{notebook.path.stem}: {len(notebook.cells)} cells; code lines median {statistics.median(code):g},"
        f" longest {max(code)}; words median {statistics.median(words):g}, longest {max(words)}"
    )
    assert max(code) <= 25 and statistics.median(code) <= 8
    assert 20 <= statistics.median(words) <= 75
    assert len(notebook.cells) <= 75


def test_its_texts_keep_to_the_voice(notebook):
    for cell in notebook.text:
        assert not re.search(r"!(?!\[)", prose(cell)), f"{cell.id}: an exclamation mark"
        assert not re.search(r"\bsimply\b", prose(cell), re.I), f"{cell.id}: the word simply"
        assert "$" not in prose(cell), f"{cell.id}: LaTeX; write powers as 2⁻²⁴"


# At one with its exercises


def test_every_exercise_stands_in_it_once(notebook):
    assert [name for _, name in notebook.found(CHECK)] == [e.id for e in notebook.lesson.exercises]
    assert [name for _, name in notebook.found(QUICK_CHECK)] == [q.id for q in notebook.lesson.quick_checks]
    assert notebook.lesson.notebook == notebook.path.stem


def test_a_check_stands_alone_in_its_cell(notebook):
    calls = [cell.source for cell in notebook.code if re.search(r"\b(quick_)?check\(", cell.source)]
    assert len(calls) == len(notebook.found(CHECK)) + len(notebook.found(QUICK_CHECK)), calls


def test_an_exercise_is_its_text_its_stub_and_its_check(notebook):
    exercises = {exercise.id: exercise for exercise in notebook.lesson.exercises}
    for i, name in notebook.found(CHECK):
        text, answer = notebook.cells[i - 2 : i]
        exercise = exercises[name]
        assert answer.cell_type == "code" and "raises-exception" in answer.metadata.get("tags", ()), name
        assert answer.source == exercise.stub, f"{name}: the answer cell is not the stub"
        assert text.cell_type == "markdown", f"{name}: no text above its answer cell"
        effort = EFFORT.search(text.source)
        assert effort, f"{name}: its text does not say (4 minutes, 2 points)"
        assert (float(effort[1]), float(effort[2])) == (exercise.minutes, exercise.points), name


def test_a_quick_check_is_readable_without_a_kernel(notebook):
    quick_checks = {quick_check.id: quick_check for quick_check in notebook.lesson.quick_checks}
    for i, name in notebook.found(QUICK_CHECK):
        text = notebook.cells[i - 1]
        assert text.cell_type == "markdown", name
        wanted = [quick_checks[name].question, *(choice.text for choice in quick_checks[name].choices)]
        assert [part for part in wanted if flat(part) not in flat(text.source)] == [], name
