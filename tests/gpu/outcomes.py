"""A pytest plugin: only the tests that need CUDA, and what became of each in a JSON.

    python -m pytest -p tests.gpu.outcomes tests/gpu tests/test_policy.py --outcomes FILE

Of the files of tests/gpu all tests are kept; of others those that are skipped where there is no CUDA, by a
skipif whose reason names it. The JSON is written anew after each test, so that a crash takes none with it.
"""

from collections import Counter
from pathlib import Path

from tests.gpu import result_file

HERE = Path(__file__).parent


def pytest_addoption(parser):
    parser.addoption("--outcomes", metavar="FILE", help="write what became of each test to FILE")


def pytest_configure(config):
    if config.getoption("--outcomes"):
        config.pluginmanager.register(Outcomes(config.getoption("--outcomes")))


def pytest_collection_modifyitems(config, items):
    kept = [item for item in items if needs_cuda(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def needs_cuda(item):
    """Whether a test is in tests/gpu, or waits for CUDA: one that is skipped *because* of CUDA does not."""
    if HERE in Path(item.path).parents:
        return True
    reasons = [str(marker.kwargs.get("reason", "")) for marker in item.iter_markers("skipif")]
    return any("needs a CUDA" in reason or "without CUDA" in reason for reason in reasons)


class Outcomes:
    """counts: outcome -> number. failures and skipped: {"test", "says"} each. slowest: the longest five."""

    def __init__(self, file):
        self._file, self._seconds = file, Counter()
        self._counts, self._failures, self._skipped = Counter(), [], []
        self._finished = False

    def pytest_runtest_logreport(self, report):
        self._seconds[report.nodeid] += report.duration
        if report.failed:
            self._counts["failed" if report.when == "call" else "error"] += 1
            self._failures.append({"test": report.nodeid, "says": _end_of(report.longreprtext)})
        elif report.skipped:
            self._counts["skipped"] += 1
            says = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self._skipped.append({"test": report.nodeid, "says": says})
        elif report.when == "call":
            self._counts["passed"] += 1
        if report.when == "teardown":
            self._write()

    def pytest_collectreport(self, report):
        if report.failed:
            self._counts["error"] += 1
            self._failures.append({"test": report.nodeid, "says": _end_of(report.longreprtext)})

    def pytest_sessionfinish(self):
        self._finished = True
        self._write()

    def _write(self):
        result_file.write(
            {
                "counts": dict(self._counts),
                "failures": self._failures,
                "skipped": self._skipped,
                "slowest": [
                    {"test": test, "seconds": round(s, 2)} for test, s in self._seconds.most_common(5)
                ],
                "finished": self._finished,
            },
            self._file,
        )


def _end_of(text):
    """The last lines of a traceback: what failed and where."""
    return text[-1500:]
