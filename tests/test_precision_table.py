"""The table of runs in several precisions: its cells, its reading, and what it refuses."""

import pytest
import torch

from amp_lessons.figures import precision_table
from amp_lessons.memory import kept_for_backward
from amp_lessons.timing import median_seconds

ROWS = {
    "FP32": {"accuracy": [0.96, 0.97], "seconds": 0.010, "kept": 2**20, "peak": None},
    "FP16 + scaler": {"accuracy": [0.965, 0.97], "seconds": 0.120, "kept": 2**19},
    "BF16": {"accuracy": [0.955, 0.97], "seconds": 0.005, "kept": 2**19},
}


def reading(rows, device="cpu"):
    return " ".join(precision_table(rows, device).reading())


def test_a_row_for_each_precision_and_a_column_for_what_was_measured():
    columns = precision_table(ROWS, "cpu").columns()
    assert columns["time of a step"] == ["10.00 ms", "120.00 ms", "5.00 ms"]
    assert columns["accuracy (over the seeds)"][0] == "96.5% (96.0% to 97.0%)"
    assert columns["kept for backward"] == ["1 MiB", "512 KiB", "512 KiB"]
    assert "peak on the GPU" not in columns


def test_the_reading_compares_with_the_first_row():
    words = reading(ROWS)
    assert "FP16 + scaler takes 12 times as long as FP32" in words
    assert "BF16 is 2 times as fast as FP32" in words
    assert "50% in FP16 + scaler" in words and "50% in BF16" in words
    assert "no fast arithmetic for FP16" in words


def test_why_fp16_is_slow_is_said_only_of_a_cpu_on_which_it_is():
    assert "no fast arithmetic" not in reading(ROWS, "cuda")
    slow_bf16 = {"FP32": {"seconds": 0.01}, "BF16": {"seconds": 0.02}}
    assert "only emulate BF16" in reading(slow_bf16, "cuda") and "emulate" not in reading(slow_bf16)
    fast = {"FP32": {"seconds": 0.01}, "FP16": {"seconds": 0.004}}
    assert "no fast arithmetic" not in reading(fast)
    assert "FP16 is 2.5 times as fast" in reading(fast)


def test_a_small_difference_in_time_is_no_difference():
    assert "BF16 takes about as long as FP32" in reading({"FP32": {"seconds": 1.0}, "BF16": {"seconds": 1.1}})


def test_accuracy_is_judged_by_the_spread_of_the_seeds():
    assert "no precision ahead" in reading(ROWS)
    apart = {"FP32": {"accuracy": [0.97, 0.971]}, "FP16": {"accuracy": [0.5, 0.51]}}
    assert "FP16 lies lowest" in reading(apart)
    assert reading({"FP32": {"accuracy": [0.9]}, "FP16": {"accuracy": [0.8]}}) == ""


def test_memory_that_goes_up_is_told_as_a_multiple():
    assert "9 times as much in BF16" in reading({"FP32": {"kept": 100}, "BF16": {"kept": 900}})


def test_peak_is_shown_where_a_gpu_counted_it():
    table = precision_table({"FP32": {"peak": 4 * 2**20}, "BF16": {"peak": 3 * 2**20}}, "cuda")
    assert table.columns()["peak on the GPU"] == ["4 MiB", "3 MiB"]
    assert "the GPU's peak is, compared with FP32, 75% in BF16" in table.reading()[0]


def test_html_and_text_say_the_same_and_labels_are_escaped():
    table = precision_table({"<b>FP32": {"seconds": 0.01}, "BF16": {"seconds": 0.02}}, "cpu")
    bundle = table._repr_mimebundle_()
    assert "&lt;b&gt;FP32" in bundle["text/html"] and "<b>FP32" not in bundle["text/html"]
    assert bundle["text/plain"] == repr(table)
    assert "BF16 takes 2 times as long" in bundle["text/html"]
    assert repr(table).splitlines()[0].split() == ["time", "of", "a", "step"]


@pytest.mark.parametrize(
    "rows, says",
    [
        ({}, "at least one row"),
        ({"FP32": {"time": 1.0}}, "'time'"),
        ({"FP32": {"accuracy": []}}, "one for each seed"),
        ({"FP32": {"accuracy": [98.0]}}, "from 0 to 1"),
        ({"FP32": {"seconds": 0}}, "above 0"),
        ({"FP32": {"kept": float("nan")}}, "finite"),
        (None, "a dict from labels to rows"),
        ([{"seconds": 1.0}], "a dict from labels to rows"),
        ({"FP32": None}, "row 'FP32' has to be a dict"),
        ({"FP32": {1: 1.0, "time": 1.0}}, "an entry '1'"),
        ({"FP32": {"seconds": median_seconds(int, "cpu", repeats=2)}}, r"not a Timing: add \.median"),
        ({"FP32": {"kept": kept_for_backward(lambda: torch.ones(2))}}, r"not a Kept: add \.total"),
        ({"FP32": {"accuracy": 0.5}}, r"one for each seed, in a list: \[0\.5\]"),
        ({"FP32": {"accuracy": "0.5"}}, "entry of the accuracy of the row 'FP32' must be a number"),
        ({"FP32": {"accuracy": [0.5, None]}}, "not None"),
        ({"FP32": {"accuracy": [True]}}, "not True"),
        ({"FP32": {"accuracy": torch.tensor(0.5)}}, "in a list"),
        ({"FP32": {"seconds": "1"}}, "seconds of the row 'FP32' must be a number, not '1'"),
        ({"FP32": {"peak": True}}, "must be a number, not True"),
        ({"FP32": {"seconds": [0.1, 0.2]}}, "must be a number"),
        ({"FP32": {"kept": torch.ones(2)}}, "must be a number"),
        ({"FP32": {"kept": 10**400}}, "must be a number"),
    ],
)
def test_bad_input_is_refused_in_words(rows, says):
    with pytest.raises(ValueError, match=says):
        precision_table(rows, "cpu")


def test_numbers_may_come_from_tensors():
    columns = precision_table(
        {"FP32": {"seconds": torch.tensor(0.25), "accuracy": torch.tensor([0.5, 0.5]), "kept": 1024}}, "cpu"
    ).columns()
    assert columns["time of a step"] == ["250.00 ms"]
    assert columns["accuracy (over the seeds)"] == ["50.0% (50.0% to 50.0%)"]
