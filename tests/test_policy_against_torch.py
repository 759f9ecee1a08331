"""policy's rules, op by op, beside PyTorch's own lists as they are installed with torch.

Compared are the rules that `policy.ask` gives with
- CUDA: the lists in include/ATen/autocast_mode.h, parsed; and PyTorch's test lists for CUDA
  (torch.testing._internal.autocast_test_lists), which name the one op that is refused too;
- CPU: PyTorch's test lists for the CPU;
- all three devices: whether PyTorch's dispatcher has an autocast kernel for the op at all.

Not covered: which rule MPS's lists give, and the CPU's for ops that its test lists leave out. Those lists are
in autocast_mode.cpp only, which is not installed. For them, an op that has a kernel must have a rule of a
list; and what MPS shares with CUDA must have CUDA's rule, as it has in the source of PyTorch 2.13.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from amp_lessons import policy
from amp_lessons.policy import recorded
from amp_lessons.policy.ops import TABLE

HEADER = Path(torch.__file__).parent / "include/ATen/autocast_mode.h"
RULE_OF_LIST = {
    "LOWER_PRECISION_FP": "lower precision",
    "FP32": "float32",
    "FP32_SET_OPT_DTYPE": "float32",
    "DIFFERENT_REDISPATCH_SIGNATURE": "float32",  # norm, given a dtype to end in
    "PROMOTE": "promote",
}
LEAVES_ALONE = ("as the input", "promote")  # PyTorch's own promotion of mixed inputs is no rule of autocast
FP32 = torch.float32
each_dtype = pytest.mark.parametrize("dtype", policy.DTYPES)


def lists_in_header():
    """ATen's name of an op, with its overload -> rule."""
    text = HEADER.read_text(encoding="utf-8").replace("\\\n", " ")
    rules = {}
    for name, entries in re.findall(r"^#define AT_FORALL_(\w+)\(_\)(.*)$", text, flags=re.MULTILINE):
        if name not in RULE_OF_LIST:
            continue
        found = re.findall(r"_\((\w+)(?:, (\w+))?\)", entries)
        quoted = re.findall(r'"([\w.]+)"', entries)
        for op in [*(".".join(filter(None, pair)) for pair in found), *quoted]:
            rules[op] = RULE_OF_LIST[name]
    return rules


TEST_LISTS = """
import json, sys, types
try:
    import expecttest
except ImportError:  # older torch imports it for its own tests; the lists do not need it
    sys.modules["expecttest"] = types.SimpleNamespace(TestCase=__import__("unittest").TestCase)
from torch.testing._internal.autocast_test_lists import AutocastCPUTestLists, AutocastTestLists
def names(lists):
    return {name: sorted({entry[0] for entry in entries}) for name, entries in vars(lists).items()}
print(json.dumps([names(AutocastTestLists("cpu")), names(AutocastCPUTestLists("cpu"))]))
"""
RULE_OF_TEST_LIST = {
    "torch_fp16": "lower precision",
    "nn_fp16": "lower precision",
    "linalg_fp16": "lower precision",
    "torch_16": "lower precision",
    "nn_16": "lower precision",
    "torch_fp32": "float32",
    "nn_fp32": "float32",
    "torch_need_autocast_promote": "promote",
    "torch_expect_builtin_promote": "promote",
    "banned": "refused",
}


@pytest.fixture(scope="module")
def header():
    return lists_in_header()


@pytest.fixture(scope="module")
def in_tests():
    """For cuda and cpu: an op's name -> rule. Read apart: PyTorch's test helpers change settings."""
    done = subprocess.run(
        [sys.executable, "-c", TEST_LISTS], capture_output=True, text=True, timeout=120, check=True
    )
    both = json.loads(done.stdout)
    return {
        device: {
            op: RULE_OF_TEST_LIST[name]
            for name, ops in lists.items()
            if name in RULE_OF_TEST_LIST
            for op in ops
        }
        for device, lists in zip(("cuda", "cpu"), both)
    }


def has_autocast_kernel(op, device):
    return has_autocast_kernel_named(TABLE[op].aten, device)


def has_autocast_kernel_named(aten, device):
    return torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{aten}", f"Autocast{device.upper()}")


def promotes_without_autocast(op, dtype):
    """Whether PyTorch itself, on real tensors, gives float32 for a mix of float32 and the lower precision."""
    shapes = TABLE[op].shapes
    first, *others = shapes
    inputs = [torch.zeros(first, dtype=dtype), *(torch.zeros(shape, dtype=FP32) for shape in others)]
    return TABLE[op].call(*inputs).dtype == FP32


def test_both_sources_are_really_read(header, in_tests):
    assert len(header) >= 50
    assert len(in_tests["cuda"]) >= 50
    assert len(in_tests["cpu"]) >= 30
    for rules in (header, in_tests["cuda"]):
        assert set(rules.values()) >= {"lower precision", "float32", "promote"}
    assert header["softmax.int"] == header["norm.Scalar"] == header["layer_norm"] == "float32"


def test_enough_of_what_is_offered_is_in_them(header, in_tests):
    assert sum(TABLE[op].aten in header for op in policy.OPS) >= 50
    assert sum(op in in_tests["cuda"] for op in policy.OPS) >= 50
    assert sum(op in in_tests["cpu"] for op in policy.OPS) >= 25


def test_each_op_is_known_to_the_dispatcher_by_its_name():
    for op in policy.OPS:
        assert torch._C._dispatch_has_kernel(f"aten::{TABLE[op].aten}"), op


@each_dtype
@pytest.mark.parametrize("op", policy.OPS)
def test_cuda_as_in_the_header(op, dtype, header, in_tests):
    entry, rule = TABLE[op], policy.ask(op, "cuda", dtype).rule
    of_parts = {header[TABLE[part].aten] for part in entry.calls if TABLE[part].aten in header}
    if entry.aten in header:
        assert rule == header[entry.aten]
    elif rule == "refused":
        assert in_tests["cuda"][op] == "refused"
    elif of_parts:
        assert {rule} == of_parts
    elif rule == "promote":
        assert promotes_without_autocast(op, dtype)
    else:
        assert rule == "as the input"


@pytest.mark.parametrize("device", ["cuda", "cpu"])
@each_dtype
def test_rules_as_in_pytorchs_test_lists(device, dtype, in_tests):
    compared = {op: rule for op, rule in in_tests[device].items() if op in policy.OPS}
    assert {op: policy.ask(op, device, dtype).rule for op in compared} == compared


@pytest.mark.parametrize("device", policy.DEVICES)
@pytest.mark.parametrize("op", policy.OPS)
def test_an_op_has_a_rule_where_the_dispatcher_has_a_kernel(op, device):
    rule = policy.ask(op, device).rule
    if has_autocast_kernel(op, device):
        assert rule != "as the input"
    elif op.startswith("conv"):  # in PyTorch 2.6 mps had a kernel for what every convolution calls
        assert rule == "lower precision" and has_autocast_kernel_named("convolution", device)
    elif not TABLE[op].calls:
        assert rule in LEAVES_ALONE
        assert rule != "promote" or promotes_without_autocast(op, torch.float16)


@pytest.mark.parametrize("op", policy.OPS)
def test_mps_has_cudas_rule_where_both_have_one(op):
    on_cuda, on_mps = policy.ask(op, "cuda").rule, policy.ask(op, "mps").rule
    if has_autocast_kernel(op, "cuda") and has_autocast_kernel(op, "mps"):
        assert on_mps == on_cuda
    elif has_autocast_kernel(op, "mps"):
        assert (op, on_mps) == ("batch_norm", "float32")


@pytest.mark.skipif(
    torch.__version__.split("+")[0] != recorded.RECORDED_FROM, reason="the table is of another version"
)
@pytest.mark.parametrize("device", policy.DEVICES)
def test_the_recorded_table_is_right_for_its_version(device, header):
    for op in policy.OPS:
        recorded_rule = recorded.RULES[device].get(op)
        assert (recorded_rule is not None) == has_autocast_kernel(op, device), op
        answer = policy.ask(op, device)
        if recorded_rule and answer.source == "asked":
            assert answer.rule == recorded_rule
        if device == "cuda" and recorded_rule != "refused":
            assert recorded_rule == header.get(TABLE[op].aten), op
