"""Writes the lessons with every exercise solved, and with every one answered wrong.

    python -m tests.notebook_states notebooks build/states

makes build/states/solved/NAME.ipynb and build/states/wrong/NAME.ipynb. After each check cell a cell is added
that fails where the verdict is not "correct", or "not yet". So running them tests the verdicts too.
"""

import json
import pathlib
import re
import sys

from amp_lessons.exercises import catalogue
from tests.answers import right_answer, wrong_answers

CHECK = re.compile(r'check\("([a-z0-9-]+)"\)')


def solved(notebook):
    """A copy of a notebook (the dict of its JSON) with the reference answer in each answer cell."""
    return _answered(notebook, right_answer, "correct")


def wrong(notebook, which=0):
    """A copy with wrong answer number `which` in each answer cell; the last one where there are fewer."""

    def answer(exercise_id):
        lesson = catalogue.current().lesson_of(exercise_id)
        found = [each.source for each in wrong_answers(lesson) if each.exercise == exercise_id]
        return found[min(which, len(found) - 1)]

    return _answered(notebook, answer, "not yet")


def answer_cells(notebook):
    """(index, exercise id) of each answer cell: the code cell directly before a check cell."""
    cells = notebook["cells"]
    for index, cell in enumerate(cells[1:]):
        match = CHECK.fullmatch("".join(cell["source"])) if cell["cell_type"] == "code" else None
        if match:
            if cells[index]["cell_type"] != "code":
                raise ValueError(f"The cell before check({match[1]!r}) is no code cell.")
            yield index, match[1]


def _answered(notebook, answer, outcome):
    copy = json.loads(json.dumps(notebook))
    for index, exercise_id in reversed(list(answer_cells(copy))):
        cell = copy["cells"][index]
        cell["source"] = answer(exercise_id)
        tags = cell["metadata"].setdefault("tags", [])
        if outcome == "not yet" and "raises-exception" not in tags:
            tags.append("raises-exception")
        elif outcome == "correct":  # a right answer must not raise
            cell["metadata"]["tags"] = [tag for tag in tags if tag != "raises-exception"]
        copy["cells"].insert(index + 2, _asserting(exercise_id, outcome))
    return copy


def _asserting(exercise_id, outcome):
    source = f'_verdict = check("{exercise_id}")\nassert _verdict.outcome == "{outcome}", _verdict'
    return {
        "cell_type": "code",
        "id": f"verdict-on-{exercise_id}"[:64],
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def write(folder, target):
    """Write both states of every notebook in `folder`; returns the paths."""
    written = []
    for path in sorted(pathlib.Path(folder).glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for name, state in (("solved", solved(notebook)), ("wrong", wrong(notebook))):
            file = pathlib.Path(target) / name / path.name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(state, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            written.append(file)
    return written


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Give the folder of the notebooks and the folder to write to.")
    for file in write(*sys.argv[1:]):
        print(file)
