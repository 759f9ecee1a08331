"""The learner's own copies of the lessons: ``python -m amp_lessons.my_lessons notebooks my_lessons``.

Lessons that are missing are copied; what is there is never overwritten. ``.versions.json`` in the learner's
folder remembers which version each copy began as, so that a newer one can be announced.
"""

import hashlib
import json
import sys
from pathlib import Path

VERSIONS = ".versions.json"


def copy_lessons(source, folder):
    """Copy the lessons in ``source`` that ``folder`` lacks, and give what there is to say, one line each.

    Raises ValueError, with a text that says what to do, if ``source`` holds no lesson, ``folder`` is a file
    or the same folder, or ``folder`` cannot be written to.
    """
    source, folder = Path(source), Path(folder)
    lessons = sorted(source.glob("*.ipynb"))
    if not lessons:
        raise ValueError(f"There are no lessons in {source}. Start this in the folder that holds {source}.")
    if source.resolve() == folder.resolve():
        raise ValueError(f"{folder} is where the lessons come from. Name another folder for your own copies.")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, and your lessons need a folder of that name. Rename the file.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        begun_as, said = _read_versions(folder / VERSIONS)
        for lesson in lessons:
            said += _copy_one(lesson, folder / lesson.name, begun_as)
        record = json.dumps(begun_as, indent=1, sort_keys=True) + "\n"
        (folder / VERSIONS).write_text(record, encoding="utf-8")
    except OSError as error:
        raise ValueError(
            f"Your lessons cannot be written to {folder}: {error}."
            " Make sure that you may write there and that the disk is not full."
        ) from error
    return said


def _copy_one(lesson, copy, begun_as):
    content = lesson.read_bytes()
    newest = hashlib.sha256(content).hexdigest()
    if copy.is_dir():
        return [f"{copy} is a folder, so the lesson of that name was not copied. Rename the folder."]
    try:
        with copy.open("xb") as file:  # x: never over a file that is there
            file.write(content)
    except FileExistsError:
        if newest in (begun_as.get(lesson.name), hashlib.sha256(copy.read_bytes()).hexdigest()):
            begun_as[lesson.name] = newest
            return []
        kept = copy.with_name(f"{copy.stem}_mine.ipynb")
        return [f"A newer version of {copy.name} exists. Yours stays as it is. To get the new one, rename"
                f" {copy} to {kept.name} and start again; your work and your points stay."]  # fmt: skip
    begun_as[lesson.name] = newest
    return [f"Copied {copy.name} to {copy.parent}."]


def _read_versions(file):
    """What ``file`` says, as {name: hash}, and a list with one line if it cannot be used."""
    try:
        versions = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(versions, dict):
            raise ValueError("not a table of versions")
    except FileNotFoundError:
        return {}, []
    except ValueError:  # damaged JSON or text that is not UTF-8
        return {}, [f"{file} was damaged and is begun anew; your lessons are untouched."]
    return versions, []


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m amp_lessons.my_lessons NOTEBOOKS MY_LESSONS")
    try:
        for line in copy_lessons(*sys.argv[1:]):
            print(line)
    except ValueError as error:
        sys.exit(str(error))
