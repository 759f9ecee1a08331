"""The learner's own copies of the lessons: ``python -m amp_lessons.my_lessons notebooks my_lessons``.

Lessons that are missing are copied; what is there is never overwritten. ``.versions.json`` in the learner's
folder remembers which version each copy began as, so that a newer one can be announced. Where nothing is
known of a lesson, the record lost or damaged, it counts as begun as the version of today.
"""

import hashlib
import json
import os
import sys
import tempfile
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
        known, said = _read_versions(folder / VERSIONS)
        begun_as = dict(known)
        for lesson in lessons:
            said += _copy_one(lesson, folder / lesson.name, begun_as)
        if begun_as != known:
            record = json.dumps(begun_as, indent=1, sort_keys=True) + "\n"
            _write_whole(record.encode(), folder / VERSIONS, os.replace)
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
    if not copy.exists():
        _write_whole(content, copy, _move_where_nothing_is)
        begun_as[lesson.name] = newest
        return [f"Copied {copy.name} to {copy.parent}."]
    if hashlib.sha256(copy.read_bytes()).hexdigest() == newest:
        begun_as[lesson.name] = newest
    if begun_as.setdefault(lesson.name, newest) == newest:
        return []
    kept = copy.with_name(f"{copy.stem}_mine.ipynb")
    return [f"A newer version of {copy.name} exists. Yours stays as it is. To get the new one, rename"
            f" {copy} to {kept.name} and start again; your work and your points stay."]  # fmt: skip


def _write_whole(content, place, move):
    """Write the bytes to a file aside, then ``move`` it to ``place``: a full disk leaves no half file."""
    with tempfile.TemporaryDirectory(prefix=".copying-", dir=place.parent) as aside:
        whole = Path(aside, place.name)
        whole.write_bytes(content)
        move(whole, place)


def _move_where_nothing_is(whole, place):
    """Give the file the name ``place``, or raise FileExistsError: a rename alone might replace a file."""
    try:
        os.link(whole, place)
    except FileExistsError:
        raise
    except OSError:  # some disks have no hard links, a USB stick's FAT for one
        if os.path.lexists(place):
            raise FileExistsError(f"{place} is there already") from None
        os.rename(whole, place)


def _read_versions(file):
    """What ``file`` says, as {name: hash}, and a list with one line if it cannot be used."""
    try:
        versions = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(versions, dict) or not all(isinstance(each, str) for each in versions.values()):
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
