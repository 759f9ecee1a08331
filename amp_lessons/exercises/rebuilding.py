"""rebuild_progress(folder): reads results back from verdicts that saved notebooks show."""

import json
import math
import pathlib

from amp_lessons.exercises import catalogue, progress_file
from amp_lessons.exercises.panel import Panel, heading, number, paragraph, plural
from amp_lessons.exercises.shown import cut
from amp_lessons.exercises.verdict import JSON_TYPE


def rebuild_progress(folder_or_files):
    """Read the verdicts in saved notebooks and keep those that are better than what is known.

    `folder_or_files` is a folder (its notebooks are read, also those in folders below), a notebook, or a list
    of these. Returns a panel that says what was found. A notebook that can't be read is named and skipped.
    """
    most = {exercise.id: exercise.points for exercise in catalogue.current().exercises}
    lines, better = [], 0
    for notebook in _notebooks(folder_or_files):
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
    place = pathlib.Path(folder_or_files).expanduser()
    if not place.is_dir():
        return [place]
    found = sorted(place.rglob("*.ipynb"))
    return [notebook for notebook in found if ".ipynb_checkpoints" not in notebook.parts]


def _verdicts(notebook, most):
    """The best points by exercise in one notebook's saved outputs."""
    found = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            verdict = output.get("data", {}).get(JSON_TYPE)
            if isinstance(verdict, (str, list)):  # some tools save JSON as text, or as a list of lines
                verdict = json.loads("".join(verdict))
            if isinstance(verdict, dict) and verdict.get("exercise") in most:
                _keep_best(found, verdict, most)
    return found


def _keep_best(found, verdict, most):
    points, exercise = verdict.get("points"), verdict["exercise"]
    if isinstance(points, bool) or not isinstance(points, (int, float)) or not math.isfinite(points):
        return
    if verdict.get("outcome") != "not attempted":
        points = min(max(float(points), 0.0), most[exercise])
        found[exercise] = max(points, found.get(exercise, 0.0))
