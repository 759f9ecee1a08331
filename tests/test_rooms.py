"""The package's rooms: a lower one never imports a higher one, and `import amp_lessons` stays quick.

A new file in amp_lessons/ belongs into ROOM_OF, in the room that design and README give it.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "amp_lessons"
ROOMS = ["numbers", "this run", "recorder", "material", "showing", "practice", "teaching"]  # lowest first
ROOM_OF = {
    "formats": "numbers",
    "gradients": "numbers",
    "policy": "numbers",
    "op_dtypes": "numbers",
    "roofline": "numbers",
    "memory": "this run",
    "timing": "this run",
    "hardware": "this run",
    "hardware_card": "this run",
    "hardware_table": "this run",
    "recommendation": "this run",
    "matrix_speed": "this run",
    "recorder": "recorder",
    "data": "material",
    "models": "material",
    "figures": "showing",
    "live": "showing",
    "widgets": "showing",
    "exercises": "practice",
    "solutions": "practice",
    "my_lessons": "teaching",
    "pages": "teaching",
    "colab": "teaching",
}
NO_PICTURES = ["numbers", "this run", "recorder"]  # these rooms work without matplotlib and ipywidgets
SHOWING_LIBRARIES = {"matplotlib", "ipywidgets"}


def part_of(file, package=PACKAGE):
    """The module or subpackage of amp_lessons that a file belongs to: "widgets" for widgets/explorer.py."""
    return file.relative_to(package).parts[0].removesuffix(".py")


def imports_of(source, file, package=PACKAGE):
    """Dotted names that a source imports, anywhere in it; relative ones made absolute."""
    inside = ["amp_lessons", *file.relative_to(package).parts[:-1]]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = inside[: len(inside) - node.level + 1] if node.level else []
            base = [*base, *(node.module or "").split(".")] if node.module else base
            yield from (".".join([*base, alias.name]) for alias in node.names)


def complaints_about(source, file, package=PACKAGE):
    """What is wrong with the imports of one file, in words."""
    part = part_of(file, package)
    if part == "__init__":
        room = None  # the front door: it may name any part, but imports none until asked
    elif part in ROOM_OF:
        room = ROOM_OF[part]
    else:
        return [f"amp_lessons/{part} is new: say in which room it is, in tests/test_rooms.py"]
    complaints = []
    for name in imports_of(source, file, package):
        top, _, rest = name.partition(".")
        if top in SHOWING_LIBRARIES and (room is None or room in NO_PICTURES):
            complaints.append(f"{part} imports {top}")
        if top != "amp_lessons":
            continue
        # What is no part's name is one of the functions that amp_lessons hands on from exercises.
        other_room = ROOM_OF.get(rest.partition(".")[0], "practice")
        if room is None or ROOMS.index(other_room) > ROOMS.index(room):
            complaints.append(f"{part} ({room or 'the front door'}) imports {name} ({other_room})")
    return complaints


@pytest.mark.parametrize(
    "file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE))
)
def test_no_room_imports_a_higher_one(file):
    assert complaints_about(file.read_text(encoding="utf-8"), file) == []


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("formats.py", "from amp_lessons.timing import median_seconds", "formats (numbers) imports"),
        (
            "formats.py",
            "def later():\n    from .figures import show",
            "imports amp_lessons.figures.show (showing)",
        ),
        ("hardware.py", "from . import widgets", "imports amp_lessons.widgets (showing)"),
        ("hardware.py", "import matplotlib.figure", "hardware imports matplotlib"),
        ("data.py", "from amp_lessons import check", "imports amp_lessons.check (practice)"),
        (
            "widgets/explorer.py",
            "from ..exercises import check",
            "imports amp_lessons.exercises.check (practice)",
        ),
        ("__init__.py", "from amp_lessons import formats", "the front door"),
        ("brand_new.py", "", "say in which room"),
    ],
)
def test_the_check_finds_what_it_should(file, source, complaint):
    (found,) = complaints_about(source, PACKAGE / file)
    assert complaint in found


def test_the_check_allows_what_it_should():
    assert complaints_about("import torch\nfrom .formats import FP16", PACKAGE / "gradients.py") == []
    assert (
        complaints_about("from .explorer import Explorer\nimport ipywidgets", PACKAGE / "widgets/bits.py")
        == []
    )
    assert complaints_about("from amp_lessons import formats, figures", PACKAGE / "exercises/lesson.py") == []


def run_python(code):
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.split()


def test_importing_the_package_is_quick_and_loads_no_pictures():
    code = (
        "import sys, time, torch; start = time.perf_counter(); import amp_lessons; "
        "print(time.perf_counter() - start, *{'matplotlib', 'ipywidgets', 'sklearn'} & set(sys.modules))"
    )
    runs = [run_python(code) for _ in range(3)]
    seconds = min(float(run[0]) for run in runs)
    print(f"import amp_lessons: {seconds:.4f} s beyond torch")
    assert seconds < 0.3
    assert all(run[1:] == [] for run in runs)


def test_numbers_and_this_run_load_no_pictures():
    parts = [part for part, room in ROOM_OF.items() if room in NO_PICTURES]
    code = (
        f"import sys, importlib; [importlib.import_module('amp_lessons.' + part) for part in {parts}]; "
        "print(*{'matplotlib', 'ipywidgets', 'sklearn', 'IPython'} & set(sys.modules))"
    )
    assert run_python(code) == []
