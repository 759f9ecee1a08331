"""Copies for the learner: what is missing is copied, and nothing of theirs is ever lost."""

import json
import os
import subprocess
import sys

import pytest

from amp_lessons.my_lessons import VERSIONS, copy_lessons


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name in ("00_start_here", "01_fp16_underflow"):
        (folder / f"{name}.ipynb").write_text(f"first version of {name}")
    return folder


@pytest.fixture
def mine(tmp_path):
    return tmp_path / "my_lessons"


def contents(folder):
    return {file.name: file.read_text() for file in folder.glob("*.ipynb")}


def test_a_first_start_copies_every_lesson_and_says_so(source, mine):
    said = copy_lessons(source, mine)
    assert contents(mine) == contents(source)
    assert len(said) == 2 and all(line.startswith("Copied ") for line in said)


def test_a_second_start_changes_nothing_and_is_silent(source, mine):
    copy_lessons(source, mine)
    before = (mine / VERSIONS).read_bytes()
    assert copy_lessons(source, mine) == []
    assert (mine / VERSIONS).read_bytes() == before


def test_work_done_is_never_overwritten(source, mine):
    copy_lessons(source, mine)
    (mine / "00_start_here.ipynb").write_text("my work")
    assert copy_lessons(source, mine) == []
    assert contents(mine)["00_start_here.ipynb"] == "my work"


def test_a_newer_version_is_announced_until_the_learner_makes_room(source, mine):
    copy_lessons(source, mine)
    mine_now = mine / "01_fp16_underflow.ipynb"
    mine_now.write_text("my work")
    (source / mine_now.name).write_text("second version")
    for _ in range(2):
        (line,) = copy_lessons(source, mine)
        assert "newer version of 01_fp16_underflow.ipynb" in line and "01_fp16_underflow_mine.ipynb" in line
        assert mine_now.read_text() == "my work"
    mine_now.rename(mine / "01_fp16_underflow_mine.ipynb")  # what the line says to do
    copy_lessons(source, mine)
    assert mine_now.read_text() == "second version"
    assert (mine / "01_fp16_underflow_mine.ipynb").read_text() == "my work"
    assert copy_lessons(source, mine) == []


def test_a_lesson_that_is_missing_comes_back(source, mine):
    copy_lessons(source, mine)
    (mine / "00_start_here.ipynb").unlink()
    assert copy_lessons(source, mine) == [f"Copied 00_start_here.ipynb to {mine}."]


@pytest.mark.parametrize("damage", [b"{", b"[1]", b"\xff\xfe", b"", b'{"00_start_here.ipynb": 3}'])
def test_a_damaged_record_of_versions_is_begun_anew(source, mine, damage):
    copy_lessons(source, mine)
    record = (mine / VERSIONS).read_bytes()
    (mine / VERSIONS).write_bytes(damage)
    (mine / "00_start_here.ipynb").write_text("my work")
    (line,) = copy_lessons(source, mine)
    assert "damaged" in line and "newer" not in line
    assert contents(mine)["00_start_here.ipynb"] == "my work"
    assert (mine / VERSIONS).read_bytes() == record
    assert copy_lessons(source, mine) == []


def test_a_lost_record_of_versions_is_begun_anew_in_silence(source, mine):
    copy_lessons(source, mine)
    (mine / VERSIONS).unlink()
    (mine / "00_start_here.ipynb").write_text("my work")
    assert copy_lessons(source, mine) == []
    (source / "00_start_here.ipynb").write_text("second version")
    (line,) = copy_lessons(source, mine)
    assert "newer version of 00_start_here.ipynb" in line
    assert contents(mine)["00_start_here.ipynb"] == "my work"


# Files may grow to 64 bytes only: as on a full disk, the system takes the beginning and refuses the rest.
FULL_DISK = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
sys.argv = ["my_lessons", *sys.argv[1:]]
runpy.run_module("amp_lessons.my_lessons", run_name="__main__")
"""


def start_on_a_full_disk(source, mine):
    pytest.importorskip("resource", reason="Windows has no limit on the size of a file")
    command = [sys.executable, "-B", "-c", FULL_DISK, str(source), str(mine)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_full_disk_leaves_no_half_copied_lesson(source, mine):
    (source / "01_fp16_underflow.ipynb").write_text("a long lesson " * 10)
    failed = start_on_a_full_disk(source, mine)
    assert failed.returncode == 1 and "disk is not full" in failed.stderr
    assert [file.name for file in mine.iterdir()] == ["00_start_here.ipynb"]  # the short one went through
    assert copy_lessons(source, mine) == [f"Copied 01_fp16_underflow.ipynb to {mine}."]
    assert contents(mine) == contents(source)


def test_a_full_disk_leaves_the_record_of_versions_as_it_was(source, mine):
    copy_lessons(source, mine)
    before = (mine / VERSIONS).read_bytes()
    (source / "02_new.ipynb").write_text("short")
    assert start_on_a_full_disk(source, mine).returncode == 1
    assert (mine / VERSIONS).read_bytes() == before
    assert copy_lessons(source, mine) == []
    assert "02_new.ipynb" in json.loads((mine / VERSIONS).read_text())


def test_a_full_disk_does_not_matter_where_nothing_is_to_be_written(source, mine):
    copy_lessons(source, mine)
    assert start_on_a_full_disk(source, mine).returncode == 0


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_a_file_that_appears_while_a_lesson_is_copied_is_kept(source, mine, links, monkeypatch):
    """Something else, a second start for one, may put a lesson there after this start has looked."""
    link = os.link

    def appears(whole, place):
        place.write_text("my work")
        if not links:
            raise PermissionError("this disk has no hard links")
        link(whole, place)

    monkeypatch.setattr(os, "link", appears)
    with pytest.raises(ValueError, match="cannot be written to"):
        copy_lessons(source, mine)
    assert [(file.name, file.read_text()) for file in mine.iterdir()] == [("00_start_here.ipynb", "my work")]


def test_lessons_are_copied_to_a_disk_without_hard_links(source, mine, monkeypatch):
    def refuse(whole, place):
        raise PermissionError("this disk has no hard links")

    monkeypatch.setattr(os, "link", refuse)
    copy_lessons(source, mine)
    assert contents(mine) == contents(source)
    assert sorted(file.name for file in mine.iterdir()) == [VERSIONS, *sorted(contents(source))]


def test_a_folder_in_place_of_a_lesson_is_named_and_the_others_are_copied(source, mine):
    (mine / "00_start_here.ipynb").mkdir(parents=True)
    said = copy_lessons(source, mine)
    assert "00_start_here.ipynb is a folder" in said[0]
    assert (mine / "01_fp16_underflow.ipynb").is_file()


def test_a_file_in_place_of_the_folder(source, mine):
    mine.write_text("")
    with pytest.raises(ValueError, match="my_lessons is a file"):
        copy_lessons(source, mine)


def test_a_folder_that_cannot_be_written_to(source, mine):
    (mine / VERSIONS).mkdir(parents=True)  # cannot be written, whoever runs this test
    with pytest.raises(ValueError, match="cannot be written to .*my_lessons.*may write there"):
        copy_lessons(source, mine)


def test_a_source_without_lessons(tmp_path, mine):
    with pytest.raises(ValueError, match="no lessons"):
        copy_lessons(tmp_path / "nowhere", mine)
    assert not mine.exists()


def test_the_lessons_themselves_are_no_place_for_copies(source):
    with pytest.raises(ValueError, match="Name another folder"):
        copy_lessons(source, source)


def test_the_command(source, mine):
    command = [sys.executable, "-m", "amp_lessons.my_lessons", str(source), str(mine)]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    assert first.stdout.count("Copied ") == 2 and first.stderr == ""
    failed = subprocess.run([*command[:-2], str(mine / "empty"), str(mine)], capture_output=True, text=True)
    assert failed.returncode == 1 and "no lessons" in failed.stderr and "Traceback" not in failed.stderr
