"""What a public repository adds to the lessons and the README: badges, and a cell that fetches the package.

The repository is one setting, ``[tool.amp-lessons] repository`` in pyproject.toml, empty as shipped.
"""

import re
import tomllib
from pathlib import Path

import nbformat

from amp_lessons.colab.building import GPU, put_before_set_up

MARKS = "<!-- colab -->\n", "<!-- /colab -->\n"  # in the README: what stands between them is written here
BADGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
UPLOAD = (
    "Run `make colab` and upload a file of `build/colab/` to Colab (*File > Upload notebook*). It brings our "
    "own package along.\n"
)
OWNER_AND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/(?!\.+$)[A-Za-z0-9._-]+(?<!\.git)")
FETCH = """# @title Set up {{ display-mode: "form" }}
# On Colab: the lessons' own package and nothing else. Nothing that Colab has is installed or upgraded.
import subprocess
import sys

if "google.colab" in sys.modules:
    archive = "https://github.com/{repository}/archive/refs/tags/{tag}.zip"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", archive], check=True)"""


def setting(pyproject):
    """Give the repository that ``pyproject`` (a path) names, "" if none."""
    table = tomllib.loads(Path(pyproject).read_text(encoding="utf-8"))
    return table.get("tool", {}).get("amp-lessons", {}).get("repository", "")


def publish(lessons, readme, repository, tag):
    """Write badges and fetching cells into the lessons in the folder ``lessons``, and badges into ``readme``.

    repository: "owner/name" on GitHub, or "" to take all of it out again. tag: what Colab opens and fetches.
    Gives the paths that changed. Raises ValueError if the repository is written in another way, or the README
    has lost its marks.
    """
    if not isinstance(repository, str) or (repository and not OWNER_AND_NAME.fullmatch(repository)):
        raise ValueError(f'The repository is written "owner/name", as on GitHub, not {repository!r}.')
    notebooks = sorted(Path(lessons).glob("*.ipynb"))
    badges = {path: _badge(repository, tag, path) for path in notebooks} if repository else {}
    fetch = FETCH.format(repository=repository, tag=tag) if repository else ""
    texts = {Path(readme): _readme(readme, badges)}
    for path in notebooks:
        notebook = nbformat.read(path, as_version=4)
        put_before_set_up(notebook, fetch, path.name)
        title = notebook.cells[0]
        title.source = re.sub(r"\n\n" + re.escape(BADGE) + r"\(.*?\)", "", title.source)
        for name in GPU:
            notebook.metadata.pop(name, None)
        if repository:
            heading, _, rest = title.source.partition("\n")
            title.source = f"{heading}\n\n{badges[path]}\n{rest}"
            notebook.metadata.update(GPU)
        texts[path] = nbformat.writes(notebook) + "\n"
    changed = [path for path, text in texts.items() if path.read_text(encoding="utf-8") != text]
    for path in changed:  # only now, when nothing can go wrong with another file
        path.write_text(texts[path], encoding="utf-8")
    return changed


def _readme(readme, badges):
    text = Path(readme).read_text(encoding="utf-8")
    before, found, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not found or not end:
        raise ValueError(f"{readme} needs the two lines {' and '.join(mark.strip() for mark in MARKS)}.")
    listed = "".join(f"- {path.stem}: {badge}\n" for path, badge in badges.items())
    return before + MARKS[0] + (listed or UPLOAD) + MARKS[1] + after


def _badge(repository, tag, path):
    address = f"https://colab.research.google.com/github/{repository}/blob/{tag}/notebooks/{path.name}"
    return f"{BADGE}({address})"
