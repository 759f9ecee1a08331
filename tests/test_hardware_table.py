"""The table of hardware says of every generation what describe() and recommend() say of such a machine."""

import re
from types import SimpleNamespace

import pytest
import torch
from bs4 import BeautifulSoup

from amp_lessons.formats import format_of
from amp_lessons.hardware import Machine, cpu_units, describe, nvidia_units
from amp_lessons.hardware_table import COLUMNS, ROWS, HardwareTable, by_capability
from amp_lessons.recommendation import recommend

ALL_ROWS = {row.name: row for row in ROWS}
NVIDIA = [
    # row, what cards of it call themselves, capability
    ("Pascal and older", "Tesla P100-PCIE-16GB", (6, 0)),
    ("Pascal and older", "NVIDIA GeForce GTX 1080", (6, 1)),
    ("Pascal and older", "Tesla M40", (5, 2)),
    ("Volta", "Tesla V100-SXM2-16GB", (7, 0)),
    ("Turing", "Tesla T4", (7, 5)),
    ("Turing", "NVIDIA GeForce RTX 2080 Ti", (7, 5)),
    ("Turing without tensor cores", "NVIDIA GeForce GTX 1660 Ti", (7, 5)),
    ("Turing without tensor cores", "NVIDIA T1000", (7, 5)),
    ("Ampere", "NVIDIA A100-SXM4-40GB", (8, 0)),
    ("Ampere", "NVIDIA GeForce RTX 3090", (8, 6)),
    ("Ampere", "Orin", (8, 7)),
    ("Ada", "NVIDIA L4", (8, 9)),
    ("Hopper", "NVIDIA H100 80GB HBM3", (9, 0)),
    ("Blackwell", "NVIDIA B200", (10, 0)),
    ("Blackwell", "NVIDIA B300", (10, 3)),
    ("Blackwell", "NVIDIA GeForce RTX 5090", (12, 0)),
]


@pytest.fixture
def no_accelerator(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.xpu, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


@pytest.fixture
def fake_cuda(monkeypatch, no_accelerator):
    def put_in(name, capability, built=(), hip=None):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
        monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: list(built))
        properties = SimpleNamespace(name=name, total_memory=2**34, major=capability[0], minor=capability[1])
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device=None: properties)
        monkeypatch.setattr(torch.version, "hip", hip)

    return put_in


@pytest.fixture
def fake_cpu(monkeypatch, no_accelerator):
    def put_in(*flags):
        monkeypatch.setattr(
            torch.cpu, "get_capabilities", lambda: {"avx2": True, **dict.fromkeys(flags, True)}, raising=False
        )

    return put_in


def told(row):
    """What a row says, by column."""
    return dict(zip(COLUMNS, row.cells()))


def word(has):
    return {True: "yes", False: "no", None: "not known"}[has]


def agrees(row, machine):
    """Whether a row says of a machine what the machine's own description and recommendation say."""
    cells = told(row)
    for column, has in (
        ("fast FP16", machine.fp16_fast),
        ("BF16 itself", machine.native_bf16),
        ("TF32", machine.tf32),
    ):
        assert cells[column] in ("some", word(has)), column
    advised = recommend(machine)
    words = format_of(advised.dtype).label + (" + scaler" if advised.scaler else "")
    assert cells["try first"].split(":")[0] == words
    return True


@pytest.mark.parametrize(("row", "name", "capability"), NVIDIA, ids=lambda part: str(part))
def test_a_row_says_what_describe_and_recommend_say(fake_cuda, row, name, capability):
    fake_cuda(name, capability)
    table = by_capability()
    assert table.machine == describe()
    assert table.own_row.name == row
    assert agrees(table.own_row, describe())
    assert told(table.own_row)["FP8"] == word(capability >= (8, 9))


@pytest.mark.parametrize(
    ("row", "flags"),
    [
        ("CPU with BF16 instructions", ("avx512_bf16",)),
        ("CPU with BF16 instructions", ("amx_bf16", "avx512_fp16")),
        ("CPU with BF16 instructions", ("amx_bf16", "amx_fp16")),
        ("CPU with BF16 instructions", ("bf16", "fp16_arith")),
        ("CPU without them", ()),
    ],
)
def test_a_row_of_processors(fake_cpu, row, flags):
    fake_cpu(*flags)
    table = by_capability()
    assert table.own_row.name == row
    assert agrees(table.own_row, describe())


def test_every_example_of_every_row_agrees_with_its_row_and_with_the_rules():
    for row in ROWS:
        assert len(row.machines) == len(row.units) >= 1
        assert len({(recommend(machine).dtype, recommend(machine).scaler) for machine in row.machines}) == 1
        for machine, units in zip(row.machines, row.units):
            assert agrees(row, machine)
            assert (machine.native_bf16, machine.tf32, machine.fp16_fast) == units[:3]
            assert HardwareTable(machine).own_row is row


def test_no_row_is_missing_a_test_of_its_own_against_describe():
    tested = {row for row, _, _ in NVIDIA}
    assert tested == {row.name for row in ROWS if row.machines[0].backend == "CUDA"}


def test_what_the_rows_say():
    """The table as people read it, beside the rules that it is computed from."""
    assert [told(row)["try first"] for row in ROWS] == [
        "FP16 + scaler: saves memory, seldom time",
        "FP16 + scaler",
        "FP16 + scaler",
        "FP32",
        "BF16",
        "BF16",
        "BF16",
        "BF16",
        "BF16: measure",
        "BF16",
        "FP32",
    ]
    assert [row.name for row in ROWS if told(row)["FP8"] == "yes"] == ["Ada", "Hopper", "Blackwell"]
    assert told(ALL_ROWS["CPU with BF16 instructions"])["fast FP16"] == "some"
    assert told(ALL_ROWS["Apple GPU"])["BF16 itself"] == "not known"


def test_the_rules_by_capability():
    """NVIDIA's CUDA programming guide, table of the data types that tensor cores take."""
    assert nvidia_units((6, 1), "GTX 1080") == (False, False, False, False)
    assert nvidia_units((7, 0)) == nvidia_units((7, 5), "Tesla T4") == (False, False, True, False)
    assert nvidia_units((7, 5), "GTX 1660") == (False, False, False, False)
    assert nvidia_units((8, 0)) == nvidia_units((8, 7)) == (True, True, True, False)
    assert nvidia_units((8, 9)) == nvidia_units((12, 0)) == (True, True, True, True)
    assert cpu_units(None) == (None, False, None, None)


def test_an_apple_gpu_has_a_row(monkeypatch, no_accelerator):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "get_name", lambda: "Apple M3", raising=False)
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 2**33, raising=False)
    table = by_capability()
    assert table.own_row.name == "Apple GPU"
    assert agrees(table.own_row, describe())


@pytest.mark.parametrize(
    "machine",
    [
        Machine("cuda", "ROCm", "AMD Instinct MI210", None, None, None, None, None),
        Machine("xpu", "XPU", "Intel Arc B580", None, None, True, None, None),
        Machine("cpu", "CPU", "Some CPU", None, None, None, False, None),
        Machine("cuda", "CUDA", "A GPU of later", (13, 0), None, True, True, True),
    ],
    ids=lambda machine: machine.name,
)
def test_a_machine_without_a_row_is_told_so(machine):
    table = by_capability(machine)
    assert table.own_row is None
    assert f"This machine: {machine.name}" in table.note()[0] and "no row here" in table.note()[0]
    bundle = table._repr_mimebundle_()
    assert "▶" not in bundle["text/html"] and "<- this machine" not in bundle["text/plain"]


def test_a_gpu_that_this_build_has_no_code_for_is_not_praised(fake_cuda):
    fake_cuda("Tesla V100-SXM2-16GB", (7, 0), built=["sm_75", "sm_80", "sm_90"])
    table = by_capability()
    assert table.own_row.name == "Volta"
    assert "no code for it" in table.note()[0]
    fake_cuda("NVIDIA A100-SXM4-40GB", (8, 0), built=["sm_75", "sm_80", "sm_90"])
    assert "no code" not in by_capability().note()[0]


def test_html_and_text_say_the_same_and_mark_one_row():
    machine = Machine("cuda", "CUDA", "Tesla <T4>", (7, 5), None, False, False, True)
    table = by_capability(machine)
    bundle = table._repr_mimebundle_()
    assert bundle["text/plain"] == repr(table) == str(table)
    page = BeautifulSoup(bundle["text/html"], "html.parser")
    heads = [head.text for head in page.find_all("th", scope="col")]
    assert heads == ["hardware", *COLUMNS]
    lines = page.tbody.find_all("tr")
    assert [[cell.text for cell in line.find_all("td")] for line in lines] == [row.cells() for row in ROWS]
    assert all(line.th["scope"] == "row" for line in lines)
    (marked,) = [line for line in lines if "this machine" in line.th.text]
    assert marked.th.text.startswith("Turing") and "T4, RTX 20" in marked.th.text
    assert "This machine: Tesla <T4>, compute capability 7.5." in page.text
    assert "<T4>" not in bundle["text/html"]
    (marked,) = [line for line in repr(table).splitlines() if line.endswith("<- this machine")]
    assert marked.startswith("Turing (T4") and re.search(r"FP16 \+ scaler\s+<- this machine", marked)
    assert all(sentence in page.text and sentence in repr(table) for sentence in table.note())


def test_the_table_is_legible_in_every_theme():
    html = by_capability(ROWS[0].machines[0])._repr_mimebundle_()["text/html"]
    colours = re.findall(r"(?<![-\w])(?:color|background[-\w]*):\s*([^;\"]+)", html)
    assert set(colours) == {"var(--jp-ui-font-color1, inherit)", "inherit"}


def test_this_machine():
    table = by_capability()
    assert table.machine == describe()
    assert describe().name in table.note()[0]


def test_what_is_no_machine_is_refused_in_words():
    with pytest.raises(TypeError, match=r"a Machine is needed, such as hardware.describe\(\) gives"):
        by_capability("cuda")


@pytest.mark.parametrize("capability", [None, [8, 0], (8,), (8.0, 0), "8.0"])
def test_a_machine_whose_capability_is_no_pair_is_refused_in_words(capability):
    machine = Machine("cuda", "CUDA", "a GPU", capability, None, None, None, None)
    with pytest.raises(TypeError, match="the capability of this Machine is .* a pair of whole numbers"):
        by_capability(machine)
