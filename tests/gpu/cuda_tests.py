"""Runs the tests that need CUDA: those of tests/gpu, and those in other files that wait for it."""

from tests.gpu import apart
from tests.gpu.machine import ROOT

MEMORY_TESTS = "test_memory_on_cuda.py"
PYTEST = "-m pytest -q -p tests.gpu.outcomes -p no:cacheprovider".split()


def run(seconds, files=None):
    """Run them; give {"outcome", "counts", "failures", "skipped", "slowest"}, and "error" where it failed
    before any test could.

    outcome: "passed" if at least one passed and none failed, "failed", or "cut" if the seconds ran out or a
    memory test was skipped, as on a GPU whose memory others use.
    """
    ended, told = apart.run([*PYTEST, *(files or files_with_such_tests())], seconds, ["--outcomes"])
    told = told or {"counts": {}, "failures": [], "skipped": [], "slowest": [], "finished": False}
    finished = told.pop("finished")
    passed = ended == "well" and finished and told["counts"].get("passed", 0) > 0
    outcome = "passed" if passed else "cut" if ended == "cut" else "failed"
    result = {"outcome": outcome} | told
    if outcome == "failed" and not told["failures"]:
        result["error"] = "No test ran to its end: see what pytest printed."
    without_room = sum(MEMORY_TESTS in each["test"] for each in told["skipped"])
    if passed and without_room:
        tests = "1 memory test was" if without_room == 1 else f"{without_room} memory tests were"
        result |= {"outcome": "cut", "error": f"{tests} skipped: see what each says."}
    return result


def files_with_such_tests():
    """tests/gpu, and every test file that asks whether there is a CUDA device."""
    others = sorted(
        str(file.relative_to(ROOT))
        for file in (ROOT / "tests").rglob("test_*.py")
        if "skipif(not torch.cuda.is_available()" in file.read_text(encoding="utf-8")
    )
    return ["tests/gpu", *(name for name in others if not name.startswith("tests/gpu/"))]
