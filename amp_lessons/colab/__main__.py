"""python -m amp_lessons.colab NOTEBOOKS FOLDER [REPOSITORY]: builds; publishes where one is set."""

import sys
from pathlib import Path

import amp_lessons
from amp_lessons.colab.building import build
from amp_lessons.colab.publishing import publish, setting


def main(lessons, folder, repository=""):
    package = Path(amp_lessons.__file__).parent
    home = package.parent
    repository = repository or setting(home / "pyproject.toml")
    for path in publish(lessons, home / "README.md", repository, f"v{amp_lessons.__version__}"):
        print(f"{path} now opens from {repository or 'no repository'}")
    for path in build(lessons, folder, package):
        print(f"{path}  ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: python -m amp_lessons.colab NOTEBOOKS FOLDER [REPOSITORY]")
    try:
        main(*sys.argv[1:])
    except ValueError as error:
        sys.exit(str(error))
