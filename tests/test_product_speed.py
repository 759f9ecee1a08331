"""The picture of measured product speeds, and its reading over measurements of every kind."""

import math
import re

import pytest
import torch

from amp_lessons import figures
from amp_lessons.figures.product_speed import speed_ups
from amp_lessons.timing import median_seconds

SIZES = (64, 128, 256, 512)


def measured(fp32=1e10, **speed_up):
    """Seconds by size: FP32 at a fixed rate, each other precision as many times as fast, by size."""
    seconds = {"FP32": {size: 2 * size**3 / fp32 for size in SIZES}}
    for label, ratios in speed_up.items():
        seconds[label.upper()] = {
            size: seconds["FP32"][size] / ratio for size, ratio in zip(SIZES, ratios) if ratio
        }
    return seconds


def reading(seconds, device="cpu"):
    return " ".join(figures.product_speed(seconds, device).reading())


def title(seconds, device="cpu"):
    return figures.product_speed(seconds, device).figure.get_suptitle()


@pytest.mark.parametrize(
    ("ratios", "says"),
    [
        (
            (2, 2, 2, 2),
            "at size 64 and at size 512 it is 2 times as fast. The size makes no clear difference.",
        ),
        ((1, 1.1, 0.95, 1), "at size 64 and at size 512 it is about as fast. The size makes no clear"),
        ((0.1, 0.1, 0.1, 0.1), "at size 64 and at size 512 it takes 10 times as long. The size makes no"),
        ((1, 2, 4, 8), "at size 64 it is about as fast, at size 512 it is 8 times as fast. As the products"),
        ((0.5, 1, 2, 3), "at size 64 it takes 2 times as long, at size 512 it is 3 times as fast."),
        (
            (8, 4, 2, 1),
            "it is 8 times as fast, at size 512 it is about as fast. As the products grow, it comp",
        ),
        ((0.5, 0.1, 0.02, 0.005), "takes 2 times as long, at size 512 it takes 200 times as long."),
        ((2, 1.5, None, None), "at size 64 it is 2 times as fast, at size 128 it is 1.5 times as fast."),
        ((None, None, 3, None), "compared with FP32: at size 256 it is 3 times as fast."),
    ],
)
def test_reading_compares_the_smallest_and_the_largest_size_in_common(ratios, says):
    assert says in reading(measured(bf16=ratios))


@pytest.mark.parametrize(
    ("ratios", "says"),
    [
        ((1, 2, 4, 8), "compares better"),
        ((1, 1.1, 1.2, 1.3), "compares better"),
        ((0.02, 0.03, 0.05, 0.1), "compares better"),
        ((1, 1, 1, 2), "compares better"),
        ((8, 4, 2, 1), "compares worse"),
        ((0.2, 0.1, 0.05, 0.02), "compares worse"),
        ((1, 1.1, 1.05, 1.1), "no clear difference"),
        ((1, 3, 1, 3), "goes up and down, between 1 and 3 times that of FP32"),
        ((1, 0.2, 5, 1), "goes up and down, between 0.2 and 5 times"),
        ((2, 1, 1, 4), "goes up and down, between 1 and 4 times"),
    ],
)
def test_reading_says_whether_the_ratio_grows_and_only_that(ratios, says):
    words = reading(measured(bf16=ratios))
    assert says in words
    others = {"compares better", "compares worse", "no clear difference", "goes up and down"}
    assert sum(other in words for other in others) == 1


def test_one_size_has_no_trend():
    words = reading({"FP32": {100: 1.0}, "FP16": {100: 0.5}})
    assert words == "FP16 compared with FP32: at size 100 it is 2 times as fast."


def test_the_numbers_in_the_reading_are_those_of_the_measurement():
    for ratio in (0.001, 0.013, 0.3, 0.8, 0.86, 0.88, 1.0, 1.14, 1.16, 1.5, 9.96, 14, 123):
        words = reading({"FP32": {8: ratio}, "BF16": {8: 1.0}})
        found = re.search(r"it (is|takes) ([\d.,]+) times as (fast|long)", words)
        if found is None:
            assert 1 / 1.15 <= ratio <= 1.15 and "about as fast" in words
            continue
        claimed = float(found[2].replace(",", ""))
        assert claimed == pytest.approx(ratio if found[3] == "fast" else 1 / ratio, rel=0.06)
        assert (found[3] == "fast") is (ratio > 1)


def test_every_format_is_compared_tf32_too_and_always_in_the_same_order():
    seconds = measured(bf16=(1, 2, 3, 4), fp16=(1, 2, 3, 5), tf32=(1, 1, 2, 3))
    sentences = figures.product_speed(seconds, "cuda").reading()
    assert [sentence[:4] for sentence in sentences] == ["TF32", "FP16", "BF16"]


def test_why_fp16_is_slow_is_said_only_of_a_cpu_on_which_it_is():
    slow, fast = measured(fp16=(0.2, 0.1, 0.1, 0.05)), measured(fp16=(0.5, 1, 2, 3))
    assert "Many CPUs have no fast arithmetic for FP16" in reading(slow)
    assert "Many CPUs" not in reading(slow, "cuda")
    assert "Many CPUs" not in reading(fast)
    assert "Many CPUs" not in reading(measured(fp16=(1, 1, 1, 1)))
    assert "Many CPUs" not in reading(measured(bf16=(0.1, 0.1, 0.1, 0.1)))


def test_why_bf16_is_slow_is_said_only_of_a_gpu_on_which_it_is():
    slow = measured(bf16=(1, 0.7, 0.5, 0.4))
    assert "NVIDIA GPUs below compute capability 8.0 only emulate BF16" in reading(slow, "cuda")
    assert "emulate" not in reading(slow, "cpu") and "emulate" not in reading(slow, "mps")
    assert "emulate" not in reading(measured(bf16=(0.5, 1, 2, 8)), "cuda")
    assert "emulate" not in reading(measured(fp16=(0.5, 0.5, 0.5, 0.5)), "cuda")


def test_without_something_to_compare_the_reading_says_so():
    assert "FP32 was not measured" in reading({"FP16": {8: 1.0}})
    assert "Only FP32 was measured" in reading({"FP32": {8: 1.0}})
    assert "no size in common" in reading({"FP32": {8: 1.0}, "BF16": {16: 1.0}})


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (measured(bf16=(1, 1, 2, 3), fp16=(0.1, 0.1, None, None)), "At size 512, BF16 is 3 times as fast"),
        (measured(bf16=(1, 1, 1, 1)), "No clear gain over FP32 at the largest size in BF16"),
        (measured(bf16=(1, 1, 1, 0.5)), "BF16 takes longer than FP32 at the largest size"),
        (measured(bf16=(1, 1, 1, 0.5), fp16=(9, 9, 9, 0.1)), "FP16 and BF16 take longer than FP32 at"),
        ({"FP32": {100: 1e-4}}, "FP32 reaches 20 GFLOP/s at size 100"),
        ({"BF16": {1000: 1e-3, 2000: 8e-4}, "FP32": {3: 1}}, "BF16 reaches 20 TFLOP/s at size 2,000"),
    ],
)  # fmt: skip
def test_the_title_is_computed_from_the_measurement(seconds, says):
    assert title(seconds).startswith(says)


def test_the_rate_is_two_operations_for_each_of_the_products_terms():
    picture = figures.product_speed({"FP32": {1000: 0.5}}, "cpu")
    (line,) = picture.figure.axes[0].lines
    assert 10 ** line.get_ydata()[0] == pytest.approx(2 * 1000**3 / 0.5 / 1e9)
    assert line.get_xdata()[0] == pytest.approx(math.log2(1000))
    assert "FP32 4 GFLOP/s at size 1,000" in picture.alt


def test_each_precision_has_its_colour_marker_and_label():
    picture = figures.product_speed(measured(bf16=(1, 2, 3, 4), fp16=(0.1, 0.1, None, None)), "cpu")
    (axes,) = picture.figure.axes
    for line, name in zip(axes.lines, ("fp32", "fp16", "bf16"), strict=True):
        assert line.get_color() == figures.PRECISION_COLOURS[name]
        assert line.get_marker() == figures.PRECISION_MARKERS[name]
    labels = [text.get_text() for text in axes.texts]
    assert labels == ["FP32: 10 GFLOP/s", "FP16: 1 GFLOP/s at 128", "BF16: 40 GFLOP/s"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["64", "128", "256", "512"]
    assert axes.get_ylabel() == "rate in GFLOP/s"


def test_a_gpus_rates_stand_in_teraflops():
    picture = figures.product_speed(measured(fp32=1.5e13, bf16=(1, 2, 4, 8)), "cuda")
    assert picture.figure.axes[0].get_ylabel() == "rate in TFLOP/s"
    assert "BF16 15 TFLOP/s at size 64, 120 TFLOP/s at size 512" in picture.alt


PICTURES = {
    "equal": measured(bf16=(1, 1, 1, 1), fp16=(1, 1, 1, 1), tf32=(1, 1, 1, 1)),
    "far apart": measured(bf16=(1e3, 1e3, 1e3, 1e3), fp16=(1e-4, 1e-4, None, None)),
    "one point": {"FP32": {1: 1e-6}},
    "as far apart as it can be": {"FP32": {1: 1e12}, "BF16": {1: 1e-12, 2**63 - 1: 1e-12}},
    "many sizes": {"FP32": {size: size**3 / 1e9 for size in range(32, 1024, 32)}},
    "an A100": measured(fp32=1.9e13, bf16=(1, 2, 8, 13), fp16=(1, 2, 8, 13), tf32=(1, 2, 4, 7)),
}


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_cut_off_and_labels_do_not_overlap(name):
    figure = figures.product_speed(PICTURES[name], "cpu").figure
    figure.draw_without_rendering()
    width, height = figure.canvas.get_width_height()
    (axes,) = figure.axes
    ticks = [label for label in axes.get_xticklabels() if label.get_text()]
    inside = [
        *axes.texts,
        *ticks,
        *axes.get_yticklabels(),
        axes.xaxis.label,
        axes.yaxis.label,
        figure._suptitle,
    ]
    for text in inside:
        # A leader line belongs to the annotation: its text alone is looked at.
        box = type(axes.xaxis.label).get_window_extent(text)
        assert box.x0 > -2 and box.y0 > -2 and box.x1 < width + 2 and box.y1 < height + 2, text.get_text()
    for texts, side in ((axes.texts, "y"), (ticks, "x")):
        edges = sorted(
            (getattr(box, side + "0"), getattr(box, side + "1"))
            for box in (type(axes.xaxis.label).get_window_extent(text) for text in texts)
        )
        assert all(above[0] > below[1] - 3 for below, above in zip(edges, edges[1:]))
    assert len(axes.get_yticklabels()) >= 1 and ticks
    assert axes.get_window_extent().width > 0.5 * width


def test_html_and_text_say_the_same():
    picture = figures.product_speed(measured(bf16=(1, 2, 3, 4)), "cpu")
    bundle = picture._repr_mimebundle_()
    assert bundle["text/plain"] == repr(picture) == "\n".join([picture.alt, *picture.reading()])
    assert f'<img alt="{picture.alt}"' in bundle["text/html"]
    assert all(f">{sentence}</p>" in bundle["text/html"] for sentence in picture.reading())
    assert len(bundle["text/html"]) < 120_000
    colours = re.findall(r"(?<![-\w])(?:color|background[-\w]*):\s*([^;\"]+)", bundle["text/html"])
    assert set(colours) == {"var(--jp-ui-font-color1, inherit)"}


def test_seconds_may_come_from_tensors_and_what_was_given_stays_as_it_was():
    seconds = {"BF16": {16: torch.tensor(0.25)}, "FP32": {32: 1.0, 16: torch.tensor(0.5)}}
    picture = figures.product_speed(seconds, "cpu")
    assert "at size 16 it is 2 times as fast" in picture.reading()[0]
    assert list(seconds) == ["BF16", "FP32"] and list(seconds["FP32"]) == [32, 16]
    assert speed_ups("BF16", picture.seconds) == {16: 2.0}


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        ({}, "at least one precision"),
        (None, "a dict from precisions to dicts, not None"),
        ([1.0], "a dict from precisions"),
        ({"FP8": {8: 1.0}}, "no precision 'FP8' here: use \"FP32\""),
        ({"FP16 + scaler": {8: 1.0}}, "no precision"),
        ({torch.float16: {8: 1.0}}, "no precision torch.float16 here"),
        ({"FP32": {}}, r"a dict such as \{256: 0.001\}, not \{\}; leave FP32 out"),
        ({"FP32": 0.5}, "the seconds of FP32 have to be a dict"),
        ({"FP32": {8: 0.0}}, "FP32 at size 8 took 0 seconds: it must be finite and above 0"),
        ({"FP32": {8: -1.0}}, "took -1 seconds"),
        ({"FP32": {8: math.nan}}, "took nan seconds"),
        ({"FP32": {8: math.inf}}, "took inf seconds"),
        ({"FP32": {8: "1"}}, "must be a number of seconds, not '1'"),
        ({"FP32": {8: None}}, "must be a number of seconds, not None"),
        ({"FP32": {8: True}}, "must be a number of seconds, not True"),
        ({"FP32": {8: [1.0, 2.0]}}, "must be a number of seconds"),
        ({"FP32": {8: median_seconds(int, "cpu", repeats=2)}}, r"FP32 at size 8 .*Timing: add \.median"),
        ({"FP32": {0: 1.0}}, "FP32 has a size 0: a size is a whole number above 0"),
        ({"FP32": {2.5: 1.0}}, "has a size 2.5"),
        ({"FP32": {"64": 1.0}}, "has a size '64'"),
        ({"FP32": {True: 1.0}}, "has a size True"),
        ({"FP32": {10**200: 1.0}}, "FP32 has a size over 2⁶³ − 1"),
        (
            {"FP32": {8: 1e300}},
            r"FP32 at size 8 took 1e\+300 seconds: nobody measures this, so check the unit",
        ),
        ({"FP32": {8: 5e-324}}, "nobody measures this"),
    ],
)
def test_bad_input_is_refused_in_words(seconds, says):
    with pytest.raises(ValueError, match=says):
        figures.product_speed(seconds, "cpu")
