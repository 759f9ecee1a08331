"""The picture of a step's memory: what it draws, names and says comes from the numbers."""

import pytest
import torch
import torch.nn.functional as F
from matplotlib.collections import FillBetweenPolyCollection

from amp_lessons import figures, memory
from amp_lessons.figures.memory_timeline import MOST_MOMENTS, MOST_STEPS
from amp_lessons.figures.style import PRECISION_COLOURS
from amp_lessons.memory.step import KINDS, StepMemory, summed_up
from amp_lessons.models import TinyGPT, digits_classifier

GIB = 2**30


def made(peak=4 * GIB, phase="backward", moments=20):
    """A step whose activations rise and fall, up to a peak in a phase."""
    phases = ("forward", "backward", "optimizer step")
    timeline = []
    for at in phases:
        for place in range(moments):
            living = dict.fromkeys(KINDS, 0) | {"parameters": peak // 4, "data": 1024}
            living["activations"] = peak * place // (8 * moments)
            timeline.append((at, living))
        if at == phase:
            timeline[-1 - moments // 3][1]["temporary"] = peak - sum(timeline[-1 - moments // 3][1].values())
    return summed_up(timeline)


def classifier():
    model, x = digits_classifier(64), torch.rand(256, 64)
    return F.cross_entropy(model(x), torch.zeros(256, dtype=torch.int64))


def gpt():
    tokens = torch.randint(101, (2, 16))
    return F.cross_entropy(TinyGPT(101, 32, 6, 4, 16)(tokens).flatten(0, 1), tokens.flatten())


def pair(make=classifier, optimizer=torch.optim.AdamW):
    return {
        label: memory.would_need(make, optimizer, dtype)
        for label, dtype in (("FP32", None), ("BF16", torch.bfloat16))
    }


EVERY = {
    "a pair": lambda: figures.memory_timeline(pair()),
    "a long one": lambda: figures.memory_timeline({"": memory.would_need(gpt, torch.optim.AdamW)}),
    "without an optimizer": lambda: figures.memory_timeline({"backward only": memory.would_need(gpt)}),
    "SGD": lambda: figures.memory_timeline(pair(optimizer=torch.optim.SGD), limit=1e6),
    "a limit far above": lambda: figures.memory_timeline(pair(), limit=15e9),
    "a limit far below": lambda: figures.memory_timeline(pair(), limit=10),
    "four": lambda: figures.memory_timeline({f"batch {n}": made(n * GIB) for n in (1, 2, 3, 4)}, 2.5 * GIB),
    "peak at the start": lambda: figures.memory_timeline({"x": made(phase="forward", moments=1)}, 4 * GIB),
    "peak at the end": lambda: figures.memory_timeline({"x": made(phase="optimizer step")}, 4 * GIB),
    "nothing": lambda: figures.memory_timeline({"x": summed_up([("forward", dict.fromkeys(KINDS, 0))])}),
    "bytes": lambda: figures.memory_timeline({"x": made(peak=5000)}, 4096),
    "long labels": lambda: figures.memory_timeline({f"FP32, AdamW, batch {n}": made() for n in (1, 2, 3, 4)}),
    "endless labels": lambda: figures.memory_timeline({f"{n}" * 99: made() for n in (1, 2)}),
    "dollars": lambda: figures.memory_timeline({"$5_{ or $x$": made()}),
    "absurd": lambda: figures.memory_timeline({"x": made()}, 1e300),
}  # fmt: skip


def message(picture):
    return picture.figure.get_suptitle().replace("\u00a0", " ").replace("\n", " ")


def words(picture):
    return [text.get_text() for axes in picture.figure.axes for text in axes.texts]


@pytest.mark.parametrize("name", EVERY)
def test_every_picture_is_drawn_within_its_edges(name):
    picture = EVERY[name]()
    assert picture.png().startswith(b"\x89PNG")
    picture.figure.draw_without_rendering()
    whole = picture.figure.bbox
    for text in (*picture.figure.texts, *(text for axes in picture.figure.axes for text in axes.texts)):
        box = text.get_window_extent()
        assert whole.x0 - 1 <= box.x0 and box.x1 <= whole.x1 + 1, text.get_text()
        assert whole.y0 - 1 <= box.y0 and box.y1 <= whole.y1 + 1, text.get_text()
    for part in ("title", "xaxis.label"):  # neighbours do not run into each other
        texts = [axes._left_title if part == "title" else axes.xaxis.label for axes in picture.figure.axes]
        boxes = [text.get_window_extent() for text in texts]
        assert all(left.x1 + 5 < right.x0 for left, right in zip(boxes, boxes[1:])), part
        assert boxes[-1].x1 <= whole.x1 + 1
    for legend in picture.figure.legends:
        box = legend.get_window_extent()
        assert whole.x0 - 1 <= box.x0 and box.x1 <= whole.x1 + 1


def test_the_areas_hold_every_byte_of_the_peak():
    steps = pair()
    picture = figures.memory_timeline(steps)
    for axes, step in zip(picture.figure.axes, steps.values()):
        areas = [each for each in axes.collections if isinstance(each, FillBetweenPolyCollection)]
        top = max(path.vertices[:, 1].max() for area in areas for path in area.get_paths())
        assert top * 1024 == pytest.approx(step.peak)  # drawn in KiB
        assert axes.get_ylim()[1] > top and axes.get_ylim()[0] == 0
    one, other = picture.figure.axes
    assert one.get_ylim() == other.get_ylim()
    assert "KiB" in one.get_ylabel()


def test_every_kind_is_named_in_its_area_or_below():
    steps = pair()
    picture = figures.memory_timeline(steps)
    below = {text.get_text() for legend in picture.figure.legends for text in legend.get_texts()}
    for axes, step in zip(picture.figure.axes, steps.values()):
        inside = {text.get_text() for text in axes.texts}
        for kind, most in step.largest.items():
            name = "data and activations" if kind in ("data", "activations") else kind
            assert (name in inside | below) or not most, kind
    assert "weight copies" in below | set(words(picture))


def test_no_area_has_the_colour_of_a_precision():
    picture = figures.memory_timeline(pair())
    taken = {tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5)) for colour in PRECISION_COLOURS.values()}
    areas = [
        each for each in picture.figure.axes[1].collections if isinstance(each, FillBetweenPolyCollection)
    ]
    used = [tuple(round(255 * part) for part in area.get_facecolor()[0][:3]) for area in areas]
    assert len(set(used)) == len(used) == 6
    assert not taken & set(used)


def test_a_long_step_is_thinned_and_keeps_its_peak():
    step = made(moments=5000)
    picture = figures.memory_timeline({"long": step})
    (axes,) = picture.figure.axes
    lines = [line for line in axes.lines if len(line.get_xdata()) > 10]
    assert lines and all(len(line.get_xdata()) <= 3 * MOST_MOMENTS + 1 for line in lines)
    assert max(line.get_ydata().max() for line in lines) * GIB == pytest.approx(step.peak)
    marker = next(line for line in axes.lines if len(line.get_xdata()) == 1)
    assert marker.get_ydata()[0] * GIB == pytest.approx(step.peak)
    backward = 1.0, 2.2
    assert backward[0] < marker.get_xdata()[0] < backward[1]


def test_a_phase_begins_with_what_the_one_before_has_left():
    """The gradients are let go at the end of SGD's step, its only change."""
    step = memory.would_need(gpt, torch.optim.SGD)
    picture = figures.memory_timeline({"SGD": step})
    lines = [line for line in picture.figure.axes[0].lines if len(line.get_xdata()) > 10]
    total = max(lines, key=lambda line: line.get_ydata().max())
    at_the_step = total.get_ydata()[[x >= 2.2 - 1e-9 for x in total.get_xdata()].index(True)]
    assert at_the_step * 1024 == pytest.approx(
        sum([living for phase, living in step.timeline if phase == "backward"][-1].values())
    )


@pytest.mark.parametrize(
    ("steps", "limit", "says"),
    [
        ({"FP32": made()}, None, "The step peaks at 4 GiB, in backward"),
        ({"": made(phase="optimizer step")}, None, "The step peaks at 4 GiB, in the optimizer step"),
        ({"x": made()}, 5e9, "The step peaks at 4 GiB, in backward; it fits into 5 GB"),
        ({"x": made()}, 4e9, "The step peaks at 4 GiB, in backward; that is more than 4 GB"),
        ({"FP32": made(), "BF16": made(3 * GIB)}, None, "In BF16 the step peaks at 3 instead of 4 GiB"),
        ({"FP32": made(), "BF16": made(GIB // 2)}, None,
         "In BF16 the step peaks at 512 MiB instead of 4 GiB"),
        ({"FP32": made(), "BF16": made(5 * GIB)}, None, "In BF16 the step peaks at 5 instead of 4 GiB"),
        ({"Adam": made(), "SGD": made(3 * GIB)}, None, "With SGD the step peaks at 3 instead of 4 GiB"),
        ({"FP32": made(), "BF16": made()}, None, "FP32 and BF16: the step peaks at 4 GiB"),
        ({"FP32": made(), "BF16": made(3 * GIB)}, 15e9,
         "In BF16 the step peaks at 3 instead of 4 GiB; both fit into 15 GB"),
        ({"FP32": made(), "BF16": made(3 * GIB)}, 3.5 * GIB,
         "In BF16 the step peaks at 3 instead of 4 GiB; only BF16 fits into 3.5 GiB"),
        ({"FP32": made(), "BF16": made(3 * GIB)}, 1e9,
         "In BF16 the step peaks at 3 instead of 4 GiB; neither fits into 1 GB"),
        ({"a": made(GIB), "b": made(2 * GIB), "c": made(3 * GIB)}, 2.5e9,
         "The step peaks at 1 GiB (a), 2 GiB (b) and 3 GiB (c); only a and b fit into 2.5 GB"),
    ],
)  # fmt: skip
def test_the_message(steps, limit, says):
    picture = figures.memory_timeline(steps, limit)
    assert message(picture) == says
    if limit:
        assert picture.alt.rstrip(".").lower().endswith(says.split("; ")[1].lower())


def test_the_alternative_text_says_what_the_peak_is_made_of():
    step = made()
    rest = memory.text(step.at_peak["activations"] + step.at_peak["data"])
    assert figures.memory_timeline({"FP32": step}).alt == (
        "Memory of tensors from operation to operation of a training step. FP32: the peak is 4 GiB, in "
        f"backward: parameters 1 GiB, data and activations {rest} and temporary "
        f"{memory.text(step.at_peak['temporary'])}."
    )


def test_the_limit_is_written_in_whole_units_and_legible_on_the_areas():
    names = {
        1e6: "1 MB",
        15e9: "15 GB",
        1.5e12: "1.5 TB",
        1e15: "1 PB",
        1e21: "1,000,000 PB",
        3 * GIB: "3 GiB",
    }
    for limit, name in names.items():
        picture = figures.memory_timeline({"x": made()}, limit)
        (label,) = (text for axes in picture.figure.axes for text in axes.texts if text.get_text() == name)
        assert label.get_bbox_patch().get_facecolor() == (1, 1, 1, 1)
        assert name in message(picture)


def test_the_phases_and_the_limit_are_named():
    picture = figures.memory_timeline(pair(), limit=1e6)
    for phase in ("forward", "backward", "step"):
        assert words(picture).count(phase) == 2
    assert words(picture).count("1 MB") == 1
    without_step = figures.memory_timeline({"x": memory.would_need(gpt)})
    assert "backward" in words(without_step) and "step" not in words(without_step)


@pytest.mark.parametrize(
    ("steps", "limit", "error", "says"),
    [
        (made(), None, TypeError, 'give a dict such as {"FP32".*, not StepMemory'),
        ({"FP32": 3}, None, TypeError, "'FP32' is a int, not a StepMemory"),
        ({}, None, ValueError, "these are 0 steps"),
        ({str(n): made() for n in range(MOST_STEPS + 1)}, None, ValueError, "these are 5 steps"),
        ({"x": made()}, 0, ValueError, "the limit is 0: give a number of bytes"),
        ({"x": made()}, float("nan"), ValueError, "the limit is nan"),
        ({"x": made()}, -1, ValueError, "the limit is -1"),
    ],
)
def test_what_cannot_be_drawn(steps, limit, error, says):
    with pytest.raises(error, match=says):
        figures.memory_timeline(steps, limit)


def test_made_is_what_it_says():
    step = made(phase="forward")
    assert isinstance(step, StepMemory)
    assert (step.peak, step.peak_phase) == (4 * GIB, "forward")
