"""An answer leaves nothing behind: no output, no settings, no interrupt."""

import logging
import random
import signal
import sys
import threading
import time
import warnings

import numpy
import pytest
import torch

from amp_lessons import check, hint
from amp_lessons.exercises import settings
from amp_lessons.exercises.guarded import KEPT, guarded
from amp_lessons.exercises.time_limit import TookTooLong, limited_to
from tests import toy


def test_output_is_kept_apart(teach, capsys):
    teach(toy.lesson())
    source = """
import sys, warnings
def halve(x):
    print("to stdout")
    print("to stderr", file=sys.stderr)
    warnings.warn("look out")
    return x / 2
"""
    verdict = check("halve", toy.run_cell(source))
    assert capsys.readouterr() == ("", "")
    for text in ("to stdout", "to stderr", "UserWarning: look out"):
        assert text in verdict.printed and text in repr(verdict)
    assert "<details><summary>What your answer printed" in verdict._repr_mimebundle_()["text/html"]


def test_megabytes_of_output_are_counted_not_kept(teach):
    teach(toy.lesson())
    source = "def halve(x):\n    for _ in range(2000): print('m' * 999)\n    return x / 2"
    verdict = check("halve", toy.run_cell(source))
    assert verdict.outcome == "correct"
    assert len(verdict.printed) < KEPT + 100
    assert verdict.printed.endswith(f"{2 * 2000 * 1000 - KEPT:,} more characters")


def test_html_in_output_is_escaped(teach):
    teach(toy.lesson())
    verdict = check("halve", toy.run_cell("def halve(x):\n    print('<script>')\n    return x / 2"))
    html = verdict._repr_mimebundle_()["text/html"]
    assert "&lt;script&gt;" in html and "<script>" not in html


def test_a_logger_made_inside_still_writes_afterwards(capsys):
    with guarded():
        handler = logging.StreamHandler()
    handler.emit(logging.LogRecord("toy", logging.WARNING, "", 1, "later", None, None))
    assert "later" in capsys.readouterr().out


def test_settings_are_as_before():
    torch.manual_seed(7)
    numpy.random.seed(7)
    random.seed(7)
    before = torch.get_rng_state(), numpy.random.get_state()[1].tolist(), random.getstate()
    depth = torch.autocast_increment_nesting()
    torch.autocast_decrement_nesting()
    filters = list(warnings.filters)
    with pytest.raises(ZeroDivisionError), guarded():
        torch.rand(1), numpy.random.rand(), random.random()
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.autocast("cpu", dtype=torch.float16).__enter__()
        warnings.simplefilter("ignore")
        sys.stdout = None
        raise ZeroDivisionError
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (numpy.random.get_state()[1].tolist(), random.getstate())
    assert torch.is_grad_enabled() and torch.get_default_dtype() == torch.float32
    assert not torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16
    assert torch.autocast_increment_nesting() == depth
    torch.autocast_decrement_nesting()
    assert warnings.filters == filters
    assert sys.stdout is not None


def test_the_notebooks_settings_do_not_reach_the_answer():
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        with guarded():
            weight = torch.ones(2, 2, requires_grad=True)
            product = weight @ weight
        assert not torch.is_grad_enabled() and torch.is_autocast_enabled("cpu")
    assert product.requires_grad and product.dtype == torch.float32


def test_an_open_autocast_region_and_inference_mode_do_not_reach_the_answer():
    """With a region open around it, leaving one would keep its copies of weights: they would be stale."""
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        with guarded():
            weight, x = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
            products = []
            for _ in range(2):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    products.append((x @ weight)[0, 0].item())
                with torch.no_grad():
                    weight.add_(1)
            (x @ weight).sum().backward()
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        assert torch.autocast_increment_nesting() == 2
        torch.autocast_decrement_nesting()
    assert products == [2.0, 4.0]
    assert weight.grad is not None
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_anomaly_detection_left_on_in_the_notebook_does_not_reach_the_answer():
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        with guarded():
            inside = torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
    assert not inside


def test_every_setting_is_as_before():
    before = sys.getrecursionlimit(), torch.get_num_threads()
    with guarded():
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.autograd.set_detect_anomaly(True, check_nan=False)
        torch.set_flush_denormal(True)
        torch.set_default_device("meta")
        torch.set_num_threads(before[1] + 1)
        sys.setrecursionlimit(before[0] + 1)
    assert torch.get_deterministic_debug_mode() == 0
    assert not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
    assert torch.tensor(2.0**-126) / 2 > 0
    assert torch.get_default_device() == torch.device("cpu")
    assert (sys.getrecursionlimit(), torch.get_num_threads()) == before


def test_a_default_device_left_on_in_the_notebook_does_not_reach_the_answer(teach):
    teach(toy.lesson())
    torch.set_default_device("meta")
    try:
        verdict = check("halve", toy.run_cell("def halve(x): return torch.tensor(x / 2)"))
        assert torch.get_default_device() == torch.device("meta")
    finally:
        torch.set_default_device(None)
    assert verdict.outcome == "correct"


def test_what_it_displays_is_counted_and_kept_apart(teach, notebook, capsys):
    teach(toy.lesson())
    source = """
from IPython.display import clear_output, display
import matplotlib.pyplot as plt
def halve(x):
    display(x)
    clear_output()
    plt.figure()
    return x / 2
"""
    verdict = check("halve", toy.run_cell(source))
    assert verdict.outcome == "correct"
    assert "It displayed 4 things" in verdict.printed  # a value and a figure, in each of two tests
    assert capsys.readouterr() == ("", "")
    assert sys.modules["matplotlib.pyplot"].get_fignums() == []
    notebook.run_cell("from IPython.display import display; display(3)")
    assert "3" in capsys.readouterr().out


def test_a_figure_from_before_stays_open():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    mine = pyplot.figure()
    with guarded() as printed:
        pyplot.figure()
    assert pyplot.get_fignums() == [mine.number]
    pyplot.close(mine)
    assert printed.text == "It displayed 1 thing, not shown here."


@pytest.mark.parametrize("name", ["exit", "quit"])
def test_exit_ends_only_the_answer(name, teach, notebook):
    teach(toy.lesson())
    asked = []
    notebook.ask_exit = lambda: asked.append(name)
    notebook.run_cell(f"def halve(x):\n    {name}()")
    verdict = check("halve")
    assert "SystemExit" in repr(verdict) and verdict.points == 0
    assert asked == []
    notebook.ask_exit()
    assert asked == [name]


def test_half_a_character_is_no_end_of_the_verdict(teach):
    teach(toy.lesson())
    for body in ("print('\\ud83d')", "raise ValueError('\\ud83d')"):
        verdict = check("halve", toy.run_cell(f"def halve(x):\n    {body}\n    return x / 2"))
        assert r"\ud83d" in repr(verdict)
        assert r"\ud83d" in verdict._repr_mimebundle_()["text/html"]
        (repr(verdict) + str(verdict._repr_mimebundle_())).encode()
    panel = check("\ud83d", {}), hint("\ud83d")
    "".join(each._repr_mimebundle_()["text/html"] + repr(each) for each in panel).encode()


def test_an_interrupt_beside_the_answer_leaves_no_setting_changed():
    class Stops:
        def __enter__(self):
            signal.raise_signal(signal.SIGINT)

        def __exit__(self, *_):
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with limited_to(5) as call, Stops(), guarded():
        call(lambda: torch.set_default_dtype(torch.float64))
    assert torch.get_default_dtype() == torch.float32
    assert signal.getsignal(signal.SIGINT) is before


def call_within(function, seconds):
    with limited_to(seconds) as call:
        return call(function)


def endless():
    while True:
        pass


def swallows():
    while True:
        try:
            endless()
        except:  # noqa: E722
            pass


def swallows_twice():
    while True:
        try:
            swallows()
        except BaseException:
            "".join(map(str, range(5)))


@pytest.mark.parametrize("function", [endless, swallows, swallows_twice, lambda: time.sleep(60)])
def test_a_call_is_ended(function):
    before = signal.getsignal(signal.SIGINT)
    start = time.monotonic()
    with pytest.raises(TookTooLong):
        call_within(function, 0.1)
    assert time.monotonic() - start < 3
    assert signal.getsignal(signal.SIGINT) is before


def test_no_interrupt_is_left_behind():
    def just_in_time(seconds):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    ended = 0
    for attempt in range(
        200
    ):  # a limit of 5 ms, met by calls of 1 to 21 ms: some end as they are interrupted
        try:
            call_within(lambda: just_in_time(0.001 + attempt * 1e-4), 0.005)
        except TookTooLong:
            ended += 1
    for _ in range(20):  # a stray KeyboardInterrupt would fail the test here
        time.sleep(0.005)
    assert 0 < ended < 200


def test_the_learners_own_stop_is_theirs():
    def stopped():
        signal.raise_signal(signal.SIGINT)
        endless()

    with pytest.raises(KeyboardInterrupt):
        call_within(stopped, 5)


def test_checks_in_threads_take_turns(teach):
    """Each prints only its own, and leaves stdout as it was."""
    teach(toy.lesson())
    out, verdicts = sys.stdout, {}

    def run(name):
        source = f"import time\ndef halve(x):\n    print({name!r})\n    time.sleep(0.05)\n    return x / 2"
        verdicts[name] = check("halve", toy.run_cell(source))

    threads = [threading.Thread(target=run, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.stdout is out
    assert {name: verdict.printed for name, verdict in verdicts.items()} == {n: f"{n}\n" * 2 for n in "abcd"}
    assert all(verdict.outcome == "correct" for verdict in verdicts.values())


def test_a_check_beside_one_that_does_not_end_says_so(teach, monkeypatch):
    teach(toy.lesson())
    monkeypatch.setattr(settings, "_WAIT", 0.05)
    began, end = threading.Event(), threading.Event()

    def holds_on():
        with settings.one_at_a_time():
            began.set()
            end.wait(5)

    thread = threading.Thread(target=holds_on)
    thread.start()
    began.wait(5)
    right = toy.run_cell("def halve(x): return x / 2")
    busy = check("halve", right)
    end.set()
    thread.join()
    assert busy.outcome == "not attempted" and "still running in another thread" in repr(busy)
    assert check("halve", right).outcome == "correct"


def test_outside_the_main_thread_it_is_reported_afterwards(teach):
    teach(toy.lesson(toy.exercise(seconds=0.05)))
    verdicts = []
    namespace = toy.run_cell("import time\ndef halve(x):\n    time.sleep(0.1)\n    return x / 2")
    thread = threading.Thread(target=lambda: verdicts.append(check("halve", namespace)))
    thread.start()
    thread.join()
    assert verdicts[0].points == 0
    assert "ran for more than 0.05 seconds" in repr(verdicts[0])
