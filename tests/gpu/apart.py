"""Runs a part of the run as a process of its own: whatever becomes of it, the others go on."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.gpu.machine import ROOT
from tests.gpu.wheels import environment


def run(arguments, seconds, file_option=()):
    """Run ``python *arguments FILE`` from the repository's root, and end it when the seconds are over.

    file_option: what stands before FILE. Gives (how it ended, what it wrote to FILE as JSON, or None). It
    ended "well", "badly" (by an error or a crash) or was "cut".
    """
    with tempfile.TemporaryDirectory() as away:
        file = Path(away) / "part.json"
        command = [sys.executable, *arguments, *file_option, str(file)]
        variables = environment() | {"AMP_LESSONS_HOME": f"{away}/home"}
        variables.pop("OMP_NUM_THREADS", None)
        try:
            code = subprocess.run(command, cwd=ROOT, env=variables, timeout=seconds).returncode
            ended = "well" if code == 0 else "badly"
        except subprocess.TimeoutExpired:
            ended = "cut"
        return ended, _read(file)


def _read(file):
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
