"""The figures: what they say is read from the data, they display with alternative text, and stay small."""

import base64
import math
import re
import subprocess
import sys
from io import BytesIO

import pytest
import torch
from matplotlib.text import Text
from PIL import Image

from amp_lessons import figures
from amp_lessons.figures.style import set_message, spread, wrapped
from amp_lessons.figures.words import number, percent, small_percent
from amp_lessons.formats import FP16

LIMIT = 120_000  # bytes of HTML text a notebook carries for one figure


def gradients(mean, count=20_000):
    """Gradients spread over about 20 powers of two around 2**mean, always the same."""
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(count, generator=generator) * 4 + mean).exp2()


def runs():
    falling = [0.6 * 0.995**step for step in range(400)]
    return {
        "FP32": {"error": falling, "zeros": [0.0] * 400},
        "FP16": {"error": [0.6] * 400, "zeros": [1.0] * 400},
        "FP16, scaled": {"error": falling, "zeros": None},
    }


def many_layers(count, last=0.3):
    return {f"layer {place}": [0.1, last + place / 1000] for place in range(count)}


NAN = math.nan
BY_LAYER = {"a": gradients(-25), "b": gradients(-9)}
EVERY_FIGURE = {
    "step": lambda: figures.mixed_precision_step(),
    "step bf16": lambda: figures.mixed_precision_step("bf16"),
    "ranges": lambda: figures.format_ranges(),
    "one range": lambda: figures.format_ranges(["bf16"]),
    "around one": lambda: figures.around_one(),
    "around one bf16": lambda: figures.around_one("bf16"),
    "around one fp32": lambda: figures.around_one("fp32"),
    "magnitudes": lambda: figures.gradient_magnitudes(gradients(-22)),
    "magnitudes by layer": lambda: figures.gradient_magnitudes(BY_LAYER, 64.0),
    "magnitudes bf16": lambda: figures.gradient_magnitudes(gradients(-22), fmt="bf16"),
    "shares": lambda: figures.share_lost_over_training([1, 5], {"in": [0.0, 0.8], "out": [0.1, 0.5]}),
    "shares of 30 layers": lambda: figures.share_lost_over_training([1, 2], many_layers(30)),
    "shares near 100 %": lambda: figures.share_lost_over_training([1, 2], many_layers(8, 0.99)),
    "runs": lambda: figures.training_runs(runs()),
    "12 runs": lambda: figures.training_runs(
        {f"{name}, {turn}": run for turn in range(4) for name, run in runs().items()}
    ),
    "a run of NaN": lambda: figures.training_runs({"FP16": {"error": [NAN] * 3, "zeros": [NAN] * 3}}),
    "a run that soon is NaN": lambda: figures.training_runs({"FP16": {"error": [1.0] + [NAN] * 99}}),
    "NaN beside small errors": lambda: figures.training_runs(
        {"FP16": {"error": [NAN] * 3}, "FP32": {"error": [2e-3, 1e-3, 1e-4]}}
    ),
}  # fmt: skip


def image_of(markup):
    return base64.b64decode(re.search(r'src="data:image/png;base64,([^"]+)"', markup)[1])


def pixels(markup):
    """Width and height, as the PNG states them."""
    png = image_of(markup)
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


@pytest.mark.parametrize("name", EVERY_FIGURE)
def test_a_figure_displays_with_alternative_text_sharp_and_small(name):
    picture = EVERY_FIGURE[name]()
    bundle = picture._repr_mimebundle_()
    markup = bundle["text/html"]
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/plain"] == picture.alt == repr(picture)
    assert f'<img alt="{picture.alt}"' in markup and f">{picture.alt}</figcaption>" in markup.replace(
        "&nbsp;", " "
    )
    assert len(markup) < LIMIT
    css_width = int(re.search(r"width:(\d+)px", markup)[1])
    assert 700 <= css_width <= 950 and pixels(markup)[0] == 2 * css_width
    with Image.open(BytesIO(image_of(markup))) as image:
        assert image.convert("RGBA").getpixel((2, 2)) == (255, 255, 255, 255)


@pytest.mark.parametrize("name", EVERY_FIGURE)
def test_no_text_is_cut_off_at_the_edge(name):
    figure = EVERY_FIGURE[name]().figure
    figure.draw_without_rendering()
    width, height = figure.canvas.get_width_height()
    cut = []
    for text in figure.findobj(lambda artist: hasattr(artist, "get_text") and artist.get_text()):
        box = text.get_window_extent()
        if text.get_visible() and (box.x0 < -2 or box.y0 < -2 or box.x1 > width + 2 or box.y1 > height + 2):
            cut.append(text.get_text())
    # matplotlib keeps tick labels beyond the limits of an axis without drawing them
    drawn = {label.get_text() for axes in figure.axes for label in _visible_tick_labels(axes)}
    hidden = _all_tick_labels(figure) - drawn
    assert [text for text in cut if text not in hidden] == []


@pytest.mark.parametrize("name", [name for name in EVERY_FIGURE if "share" in name or "run" in name])
def test_the_labels_at_the_ends_of_lines_do_not_overlap(name):
    figure = EVERY_FIGURE[name]().figure
    figure.draw_without_rendering()
    for axes in figure.axes:
        boxes = sorted((Text.get_window_extent(text) for text in axes.texts), key=lambda box: box.y0)
        assert boxes
        for lower, upper in zip(boxes, boxes[1:]):
            assert upper.y0 - lower.y0 > 0.7 * lower.height
        assert axes.get_window_extent().width > 0.4 * figure.bbox.width  # the labels leave room for the lines


def test_of_30_layers_the_first_the_last_and_some_between_are_labelled():
    picture = EVERY_FIGURE["shares of 30 layers"]()
    (axes,) = picture.figure.axes
    assert len(axes.lines) == 30 and all(f"layer {place} " in picture.alt for place in range(30))
    labels = [text.get_text() for text in axes.texts]
    assert labels[0].startswith("layer 0 (input side)") and labels[-1].startswith("layer 29 (output side)")
    assert 8 <= len(labels) < 30


def _visible_tick_labels(axes):
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        yield from (tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high)


def _all_tick_labels(figure):
    return {
        label.get_text()
        for axes in figure.axes
        for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]
    }


def test_the_figures_leave_pyplot_and_its_settings_alone():
    code = (
        "import sys, matplotlib; matplotlib.rcParams['text.color'] = 'red'\n"
        "from amp_lessons import figures; figures.format_ranges().png()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert matplotlib.rcParams['text.color'] == 'red'\n"
        "assert matplotlib.rcParams['axes.titleweight'] == 'normal'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_gradient_magnitudes_states_the_shares_that_torch_gives():
    values = torch.cat([gradients(-24), torch.zeros(7), torch.tensor([math.inf, math.nan])])
    finite = values[values.isfinite() & (values != 0)]
    lost = float((finite.half() == 0).float().mean())
    picture = figures.gradient_magnitudes(values)
    assert f"Of {len(finite):,} non-zero values {percent(lost)} become 0" in picture.alt
    assert "7 were zero already in FP32; 2 were infinite or NaN" in picture.alt
    assert picture.figure.get_suptitle() == f"FP16 turns {percent(lost)} of the gradients to 0"


def test_gradient_magnitudes_moves_with_the_scale():
    values = gradients(-24)
    lost = [figures.gradient_magnitudes(values, scale).alt for scale in (1.0, 2.0**20)]
    assert "infinity" not in lost[0] and "times 2²⁰ = 1,048,576" in lost[1]
    assert " 0 % become 0" not in lost[0] and " 0 % become 0" in lost[1]


def test_gradient_magnitudes_draws_every_value_once():
    picture = figures.gradient_magnitudes({"tiny": gradients(-60), "huge": gradients(30)})
    for axes in picture.figure.axes:
        bars = [patch.get_height() for patch in axes.patches if patch.get_width() == 1]
        assert sum(bars) == pytest.approx(1)


def test_gradient_magnitudes_of_zeros_says_so():
    picture = figures.gradient_magnitudes(torch.zeros(5))
    assert picture.figure.get_suptitle() == "All gradients are zero already in FP32"
    assert "5 were zero already" in picture.alt and len(picture.html()) < LIMIT


@pytest.mark.parametrize("values", [[NAN, math.inf], [NAN, 0.0]])
def test_gradient_magnitudes_does_not_call_nan_zero(values):
    picture = figures.gradient_magnitudes(torch.tensor(values))
    assert picture.figure.get_suptitle() == "No gradient is finite and other than zero"
    assert not any("zero already" in text.get_text() for text in picture.figure.axes[0].texts)


def test_gradient_magnitudes_counts_what_leaves_fp32():
    picture = figures.gradient_magnitudes(torch.tensor([1.0, 1e30]), scale=2.0**40)
    assert "Of 2 non-zero values 0 % become 0 and 100 % become infinity." in picture.alt
    picture = figures.gradient_magnitudes(torch.tensor([1.0, 1e-44]), scale=2.0**-10)
    assert "Of 2 non-zero values 50 % become 0." in picture.alt and "already" not in picture.alt


@pytest.mark.parametrize("scale", [2.0**1000, 2.0**-1000])
def test_gradient_magnitudes_draws_values_however_far_off(scale):
    picture = figures.gradient_magnitudes(torch.tensor([1.0, 1e-44, 1e38]), scale)
    assert "Of 3 non-zero values" in picture.alt and len(picture.html()) < LIMIT


def test_gradient_magnitudes_of_gradients_that_are_none_says_to_run_backward():
    weight = torch.nn.Linear(2, 2).weight
    for values in (weight.grad, [weight.grad], {"weight": weight.grad}, {"layer": [weight.grad]}):
        with pytest.raises(TypeError, match=r"None.*run backward\(\)"):
            figures.gradient_magnitudes(values)


def test_gradient_magnitudes_takes_a_million_values_and_a_title():
    picture = figures.gradient_magnitudes(gradients(-20, 1_000_000), title="Mine <b>")
    assert picture.figure.get_suptitle() == "Mine <b>" and len(picture.html()) < LIMIT


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        (torch.zeros(0), ValueError, "no gradients"),
        ([], ValueError, "no gradients"),
        ({}, ValueError, "no gradients"),
        (None, TypeError, "tensor"),
        ([None, torch.ones(2)], TypeError, "tensor"),
        ([1.0, 2.0], TypeError, "tensor"),
        ("text", TypeError, "tensor"),
    ],
)
def test_gradient_magnitudes_says_what_it_needs(values, error, words):
    with pytest.raises(error, match=words):
        figures.gradient_magnitudes(values)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_gradient_magnitudes_needs_a_positive_scale(scale):
    with pytest.raises(ValueError, match="positive"):
        figures.gradient_magnitudes(gradients(-20), scale)


def test_format_ranges_takes_its_numbers_from_the_formats():
    alt = figures.format_ranges().alt
    assert "FP16: largest 65,504, normal down to 2⁻¹⁴, subnormal down to 2⁻²⁴, 10 mantissa bits" in alt
    assert "BF16: largest 3.39 × 10³⁸" in alt and "FP32: largest 3.403 × 10³⁸" in alt
    assert figures.format_ranges([torch.float16]).alt == figures.format_ranges([FP16]).alt
    with pytest.raises(ValueError, match="at least one"):
        figures.format_ranges([])


def test_around_one_says_where_torch_rounds():
    one = torch.tensor(1.0, dtype=torch.float16)
    assert one + 2**-11 == 1 and one - 2**-11 == 1 - 2**-11 and one + 1e-4 == 1
    alt = figures.around_one().alt
    assert (
        "1 − 2⁻¹¹ becomes 1 − 2⁻¹¹." in alt and "1 + 1e-4 becomes 1." in alt and "1 + 2⁻¹¹ becomes 1." in alt
    )


def test_mixed_precision_step_needs_a_narrow_format():
    assert "BF16" in figures.mixed_precision_step("bf16").alt
    for wrong in ("fp32", "fp8"):
        with pytest.raises(ValueError):
            figures.mixed_precision_step(wrong)


def test_share_lost_over_training_states_first_and_last_in_layer_order():
    alt = figures.share_lost_over_training([1, 30], {"0": [0.0, 0.78], "2": [0.25, 0.5]}).alt
    assert "0 0 % to 78 %; 2 25 % to 50 %" in alt and "epoch 1 to 30" in alt


@pytest.mark.parametrize(
    ("epochs", "shares", "words"),
    [
        ([], {"a": []}, "at least one"),
        ([1], {}, "at least one"),
        ([1, 2], {"a": [0.1]}, "1 shares for 2 epochs"),
        ([1], {"a": [25.0]}, "0.25 for 25 %"),
        ([1, 2], {"a": [0.5, math.nan]}, "'a' has the share nan"),
        ([1, 2], {"a": [math.nan, 0.5]}, "'a' has the share nan"),
        ([1, math.nan], {"a": [0.5, 0.5]}, "epoch nan"),
    ],
)
def test_share_lost_over_training_says_what_is_wrong(epochs, shares, words):
    with pytest.raises(ValueError, match=words):
        figures.share_lost_over_training(epochs, shares)


def test_training_runs_gives_each_precision_its_colour_and_each_run_its_line():
    figure = figures.training_runs(runs()).figure
    fp32, fp16, scaled = figure.axes[0].lines
    assert fp32.get_color() == figures.PRECISION_COLOURS["fp32"]
    assert fp16.get_color() == scaled.get_color() == figures.PRECISION_COLOURS["fp16"]
    assert fp16.get_linestyle() != scaled.get_linestyle()
    assert fp32.get_marker() != fp16.get_marker()
    assert len(figure.axes[1].lines) == 2  # the scaled run has no shares of zeros


def test_training_runs_is_about_the_run_that_was_added_last():
    assert (
        figures.training_runs(runs())
        .figure.get_suptitle()
        .startswith("FP16, scaled: the curve ends about where FP32's does")
    )


def test_training_runs_can_count_epochs():
    picture = figures.training_runs({"FP32": {"error": [1.0, 0.5]}}, step_label="epoch")
    assert picture.figure.axes[-1].get_xlabel() == "epoch"
    assert "2 epochs" in picture.alt


def test_training_runs_says_who_ends_how_far_off():
    spoiled = dict(list(runs().items())[:2])
    picture = figures.training_runs(spoiled)
    factor = 0.6 / (0.6 * 0.995**399)
    assert picture.figure.get_suptitle() == f"FP16: the curve ends {factor:.2g} times as high as FP32's"
    assert (
        "FP16: error / amplitude from 0.6 to 0.6, gradients that are zero from 100 % to 100 %" in picture.alt
    )


def test_training_runs_survives_a_run_that_ends_in_nan_and_chooses_a_log_axis():
    picture = figures.training_runs(
        {"FP16": {"error": [1.0, math.inf, math.nan]}, "FP32": {"error": [1, 0.1, 1e-4]}}
    )
    assert picture.figure.get_suptitle() == "FP16 ends in NaN"
    assert len(picture.figure.axes) == 1 and len(picture.html()) < LIMIT
    assert any("2⁻" in label.get_text() for label in picture.figure.axes[0].get_yticklabels())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "at least one run"),
        ({"FP32": {"error": []}}, "no step"),
        ({"FP32": {"loss": [1]}}, "needs an entry"),
        ({"FP32": {"error": [1, 2], "zeros": [0.5]}}, "1 shares of zeros for 2 errors"),
        ({"FP32": {"error": [1, 2], "zeros": [5, 50]}}, "0.25 for 25 %"),
        ({"FP32": {"error": [1, 2], "zeros": [0.5, -0.5]}}, "0.25 for 25 %"),
    ],
)
def test_training_runs_says_what_is_wrong(wrong, words):
    with pytest.raises(ValueError, match=words):
        figures.training_runs(wrong)


@pytest.fixture
def displayed(monkeypatch):
    """What IPython's display is given."""
    import IPython.display

    given = []
    monkeypatch.setattr(IPython.display, "display", given.append)
    return given


def test_show_displays_a_learners_figure_and_closes_it(displayed):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    figure, axes = pyplot.subplots()
    axes.plot([1, 2])
    figures.show(figure, 'rises <script> & "so on"')
    markup = displayed[0]._repr_mimebundle_()["text/html"]
    assert "<script>" not in markup and "rises &lt;script&gt; &amp; &quot;so on&quot;" in markup
    assert not pyplot.fignum_exists(figure.number)


def test_show_takes_a_picture_and_axes_and_a_new_sentence(displayed):
    picture = figures.around_one()
    figures.show(picture)
    figures.show(picture, "Another sentence.")
    figure, axes = figures.new_figure(4, 2)
    figures.show(axes, "Empty axes.")
    assert [shown.alt for shown in displayed] == [picture.alt, "Another sentence.", "Empty axes."]


@pytest.mark.parametrize(
    ("what", "alt", "error"),
    [("figure", None, ValueError), ("figure", " ", ValueError), ([1], "a", TypeError)],
)
def test_show_says_what_it_needs(what, alt, error, displayed):
    with pytest.raises(error, match="figure"):
        figures.show(figures.new_figure(3, 2)[0] if what == "figure" else what, alt)
    assert displayed == []


def test_to_html_has_an_opaque_background_and_an_own_caption():
    figure, axes = figures.new_figure(3, 2)
    figure.set_facecolor("none")
    markup = figures.to_html(figure, "The alternative.", caption="The caption.")
    with Image.open(BytesIO(image_of(markup))) as image:
        assert image.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)
        assert image.size == pixels(markup) == (600, 400)
    assert 'alt="The alternative."' in markup and ">The caption.</figcaption>" in markup


def test_numbers_in_words():
    assert [percent(share) for share in (0, 1e-9, 0.031, 0.5, 0.9999, 1)] == [
        "0 %", "under 0.1 %", "3.1 %", "50 %", "over 99.9 %", "100 %",
    ]  # fmt: skip
    assert [number(value) for value in (65504, 12417.3, 0.11, 1.659e-8, math.inf, 0)] == [
        "65,504", "12,420", "0.11", "1.659 × 10⁻⁸", "infinity", "0",
    ]  # fmt: skip
    assert [small_percent(share) for share in (2**-23, 2**-10, 0.5, 0)] == [
        "0.000012 %",
        "0.098 %",
        "50 %",
        "0 %",
    ]


def test_spread_keeps_order_gap_and_floor():
    moved = spread([0.5, 0.5, 0.0, 0.49, 9.0], gap=1.0, lowest=-0.2)
    ordered = [moved[index] for index in (2, 3, 0, 1, 4)]
    assert min(moved) >= -0.2 - 1e-9
    assert all(upper - lower >= 1 - 1e-6 for lower, upper in zip(ordered, ordered[1:]))


def test_spread_keeps_the_ceiling():
    assert spread([9.0, 9.0, 8.9], gap=1.0, lowest=0.0, highest=9.5) == pytest.approx([8.5, 9.5, 7.5])


DOLLARS = "$5_{ or $x$"
DRAWN_WITH_LABELS = {
    "magnitudes": lambda: figures.gradient_magnitudes({DOLLARS: gradients(-22)}, title=DOLLARS),
    "shares": lambda: figures.share_lost_over_training([1, 2], {DOLLARS: [0.1, 0.2]}),
    "runs": lambda: figures.training_runs(
        {DOLLARS: {"error": [1.0, 0.5], "zeros": [0.1, 0.2]}}, DOLLARS, DOLLARS, DOLLARS
    ),
    "scale": lambda: figures.scale_trace({DOLLARS: ([2.0, 4.0], [False, True])}, title=DOLLARS),
    "sums": lambda: figures.running_sums({DOLLARS: [1.0, math.inf]}),
    "activations": lambda: figures.activation_sizes({DOLLARS: 7.0}),
}


@pytest.mark.parametrize("name", DRAWN_WITH_LABELS)
def test_a_label_with_dollar_signs_is_drawn_as_it_is(name):
    picture = DRAWN_WITH_LABELS[name]()
    assert picture.png().startswith(b"\x89PNG")  # as mathematics, it would be a syntax error
    labelled = [text for text in picture.figure.findobj(Text) if DOLLARS in text.get_text()]
    assert labelled and not any(text.get_parse_math() for text in labelled)


def test_a_learners_own_figure_may_have_mathematics_and_a_log_axis():
    figure, axes = figures.new_figure(4, 3)
    axes.plot([1, 10, 100])
    axes.set_yscale("log")
    title = axes.set_title("$x^2$")
    figure.draw_without_rendering()
    assert title.get_parse_math() and all(label.get_parse_math() for label in axes.get_yticklabels())


def test_a_message_wider_than_the_figure_goes_on_in_the_next_line():
    for words in ("A message of many words, " * 9, "W" * 200, "short " + "y" * 150):
        figure, _ = figures.new_figure(5, 3)
        set_message(figure, words)
        figure.draw_without_rendering()
        title = figure._suptitle
        assert title.get_window_extent().x1 <= figure.bbox.x1
        assert re.sub(r"\s", "", title.get_text()) == re.sub(r"\s", "", words)
    assert wrapped("as it is", 4, 15) == "as it is"
