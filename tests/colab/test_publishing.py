"""Badges and the fetching cell: there where a repository is set, gone without a trace where none is."""

import ast
import shutil
from pathlib import Path

import nbformat
import pytest

from amp_lessons.colab.building import build
from amp_lessons.colab.publishing import publish, setting

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(REPOSITORY / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    shutil.copy(REPOSITORY / "README.md", tmp_path)
    return tmp_path


def contents(folder):
    return {file.name: file.read_bytes() for file in [*folder.rglob("*.ipynb"), folder / "README.md"]}


def test_as_shipped_no_repository_is_set_and_nothing_changes(copy):
    assert setting(REPOSITORY / "pyproject.toml") == ""
    before = contents(copy)
    assert publish(copy / "notebooks", copy / "README.md", "", "v0.1.0") == []
    assert contents(copy) == before


def test_a_repository_adds_a_badge_and_a_cell_that_fetches_its_tag(copy):
    publish(copy / "notebooks", copy / "README.md", "someone/lessons", "v0.1.0")
    opens = "https://colab.research.google.com/github/someone/lessons/blob/v0.1.0/notebooks/"
    for path in (copy / "notebooks").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert (
            notebook.cells[0].source.startswith("# ") and f"({opens}{path.name})" in notebook.cells[0].source
        )
        place = [cell.id for cell in notebook.cells].index("set-up-package")
        assert notebook.cells[place + 1].id == "set-up"
        assert notebook.metadata.accelerator == "GPU"
        source = notebook.cells[place].source
        ast.parse(source)
        assert "someone/lessons/archive/refs/tags/v0.1.0.zip" in source and '"--no-deps"' in source
        assert f"({opens}{path.name})" in (copy / "README.md").read_text()


def test_it_can_be_done_again_and_undone(copy):
    before = contents(copy)
    publish(copy / "notebooks", copy / "README.md", "someone/lessons", "v0.1.0")
    once = contents(copy)
    assert publish(copy / "notebooks", copy / "README.md", "someone/lessons", "v0.1.0") == []
    publish(copy / "notebooks", copy / "README.md", "someone/else", "v0.2.0")
    publish(copy / "notebooks", copy / "README.md", "someone/lessons", "v0.1.0")
    assert contents(copy) == once
    publish(copy / "notebooks", copy / "README.md", "", "v0.1.0")
    assert contents(copy) == before


def test_a_published_lesson_is_built_with_the_package_in_place_of_the_fetching_cell(copy):
    publish(copy / "notebooks", copy / "README.md", "someone/lessons", "v0.1.0")
    path = build(copy / "notebooks", copy / "built", REPOSITORY / "amp_lessons")[0]
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.id == "set-up-package"]
    assert len(cells) == 1 and "subprocess" not in cells[0].source and "PACKED" in cells[0].source


@pytest.mark.parametrize(
    "repository",
    ["https://github.com/someone/lessons", "lessons", "a/b/c", "a b/c", "../..", "a/b.git", "ö/ä", 3],
)
def test_another_spelling_of_the_repository_is_an_error_in_words(copy, repository):
    with pytest.raises(ValueError, match='written "owner/name"'):
        publish(copy / "notebooks", copy / "README.md", repository, "v0.1.0")


def test_a_readme_without_its_marks_is_an_error_in_words(copy):
    (copy / "README.md").write_text("no marks")
    before = contents(copy)
    with pytest.raises(ValueError, match="needs the two lines"):
        publish(copy / "notebooks", copy / "README.md", "someone/lessons", "v0.1.0")
    assert contents(copy) == before
