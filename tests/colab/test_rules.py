"""What works on Colab as it does in JupyterLab, as far as the sources show it."""

import ast
import re
from pathlib import Path

import nbformat
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = sorted((REPOSITORY / "amp_lessons").rglob("*.py"))
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))

# Not there on Colab, or broken there: its own widget manager breaks Tab and Accordion (colabtools issues 3105
# and 3571), ipympl needs a restarted kernel (5425), figures of pyplot pile up (3623).
BROKEN = "enable_custom_widget_manager", "ipympl", "%matplotlib", "plt.show", "import pyplot", "pip install"
# Arguments and traits that ipywidgets 7.7.1 or 8 lacks, and widgets that only one of them has.
ONE_VERSION_ONLY = {
    "tooltip", "description_tooltip", "titles", "border_top", "overflow_x", "overflow_y", "orientation",
    "description_allow_html", "tabbable", "behavior", "text_color", "font_size",
}  # fmt: skip
WIDGETS_OF_ONE = {
    "Play",
    "Stack",
    "TagsInput",
    "ColorsInput",
    "TimePicker",
    "FileUpload",
    "HTMLMath",
    "jslink",
}


def code_of(notebook):
    return "\n".join(cell.source for cell in nbformat.read(notebook, 4).cells if cell.cell_type == "code")


@pytest.mark.parametrize("file", [*FILES, *NOTEBOOKS], ids=lambda file: file.name)
def test_nothing_in_it_is_broken_on_colab(file):
    if file.relative_to(REPOSITORY).parts[:2] == ("amp_lessons", "colab"):
        pytest.skip("says what is fetched on Colab")
    text = code_of(file) if file.suffix == ".ipynb" else _without_prose(file.read_text(encoding="utf-8"))
    assert [word for word in BROKEN if word in text] == []


def _without_prose(source):
    """The source without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    return ast.unparse(tree)


def widget_calls():
    for file in (REPOSITORY / "amp_lessons").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and "ipywidgets" in ast.unparse(node.func):
                yield file.name, node


def test_widgets_use_what_both_versions_know():
    calls = list(widget_calls())
    assert len(calls) > 30
    for name, call in calls:
        widget = ast.unparse(call.func).rpartition(".")[2]
        arguments = {keyword.arg for keyword in call.keywords}
        assert widget not in WIDGETS_OF_ONE, f"{name}: {widget}"
        if widget not in ("Button", "ToggleButton"):
            assert arguments & ONE_VERSION_ONLY == set(), f"{name}: {widget}({arguments & ONE_VERSION_ONLY})"


def test_no_latex_where_colab_shows_it_raw():
    """Neither in a widget nor in displayed HTML: powers are Unicode."""
    latex = re.compile(r"\$[^$\s{][^$\n]*\$|\\(?:frac|times|cdot|text)\b")
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not latex.search(node.value), f"{file.name}: {node.value[:80]}"


def test_no_saved_widget_state():
    for notebook in NOTEBOOKS:
        assert "widgets" not in nbformat.read(notebook, 4).metadata
