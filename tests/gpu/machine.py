"""What was run, on what: commit, device, driver, versions and date."""

import datetime
import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path

import torch

ROOT = Path(__file__).parents[2]


def commit():
    """The commit's name and whether files differ from it: from git, else from AMP_COMMIT; None: not known."""
    # A copy of the files inside another repository is not a checkout of this one.
    if _said("git", "rev-parse", "--show-prefix") == "":
        changed = _said("git", "status", "--porcelain")
        return {
            "commit": _said("git", "rev-parse", "HEAD"),
            "dirty": None if changed is None else bool(changed),
        }
    return {"commit": os.environ.get("AMP_COMMIT") or None, "dirty": None}


def today():
    """Date and time in UTC, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def device():
    """The first CUDA device: its name, capability, memory in bytes, and the driver's version if known."""
    properties = torch.cuda.get_device_properties(0)
    free, _ = torch.cuda.mem_get_info(0)
    return {
        "name": properties.name,
        "capability": list(torch.cuda.get_device_capability(0)),
        "memory_bytes": properties.total_memory,
        "free_bytes_at_start": free,
        "multiprocessors": properties.multi_processor_count,
        "devices": torch.cuda.device_count(),
        "driver": _driver(),
        "bf16": torch.cuda.is_bf16_supported(including_emulation=False),
        "bf16_with_emulation": torch.cuda.is_bf16_supported(),
    }


def versions():
    """Versions of what computes and of what executes the lessons; None for what isn't here."""
    cudnn = torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None
    here = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "cudnn": cudnn,
    }
    named = ("triton", "numpy", "matplotlib", "scikit-learn", "ipykernel", "ipywidgets", "nbclient", "pytest")
    return here | {name: _version(name) for name in named}


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _driver():
    said = _said("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return said.splitlines()[0].strip() if said else None


def _said(*command):
    """What a program prints, without the last line's end; None if it isn't here or fails."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
