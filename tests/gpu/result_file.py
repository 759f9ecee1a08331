"""The one JSON that a run leaves behind. It holds no path of the machine that wrote it."""

import json
import math
import os
import re
from pathlib import Path

SCHEMA = 1
# An absolute path, of which only the last part stays. No URL: there a slash follows a colon or a slash.
_FOLDERS = re.compile(r"""(?<![\w.:/\\~])(?:~|[A-Za-z]:)?[/\\](?:[^\s"'<>|:/\\]+[/\\])+""")


def write(results, file):
    """Write the results (what json can hold), all at once: a reader never sees half of them.

    Of paths only the last part is written, and numbers that JSON lacks as their text: "nan", "inf", "-inf".
    """
    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(
        _with_text_for_non_finite(without_paths(results)), indent=1, ensure_ascii=False, allow_nan=False
    )
    unfinished = file.with_name(file.name + ".part")
    unfinished.write_text(text + "\n", encoding="utf-8")
    os.replace(unfinished, file)


def without_paths(value):
    """The same with every absolute path in its texts cut down to the file's name."""
    if isinstance(value, dict):
        return {key: without_paths(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_paths(each) for each in value]
    return _FOLDERS.sub("", value) if isinstance(value, str) else value


def _with_text_for_non_finite(value):
    if isinstance(value, dict):
        return {key: _with_text_for_non_finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_text_for_non_finite(each) for each in value]
    return str(float(value)) if isinstance(value, float) and not math.isfinite(value) else value
