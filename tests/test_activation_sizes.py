"""The picture of the largest activations beside FP16's largest number."""

import math
import re

import pytest
import torch
from matplotlib.text import Text

from amp_lessons.figures import activation_sizes
from amp_lessons.formats import BF16, FP16

SEVEN = {
    "conv1": 3.4, "block1": 41.2, "block2": 880.5, "block3": 13_204.0, "block4": 66_246.0,
    "block5": 310_000.0, "head": 0.92,
}  # fmt: skip


def title(*args, **options):
    return activation_sizes(*args, **options).figure.get_suptitle()


def words_beside(picture):
    """The text at the right of each layer, from the top."""
    (axes,) = picture.figure.axes
    return [text.get_text() for text in axes.texts[1:]]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1, 2], "No layer passes FP16's largest number"),
        ([1, 65_504], "No layer passes FP16's largest number"),
        ([1, 65_505, 1], "1 of 3 layers passes FP16's largest number"),
        ([7e4, 1, 8e4, math.inf], "3 of 4 layers pass FP16's largest number"),
        ([7e4, 8e4], "Both layers pass FP16's largest number"),
        ([7e4, math.inf, math.nan, math.nan], "2 of 4 layers pass FP16's largest number, 2 give NaN"),
        ([1, math.nan], "No layer passes FP16's largest number, 1 gives NaN"),
    ],
)
def test_the_title_counts_the_layers(values, says):
    assert title({f"layer {place}": value for place, value in enumerate(values)}) == says


def test_layers_stand_in_forward_order_from_the_top_with_their_numbers():
    picture = activation_sizes(SEVEN)
    (axes,) = picture.figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(SEVEN)
    bottom, top = axes.get_ylim()
    assert bottom > top
    assert words_beside(picture) == [
        "3.4", "41.2", "880", "13,204", "66,246, over FP16's largest", "310,000, over FP16's largest", "0.92",
    ]  # fmt: skip
    for value, line in zip(SEVEN.values(), axes.lines[2::2], strict=True):
        assert line.get_xdata()[0] == pytest.approx(math.log2(value))


def test_the_line_stands_at_fp16s_largest_number_and_the_layers_beyond_differ_in_colour_and_marker():
    (axes,) = activation_sizes(SEVEN).figure.axes
    limit, *rest = axes.lines
    assert list(limit.get_xdata()) == [math.log2(FP16.largest)] * 2
    markers = rest[1::2]
    beyond = [value > FP16.largest for value in SEVEN.values()]
    assert [marker.get_marker() == "X" for marker in markers] == beyond
    assert len({marker.get_color() for marker in markers}) == 2
    assert axes.texts[0].get_text() == "FP16's largest number: 65,504"


def test_infinity_nan_and_zero_are_drawn_at_the_edges_with_their_words():
    picture = activation_sizes({"a": 1.0, "b": math.inf, "c": math.nan, "d": 0.0})
    assert words_beside(picture) == ["1", "infinity, over FP16's largest", "NaN", "0"]
    (axes,) = picture.figure.axes
    low, high = axes.get_xlim()
    ends = [line.get_xdata()[-1] for line in axes.lines if line.get_marker() != "None"]
    assert ends == [0.0, high, high, low]


def test_alternative_text_has_every_number_and_the_caption_only_who_passes():
    picture = activation_sizes(SEVEN)
    assert "in forward order: conv1 3.4, block1 41.2" in picture.alt
    assert picture.alt.endswith("Over FP16's largest number, 65,504: block4 and block5.")
    assert "41.2" not in picture.caption and "block4 and block5" in picture.caption
    assert activation_sizes({"a": 1.0}).alt.endswith("65,504: none.")
    many = activation_sizes({f"l{place}": 1e5 for place in range(9)})
    assert "l0, l1, l2 and 6 more" in many.caption and "l8." in many.alt


def test_another_limit_is_called_by_its_name():
    assert title({"a": 1e38, "b": math.inf}, BF16.largest) == "1 of 2 layers passes BF16's largest number"
    assert title({"a": 1.0, "b": 20.0}, limit=16) == "1 of 2 layers passes the limit"
    assert words_beside(activation_sizes({"b": 20.0}, limit=16)) == ["20, over the limit"]


PICTURES = {
    "two": {"a": 1.0, "b": math.inf},
    "seven": SEVEN,
    "24 with long names": {
        f"transformer.blocks.{place}.feedforward.linear": 2.0**place for place in range(24)
    },
    "tiny": {"a": 1e-40, "b": 1e-300},
    "huge": {"a": 1e300, "b": 3e38},
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_cut_off_and_labels_do_not_overlap(name):
    picture = activation_sizes(PICTURES[name])
    figure = picture.figure
    figure.draw_without_rendering()
    width, height = figure.canvas.get_width_height()
    (axes,) = figure.axes
    names = axes.get_yticklabels()
    for text in [*axes.texts, *names, *axes.get_xticklabels(), axes.xaxis.label, figure._suptitle]:
        box = Text.get_window_extent(text)
        assert box.x0 > -2 and box.y0 > -2 and box.x1 < width + 2 and box.y1 < height + 2, text.get_text()
    for column in (axes.texts[1:], names):
        boxes = sorted((Text.get_window_extent(text) for text in column), key=lambda box: box.y0)
        assert all(upper.y0 > lower.y1 - 3 for lower, upper in zip(boxes, boxes[1:]))
    ticks = sorted((Text.get_window_extent(text) for text in axes.get_xticklabels()), key=lambda box: box.x0)
    assert len(ticks) >= 3 and all(right.x0 > left.x1 for left, right in zip(ticks, ticks[1:]))
    assert axes.get_window_extent().width > 0.3 * width
    assert len(picture.html()) < 120_000


def test_the_end_of_a_long_name_is_what_tells_layers_apart():
    (axes,) = activation_sizes(PICTURES["24 with long names"]).figure.axes
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert shown[3] == "…3.feedforward.linear"
    assert len(set(shown)) == 24 and all(text.startswith("…") and len(text) <= 24 for text in shown)


def test_values_may_be_tensors_and_names_are_escaped():
    picture = activation_sizes({"<b>": torch.tensor(1e5), 0: torch.ones(1)})
    assert "0 1" in picture.alt
    assert "<b>" not in picture.html() and "&lt;b&gt;" in picture.html()
    assert re.search(r'<img alt="The largest absolute activation', picture.html())


@pytest.mark.parametrize(
    ("largest", "says"),
    [
        ({}, "at least one layer"),
        (None, "a dict from layers to numbers, not None"),
        ([1.0], "a dict from layers"),
        ({"a": -3.0}, r"largest activation of 'a' is -3: give absolute values, as tensor.abs\(\).max\(\)"),
        ({"a": "1"}, "must be a single number, not '1'"),
        ({"a": None}, "must be a single number, not None"),
        ({"a": True}, "must be a single number, not True"),
        ({"a": torch.ones(2)}, "must be a single number"),
        ({"a": [1.0]}, "must be a single number"),
    ],
)
def test_bad_values_are_refused_in_words(largest, says):
    with pytest.raises(ValueError, match=says):
        activation_sizes(largest)


@pytest.mark.parametrize("limit", [0, -1.0, math.inf, math.nan, "65504"])
def test_a_bad_limit_is_refused_in_words(limit):
    with pytest.raises(ValueError, match="the limit"):
        activation_sizes(SEVEN, limit)


END = ".attention.output.projection.activation"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ([f"block{n}{END}" for n in (1, 2)], ["block1.atte…n.activation", "block2.atte…n.activation"]),
        (
            [f"encoder.blocks.{n}{END}" for n in (1, 2)],
            ["1: …projection.activation", "2: …projection.activation"],
        ),
        (["x" * 30, "x" * 31, "short"], ["1: …" + "x" * 23, "2: …" + "x" * 23, "short"]),
    ],
)
def test_long_names_stay_apart_when_they_are_cut(names, shown):
    (axes,) = activation_sizes(dict.fromkeys(names, 1.0)).figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == shown


def test_a_long_name_without_dots_is_cut_too():
    (axes,) = activation_sizes({"x" * 50: 1.0}).figure.axes
    (shown,) = (label.get_text() for label in axes.get_yticklabels())
    assert shown == "…" + "x" * 23
