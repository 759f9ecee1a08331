"""The explorers in a real kernel without a browser: a notebook is run, then poked by further cells."""

import re
import sys

import nbformat
import pytest
from nbclient import NotebookClient

SHOW = """
import torch
from amp_lessons import widgets
bits = widgets.bit_explorer(1e-4, "fp16")
scale = widgets.loss_scale_explorer(torch.logspace(-9, -3, 500))
scaler = widgets.scaler_simulator()
asked = widgets.policy_explorer("softmax")
sums = widgets.sum_explorer()
roof = widgets.roofline_explorer()
"""


def run(client, source):
    """Run a cell in the client's kernel and give its outputs; a cell that raises fails the test."""
    cell = nbformat.v4.new_code_cell(source)
    client.nb.cells.append(cell)
    return client.execute_cell(cell, len(client.nb.cells) - 1).outputs


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    notebook = nbformat.v4.new_notebook()
    folder = tmp_path_factory.mktemp("probe")
    client = NotebookClient(
        notebook, timeout=90, startup_timeout=90, resources={"metadata": {"path": folder}}
    )
    client.create_kernel_manager()
    # This interpreter's own kernel, whatever kernels are installed for the user.
    client.km.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    with client.setup_kernel():
        run(client, f"import sys; sys.path[:0] = {[path for path in sys.path if path]!r}")
        run(client, SHOW)
        yield client


def html_values(client):
    """What all HTML widgets of the kernel show at this moment, as the page would draw it."""
    return [
        state["value"] for state in client.widget_state.values() if state.get("_model_name") == "HTMLModel"
    ]


def one(client, css_class):
    """The text of the only element of this class in all widgets."""
    found = re.findall(f'class="{css_class}">([^<]*)<', "".join(html_values(client)))
    assert len(found) == 1, found
    return found[0]


def test_an_explorer_is_shown_as_a_widget_with_words_for_readers_without_a_kernel(client):
    for name, words in (
        ("bits", "The number 0.0001 in FP16"),
        ("scale", "<img alt="),
        ("scaler", "the scale starts at 65,536"),
        ("asked", "CUDA (chosen)"),
        ("sums", "0.01 added 1,000 times"),
        ("roof", "Memory limits this product"),
    ):
        (output,) = run(client, name)
        assert "application/vnd.jupyter.widget-view+json" in output["data"]
        assert words in output["data"]["text/html"]


def test_clicks_and_typing_reach_the_page(client):
    run(client, "bits.presets[2].click()")
    assert one(client, "amp-bit-value") == "inf"
    run(client, "bits.number_field.value = '2^-24'")
    assert one(client, "amp-bit-value") == repr(2.0**-24)
    run(client, "bits.bit_buttons[0].click()")
    assert one(client, "amp-bit-value") == repr(-(2.0**-24))
    run(client, "bits.format_buttons.value = 'fp32'; bits.number_field.value = 'nonsense'")
    assert one(client, "amp-bit-value") == repr(-(2.0**-24))
    assert any("Not changed." in value for value in html_values(client))


def test_the_loss_scale_reaches_the_page_as_one_image(client):
    run(client, "scale.exponent_field.value = 10")
    assert one(client, "amp-scale-sentence").startswith("loss scale 2¹⁰ = 1,024: ")
    images = [value for value in html_values(client) if '<img alt="Left: histogram' in value]
    assert len(images) == 1 and images[0].count("<img") == 1
    assert "loss scale 2¹⁰ = 1,024" in images[0]


def test_presses_of_the_scaler_simulator_reach_the_page(client):
    run(client, "scaler.good_button.click()")
    assert one(client, "amp-scaler-headline") == "Step 1, a good step: stepped; the scale stays 65,536"
    run(client, "scaler.overflow_button.click()")
    assert one(client, "amp-scaler-scale") == "2¹⁵ = 32,768"
    run(client, "scaler.scale_choice.value = 2.0**4; scaler.interval_field.value = 10")
    run(client, "scaler.many_good_button.click()")
    assert one(client, "amp-scaler-scale") == "2⁵ = 32"
    (shown,) = [value for value in html_values(client) if "amp-scaler-headline" in value]
    assert shown.count("<img") == 1 and "the scale is 2⁵ = 32 now" in shown


def test_choices_in_the_policy_explorer_reach_the_page(client):
    assert one(client, "amp-policy-sentence").startswith("softmax computes in float32 under CUDA autocast")
    run(client, "asked.op_choice.value = 'linear'; asked.dtype_choice.value = torch.bfloat16")
    assert one(client, "amp-policy-sentence").startswith("linear computes in bfloat16 under CUDA autocast")


def test_a_sum_reaches_the_page(client):
    assert one(client, "amp-sum-headline") == "BF16 stops at 4 on the way to 10"
    run(client, "sums.addend_field.value = '0.25'; sums.count_field.value = 400")
    assert one(client, "amp-sum-headline") == "BF16 stops at 64 on the way to 100"
    run(client, "sums.addend_field.value = 'much'")
    assert one(client, "amp-sum-headline") == "BF16 stops at 64 on the way to 100"
    assert any("“much” is not a number" in value for value in html_values(client))


def test_a_product_on_a_gpu_reaches_the_page(client):
    run(
        client,
        "roof.gpu_choice.value = 'H100 SXM'; roof.sliders['m'].value = 12; roof.fields['k'].value = 5000",
    )
    assert one(client, "amp-roofline-headline").startswith(
        "Arithmetic limits this product in FP32 as in FP16 and"
    )
    (shown,) = [value for value in html_values(client) if "amp-roofline-headline" in value]
    assert shown.count("<img") == 1 and "(4,096 × 5,000) times (5,000 × 4,096) on the H100 SXM" in shown


def test_nothing_was_printed_or_warned(client):
    streams = [
        output for cell in client.nb.cells for output in cell.outputs if output["output_type"] == "stream"
    ]
    assert streams == []
