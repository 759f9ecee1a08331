"""The policy explorer, without a browser: its dropdowns are set from Python, and what it shows is read."""

import html
import re
import time

import pytest
import torch

from amp_lessons import policy, widgets


def plain(markup):
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", " ", markup))).strip()


def sentence(explorer):
    return html.unescape(re.search(r'class="amp-policy-sentence">([^<]*)<', explorer.view.value)[1])


def table(explorer):
    """The table's rows as lists of text, the head first."""
    rows = re.findall("<tr>(.*?)</tr>", explorer.view.value)
    return [[plain(cell) for cell in re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def test_softmax_on_cuda_is_shown_beside_the_other_devices():
    explorer = widgets.policy_explorer()
    assert sentence(explorer) == policy.ask("softmax").sentence == explorer.answer.sentence
    head, cuda, cpu, mps = table(explorer)
    assert head == ["device", "rule", "float32 in", "float16 in", "source"]
    assert cuda[:4] == ["CUDA (chosen)", "float32", "→ float32", "→ float32"]
    assert cpu[:4] == ["CPU", "as the input", "→ float32", "→ float16"] and mps[0] == "MPS"
    assert "CPU differs from CUDA" in plain(explorer.view.value)


@pytest.mark.parametrize("op", policy.OPS)
def test_every_op_shows_what_policy_answers_for_every_device(op):
    explorer = widgets.policy_explorer(op, "cpu", "bf16")
    head, *rows = table(explorer)
    for device, row in zip(policy.DEVICES, rows, strict=True):
        answer = policy.ask(op, device, torch.bfloat16)
        outs = [
            "refused" if isinstance(out, str) else f"→ {str(out).removeprefix('torch.')}"
            for out in answer.outputs.values()
        ]
        assert row[:-1] == [device.upper() + (" (chosen)" if device == "cpu" else ""), answer.rule, *outs]
        assert row[-1] == answer.source
        assert {
            "asked": "asked: PyTorch was asked (for the CPU on small real tensors, else on fake ones)",
            "listed": "listed: from PyTorch’s list, recorded from torch 2.",
        }[answer.source] in plain(explorer.view.value)
        for out in answer.outputs.values():
            assert not isinstance(out, str) or plain(html.escape(out)) in plain(explorer.view.value)
    assert len(head) == len(rows[0]) and sentence(explorer) == policy.ask(op, "cpu", torch.bfloat16).sentence


def test_the_dropdowns_change_the_answer():
    explorer = widgets.policy_explorer()
    explorer.op_choice.value = "linear"
    assert sentence(explorer) == policy.ask("linear").sentence
    assert "linear comes out the same on CUDA, CPU and MPS" in plain(explorer.view.value)
    explorer.device_choice.value = "cpu"
    explorer.dtype_choice.value = torch.bfloat16
    assert sentence(explorer) == policy.ask("linear", "cpu", torch.bfloat16).sentence
    assert [row[0] for row in table(explorer)[1:]] == ["CUDA", "CPU (chosen)", "MPS"]
    assert table(explorer)[0][2:5] == ["float32 in", "bfloat16 in", "first bfloat16, others float32 in"]


def test_a_refusal_is_told_in_pytorchs_words_with_the_device():
    text = plain(widgets.policy_explorer("binary_cross_entropy").view.value)
    assert "PyTorch’s own words on CUDA: torch.nn.functional.binary_cross_entropy" in text
    assert "CPU and MPS differ from CUDA" in text
    words = plain(widgets.policy_explorer("dot").view.value)
    assert "PyTorch’s own words on CPU: dot : expected both vectors" in words


def test_every_op_device_and_dtype_can_be_chosen():
    explorer = widgets.policy_explorer()
    assert [name for _, name in explorer.op_choice.options] == list(policy.OPS)
    assert [name for _, name in explorer.device_choice.options] == list(policy.DEVICES)
    assert [dtype for _, dtype in explorer.dtype_choice.options] == list(policy.DTYPES)
    for choice in (explorer.op_choice, explorer.device_choice, explorer.dtype_choice):
        assert choice.description.endswith(":")


@pytest.mark.parametrize("dtype", ["bf16", "BF16", torch.bfloat16])
def test_the_dtype_is_a_name_or_a_dtype(dtype):
    assert widgets.policy_explorer(dtype=dtype).dtype_choice.value == torch.bfloat16


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("softmacks",), "'softmax'"),
        ((None,), "no op None"),
        (("softmax", "gpu"), "no device 'gpu'"),
        (("softmax", "cuda", "fp32"), '"fp16" or "bf16" here, not \'fp32\': choose one'),
        (("softmax", "cuda", 16), "not 16: choose one of the two"),
    ],
)
def test_what_cannot_be_asked_gets_advice(arguments, words):
    with pytest.raises(ValueError, match=words):
        widgets.policy_explorer(*arguments)


def test_a_choice_takes_a_tenth_of_a_second_and_leaves_autocast_alone():
    explorer = widgets.policy_explorer()
    seconds = []
    with torch.autocast("cpu", torch.bfloat16):
        for op in policy.OPS[:20]:
            start = time.perf_counter()
            explorer.op_choice.value = op
            seconds.append(time.perf_counter() - start)
        assert torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16
    print(f"redraw of the policy explorer: at most {max(seconds) * 1000:.0f} ms of {len(seconds)}")
    assert sorted(seconds)[-2] < 0.5  # loose: the goal is 0.1 s, on a machine that does nothing else
    assert not torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled("cuda")


def test_it_displays_its_box_and_words_for_readers_without_a_kernel(monkeypatch):
    from amp_lessons.widgets import explorer as module

    shown = []
    monkeypatch.setattr(module, "show_live", lambda box, markup: shown.append((box, markup)))
    explorer = widgets.policy_explorer()
    explorer._ipython_display_()
    assert shown == [(explorer.box, explorer.fallback_html())]
    assert policy.ask("softmax").sentence in html.unescape(shown[0][1]) and "<script" not in shown[0][1]


def test_text_never_has_a_fixed_colour_without_a_background():
    styles = re.findall(r'style="([^"]*)"', widgets.policy_explorer("binary_cross_entropy").view.value)
    assert sum("color:var(" in style for style in styles) == 2
    for style in styles:
        assert all(c.startswith("var(") for c in re.findall(r"(?<![-\w])color:\s*([^;]+)", style))
