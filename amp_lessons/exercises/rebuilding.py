"""rebuild_progress(folder): reads results back from verdicts that saved notebooks show."""

import json
import math
import os
import pathlib

from amp_lessons.exercises import catalogue, progress_file
from amp_lessons.exercises.panel import Panel, heading, number, paragraph, plural
from amp_lessons.exercises.shown import cut
from amp_lessons.exercises.verdict import JSON_TYPE


_WHAT_TO_GIVE = 'Give a folder or a notebook in quotes, for example rebuild_progress("my_lessons").'


def rebuild_progress(folder_or_files=None):
    """Read the verdicts in saved notebooks and keep those that are better than what is known.

    `folder_or_files` is a folder (its notebooks are read, also those in folders below), a notebook, or a list
    of these. Returns a panel that says what was found. A notebook that can't be read is named and skipped; of
    a damaged one, all that can be read is used.
    """
    most = {exercise.id: exercise.points for exercise in catalogue.current().exercises}
    lines, better = [], 0
    try:
        notebooks = _notebooks(folder_or_files)
    except TypeError:
        return Panel(paragraph(_WHAT_TO_GIVE), _WHAT_TO_GIVE)
    for notebook in notebooks:
        try:
            found = _verdicts(notebook, most)
        except Exception as error:  # whatever is in the file: the others are still read
            lines.append(
                f"{notebook}: skipped, it can't be read ({type(error).__name__}: {cut(str(error), 120)})."
            )
            continue
        lines.append(f"{notebook}: {plural(len(found), 'result')}.")
        for exercise, points in found.items():
            known = progress_file.read(most)
            if exercise in known.points and points <= known.points[exercise]:
                continue
            better += 1
            lines.append(f"  {exercise}: {number(points)} of {plural(most[exercise], 'point')}")
            try:
                progress_file.save(exercise, points, most[exercise], known)
            except progress_file.CannotSave as trouble:
                if str(trouble) not in lines:
                    lines.append(str(trouble))
    title = f"Progress from saved notebooks: {plural(better, 'new result')}"
    lines = lines or ["There is no notebook (.ipynb) here."]
    return Panel(heading(title) + paragraph("\n".join(lines)), "\n".join([title, *lines]))


def _notebooks(folder_or_files):
    if isinstance(folder_or_files, (list, tuple)):
        return [notebook for each in folder_or_files for notebook in _notebooks(each)]
    if not isinstance(folder_or_files, (str, pathlib.PurePath)):
        raise TypeError(_WHAT_TO_GIVE)
    place = pathlib.Path(os.path.expanduser(folder_or_files))
    if not os.path.isdir(place):  # no error for an impossible name
        return [place]
    found = sorted(place.rglob("*.ipynb"))
    return [notebook for notebook in found if ".ipynb_checkpoints" not in notebook.parts]


def _verdicts(notebook, most):
    """The best points by exercise in one notebook's saved outputs."""
    found = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8-sig"))["cells"]:
        for output in _outputs(cell):
            try:
                _keep_best(found, _verdict_in(output), most)
            except Exception:  # whatever is in this output: the others are still read
                continue
    return found


def _outputs(cell):
    outputs = cell.get("outputs") if isinstance(cell, dict) else None
    return outputs if isinstance(outputs, list) else []


def _verdict_in(output):
    verdict = output.get("data", {}).get(JSON_TYPE)
    if isinstance(verdict, (str, list)):  # some tools save JSON as text, or as a list of lines
        verdict = json.loads("".join(verdict))
    return verdict


def _keep_best(found, verdict, most):
    if not isinstance(verdict, dict) or verdict.get("exercise") not in most:
        return
    points, exercise = verdict.get("points"), verdict["exercise"]
    if isinstance(points, bool) or not isinstance(points, (int, float)) or not math.isfinite(points):
        return
    if verdict.get("outcome") != "not attempted":
        points = min(max(float(points), 0.0), most[exercise])
        found[exercise] = max(points, found.get(exercise, 0.0))
