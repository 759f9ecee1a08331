"""``python -m tests.gpu [RESULTS.json [NOTEBOOKS]]``: the parts of the run, one after another."""

import shutil
import sys
import time

SENTENCE = "There is no CUDA GPU here: nothing to measure."
FOR_CPU_ONLY = (
    "This PyTorch is a build for the CPU only, while this machine has an NVIDIA driver: name a Python whose "
    "PyTorch is a build for CUDA with PYTHON=, or its environment with VENV=."
)


def main(file="build/gpu/results.json", notebooks="notebooks"):
    """Run all parts and write the results to `file`. Gives 0 if lessons and tests passed, else 1; without
    CUDA it says so and gives 0, or 1 where only this PyTorch has none."""
    try:
        import torch
    except ImportError:
        print("PyTorch isn't installed for this Python: install it, or name another one with PYTHON=.")
        return 1
    if not torch.cuda.is_available():
        if torch.version.cuda is None and torch.version.hip is None and shutil.which("nvidia-smi"):
            print(FOR_CPU_ONLY)
            return 1
        print(SENTENCE)
        return 0
    return run_parts(file, parts(notebooks), description())


def description():
    """What is known before anything is run. What can't be found out is an error's text in its place."""
    from tests.gpu import machine

    return {
        "date": machine.today(),
        **machine.commit(),
        "device": attempted(machine.device),
        "versions": attempted(machine.versions),
    }


def attempted(function):
    try:
        return function()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def parts(notebooks):
    """name -> (seconds that it may take, function of the seconds that it gets). Each gives a dict with an
    "outcome". Lessons and tests come first: on them depends whether the run passed."""
    from tests.gpu import budget, cuda_tests, lessons, speed, wheels

    def install(seconds):
        wheels.install(seconds=seconds)
        return {"outcome": "passed"}

    return {
        "packages": (60, install),
        "lessons": (budget.LESSONS, lambda seconds: lessons.run(notebooks, seconds)),
        "tests": (budget.TESTS, cuda_tests.run),
        "speed": (budget.SPEED, speed.run),
    }


def run_parts(file, parts, described, whole_run=None):
    """Run the parts in order, write the results after each, and give the exit status.

    A part that raises or has no time left does not stop the others.
    """
    from tests.gpu import result_file
    from tests.gpu.budget import WHOLE_RUN, Budget

    start, budget = time.monotonic(), Budget(whole_run or WHOLE_RUN)
    results = {"schema": result_file.SCHEMA, **described}
    for name, (seconds, part) in parts.items():
        began = time.monotonic()
        print(f"=== {name}", flush=True)
        results[name] = result = _part(part, min(seconds, budget.left()), budget.is_spent())
        result["part_seconds"] = round(time.monotonic() - began, 2)
        results["whole_run_seconds"] = round(time.monotonic() - start, 2)
        result_file.write(results, file)
        print(f"=== {name}: {result['outcome']}. {result.get('error', '')}".strip(), flush=True)
    print(f"The results are in {file}.")
    needed = [results[name]["outcome"] for name in ("lessons", "tests") if name in results]
    return 0 if needed == ["passed", "passed"] else 1


def _part(part, seconds, spent):
    if spent:
        return {"outcome": "cut", "error": "The time for the whole run was spent before this part."}
    try:
        return part(seconds)
    except Exception as error:
        return {"outcome": "failed", "error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
