"""The picture of a run's loss scale: what it says and marks comes from the numbers."""

import math
import re

import pytest
import torch

from amp_lessons import figures
from amp_lessons.figures.scale_trace import ScaleRun


def run(steps=60, start=16, interval=5, overflows=(), limit=999):
    """Scales and skips of a run that overflows at certain steps, and where the exponent is above a limit."""
    scales, skipped, exponent, counter = [], [], start, 0
    for step in range(steps):
        skip = step in overflows or exponent > limit
        scales.append(2.0**exponent)
        skipped.append(skip)
        counter = 0 if skip else counter + 1
        exponent += -1 if skip else counter == interval
        counter %= interval
    return scales, skipped


NAN, INF = math.nan, math.inf
SETTLING = run(100, 24, interval=30, limit=15)
ODD = [4.0, 2.0, 1.0, 0.0, 0.0, NAN, 8.0, INF], [True] * 5 + [False] * 3
EVERY = {
    "settling": lambda: figures.scale_trace(*SETTLING),
    "long": lambda: figures.scale_trace(*run(2000, 16, 200, limit=15)),
    "two that part": lambda: figures.scale_trace({"PyTorch": run(), "yours": run(overflows=[41])}),
    "two that agree": lambda: figures.scale_trace({"PyTorch": run(), "yours": run()}),
    "six runs": lambda: figures.scale_trace({f"growth interval {n}": run(interval=n) for n in range(1, 7)}),
    "odd": lambda: figures.scale_trace(*ODD),
    "only zero": lambda: figures.scale_trace([0.0] * 3, [True] * 3),
    "only inf": lambda: figures.scale_trace([INF], [True]),
    "only NaN": lambda: figures.scale_trace([NAN] * 2, [False] * 2),
    "one step": lambda: figures.scale_trace([65536.0], [True]),
    "flat": lambda: figures.scale_trace([65536.0] * 50, [False] * 50),
    "no power of two": lambda: figures.scale_trace([1000.0, 300.0, 7.5], [True, True, False]),
    "the whole range": lambda: figures.scale_trace([2.0**k for k in range(127, -150, -1)], [True] * 277),
    "a long title": lambda: figures.scale_trace(*run(), title="The scale and what becomes of it " * 4),
}  # fmt: skip


def message(picture):
    return picture.figure.get_suptitle()


def markers(picture, kind):
    """x and y of all markers of a kind."""
    return [
        (x, y)
        for line in picture.figure.axes[0].lines
        if line.get_marker() == kind
        for x, y in zip(line.get_xdata(), line.get_ydata())
    ]


def tick_labels(picture):
    return [label.get_text() for label in picture.figure.axes[0].get_yticklabels()]


@pytest.mark.parametrize("name", EVERY)
def test_it_displays_with_alternative_text_and_no_text_is_cut_off(name):
    picture = EVERY[name]()
    markup = picture.html()
    assert f'<img alt="{picture.alt}"' in markup and len(markup) < 120_000
    assert 700 <= int(re.search(r"width:(\d+)px", markup)[1]) <= 950
    figure = picture.figure
    figure.draw_without_rendering()
    width, height = figure.canvas.get_width_height()
    (axes,) = figure.axes
    low, high = axes.get_ylim()
    assert all(low < tick < high for tick in axes.get_yticks())
    texts = [figure._suptitle, axes.xaxis.label, axes.yaxis.label, *axes.get_yticklabels()]
    texts += axes.get_legend().get_texts() if axes.get_legend() else []
    for text in texts:
        box = text.get_window_extent()
        assert box.x0 > -2 and box.y0 > -2 and box.x1 < width + 2 and box.y1 < height + 2, text.get_text()
    assert axes.get_window_extent().width > 0.75 * width and axes.get_window_extent().height > 0.3 * height


def test_the_first_skips_are_counted_marked_and_told():
    picture = figures.scale_trace(*SETTLING)
    assert message(picture) == "The first 9 steps are skipped, later 2 more"
    assert picture.alt == (
        "Loss scale over 100 steps: it is 2²⁴ = 16,777,216 at first and 2¹⁵ = 32,768 at the last step. "
        "11 steps are skipped, marked by crosses; the first step taken is step 9. The scale grows 2 times, "
        "first at step 39."
    )
    assert markers(picture, "x") == [(step, 24 - step) for step in range(9)] + [(39, 16), (70, 16)]
    assert markers(picture, "^") == [(39, 16), (70, 16)]
    assert tick_labels(picture) == ["2²⁴", "2²²", "2²⁰", "2¹⁸", "2¹⁶"]


def test_a_growth_is_drawn_at_the_scale_it_leads_to():
    """Not below it, where it would be read as a lower scale; and it is seen beside a skip's cross there."""
    picture = figures.scale_trace(*SETTLING)
    by_marker = {line.get_marker(): line for line in picture.figure.axes[0].lines}
    triangle, cross = by_marker["^"], by_marker["x"]
    assert triangle.get_transform() == picture.figure.axes[0].transData  # nothing shifts it
    assert set(markers(picture, "^")) < set(markers(picture, "x"))
    assert triangle.get_markersize() > 1.2 * cross.get_markersize()
    assert triangle.get_zorder() < cross.get_zorder()


def test_every_run_has_a_line_of_its_own():
    lines = EVERY["six runs"]().figure.axes[0].lines
    assert len({(str(line.get_color()), line.get_linestyle()) for line in lines[:6]}) == 6


@pytest.mark.parametrize(
    ("scales", "skipped", "says", "alt"),
    [
        (*run(30, 18, 99, limit=16), "The first 2 steps are skipped, until the scale is down to 2¹⁶",
         "2 steps are skipped"),
        (*run(9, 17, 99, limit=16), "The first step is skipped, until the scale is down to 2¹⁶", "1 step is"),
        (*run(9, interval=99), "No step is skipped, and the scale stays at 2¹⁶", "No step is skipped."),
        (*run(9), "No step is skipped, and the scale goes from 2¹⁶ to 2¹⁷", "grows once, first at step 5"),
        (*run(9, interval=99, overflows=[4]), "1 of 9 steps is skipped, and the scale goes from 2¹⁶ to 2¹⁵",
         "1 step is skipped, marked by crosses, the first of them step 4."),
        (*run(4, limit=0), "Every step is skipped, and the scale goes from 2¹⁶ to 2¹³",
         "Every step is skipped."),
        (*ODD, "The first 5 steps are skipped", "The scale is 0 at 2 steps, first at step 3. The scale is "
         "infinite at 1 step, first at step 7. The scale is NaN at 1 step, first at step 5."),
        ([1.0], [True], "Every step is skipped, and the scale stays at 2⁰", "over 1 step:"),
    ],
)  # fmt: skip
def test_title_and_alternative_text_say_what_the_numbers_say(scales, skipped, says, alt):
    picture = figures.scale_trace(scales, skipped)
    assert message(picture) == says and alt in picture.alt


def test_a_scale_of_zero_or_infinity_has_a_row_and_nan_leaves_a_gap():
    picture = figures.scale_trace(*ODD)
    line = next(line for line in picture.figure.axes[0].lines if line.get_drawstyle() == "steps-mid")
    heights = list(line.get_ydata())
    ticks = dict(zip(tick_labels(picture), picture.figure.axes[0].get_yticks()))
    assert heights[:3] == [2, 1, 0] and heights[3] == heights[4] == ticks["0"] < 0
    assert math.isnan(heights[5]) and heights[7] == ticks["∞"] > 3
    assert "0" not in tick_labels(figures.scale_trace(*SETTLING))


def test_two_runs_are_compared_step_by_step():
    assert (
        message(EVERY["two that agree"]()) == "PyTorch and yours agree at every step: same scale, same skips"
    )
    parted = EVERY["two that part"]()
    assert message(parted) == "PyTorch and yours part at step 41"
    assert "Loss scale of PyTorch over 60 steps" in parted.alt and "Loss scale of yours" in parted.alt
    skip_only = figures.scale_trace({"a": ([1.0] * 3, [False] * 3), "b": ([1.0] * 3, [False, False, True])})
    assert message(skip_only) == "a and b part at step 2"
    shorter = figures.scale_trace({"a": run(20), "b": run(30)})
    assert message(shorter) == "a and b agree over 20 steps: same scale, same skips"
    from_the_start = figures.scale_trace({"from 2²⁴": SETTLING, "from 2¹⁰": run(100, 10, 30)})
    assert message(from_the_start) == "Skipped: 11 of 100 steps (from 2²⁴), 0 of 100 steps (from 2¹⁰)"
    same_nan = figures.scale_trace({"a": ([1.0, NAN], [0, 0]), "b": ([1.0, NAN], [0, 0])})
    assert "agree at every step" in message(same_nan)


def test_labels_are_another_way_to_give_several_runs():
    first, second = run(), run(overflows=[41])
    listed = figures.scale_trace([first[0], second[0]], [first[1], second[1]], labels=["PyTorch", "yours"])
    assert listed.alt == EVERY["two that part"]().alt
    names = [text.get_text() for text in listed.figure.axes[0].get_legend().get_texts()]
    assert names == ["PyTorch", "yours", "scale has grown", "step skipped"]


def test_a_title_of_ones_own_replaces_the_message():
    assert message(figures.scale_trace(*run(), title="Today right")) == "Today right"
    assert "\n" in message(EVERY["a long title"]())


def test_tensors_and_found_inf_values_are_taken():
    scales = torch.tensor([4.0, 2.0])
    for skipped in (torch.tensor([True, False]), [torch.tensor(1.0), torch.tensor(0.0)], (1, 0)):
        assert figures.scale_trace(scales, skipped).alt == figures.scale_trace([4, 2], [True, False]).alt


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([], []), ValueError, "at least one step"),
        (([1.0, 2.0], [True]), ValueError, "2 scales and 1 entries.*one True or False for each step"),
        (([1.0, 2.0, 4.0], [0, 1, 2]), ValueError, "an entry of `skipped` is 2, not True or False"),
        (([1.0], [0.5]), ValueError, "an entry of `skipped` is 0.5, not True or False"),
        (([1.0], [NAN]), ValueError, "an entry of `skipped` is nan, not True or False"),
        (([True, False], [65536.0, 32768.0]), ValueError, r"65536, not.*order is scale_trace\(scales, sk"),
        (([1.0, 2.0, 4.0], [1, 2]), ValueError, "3 scales and 2 entries"),
        (({"a": ([1.0], [7])},), ValueError, "run 'a': an entry of `skipped` is 7"),
        (({1: ([1.0], [True]), "1": ([1.0], [True])},), ValueError, "two runs have the label '1'"),
        (([[1.0]] * 2, [[True]] * 2, None, ["a", "a"]), ValueError, "two runs have the label 'a'"),
        (({n: ([1.0], [True]) for n in range(7)},), ValueError, "7 runs: draw at most 6"),
        (([1.0, -2.0], [True, False]), ValueError, "scale of -2: a loss scale is never negative"),
        ((1.0, [True]), TypeError, "scales is a list with one entry for each step, not 1.0"),
        (([1.0],), TypeError, "skipped is a list"),
        ((["high"], [True]), TypeError, "single number"),
        (({},), ValueError, "at least one run"),
        (({"a": [1.0, 2.0, 4.0]},), ValueError, r"run 'a' needs two lists: \(scales, skipped\)"),
        (({"a": ([1.0], [])},), ValueError, "run 'a': there are 1 scales and 0 entries"),
        (({"a": ([1.0], [True])}, [True]), ValueError, "put each run's skips into it"),
        (([[1.0]], [[True]], None, ["a", "b"]), ValueError,
         "2 labels came with 1 lists of scales and 1 of skips"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_gets_advice(arguments, error, words):
    with pytest.raises(error, match=words):
        figures.scale_trace(*arguments)


def test_a_run_knows_its_growths_and_skips():
    trace = ScaleRun([2.0, 4.0, 4.0, 2.0, 0.0], [False, False, True, True, True])
    assert trace.growths == [1] and trace.skips == [2, 3, 4] and trace.first_taken == 0
