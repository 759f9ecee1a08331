"""What executing lessons needs beyond PyTorch, for a machine without network.

``python -m tests.gpu.wheels [NAME ...]``, run where there is network, fetches the packages as wheels into
build/gpu/wheels, for the Python and the kind of machine that run it or, with AMP_GPU_PYTHON=3.12, for that
Python on Linux with an x86-64 processor. ``make gpu`` puts those that are missing into build/gpu/site.

NumPy, SciPy, scikit-learn and matplotlib are large, and a machine for machine learning has them. Where one is
missing, name it: its own needs come along.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WHEELS, SITE = ROOT / "build" / "gpu" / "wheels", ROOT / "build" / "gpu" / "site"
# package -> the module by which it is imported
FETCHED = {
    "ipykernel": "ipykernel",
    "nbclient": "nbclient",
    "nbformat": "nbformat",
    "ipywidgets": "ipywidgets",
    "tqdm": "tqdm",
    "platformdirs": "platformdirs",
    "pytest": "pytest",
    "hypothesis": "hypothesis",
    "beautifulsoup4": "bs4",
}
EXPECTED = {"numpy": "numpy", "matplotlib": "matplotlib", "scikit-learn": "sklearn"}
# pip takes each name literally: a wheel for an older system has an older name
_LINUX = "manylinux_2_28 manylinux_2_26 manylinux_2_17 manylinux2014 manylinux_2_12 manylinux2010 manylinux1"


def fetch(more=(), folder=WHEELS, python=None):
    """Fetch the wheels, in the versions of requirements.txt. RuntimeError if pip can't."""
    exact = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    names = [f"{name}=={exact[name]}" if name in exact else name for name in (*FETCHED, *more)]
    there = []
    if python:
        there = ["--python-version", python, "--implementation", "cp"]
        there += [part for each in _LINUX.split() for part in ("--platform", f"{each}_x86_64")]
    _pip("download", "--only-binary=:all:", *there, "--dest", str(folder), *names)


def missing():
    """The names of the packages that can't be imported here."""
    needed = FETCHED | EXPECTED
    return [name for name, module in needed.items() if importlib.util.find_spec(module) is None]


def install(wheels=WHEELS, site=SITE, seconds=None):
    """Put the wheels of packages that are not installed here into `site`, and that on the path.

    What is installed stays in use: nothing newer comes before it. RuntimeError, with what to do, if packages
    are missing then, or if it takes longer than the seconds.
    """
    shutil.rmtree(site, ignore_errors=True)  # of an earlier run, when other packages were installed
    _on_the_path(site)
    if not missing():
        return
    files = [file for file in sorted(Path(wheels).glob("*.whl")) if not _is_installed(file)]
    if files:
        _pip(
            "install",
            "--no-index",
            "--no-deps",
            "--upgrade",
            "--target",
            str(site),
            *map(str, files),
            seconds=seconds,
        )
        importlib.invalidate_caches()
    still = missing()
    if still:
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        heavy = " ".join(name for name in still if name in EXPECTED)
        command = f"make gpu-wheels AMP_GPU_PYTHON={python}" + (f' ARGS="{heavy}"' if heavy else "")
        raise RuntimeError(
            f"Missing here: {', '.join(still)}. Install them, or run {command} on a machine with network and "
            "bring its build/gpu/wheels to this one."
        )


def environment():
    """os.environ for a process that needs the packages too, and the lessons' own."""
    path = [str(ROOT), str(SITE), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return os.environ | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(path)), "PYTHONUNBUFFERED": "1"}


def _on_the_path(site):
    site = str(site)
    if site not in sys.path:
        sys.path.append(site)


def _is_installed(wheel):
    try:
        importlib.metadata.version(wheel.name.split("-")[0])
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _pip(*arguments, seconds=None):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"pip {arguments[0]} was not done after {seconds:.3g} seconds.") from None
    if done.returncode != 0:
        raise RuntimeError(f"pip {arguments[0]} failed: {done.stderr.strip()[-2000:]}")


if __name__ == "__main__":
    try:
        fetch(sys.argv[1:], python=os.environ.get("AMP_GPU_PYTHON"))
    except RuntimeError as error:
        sys.exit(str(error))
    files = list(WHEELS.glob("*.whl"))
    size = sum(file.stat().st_size for file in files) / 2**20
    print(f"{len(files)} wheels, {size:.0f} MiB, in {WHEELS.relative_to(ROOT)}")
