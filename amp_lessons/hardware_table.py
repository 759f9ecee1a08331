"""A table of hardware: what each generation computes in itself, and which precision to try first on it.

Which cards belong to a generation and its compute capability: NVIDIA's list "CUDA GPU Compute Capability"
(developer.nvidia.com/cuda-gpus) and, from Ampere on, Transformer Engine's "Datatype and hardware support
matrix". What a capability or a processor computes in is ``nvidia_units`` and ``cpu_units`` in ``hardware``,
with their sources; what to try first is ``recommend``. Processors with BF16 instructions: AVX512-BF16 in
Intel's Cooper Lake and Sapphire Rapids and AMD's Zen 4 (WikiChip, "AVX-512 BFloat16 Instructions"), AMX in
Sapphire Rapids, Arm's BF16 as part of Armv8.6, which Apple's M2 has and the M1 (Armv8.5) has not.
"""

from dataclasses import dataclass
from html import escape

import torch

from amp_lessons.formats import format_of
from amp_lessons.hardware import Machine, Units, cpu_units, describe, nvidia_units
from amp_lessons.recommendation import recommend


@dataclass(frozen=True)
class Row:
    """One generation of hardware, described by machines that stand for it."""

    name: str
    cards: str  # examples, as people know them
    capabilities: str  # as text; empty where there are none
    machines: tuple  # of Machine: one for each kind that the row holds
    units: tuple  # of Units, one for each of these machines

    def cells(self):
        """The text of every column of COLUMNS."""
        words = [_in_a_word([getattr(units, field) for units in self.units]) for field in _FIELDS]
        return [self.capabilities, *words, _try_first(self.machines[0])]


_FIRST = "hardware"
COLUMNS = ("capability", "fast FP16", "BF16 itself", "TF32", "FP8", "try first")
_FIELDS = ("fp16_fast", "native_bf16", "tf32", "fp8")


def by_capability(machine=None):
    """Give the table of what each generation of GPUs and CPUs computes in, and what to try first on it.

    machine: the Machine whose row is marked; without it, the one that describe() finds here. TypeError if it
    is something else or its capability is no pair of whole numbers; only without CUDA may it be None.
    """
    return HardwareTable(describe() if machine is None else machine)


class HardwareTable:
    """Displays as a table with a note below; ``print`` gives the same as text. ``rows`` are its rows.

    machine: the Machine whose row says "this machine".
    """

    def __init__(self, machine):
        if not isinstance(machine, Machine):
            raise TypeError(f"a Machine is needed, such as hardware.describe() gives, not {machine!r}")
        _check_capability(machine)
        self.machine = machine
        self.rows = ROWS
        self.own_row = _row_of(machine)  # None where the table has none

    def note(self):
        """Which machine is marked, and how to read the words."""
        name = f"This machine: {self.machine.name}"
        if self.machine.capability is not None:
            name += ", compute capability {}.{}".format(*self.machine.capability)
        if self.own_row is None:
            first = f"{name}. It has no row here."
        elif not self.machine.has_code:
            first = f"{name}. This build of PyTorch has no code for it, so nothing runs on it."
        else:
            first = f"{name}."
        return [first, *_READING]

    def __repr__(self):
        columns = [[_FIRST, *(f"{row.name} ({row.cards})" for row in self.rows)]]
        columns += [list(column) for column in zip(COLUMNS, *(row.cells() for row in self.rows))]
        widths = [max(map(len, column)) for column in columns]
        lines = ["  ".join(f"{text:<{width}}" for text, width in zip(line, widths)) for line in zip(*columns)]
        if self.own_row is not None:
            lines[1 + self.rows.index(self.own_row)] += "  <- this machine"
        return "\n".join([*(line.rstrip() for line in lines), "", *self.note()])

    def _repr_mimebundle_(self, include=None, exclude=None):
        # No colours: the notebook's own text colour is legible in the light and in the dark theme.
        heads = "".join(
            f'<th scope="col" {_style()}>{escape(heading)}</th>' for heading in (_FIRST, *COLUMNS)
        )
        lines = "".join(self._html_row(row) for row in self.rows)
        words = "".join(f'<p style="margin:0.4em 0">{escape(sentence)}</p>' for sentence in self.note())
        html = (
            '<div style="max-width:62em;line-height:1.35;color:var(--jp-ui-font-color1, inherit)">'
            '<table style="border-collapse:collapse;margin:0 0 0.5em 0">'
            '<caption style="text-align:left;font-weight:bold;color:inherit;padding-bottom:4px">'
            "What the hardware computes in itself, and what to try first</caption>"
            f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>{words}</div>"
        )
        return {"text/html": html, "text/plain": repr(self)}

    def _html_row(self, row):
        own = row is self.own_row
        mark = '<br><strong style="white-space:nowrap">▶ this machine</strong>' if own else ""
        cards = f'<br><span style="font-weight:normal">{escape(row.cards)}</span>'
        *short, advice = row.cells()
        cells = "".join(f"<td {_style(own, 'white-space:nowrap;')}>{escape(text)}</td>" for text in short)
        cells += f"<td {_style(own)}>{escape(advice)}</td>"
        return f'<tr><th scope="row" {_style(own)}>{escape(row.name)}{cards}{mark}</th>{cells}</tr>'


def _check_capability(machine):
    capability = machine.capability
    if capability is None and machine.backend != "CUDA":
        return
    is_pair = isinstance(capability, tuple) and len(capability) == 2
    if not is_pair or not all(type(part) is int for part in capability):
        raise TypeError(
            f"the capability of this Machine is {capability!r}: give a pair of whole numbers, such as (7, 5)"
        )


_READING = (
    "Yes or no: whether the hardware computes in the format itself. Fast FP16 means tensor cores, in a CPU "
    "AMX-FP16. Whether PyTorch uses TF32 for FP32 products is a setting; autocast never uses FP8.",
    'What to try first follows from the hardware; "measure" stands where PyTorch tells too little of it. '
    "Only a measurement proves it.",
)


def _style(own=False, more=""):
    lines = "border-top:2px solid;border-bottom:2px solid" if own else "border-bottom:1px solid #80808066"
    return f'style="text-align:left;vertical-align:top;padding:4px 14px 4px 4px;{more}{lines}"'


def _in_a_word(answers):
    """The answers of a row's machines as one word."""
    if len(set(answers)) > 1:
        return "some" if True in answers else "not known"
    return {True: "yes", False: "no", None: "not known"}[answers[0]]


def _try_first(machine):
    """What recommend() says, in two or three words, and what to expect where there are no units for it."""
    recommendation = recommend(machine)
    words = format_of(recommendation.dtype).label + (" + scaler" if recommendation.scaler else "")
    has_units = {torch.float16: machine.fp16_fast, torch.bfloat16: machine.native_bf16, torch.float32: True}
    expect = {True: "", False: ": saves memory, seldom time", None: ": measure"}
    return words + expect[has_units[recommendation.dtype]]


def _nvidia(name, cards, capabilities, *examples):
    """A row of NVIDIA GPUs; examples: (what the card calls itself, its capability)."""
    units = tuple(nvidia_units(capability, card) for card, capability in examples)
    machines = tuple(
        _machine("cuda", "CUDA", card, capability, has) for (card, capability), has in zip(examples, units)
    )
    return Row(name, cards, capabilities, machines, units)


def _cpu(name, cards, *examples):
    """A row of processors; examples: the names of the abilities of one."""
    units = tuple(cpu_units(set(flags)) for flags in examples)
    return Row(name, cards, "", tuple(_machine("cpu", "CPU", name, None, has) for has in units), units)


def _machine(device, backend, name, capability, units):
    return Machine(device, backend, name, capability, None, units.native_bf16, units.tf32, units.fp16_fast)


_APPLE_GPU = Units(native_bf16=None, tf32=False, fp16_fast=None, fp8=None)  # PyTorch tells no more

ROWS = (
    _nvidia(
        "Pascal and older", "P100, GTX 10", "6.2 and below", ("Tesla P100", (6, 0)), ("GTX 1080", (6, 1))
    ),
    _nvidia("Volta", "V100", "7.0", ("Tesla V100", (7, 0))),
    _nvidia("Turing", "T4, RTX 20", "7.5", ("Tesla T4", (7, 5)), ("RTX 2080", (7, 5))),
    _nvidia("Turing without tensor cores", "GTX 16", "7.5", ("GTX 1650", (7, 5)), ("GTX 1660 Ti", (7, 5))),
    _nvidia("Ampere", "A100, A10, RTX 30", "8.0, 8.6", ("A100", (8, 0)), ("A10", (8, 6))),
    _nvidia("Ada", "L4, RTX 40", "8.9", ("L4", (8, 9))),
    _nvidia("Hopper", "H100, H200", "9.0", ("H100", (9, 0))),
    _nvidia("Blackwell", "B200, RTX 50", "10.0, 12.0", ("B200", (10, 0)), ("RTX 5090", (12, 0))),
    Row("Apple GPU", "M series", "", (_machine("mps", "MPS", "Apple GPU", None, _APPLE_GPU),), (_APPLE_GPU,)),
    _cpu(
        "CPU with BF16 instructions",
        "AVX512-BF16, AMX, Arm BF16",
        ("avx512_bf16",),
        ("amx_bf16", "avx512_fp16"),
        ("amx_bf16", "avx512_fp16", "amx_fp16"),
        ("bf16", "fp16_arith"),
    ),
    _cpu("CPU without them", "AVX2 only, Apple M1", ()),
)
_PASCAL, _VOLTA, _TURING, _TURING_WITHOUT, _AMPERE, _ADA, _HOPPER, _BLACKWELL, _APPLE, _CPU, _CPU_WITHOUT = (
    ROWS
)


def _row_of(machine):
    """The row that a machine belongs to, or None."""
    if machine.backend == "CUDA":
        return _row_of_nvidia(machine)
    if machine.backend == "MPS":
        return _APPLE
    if machine.backend == "CPU" and machine.native_bf16 is not None:
        return _CPU if machine.native_bf16 else _CPU_WITHOUT
    return None


def _row_of_nvidia(machine):
    capability = machine.capability
    if capability == (7, 5):
        return _TURING if machine.fp16_fast else _TURING_WITHOUT
    # Each generation up to the next one; what comes after Blackwell is not known yet.
    for row, below in (
        (_PASCAL, (7, 0)),
        (_VOLTA, (7, 5)),
        (_AMPERE, (8, 9)),
        (_ADA, (9, 0)),
        (_HOPPER, (10, 0)),
    ):
        if capability < below:
            return row
    return _BLACKWELL if capability < (13, 0) else None
