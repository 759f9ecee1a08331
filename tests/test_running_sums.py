"""The picture of running totals: its title and text are true whatever the totals are."""

import math
import re

import numpy
import pytest
import torch
from matplotlib.text import Text

from amp_lessons import figures
from amp_lessons.figures.running_sums import share_text, stops_after, value_text
from amp_lessons.figures.style import PRECISION_COLOURS


def message(picture):
    return picture.figure.get_suptitle().replace("\n", " ")


def totals(dtype, addend=0.01, count=1000):
    addend, total, after = torch.tensor(addend, dtype=dtype), torch.tensor(0.0, dtype=dtype), []
    for _ in range(count):
        total = total + addend
        after.append(total.item())
    return after


def test_the_lessons_example():
    sums = {"FP32": totals(torch.float32), "FP16": totals(torch.float16), "BF16": totals(torch.bfloat16)}
    picture = figures.running_sums(sums, exact=10)
    assert message(picture) == "BF16 stops at 4 on the way to 10"
    assert picture.alt == (
        "Running totals of 1,000 additions. FP32 ends at 10; FP16 ends at 9.953; "
        "BF16 stops at 4 after addition 350. The true total is 10."
    )
    texts = [text.get_text() for text in picture.figure.axes[0].texts]
    assert texts == ["true total: 10", "FP32: 10", "FP16: 9.953", "BF16: 4"]
    colours = [line.get_color() for line in picture.figure.axes[0].lines[1:]]
    assert colours == [PRECISION_COLOURS[name] for name in ("fp32", "fp16", "bf16")]
    assert picture.png().startswith(b"\x89PNG")


RISING = [1.0, 2.0, 3.0, 4.0]
AT_2 = [1.0, 2.0, 2.0, 2.0]
AT_3 = [1.0, 3.0, 3.0, 3.0]
INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("sums", "exact", "words"),
    [
        ({"FP32": RISING}, 4, "FP32 ends exactly at 4"),
        ({"FP32": RISING, "BF16": RISING}, 4, "Both sums end exactly at 4"),
        ({"FP32": RISING, "BF16": [1, 2, 3, 4.001]}, 4, "Both sums end within 0.05 % of 4"),
        ({"FP32": RISING, "BF16": [1, 2, 3, 5]}, 4, "BF16 ends 25 % from the true total, 4"),
        ({"FP32": RISING}, None, "FP32 ends at 4"),
        ({"FP32": RISING, "BF16": [1, 2, 3, 5]}, None, "FP32 ends at 4 and BF16 at 5"),
        ({"FP32": AT_2}, None, "FP32 stops at 2"),
        ({"FP32": RISING, "FP16": AT_3, "BF16": AT_2}, 4, "FP16 stops at 3 and BF16 at 2 on the way to 4"),
        ({"FP16": AT_2, "BF16": AT_2}, 4, "FP16 and BF16 stop at 2 on the way to 4"),
        ({"FP16": AT_3}, 2.5, "FP16 stops at 3, the true total is 2.5"),
        ({"FP16": [-1, -2, -2, -2]}, -4, "FP16 stops at −2 on the way to −4"),
        ({"FP16": [-1, -2, -2, -2]}, 4, "FP16 stops at −2, the true total is 4"),
        ({"FP16": [0.0] * 4}, 3e-9, "FP16 stops at 0 on the way to 3 × 10⁻⁹"),
        ({"FP16": [0.0] * 4}, 0, "FP16 ends exactly at 0"),
        ({"FP16": AT_2}, 2, "FP16 ends exactly at 2"),  # it came where it should
        ({"FP16": [1, 2, 4, 4]}, 5, "FP16 ends 20 % from the true total, 5"),  # one addition isn't a stop
        ({"FP16": [1, INF, INF, INF]}, 4, "FP16 overflows to infinity"),
        ({"FP32": [INF], "FP16": [-INF]}, 4, "FP32 and FP16 overflow to infinity"),
        ({"FP16": [1, NAN, NAN, NAN]}, 4, "FP16 ends in NaN"),
        ({"FP16": [1, INF, INF, INF], "BF16": AT_2}, 4, "FP16 overflows to infinity; BF16 stops at 2"),
        ({"FP16": [1, 2]}, 0, "FP16 ends at 2, the true total is 0"),
        ({"FP16": [2e38, 2e38, 2e38]}, 1e300, "FP16 stops at 2 × 10³⁸ on the way to 1 × 10³⁰⁰"),
        ({"FP16": [30.0]}, 4, "FP16 ends 650 % from the true total, 4"),
    ],
)
def test_the_title_says_what_became_of_the_sums(sums, exact, words):
    picture = figures.running_sums(sums, exact)
    assert message(picture).startswith(words)
    assert picture.png().startswith(b"\x89PNG") and picture.alt.startswith("Running totals of ")


def test_a_title_that_would_not_fit_gets_shorter_and_stays_true():
    long = {f"FP16 run {n}": [n * 1.234e-9] * 3 for n in range(1, 5)}
    assert message(figures.running_sums(long, exact=1.0)) == (
        "FP16 run 1, FP16 run 2, FP16 run 3 and FP16 run 4 stop before the end"
    )
    with_inf = long | {"FP32": [INF] * 3}
    assert message(figures.running_sums(with_inf, 1.0)).startswith(
        "FP32 is not finite at the end; FP16 run 1,"
    )


def test_where_a_line_ends_early_it_says_why():
    picture = figures.running_sums({"FP16": [1, 2, INF], "BF16": [1, NAN, NAN], "FP32": [1, 2, 3]}, 3)
    texts = {text.get_text() for text in picture.figure.axes[0].texts}
    assert {"FP16 overflows", "BF16 is NaN from here", "FP16: infinity", "BF16: NaN", "FP32: 3"} <= texts


OVERFLOWS = {
    "rising": ({"FP32": [7e4, 1.4e5, 2.1e5], "FP16": [INF] * 3, "BF16": [INF] * 3}, 2.1e5),
    "falling": ({"FP32": [-7e4, -1.4e5, -2.1e5], "FP16": [-INF] * 3}, -2.1e5),
    "late": ({"FP32": [1, 2, 3], "FP16": [1, 2, INF], "BF16": [1, NAN, NAN]}, 3),
    "all": ({"FP32": [INF] * 3, "FP16": [INF] * 3}, 2.1e5),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_the_words_at_an_early_end_lie_clear_of_lines_and_axis(name):
    figure = figures.running_sums(*OVERFLOWS[name]).figure
    figure.draw_without_rendering()
    (axes,) = figure.axes
    words = [text for text in axes.texts if re.search("overflow|NaN from here", text.get_text())]
    assert words
    for text in words:
        box = Text.get_window_extent(text)
        inside = axes.get_window_extent()
        assert inside.x0 <= box.x0 and inside.y0 <= box.y0 and box.x1 <= inside.x1 and box.y1 <= inside.y1
        for line in axes.lines:
            points = axes.transData.transform(
                [each for each in line.get_xydata() if not numpy.isnan(each[1])]
            )
            assert not any(
                box.x0 < x < box.x1 and box.y0 < y < box.y1
                for (x0, y0), (x1, y1) in zip(points, points[1:])
                for x, y in zip(numpy.linspace(x0, x1, 200), numpy.linspace(y0, y1, 200))
            )


def test_sums_that_end_early_at_one_place_share_their_words():
    picture = figures.running_sums(OVERFLOWS["rising"][0])
    assert "FP16 and BF16 overflow" in [text.get_text() for text in picture.figure.axes[0].texts]
    many = figures.running_sums({f"FP16 run {n}": [1.0, INF] for n in range(9)})
    assert "9 sums overflow" in [text.get_text() for text in many.figure.axes[0].texts]


def test_every_line_starts_at_0_and_the_true_total_is_a_straight_line():
    picture = figures.running_sums({"FP16": [1, 2, 2]}, 3)
    true, line = picture.figure.axes[0].lines
    assert list(true.get_xdata()) == [0, 3] and list(true.get_ydata()) == [0, 3]
    assert list(line.get_xdata()) == [0, 1, 2, 3] and list(line.get_ydata()) == [0, 1, 2, 2]
    assert len(figures.running_sums({"FP16": [1, 2, 2]}).figure.axes[0].lines) == 1


@pytest.mark.parametrize(
    ("sums", "exact", "words"),
    [
        ({}, None, "at least one sum"),
        ([1, 2], None, "at least one sum"),
        ({"FP32": []}, None, "FP32 has 0"),
        ({"FP32": [1], "FP16": [1, 2]}, None, "FP32 has 1, FP16 has 2"),
        ({"FP32": [1]}, math.nan, "the true total is nan: give a finite number"),
        ({"FP32": [1]}, math.inf, "the true total is inf"),
        (
            {"FP32": [1, 1.7e308]},
            None,
            r"a total of FP32 is 1.7e\+308 in size: a picture holds numbers up to",
        ),
        ({"FP32": [-1.7e308, 1]}, None, "a total of FP32 is 1.7e"),
        ({"FP32": [1]}, -1.7e308, "the true total is 1.7e"),
        ({"FP32": None}, None, "the sum 'FP32' has to be a list of totals, not None"),
        ({"FP32": "123"}, None, "the sum 'FP32' has to be a list of totals, not '123'"),
    ],
)
def test_what_cannot_be_drawn_gets_advice(sums, exact, words):
    with pytest.raises(ValueError, match=words):
        figures.running_sums(sums, exact)


def test_tensors_are_taken_as_totals():
    picture = figures.running_sums({"BF16": torch.tensor([1.0, 2.0, 2.0, 2.0])}, torch.tensor(4.0))
    assert message(picture) == "BF16 stops at 2 on the way to 4"


def test_after_how_many_additions_a_total_is_reached():
    assert [stops_after(run) for run in ([1, 2, 2, 2], [1, 2, 3], [0, 0], [5, 5])] == [2, 3, 0, 1]


def test_numbers_as_words():
    assert [value_text(v) for v in (1849.98, 65504.0, -0.5, 262144.0)] == [
        "1,850",
        "65,504",
        "−0.5",
        "262,144",
    ]
    assert [share_text(s) for s in (0.000013, 0.25, 1, 1.5)] == ["0.0013 %", "25 %", "100 %", "150 %"]
