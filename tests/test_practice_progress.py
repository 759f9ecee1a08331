"""The progress file, the map of what is done, and rebuilding it from saved notebooks."""

import dataclasses
import json
import subprocess
import sys

import pytest

from amp_lessons import check, progress, rebuild_progress
from amp_lessons.exercises import progress_file
from amp_lessons.exercises.verdict import JSON_TYPE
from tests import toy

HALF = "def halve(x): return x // 2"
RIGHT = "def halve(x): return x / 2"
MOST = {"halve": 1.5}


@pytest.fixture(autouse=True)
def lesson(teach):
    teach(
        toy.lesson(toy.exercise(), toy.exercise("second", "second = ...")),
        toy.lesson(toy.exercise("third"), notebook="02_more"),
    )


@pytest.fixture
def file(home):
    home.mkdir()
    return home / "progress.jsonl"


def test_the_best_result_counts_and_tomorrow_it_is_still_there(home):
    assert "○ Halve it: not attempted, 1.5 points" in repr(progress())
    check("halve", toy.run_cell(HALF))
    assert "✗ Halve it: not yet, 1 of 1.5 points" in repr(progress())
    check("halve", toy.run_cell(RIGHT))
    again = check("halve", toy.run_cell(HALF))
    assert "Your best so far, 1.5 of 1.5, is kept." in again.note
    panel = progress()
    assert "✓ Halve it: correct, 1.5 of 1.5 points" in repr(panel)
    assert "01 Toy (5 min reading, 3 min exercises, 1.5 of 3 points)" in repr(panel)
    assert "Next: Halve it, in 01 Toy (3 minutes)." in repr(panel)
    assert str(home / "progress.jsonl") in repr(panel)
    assert '<a href="01_toy.ipynb">' in panel._repr_mimebundle_()["text/html"]
    assert len((home / "progress.jsonl").read_text().splitlines()) == 2


def test_next_goes_on_from_where_the_learner_stopped():
    check("third", toy.run_cell(HALF))
    assert "Next: Halve it, in 02 Toy" in repr(progress())
    for done in ("third", "halve"):
        check(done, toy.run_cell(RIGHT))
    check("second", {"second": 1})
    assert "Next: Halve it, in 01 Toy" in repr(progress())


def test_next_goes_past_optional_exercises_until_nothing_else_is_left(teach):
    optional = [dataclasses.replace(toy.exercise(name), optional=True) for name in ("second", "fourth")]
    teach(
        toy.lesson(toy.exercise(), *optional),
        toy.lesson(toy.exercise("third"), notebook="02_more", title="More"),
    )

    def what_is_next():
        (line,) = [line for line in repr(progress()).splitlines() if line.startswith("Next: ")]
        return line

    check("halve", toy.run_cell(RIGHT))
    assert "in 02 More" in what_is_next()
    check("second", toy.run_cell(HALF))  # who has begun with them goes on with them
    assert "in 01 Toy" in what_is_next()
    check("third", toy.run_cell(RIGHT))
    assert "in 01 Toy" in what_is_next()
    for done in ("second", "fourth"):
        check(done, toy.run_cell(RIGHT))
    assert what_is_next() == "Next: every exercise is solved."


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"{}",
        b"[]",
        b"3",
        b'{"exercise": 3, "points": 1}',
        b'{"exercise": "halve", "points": NaN}',
        b'{"exercise": "halve", "points": "1"}',
        b'{"exercise": "halve", "points": true}',
        b'{"exercise": "halve", "points": null}',
        b'{"exercise": "halve", "points": 1' + b"0" * 500 + b"}",
        b'{"exercise": "halve"',
        b"\xff\xfe\x00",
        b"[" * 9000,
        b"x" * 3_000_000,
    ],
)
def test_a_damaged_line_is_skipped_counted_and_kept(line, file):
    good = b'{"exercise": "halve", "points": 1}'
    file.write_bytes(line + b"\n\n" + good + b"\n" + line)
    known = progress_file.read(MOST)
    assert (known.points, known.damaged, known.trouble) == ({"halve": 1.0}, 2, "")
    assert "2 lines of that file can't be read. They are skipped and kept." in repr(progress())
    assert check("halve", toy.run_cell(RIGHT)).note == ""
    assert file.read_bytes().startswith(line + b"\n\n" + good + b"\n" + line + b"\n{")
    assert progress_file.read(MOST).points == {"halve": 1.5}


@pytest.mark.parametrize(("points", "kept"), [("99", 1.5), ("-3", 0.0), ("Infinity", 1.5), ("1e999", 1.5)])
def test_points_are_clamped(points, kept, file):
    file.write_text(f'{{"exercise": "halve", "points": {points}}}\n')
    assert progress_file.read(MOST).points == {"halve": kept}


def test_exercises_of_a_newer_version_are_kept_and_not_shown(file):
    file.write_text('{"exercise": "from-the-future", "points": 1}\n')
    assert progress_file.read(MOST).damaged == 0
    assert "future" not in repr(progress())
    check("halve", toy.run_cell(HALF))
    assert file.read_text().count("from-the-future") == 1


def a_file_in_its_place(home, monkeypatch):
    home.write_text("")


def a_folder_in_the_files_place(home, monkeypatch):
    (home / "progress.jsonl").mkdir(parents=True)


def read_only(home, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(progress_file.os, "open", refused)


def no_such_user(home, monkeypatch):
    monkeypatch.setenv("AMP_LESSONS_HOME", "~nobody-of-this-name/x")


@pytest.mark.parametrize(
    "spoil",
    [a_file_in_its_place, a_folder_in_the_files_place, read_only, no_such_user],
    ids=lambda s: s.__name__,
)
def test_where_nothing_can_be_saved_the_check_works_and_says_so(spoil, home, monkeypatch, capsys):
    spoil(home, monkeypatch)
    verdict = check("halve", toy.run_cell(RIGHT))
    assert verdict.outcome == "correct"
    assert "Progress can't be saved in" in verdict.note and "AMP_LESSONS_HOME" in verdict.note
    assert verdict.note in repr(verdict)
    assert "✓ Halve it: correct, 1.5 of 1.5 points" in repr(progress())
    assert capsys.readouterr() == ("", "")


def test_what_could_not_be_saved_is_saved_later(home):
    home.write_text("")
    check("halve", toy.run_cell(RIGHT))
    home.unlink()
    assert check("halve", toy.run_cell(HALF)).note.startswith("Your best so far")
    assert progress_file.unsaved == {}
    assert progress_file.read(MOST).points == {"halve": 1.5}


def test_what_is_not_saved_is_said_and_saved_with_the_next_result(home):
    home.parent.joinpath("gone").mkdir()
    home.symlink_to("gone/x/y")  # a folder that can't be made
    assert "Progress can't be saved" in check("halve", toy.run_cell(RIGHT)).note
    panel = repr(progress())
    assert "✓ Halve it" in panel and "Kept in" not in panel
    assert f"1 result of this session is not saved in {progress_file.path()}" in panel
    assert check("third", toy.run_cell(HALF)).note
    assert "2 results of this session are not saved" in repr(progress())
    home.unlink()
    assert check("second", {"second": 1}).note == ""
    assert progress_file.unsaved == {}
    assert progress_file.read({"halve": 1.5, "second": 1.5, "third": 1.5}).points == {
        "halve": 1.5,
        "third": 1.0,
        "second": 0.0,
    }
    assert "Kept in" in repr(progress())


def test_a_check_with_nothing_new_saves_what_is_not_saved(home):
    check("third", toy.run_cell(RIGHT))
    home.rename(home.with_name("aside"))
    home.write_text("")
    check("halve", toy.run_cell(RIGHT))
    home.unlink()
    home.with_name("aside").rename(home)
    check("third", toy.run_cell(RIGHT))
    assert progress_file.unsaved == {}
    assert progress_file.read(MOST).points == {"halve": 1.5}


def test_a_relative_home_is_shown_in_full(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AMP_LESSONS_HOME", "here")
    assert f"Kept in {tmp_path / 'here' / 'progress.jsonl'}" in repr(progress())


def test_two_processes_write_at_once(home):
    code = """
import sys
from amp_lessons.exercises import progress_file
for i in range(200):
    known = progress_file.Known(points={})
    progress_file.save(f"{sys.argv[1]}-{i}", 1.0, 1.0, known)
"""
    running = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "ab"]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    most = {f"{name}-{i}": 1.0 for name in "ab" for i in range(200)}
    known = progress_file.read(most)
    assert (len(known.points), known.damaged) == (400, 0)


def saved_notebook(path, *verdicts):
    outputs = [{"output_type": "execute_result", "data": {JSON_TYPE: verdict}} for verdict in verdicts]
    cells = [{"cell_type": "markdown", "source": ""}, {"cell_type": "code", "source": "", "outputs": outputs}]
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")


def test_results_come_back_from_saved_notebooks(tmp_path):
    half = check("halve", toy.run_cell(HALF)).to_json()
    right = check("third", toy.run_cell(RIGHT)).to_json()
    progress_file.path().unlink()
    folder = tmp_path / "saved"
    folder.mkdir()
    saved_notebook(folder / "a.ipynb", half, json.dumps(right), {"exercise": "unknown", "points": 1})
    saved_notebook(
        folder / "b.ipynb", {"exercise": "second", "points": float("nan")}, {"exercise": ["halve"]}, 3
    )
    (folder / "c.ipynb").write_text("{broken")
    (folder / "d.ipynb").write_bytes(b"\xff")
    panel = rebuild_progress(folder)
    assert "2 new results" in repr(panel)
    assert "halve: 1 of 1.5 points" in repr(panel) and "third: 1.5 of 1.5 points" in repr(panel)
    assert f"{folder / 'c.ipynb'}: skipped" in repr(panel) and f"{folder / 'd.ipynb'}: skipped" in repr(panel)
    assert "3 of 4.5" not in repr(panel)
    assert progress_file.read({"halve": 1.5, "second": 1.5, "third": 1.5}).points == {
        "halve": 1.0,
        "third": 1.5,
    }
    assert "0 new results" in repr(rebuild_progress([folder / "a.ipynb", folder / "b.ipynb"]))


@pytest.mark.parametrize(
    "malformed",
    [
        3,
        {"outputs": None},
        {"outputs": 3},
        {"outputs": ["x"]},
        {"outputs": [{"data": None}]},
        {"outputs": [{"data": {JSON_TYPE: "{x"}}]},
        {"outputs": [{"data": {JSON_TYPE: [1, 2]}}]},
        {"outputs": [{"data": {JSON_TYPE: {"exercise": "halve", "points": 10**400}}}]},
    ],
)
def test_a_malformed_output_leaves_the_others(malformed, tmp_path):
    good = {"outputs": [{"data": {JSON_TYPE: {"exercise": "halve", "points": 1}}}]}
    text = json.dumps({"cells": [malformed, good, malformed]})
    (tmp_path / "a.ipynb").write_text(text, encoding="utf-8-sig")
    assert "halve: 1 of 1.5 points" in repr(rebuild_progress(tmp_path))
    assert progress_file.read(MOST).points == {"halve": 1.0}


@pytest.mark.parametrize("place", [None, 3, b"saved", {"saved": 1}, [None], [["a.ipynb", 3]]])
def test_rebuilding_from_no_place_says_what_to_give(place):
    assert 'in quotes, for example rebuild_progress("my_lessons")' in repr(rebuild_progress(place))


def test_rebuilding_from_odd_places_says_so(tmp_path):
    assert 'in quotes, for example rebuild_progress("my_lessons")' in repr(rebuild_progress())
    for place in ("~nobody-of-this-name/x", "nul\0", "half \ud83d", "long" * 9999):
        panel = rebuild_progress(place)
        assert "skipped" in repr(panel)
        (repr(panel) + panel._repr_mimebundle_()["text/html"]).encode()


def test_rebuilding_from_nothing_says_so(tmp_path):
    assert "There is no notebook" in repr(rebuild_progress(tmp_path))
    assert "skipped" in repr(rebuild_progress(tmp_path / "missing.ipynb"))
