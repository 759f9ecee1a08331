"""Machines that are not here, faked through PyTorch's own queries; and the one that is here, once."""

import re
from types import SimpleNamespace

import pytest
import torch
from bs4 import BeautifulSoup

from amp_lessons import hardware, hardware_card, matrix_speed
from amp_lessons.hardware import Machine, describe
from amp_lessons.matrix_speed import Measurement, format_seconds, read_measurement
from amp_lessons.recommendation import recommend

GIB = 2**30


@pytest.fixture
def no_accelerator(monkeypatch):
    """A machine without any GPU, whatever the real one has."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.xpu, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


@pytest.fixture
def fake_cuda(monkeypatch, no_accelerator):
    def put_in(name, capability, memory=16 * GIB, hip=None):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
        properties = SimpleNamespace(name=name, total_memory=memory, major=capability[0], minor=capability[1])
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device=None: properties)
        monkeypatch.setattr(torch.version, "hip", hip)

    return put_in


@pytest.fixture
def fake_cpu(monkeypatch, no_accelerator):
    def put_in(*flags):
        capabilities = {
            "architecture": "x86_64",
            "avx2": True,
            "avx512_bf16": False,
            **dict.fromkeys(flags, True),
        }
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)

    return put_in


NVIDIA = [
    # name, capability, native BF16 and TF32, fast FP16, dtype to try, scaler, a word of the reason
    ("Tesla T4", (7, 5), False, True, torch.float16, True, "emulate"),
    ("Tesla V100-SXM2-16GB", (7, 0), False, True, torch.float16, True, "emulate"),
    ("NVIDIA A100-SXM4-40GB", (8, 0), True, True, torch.bfloat16, False, "FP16 with GradScaler works"),
    ("NVIDIA L4", (8, 9), True, True, torch.bfloat16, False, "no loss scaling"),
    ("NVIDIA H100 80GB HBM3", (9, 0), True, True, torch.bfloat16, False, "no loss scaling"),
    ("NVIDIA RTX PRO 6000 Blackwell", (12, 0), True, True, torch.bfloat16, False, "no loss scaling"),
    ("NVIDIA GeForce GTX 1660 Ti", (7, 5), False, False, torch.float32, False, "no tensor cores"),
    ("NVIDIA GeForce GTX 1650", (7, 5), False, False, torch.float32, False, "NaN"),
    ("NVIDIA T1000", (7, 5), False, False, torch.float32, False, "no tensor cores"),
    ("NVIDIA GeForce MX450", (7, 5), False, False, torch.float32, False, "no tensor cores"),
    ("NVIDIA GeForce RTX 2080 Ti", (7, 5), False, True, torch.float16, True, "emulate"),
    ("NVIDIA GeForce GTX 1080", (6, 1), False, False, torch.float16, True, "seldom time"),
]


@pytest.mark.parametrize("row", NVIDIA, ids=lambda row: row[0])
def test_nvidia(fake_cuda, row):
    name, capability, native_bf16, fp16_fast, dtype, scaler, word = row
    fake_cuda(name, capability)
    machine = describe()
    assert (machine.device, machine.backend, machine.name) == ("cuda", "CUDA", name)
    assert machine.capability == capability
    assert machine.memory_bytes == 16 * GIB
    assert machine.native_bf16 is machine.tf32 is native_bf16
    assert machine.fp16_fast is fp16_fast
    recommendation = recommend(machine)
    assert (recommendation.dtype, recommendation.scaler) == (dtype, scaler)
    assert word in recommendation.reason


def test_a_t4_that_pytorch_calls_bf16_capable_is_not_native(fake_cuda, monkeypatch):
    """On a real T4 is_bf16_supported() is True, by emulation."""
    fake_cuda("Tesla T4", (7, 5))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation)
    assert describe("cuda").native_bf16 is False


def test_an_amd_gpu_has_no_nvidia_capability(fake_cuda):
    fake_cuda("AMD Instinct MI210", (9, 0), hip="6.2")
    machine = describe()
    assert (machine.device, machine.backend, machine.capability) == ("cuda", "ROCm", None)
    assert machine.native_bf16 is machine.fp16_fast is machine.tf32 is None
    assert recommend(machine).dtype == torch.bfloat16
    assert "AMD" in recommend(machine).reason
    assert "not known" in repr(hardware_card.card(machine))


def test_an_apple_gpu(monkeypatch, no_accelerator):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "get_name", lambda: "Apple M3", raising=False)
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 12 * GIB, raising=False)
    machine = describe()
    assert (machine.device, machine.backend, machine.name) == ("mps", "MPS", "Apple M3")
    assert (machine.memory_bytes, machine.native_bf16) == (12 * GIB, None)
    assert recommend(machine).scaler is False
    assert "macOS 14" in recommend(machine).reason


def test_an_apple_gpu_under_an_older_pytorch(monkeypatch, no_accelerator):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.delattr(torch.backends.mps, "get_name", raising=False)
    monkeypatch.delattr(torch.mps, "recommended_max_memory", raising=False)
    assert (describe().name, describe().memory_bytes) == ("Apple GPU", None)


@pytest.mark.parametrize(("properties", "native"), [({"has_bfloat16_conversions": True}, True), ({}, None)])
def test_an_intel_gpu(monkeypatch, no_accelerator, properties, native):
    monkeypatch.setattr(torch.xpu, "is_available", lambda: True)
    found = SimpleNamespace(name="Intel Arc B580", total_memory=12 * GIB, **properties)
    monkeypatch.setattr(torch.xpu, "get_device_properties", lambda device=None: found)
    machine = describe("xpu")
    assert (machine.name, machine.native_bf16) == ("Intel Arc B580", native)
    assert recommend(machine).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("flags", "native_bf16", "fp16_fast", "dtype", "word"),
    [
        ((), False, False, torch.float32, "no instructions for BF16"),
        (("avx512_bf16",), True, False, torch.bfloat16, "has instructions for BF16"),
        (("amx_bf16", "avx512_fp16"), True, None, torch.bfloat16, "has instructions for BF16"),
        (("amx_bf16", "avx512_fp16", "amx_fp16"), True, True, torch.bfloat16, "has instructions for BF16"),
        (("bf16", "fp16_arith"), True, None, torch.bfloat16, "has instructions for BF16"),
    ],
)
def test_processors(fake_cpu, flags, native_bf16, fp16_fast, dtype, word):
    fake_cpu(*flags)
    machine = describe()
    assert (machine.device, machine.backend, machine.capability, machine.tf32) == ("cpu", "CPU", None, False)
    assert (machine.native_bf16, machine.fp16_fast) == (native_bf16, fp16_fast)
    recommendation = recommend(machine)
    assert (recommendation.dtype, recommendation.scaler) == (dtype, False)
    assert word in recommendation.reason


@pytest.mark.parametrize(
    ("cpuinfo", "native_bf16", "name"),
    [
        ("model name\t: Some Xeon\nflags\t\t: fpu avx2 avx512_bf16\n", True, "Some Xeon"),
        ("model name\t: Some Core\nflags\t\t: fpu avx2\n", False, "Some Core"),
        ("Features\t: fp asimd asimdhp svebf16\n", True, None),
        (None, None, None),
    ],
    ids=["x86 with", "x86 without", "Arm", "not Linux"],
)
def test_processor_under_a_pytorch_that_lists_no_capabilities(
    monkeypatch, no_accelerator, cpuinfo, native_bf16, name
):
    """PyTorch 2.6 has no get_capabilities: Linux's own list, else unknown."""
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)

    def read_text(path, **_):
        if cpuinfo is None:
            raise FileNotFoundError(path)
        return cpuinfo

    monkeypatch.setattr(hardware.Path, "read_text", read_text)
    machine = describe("cpu")
    assert machine.native_bf16 is native_bf16
    if name:
        assert machine.name == name
    else:
        assert machine.name
    if native_bf16 is None:
        assert recommend(machine).dtype == torch.float32
        assert "could not be found out" in recommend(machine).reason


@pytest.mark.parametrize("backend", ["CUDA", "ROCm", "MPS", "XPU", "CPU"])
@pytest.mark.parametrize("native_bf16", [True, False, None])
@pytest.mark.parametrize("capability", [(6, 1), (7, 5), (9, 0)])
def test_every_reason_is_one_or_two_sentences_and_no_bf16_needs_a_scaler(backend, native_bf16, capability):
    recommendation = recommend(Machine("cpu", backend, "any", capability, None, native_bf16, None, False))
    assert 1 <= len(re.findall(r"\.(?= |$)", recommendation.reason)) <= 2
    assert recommendation.scaler is (recommendation.dtype == torch.float16)


def test_memory_that_the_system_does_not_tell(monkeypatch, fake_cpu):
    fake_cpu()
    monkeypatch.delattr(hardware.os, "sysconf", raising=False)
    machine = describe()
    assert machine.memory_bytes is None
    assert "Memory" not in repr(hardware_card.card(machine))


def test_devices_that_are_not_there_say_what_to_do(no_accelerator):
    assert describe().device == describe(torch.device("cpu")).device == "cpu"
    for missing in ("cuda", "cuda:3", "mps", "xpu"):
        with pytest.raises(ValueError, match='Use "cpu"'):
            describe(missing)
    with pytest.raises(ValueError, match="no device 'fast'. Use \"cuda\""):
        describe("fast")
    with pytest.raises(ValueError, match="meta"):
        describe("meta")


def test_this_machine():
    machine = describe()
    assert machine.device in ("cuda", "mps", "cpu")
    assert machine.name
    assert machine.torch_version == torch.__version__
    measurements = matrix_speed.measure(machine, seconds=0.3)
    assert measurements[0].format_name == "fp32"
    assert all(measured.median_seconds > 0 for measured in measurements)
    assert machine.name in repr(hardware_card.card(machine, measurements))


A_CPU = Machine("cpu", "CPU", "A CPU", None, 8 * GIB, True, False, False)


def tf32_is_off():
    matmul = torch.backends.cuda.matmul
    if hasattr(matmul, "fp32_precision"):
        return matmul.fp32_precision == "ieee"
    return not matmul.allow_tf32


def test_measure_gives_the_budget_in_equal_parts_and_full_fp32(monkeypatch):
    asked = []

    def fake_timer(function, device, at_most_seconds, **_):
        product = function()
        asked.append((device, at_most_seconds, product.dtype, tf32_is_off()))
        return SimpleNamespace(median=0.5, spread=(0.4, 0.6))

    monkeypatch.setattr(matrix_speed, "median_seconds", fake_timer)
    monkeypatch.setitem(matrix_speed._SIZES, "cpu", 8)
    torch.set_float32_matmul_precision("high")
    try:
        measurements = matrix_speed.measure(A_CPU, seconds=3)
        assert torch.get_float32_matmul_precision() == "high"
        assert torch.backends.cuda.matmul.allow_tf32
    finally:
        torch.set_float32_matmul_precision("highest")
    assert asked == [("cpu", 1.0, dtype, True) for dtype in (torch.float32, torch.float16, torch.bfloat16)]
    assert measurements == [Measurement(name, 0.5, 8, (0.4, 0.6)) for name in ("fp32", "fp16", "bf16")]


def test_a_format_that_the_device_lacks_is_left_out(monkeypatch):
    def fake_timer(function, device, **_):
        if function().dtype == torch.bfloat16:
            raise RuntimeError("not implemented for 'BFloat16'")
        return SimpleNamespace(median=0.5, spread=(0.5, 0.5))

    monkeypatch.setattr(matrix_speed, "median_seconds", fake_timer)
    monkeypatch.setitem(matrix_speed._SIZES, "cpu", 8)
    measurements = matrix_speed.measure(A_CPU)
    assert [measured.format_name for measured in measurements] == ["fp32", "fp16"]
    assert "BF16 could not be timed here." in read_measurement(measurements)


def measured(fp32, fp16, bf16, spread=None):
    return [Measurement(n, s, 512, spread) for n, s in (("fp32", fp32), ("fp16", fp16), ("bf16", bf16))]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.5, "it was 2.0 times as fast"),
        (1 / 1.2, "it was 1.2 times as fast"),
        (0.9, "it took about as long"),
        (1.0, "it took about as long"),
        (1.1, "it took about as long"),
        (1.3, "it took 1.3 times as long"),
        (76.4, "it took 76 times as long"),
        (9.96, "it took 10 times as long"),
        (0.0005, "it was 2,000 times as fast"),
    ],
)
def test_reading_is_true_whatever_was_measured(seconds, words):
    text = read_measurement(measured(1.0, seconds, 1.0))
    assert f"In FP16 {words}." in text
    assert "In BF16 it took about as long." in text
    assert "512 × 512 matrices took 1 s in FP32" in text


def test_the_number_in_the_reading_agrees_with_the_measurement():
    for ratio in (0.001, 0.02, 0.3, 0.7, 0.8, 0.84, 1.21, 1.5, 4, 11, 140):
        text = read_measurement(measured(1.0, ratio, 1.0))
        found = re.search(r"In FP16 it (was|took) ([\d.,]+) times as (fast|long)", text)
        if found is None:
            assert 1 / 1.2 < ratio < 1.2
            continue
        claimed = float(found[2].replace(",", ""))
        assert claimed == pytest.approx(1 / ratio if found[3] == "fast" else ratio, rel=0.05)
        assert claimed >= 1.2


def test_reading_says_when_the_calls_were_uneven():
    assert "uneven" in read_measurement(measured(1.0, 1.0, 1.0, spread=(0.3, 0.7)))
    assert "uneven" not in read_measurement(measured(1.0, 1.0, 1.0, spread=(0.9, 1.1)))


def test_reading_of_nothing_to_compare_with():
    for nothing in ([], measured(0.0, 1.0, 1.0), measured(1.0, 1.0, 1.0)[1:]):
        assert "nothing to compare with" in read_measurement(nothing)


def test_reading_doubts_a_gain_that_is_unusual():
    assert "unusual" in read_measurement(measured(1.0, 1.0, 0.01))
    assert "unusual" not in read_measurement(measured(1.0, 0.05, 30.0))


def test_format_seconds():
    assert format_seconds(2) == "2 s"
    assert format_seconds(0.0123) == "12.3 ms"
    assert format_seconds(0.00005) == "50 µs"
    assert format_seconds(0.9999e-3) == "1 ms"
    assert format_seconds(1e-8) == "0.01 µs"


def test_card_as_text_and_as_a_table():
    machine = Machine(
        "cuda", "CUDA", "Tesla T4", (7, 5), 15 * GIB, False, False, True, True, "2.11.0+cu128", "3.13.1"
    )
    card = hardware_card.card(machine, measured(0.0171, 0.0057, 0.034))
    text = repr(card)
    assert "Tesla T4 (CUDA)" in text
    assert re.search(r"Compute capability +7\.5\n", text)
    assert re.search(r"Memory +15\.0 GiB\n", text)
    assert re.search(r"BF16 in hardware +no\n", text)
    assert re.search(r"FP16 product, 512 × 512 +5\.7 ms\n", text)
    assert "2.11.0+cu128, 3.13.1" in text
    assert "Try first: autocast in FP16, with GradScaler." in text
    assert recommend(machine).reason in text
    assert "In FP16 it was 3.0 times as fast. In BF16 it took 2.0 times as long." in text
    assert str(card) == text

    bundle = card._repr_mimebundle_()
    assert bundle["text/plain"] == text
    page = BeautifulSoup(bundle["text/html"], "html.parser")
    rows = {row.th.text: row.td.text for row in page.find_all("tr")}
    assert rows == dict(card.facts())
    assert all(header["scope"] == "row" for header in page.find_all("th"))
    assert page.caption.text == "This machine"
    assert recommend(machine).reason in page.text
    assert read_measurement(card.measurements) in page.text


def test_card_says_when_the_measurement_speaks_against_the_advice():
    slow = hardware_card.card(A_CPU, measured(0.001, 0.1, 0.01))
    assert "BF16 was slower than FP32 here, against the advice" in repr(slow)
    assert "against the advice" not in repr(hardware_card.card(A_CPU, measured(0.001, 0.1, 0.0005)))


@pytest.mark.parametrize(
    ("built", "capability", "has_code"),
    [
        (["sm_75", "sm_80", "sm_90"], (7, 0), False),
        (["sm_75", "sm_80", "sm_90"], (6, 1), False),
        (["sm_75", "sm_80", "sm_90"], (7, 5), True),
        (["sm_75", "sm_80", "sm_90"], (8, 9), True),
        (["sm_75", "sm_80", "sm_90"], (12, 0), False),
        (["sm_75", "sm_90", "compute_90"], (12, 0), True),
        (["sm_90a", "sm_100", "sm_120"], (10, 3), True),
        ([], (7, 0), True),
    ],
)
def test_a_gpu_that_this_build_has_no_code_for_is_said(monkeypatch, built, capability, has_code):
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: built)
    assert hardware._has_code_for(capability) is has_code
    machine = Machine("cuda", "CUDA", "A GPU", capability, GIB, False, False, True, has_code)
    assert ("no code for this GPU" in recommend(machine).reason) is not has_code


def test_card_without_measurements_and_in_fp32():
    card = hardware_card.card(Machine("cpu", "CPU", "Old", None, None, False, False, False))
    assert "Try first: FP32, without autocast." in repr(card)
    assert "times as" not in repr(card)
    assert card._repr_mimebundle_()["text/html"].count("<p>") == 1


def test_card_is_legible_in_every_theme_and_escapes_names():
    machine = Machine("cpu", "CPU", "<script>alert(1)</script>", None, None, None, False, None)
    html = hardware_card.card(machine, measured(1, 1, 1))._repr_mimebundle_()["text/html"]
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    colours = re.findall(r"(?<![-\w])(?:color|background[-\w]*):\s*([^;\"]+)", html)
    assert colours
    assert set(colours) <= {"var(--jp-ui-font-color1, inherit)", "inherit"}
