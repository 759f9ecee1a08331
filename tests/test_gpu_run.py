"""`make gpu` as far as a machine without a GPU can show it: every part on a CPU, with small things to do."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import types

import pytest
import torch

from amp_lessons import policy
from amp_lessons.recorder import record_loop
from tests.gpu import (
    __main__ as run,
    apart,
    cuda_tests,
    lessons,
    machine,
    outcomes,
    product_speed,
    result_file,
    speed,
    training_speed,
    wheels,
    workloads,
)
from tests.gpu.budget import Budget
from tests.gpu.loops import FITS, OPTIMIZERS, TOO_LARGE, bits, train
from tests.gpu.precisions import PRECISIONS, tf32

DESCRIBED = {"date": "2026-01-01T00:00:00+00:00", "commit": "0" * 40, "dirty": False}


def tiny_classifier():
    return workloads.digits_classifier(width=8, batch=4)


def tiny_gpt(texts):
    return workloads.gpt(texts, vocabulary=16, width=8, layers=1, heads=2, context=8)


@pytest.fixture
def results(tmp_path):
    """The file that a run is to write, and how to read it."""
    file = tmp_path / "away" / "results.json"
    return types.SimpleNamespace(file=file, read=lambda: json.loads(file.read_text(encoding="utf-8")))


# The run


@pytest.mark.skipif(torch.cuda.is_available(), reason="there it would run")
def test_without_cuda_it_says_so_and_ends_well():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tests.gpu"],
        cwd=machine.ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "There is no CUDA GPU here: nothing to measure.\n")
    assert not re.search(r"\| *(nbclient|amp_lessons|matplotlib)\b", done.stderr)


def test_without_pytorch_it_says_so(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert run.main() == 1
    assert "PyTorch isn't installed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cuda", "hip", "driver", "status", "says"),
    [
        (None, None, "/usr/bin/nvidia-smi", 1, "a build for the CPU only"),
        (None, None, None, 0, run.SENTENCE),
        ("12.8", None, "/usr/bin/nvidia-smi", 0, run.SENTENCE),
        (None, "6.4", "/usr/bin/nvidia-smi", 0, run.SENTENCE),
    ],
)
def test_a_pytorch_that_cannot_use_the_gpu_says_so(monkeypatch, capsys, cuda, hip, driver, status, says):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(shutil, "which", lambda name: driver)
    assert run.main() == status
    said = capsys.readouterr().out
    assert says in said and ("PYTHON=" in said and "VENV=" in said) is (status == 1)


def passing(seconds):
    return {"outcome": "passed"}


def raising(seconds):
    raise ZeroDivisionError("in /home/somebody/amp/lesson.py")


def test_a_part_that_fails_stops_no_other(results, capsys):
    parts = {"lessons": (5, raising), "tests": (5, passing), "speed": (5, lambda s: {"outcome": "measured"})}
    assert run.run_parts(results.file, parts, DESCRIBED) == 1
    written = results.read()
    assert written["lessons"]["outcome"] == "failed"
    assert written["lessons"]["error"] == "ZeroDivisionError: in lesson.py"
    assert (written["tests"]["outcome"], written["speed"]["outcome"]) == ("passed", "measured")
    assert written["schema"] == 1 and written["commit"] == "0" * 40
    assert "=== lessons: failed. ZeroDivisionError" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lessons_end", "tests_end", "speed_end", "status"),
    [
        ("passed", "passed", "measured", 0),
        ("passed", "passed", "failed", 0),
        ("cut", "passed", "measured", 1),
        ("passed", "failed", "measured", 1),
        ("passed", "cut", "measured", 1),
    ],
)
def test_the_status_depends_on_lessons_and_tests(results, lessons_end, tests_end, speed_end, status):
    ends = {"lessons": lessons_end, "tests": tests_end, "speed": speed_end}
    parts = {name: (5, lambda seconds, end=end: {"outcome": end}) for name, end in ends.items()}
    assert run.run_parts(results.file, parts, DESCRIBED) == status


def test_a_part_gets_no_more_than_its_own_time_nor_than_is_left(results):
    given = []

    def part(seconds):
        given.append(seconds)
        return {"outcome": "passed"}

    run.run_parts(results.file, {"lessons": (20, part), "tests": (90, part)}, DESCRIBED, whole_run=30)
    assert given[0] == 20 and 29 < given[1] < 30


def test_parts_without_time_are_cut_and_say_so(results):
    parts = {"lessons": (20, raising), "tests": (20, raising)}
    assert run.run_parts(results.file, parts, DESCRIBED, whole_run=2) == 1
    for name in parts:
        assert results.read()[name]["outcome"] == "cut"
        assert "was spent before this part" in results.read()[name]["error"]


def test_the_parts_fit_into_the_run(monkeypatch):
    parts, given = run.parts("notebooks"), []
    monkeypatch.setattr(wheels, "install", lambda seconds: given.append(seconds))
    assert parts["packages"][1](7) == {"outcome": "passed"} and given == [7]
    assert list(parts) == ["packages", "lessons", "tests", "speed"]
    assert sum(parts[name][0] for name in ("lessons", "tests", "speed")) <= 450 < 8 * 60


def test_what_cannot_be_found_out_is_an_error_in_its_place():
    described = run.description()
    assert set(described) == {"date", "commit", "dirty", "device", "versions"}
    assert "error" in described["device"] or torch.cuda.is_available()
    assert described["versions"]["torch"] == torch.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", described["date"])


def test_the_device_as_a_gpu_would_have_it(monkeypatch):
    properties = types.SimpleNamespace(name="A GPU", total_memory=10, multi_processor_count=2)
    fake = {
        "get_device_properties": lambda index: properties,
        "get_device_capability": lambda index: (9, 0),
        "mem_get_info": lambda index: (7, 10),
        "device_count": lambda: 1,
        "is_bf16_supported": lambda including_emulation=True: including_emulation,
    }
    for name, function in fake.items():
        monkeypatch.setattr(torch.cuda, name, function)
    device = machine.device()
    assert (device["name"], device["capability"], device["memory_bytes"]) == ("A GPU", [9, 0], 10)
    assert (device["bf16"], device["bf16_with_emulation"]) == (False, True)
    json.dumps(device)


def test_without_git_the_commit_is_taken_from_the_environment(monkeypatch):
    monkeypatch.setattr(machine, "_said", lambda *command: None)
    monkeypatch.setenv("AMP_COMMIT", "abc")
    assert machine.commit() == {"commit": "abc", "dirty": None}
    monkeypatch.delenv("AMP_COMMIT")
    assert machine.commit() == {"commit": None, "dirty": None}


@pytest.mark.parametrize(("status", "dirty"), [("", False), (" M README.md", True), (None, None)])
def test_the_commit_from_git(monkeypatch, status, dirty):
    said = {"--show-prefix": "", "HEAD": "def", "--porcelain": status}
    monkeypatch.setattr(machine, "_said", lambda *command: said[command[-1]])
    assert machine.commit() == {"commit": "def", "dirty": dirty}


# The JSON


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("File /home/me/amp/x.py, line 3", "File x.py, line 3"),
        ('"/usr/lib/python3.12/site-packages/torch/a.py"', '"a.py"'),
        ("C:\\Users\\me\\x.py failed", "x.py failed"),
        ("~/.cache/amp/x", "x"),
        ("tests/gpu/test_a.py::test_b", "tests/gpu/test_a.py::test_b"),
        ("https://pytorch.org/docs/stable", "https://pytorch.org/docs/stable"),
        ("3 / 4 and 1/2, a\nb", "3 / 4 and 1/2, a\nb"),
    ],
)
def test_of_a_path_only_the_name_is_written(results, text, stays):
    result_file.write({"deep": [{"text": text}]}, results.file)
    assert results.read() == {"deep": [{"text": stays}]}


@pytest.mark.parametrize(("value", "text"), [("nan", "nan"), ("inf", "inf"), ("-inf", "-inf")])
def test_what_is_no_finite_number_is_written_as_its_text(results, value, text):
    result_file.write({"steps": [{"loss": float(value), "scale": 1.5}]}, results.file)
    assert results.read() == {"steps": [{"loss": text, "scale": 1.5}]}


def test_what_json_cannot_hold_is_refused_and_the_old_file_stays(results):
    result_file.write({"a": 1}, results.file)
    with pytest.raises(TypeError):
        result_file.write({"a": object()}, results.file)
    assert results.read() == {"a": 1}


# Lessons


def lesson(folder, name, *sources, tags=()):
    import nbformat

    cells = [nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)}) for source in sources]
    cells.insert(0, nbformat.v4.new_markdown_cell("# A lesson"))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / f"{name}.ipynb")


def is_running(process):
    """Whether there is such a process, one that ended and waits for its parent not counted."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", process], capture_output=True, text=True)
    return bool(done.stdout.strip()) and not done.stdout.startswith("Z")


def kernel_and_child(folder):
    """A cell's source: it starts a process, and writes its own number and that one's to `folder`."""
    return (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(folder / 'processes')!r}, 'a').write(f'{{os.getpid()}} {{child.pid}} ')"
    )


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
@pytest.mark.parametrize(
    ("last", "seconds", "outcome"),
    [("x = 1", 60, "passed"), ("x = 1 / 0", 60, "failed"), ("while True: pass", 3, "cut")],
)
def test_no_process_of_a_lesson_outlives_it(tmp_path, monkeypatch, last, seconds, outcome):
    monkeypatch.setattr("tests.gpu.budget.ENOUGH_TO_START", 0.5)
    lesson(tmp_path, "00_lesson", kernel_and_child(tmp_path), last)
    assert lessons.run(tmp_path, seconds)["outcome"] == outcome
    processes = (tmp_path / "processes").read_text().split()
    assert len(processes) == 2
    until = time.monotonic() + 2  # a killed process is gone a moment later
    while any(map(is_running, processes)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_running, processes))


@pytest.mark.slow
def test_a_kernel_that_does_not_start_in_time_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.gpu.budget.ENOUGH_TO_START", 0.5)
    (tmp_path / "sitecustomize.py").write_text("import time; time.sleep(60)")
    monkeypatch.setattr(lessons, "environment", lambda: os.environ | {"PYTHONPATH": str(tmp_path)})
    lesson(tmp_path, "00_lesson", "x = 1")
    (result,) = lessons.run(tmp_path, 1.2)["notebooks"]
    assert (result["outcome"], result["cell"]) == ("cut", None) and result["seconds"] < 5


def test_lessons_that_pass_and_one_that_fails(tmp_path):
    environment = (
        "import os, sys\nassert os.environ['AMP_LESSONS_HOME'] and 'OMP_NUM_THREADS' not in os.environ"
    )
    same_python = f"assert sys.executable == {sys.executable!r}\nimport amp_lessons"
    lesson(tmp_path, "00_good", environment, same_python)
    lesson(tmp_path, "01_bad", "x = 1", "\ny = x / 0\nz = 1", "raise SystemExit")
    result = lessons.run(tmp_path, 60)
    good, bad = result["notebooks"]
    assert result["outcome"] == "failed"
    assert (good["name"], good["outcome"], good["cell"], good["error"]) == ("00_good", "passed", None, None)
    assert (bad["outcome"], bad["cell"], bad["source"]) == ("failed", 2, "y = x / 0")
    assert bad["error"] == "ZeroDivisionError: division by zero"
    assert good["seconds"] > 0


def test_a_lesson_that_takes_too_long_is_cut_and_so_are_those_after_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.gpu.budget.ENOUGH_TO_START", 0.5)
    lesson(tmp_path, "00_slow", "import time", "time.sleep(60)")
    lesson(tmp_path, "01_later", "x = 1")
    result = lessons.run(tmp_path, 1.5)
    assert result["outcome"] == "cut"
    assert [each["outcome"] for each in result["notebooks"]] == ["cut", "cut"]
    assert result["notebooks"][0]["source"] == "time.sleep(60)"


def test_no_lessons_is_no_success(tmp_path):
    assert lessons.run(tmp_path, 5) == {"outcome": "failed", "notebooks": []}


# Tests that need CUDA

SOME_TESTS = """
import pytest
needs_cuda = pytest.mark.skipif(False, reason="needs a CUDA device")
def test_of_no_interest(): assert False
@needs_cuda
def test_that_passes(): pass
@needs_cuda
def test_that_fails(): assert [1] == [2]
@needs_cuda
def test_that_skips(): pytest.skip("needs 5 GiB of free GPU memory")
@pytest.mark.skipif(True, reason="there a GPU answers")
def test_for_other_machines(): pass
"""


@pytest.mark.slow
def test_only_tests_that_need_cuda_are_run(tmp_path):
    file = tmp_path / "test_some.py"
    file.write_text(SOME_TESTS)
    result = cuda_tests.run(60, ["--rootdir", str(tmp_path), str(file)])
    assert (result["outcome"], result["counts"]) == (
        "failed",
        {"passed": 1, "failed": 1, "skipped": 1},
    )
    assert result["skipped"][0]["says"].endswith("needs 5 GiB of free GPU memory")
    (failure,) = result["failures"]
    assert "test_that_fails" in failure["test"] and "assert [1] == [2]" in failure["says"]
    assert str(tmp_path) not in json.dumps(result_file.without_paths(result))


@pytest.mark.parametrize(
    ("ended", "counts", "finished", "outcome"),
    [
        ("well", {"passed": 2, "skipped": 1}, True, "passed"),
        ("well", {"skipped": 2}, True, "failed"),
        ("badly", {"passed": 2}, False, "failed"),
        ("cut", {"passed": 2}, False, "cut"),
    ],
)
def test_what_counts_as_passed(monkeypatch, ended, counts, finished, outcome):
    told = {"counts": counts, "failures": [], "skipped": [], "slowest": [], "finished": finished}
    monkeypatch.setattr(apart, "run", lambda *arguments: (ended, told))
    assert cuda_tests.run(5)["outcome"] == outcome


def test_a_memory_test_without_room_is_no_success(monkeypatch):
    skipped = [
        {"test": "tests/gpu/test_memory_on_cuda.py::test_a", "says": "Skipped: needs 4 GiB"},
        {"test": "tests/gpu/test_formats_on_cuda.py::test_b", "says": "Skipped: an AMD GPU"},
    ]
    told = {"counts": {"passed": 9, "skipped": 2}, "failures": [], "slowest": [], "finished": True}
    monkeypatch.setattr(apart, "run", lambda *arguments: ("well", told | {"skipped": skipped}))
    result = cuda_tests.run(5)
    assert result["outcome"] == "cut" and "1 memory test was skipped" in result["error"]
    monkeypatch.setattr(apart, "run", lambda *arguments: ("well", told | {"skipped": skipped[1:]}))
    assert cuda_tests.run(5)["outcome"] == "passed"


def test_memory_tests_are_told_by_their_file():
    assert (machine.ROOT / "tests" / "gpu" / cuda_tests.MEMORY_TESTS).exists()


def test_the_files_with_such_tests():
    files = cuda_tests.files_with_such_tests()
    assert files[0] == "tests/gpu"
    assert {"tests/test_policy.py", "tests/test_op_dtypes.py", "tests/test_memory.py"} <= set(files)
    assert "tests/test_gpu_run.py" not in files


def test_a_process_that_takes_too_long_is_ended_and_what_it_wrote_is_kept():
    code = "import sys, time; open(sys.argv[1], 'w').write('[1]'); time.sleep(60)"
    assert apart.run(["-c", code], 1.0) == ("cut", [1])
    assert apart.run(["-c", "raise SystemExit(3)"], 20) == ("badly", None)


def test_the_plugin_keeps_what_waits_for_cuda():
    def item(reason, path="tests/test_a.py"):
        marker = types.SimpleNamespace(kwargs={"reason": reason})
        return types.SimpleNamespace(path=machine.ROOT / path, iter_markers=lambda name: [marker])

    assert outcomes.needs_cuda(item("needs a CUDA device"))
    assert outcomes.needs_cuda(item("without CUDA such a scaler is off"))
    assert not outcomes.needs_cuda(item("there torch.cuda answers"))
    assert outcomes.needs_cuda(item("an AMD GPU", path="tests/gpu/test_a.py"))


# Speed


@pytest.fixture
def quick(monkeypatch):
    """One or two calls of each are enough here, whatever else the machine does."""
    monkeypatch.setattr(speed, "STEP_SECONDS", 0.01)
    monkeypatch.setattr(speed, "PRODUCT_SECONDS", 0.01)


def test_all_that_is_measured(results, quick):
    def note(measured):
        result_file.write(measured, results.file)

    measured = speed.measure_all("cpu", 60, tiny_classifier(), (8, 16), tiny_gpt, 2, note)
    assert results.read() == measured
    assert measured["left_out"] == measured["notes"] == [] and speed.outcome_of([]) == "measured"
    steps = [(each["model"].split("(")[0], each["precision"]) for each in measured["steps"]]
    assert steps == [(model, name) for model in ("digits_classifier", "TinyGPT") for name in PRECISIONS]
    for each in measured["steps"]:
        assert 1 <= len(each["seconds"]) <= training_speed.REPEATS and min(each["seconds"]) > 0
        assert each["kept_bytes"] > 0 and each["peak_bytes"] is None
        assert (each["scale"] is None) is (each["precision"] != "fp16 with scaler")
    products = [(each["size"], each["precision"]) for each in measured["products"]]
    assert products == [(size, name) for size in (8, 16) for name in product_speed.FORMATS]


def test_what_takes_longest_comes_last(quick, capsys):
    speed.measure_all("cpu", 60, tiny_classifier(), (8,), tiny_gpt, 2, lambda results: None)
    said = re.findall(r"measured: (product|digits|TinyGPT)", capsys.readouterr().out)
    assert list(dict.fromkeys(said)) == ["product", "digits", "TinyGPT"]


@pytest.mark.parametrize(
    ("device", "capability", "hip", "supported"),
    [
        ("cpu", None, None, True),
        ("cuda", (7, 5), None, False),
        ("cuda", (8, 0), None, True),
        ("cuda", (9, 0), "6.4", True),
    ],
)
def test_what_a_gpu_only_emulates_is_not_measured(monkeypatch, device, capability, hip, supported):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    monkeypatch.setattr(torch.version, "hip", hip)
    names, notes = speed.for_this_device(PRECISIONS, device)
    assert names == (list(PRECISIONS) if supported else ["fp32", "fp16 with scaler"])
    assert len(notes) == (0 if supported else 2)
    if not supported:
        assert notes[0].startswith("fp32 with tf32: not measured") and "capability 7.5" in notes[0]


def test_what_is_not_measured_on_this_device_is_a_note_and_no_failure(monkeypatch, quick):
    monkeypatch.setattr(speed, "for_this_device", lambda names, device: (["fp32"], ["bf16: not measured"]))
    measured = speed.measure_all("cpu", 60, tiny_classifier(), (8,), tiny_gpt, 1, lambda results: None)
    assert {each["precision"] for each in measured["steps"] + measured["products"]} == {"fp32"}
    assert measured["notes"] == ["bf16: not measured"] and measured["left_out"] == []


def test_what_there_is_no_time_for_is_left_out_and_named():
    measured = speed.measure_all("cpu", 1, tiny_classifier(), (8,), tiny_gpt, 2, lambda results: None)
    assert measured["steps"] == measured["products"] == []
    assert len(measured["left_out"]) == 2 * len(PRECISIONS) + len(product_speed.FORMATS)
    assert speed.outcome_of(measured["left_out"]) == "cut"


def test_a_model_that_does_not_fit_gets_fewer_texts(monkeypatch, quick):
    measure, tried = training_speed.measure, []

    def tight(workload, name, device, seconds):
        tried.append((workload.batch, name))
        if "GPT" not in workload.name:
            return measure(workload, name, device, seconds)
        if workload.batch > 4 or (workload.batch == 4 and name == "bf16"):
            raise torch.OutOfMemoryError("CUDA out of memory")
        return measure(workload, name, device, seconds)

    monkeypatch.setattr(training_speed, "measure", tight)
    measured = speed.measure_all("cpu", 60, tiny_classifier(), (), tiny_gpt, 8, lambda results: None)
    large = [each for each in measured["steps"] if each["model"].startswith("TinyGPT")]
    assert [each["batch"] for each in large] == [2] * len(PRECISIONS)
    assert tried[4] == (8, "fp32") and measured["left_out"] == []


def test_a_format_that_the_device_lacks_leaves_the_others(monkeypatch, quick):
    measure = product_speed.measure

    def lacking(size, name, device, seconds):
        if name == "bf16":
            raise RuntimeError("no such kernel in /opt/x/lib.so")
        return measure(size, name, device, seconds)

    monkeypatch.setattr(product_speed, "measure", lacking)
    measured = speed.measure_all("cpu", 60, tiny_classifier(), (8,), tiny_gpt, 1, lambda results: None)
    assert [each["precision"] for each in measured["products"]] == ["fp32", "fp32 with tf32", "fp16"]
    assert "no such kernel" in measured["left_out"][0]["why"]
    assert speed.outcome_of(measured["left_out"]) == "failed"


@pytest.mark.parametrize(("gibibytes", "texts"), [(2, 1), (14, 8), (22, 8), (39, 16), (78, 32), (139, 32)])
def test_as_many_texts_as_fit(gibibytes, texts):
    assert workloads.texts_that_fit(gibibytes * 2**30) == texts


def tf32_settings():
    """What every way of asking says; both ways agree, or the older one raises."""
    newer = [getattr(torch.backends, name, None) for name in ("cuda", "mkldnn")]
    return (
        torch.get_float32_matmul_precision(),
        torch.backends.cuda.matmul.allow_tf32,
        *(getattr(getattr(each, "matmul", None), "fp32_precision", None) for each in newer),
    )


@pytest.mark.parametrize("on", [True, False])
def test_tf32_is_set_and_put_back(on):
    before = tf32_settings()
    with pytest.raises(ZeroDivisionError), tf32(on):
        assert tf32_settings()[:2] == ("high" if on else "highest", on)
        assert tf32_settings()[2] in ("tf32" if on else "ieee", None)
        raise ZeroDivisionError
    assert tf32_settings() == before


@pytest.mark.parametrize("on", [True, False])
def test_tf32_that_was_set_in_the_newer_way_only_is_put_back(on):
    matmul = torch.backends.cuda.matmul
    if not hasattr(matmul, "fp32_precision"):
        pytest.skip("this PyTorch has the older way only")
    before = matmul.fp32_precision
    try:
        matmul.fp32_precision = "tf32"
        with tf32(on):
            assert tf32_settings()[:2] == ("high" if on else "highest", on)
        assert matmul.fp32_precision == "tf32"
    finally:
        torch.set_float32_matmul_precision("highest")
        matmul.fp32_precision = torch.backends.mkldnn.matmul.fp32_precision = before


# Packages


def test_nothing_is_installed_where_nothing_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(wheels, "missing", lambda: [])
    monkeypatch.setattr(wheels, "_pip", lambda *a, **k: pytest.fail("pip was called"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    wheels.install(tmp_path, tmp_path / "site")


def test_what_is_missing_is_installed_from_the_wheels_alone(tmp_path, monkeypatch):
    for name in ("torch-1.0-py3-none-any.whl", "not_here_at_all-1.0-py3-none-any.whl"):
        (tmp_path / name).touch()
    told, asked = [["nbclient"], []], []
    monkeypatch.setattr(wheels, "missing", lambda: told.pop(0))
    monkeypatch.setattr(wheels, "_pip", lambda *arguments, seconds: asked.append((arguments, seconds)))
    monkeypatch.setattr(sys, "path", list(sys.path))
    wheels.install(tmp_path, tmp_path / "site", seconds=9)
    ((arguments, seconds),) = asked
    assert seconds == 9
    assert {"--no-index", "--no-deps"} <= set(arguments)
    assert [each for each in arguments if each.endswith(".whl")] == [
        str(tmp_path / "not_here_at_all-1.0-py3-none-any.whl")
    ]


def test_pip_is_ended_when_it_takes_too_long():
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"pip list was not done after 0\.1 seconds"):
        wheels._pip("list", seconds=0.1)
    assert time.monotonic() - start < 5


def test_what_stays_missing_is_named_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(wheels, "missing", lambda: ["nbclient", "matplotlib"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(RuntimeError, match="Missing here: nbclient, matplotlib. Install them") as raised:
        wheels.install(tmp_path, tmp_path / "site")
    assert 'ARGS="matplotlib" on a machine with network' in str(raised.value)


def test_the_fetched_versions_are_those_of_the_requirements(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(wheels, "_pip", lambda *arguments: asked.extend(arguments))
    wheels.fetch(["matplotlib"], tmp_path, python="3.12")
    names = [each.split("==")[0] for each in asked if "==" in each]
    assert names == [*wheels.FETCHED, "matplotlib"]
    assert asked[asked.index("--python-version") + 1] == "3.12"


# What the CUDA tests are made of


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_loops_do_on_a_cpu_what_they_are_for(optimizer):
    with record_loop() as recording:
        _, _, scaler, _ = train("cpu", optimizer, scale=TOO_LARGE)
    skipped = sum(event.kind == "skip" for event in recording.events)
    assert 0 < skipped < 12 and scaler.get_scale() == TOO_LARGE / 2**skipped
    assert recording.findings == []
    how = {"optimizer": optimizer, "scale": FITS, "clip": "scaled"}
    with record_loop() as recording:
        recorded = bits(*train("cpu", **how))
    assert [each.rule for each in recording.findings] == ["clip-before-unscale"]
    assert recorded == bits(*train("cpu", **how))


def test_answers_as_text():
    from tests.gpu.test_policy_on_cuda import as_text

    outputs = policy.ask("binary_cross_entropy", "cuda").outputs
    assert set(as_text(outputs).values()) == {"refused"}
    assert "torch.float32" in as_text(policy.ask("softmax", "cuda").outputs).values()


@pytest.mark.parametrize("error", [RuntimeError, ValueError, TypeError])
def test_each_way_of_refusing_counts_as_one(monkeypatch, error):
    from tests.gpu import test_policy_on_cuda

    def refuse(*arguments):
        raise error("not in this dtype")

    monkeypatch.setattr(test_policy_on_cuda, "dtype_that_comes_out", refuse)
    found = test_policy_on_cuda.on_real_tensors("mm", torch.float16, {(torch.float32,): "refused"})
    assert test_policy_on_cuda.as_text(found) == {"torch.float32": "refused"}


def test_a_budget_is_spent_a_little_before_its_end():
    assert Budget(4).is_spent() and not Budget(60).is_spent()
    assert Budget(0).left() == 0
