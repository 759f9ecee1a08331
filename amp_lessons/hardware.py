"""What this machine can do.

Sources: what tensor cores take by compute capability (FP16 in 7.5; BF16 and TF32 from 8.0; FP8 from 8.9),
NVIDIA's CUDA programming guide, appendix "Compute Capabilities", table "Input Data Types Supported by Tensor
Core Acceleration per Compute Capability"; FP16 from 7.0 on, not before, NVIDIA's "Programming Tensor Cores in
CUDA 9"; the GTX 16 series without tensor cores, NVIDIA Turing TU116/TU117; BF16 on a GPU that only emulates
it, torch.cuda.is_bf16_supported; autocast on Apple GPUs, torch/amp/autocast_mode.py.
"""

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch


@dataclass(frozen=True)
class Machine:
    """The device and what it has in hardware. None stands for "not known"."""

    device: str  # "cuda", "mps", "xpu" or "cpu", as torch.autocast and torch.amp.GradScaler name it
    backend: str  # "CUDA", "ROCm", "MPS", "XPU" or "CPU": ROCm, too, is "cuda" for PyTorch
    name: str
    capability: tuple | None  # NVIDIA's compute capability, (7, 5) for a T4
    memory_bytes: int | None
    native_bf16: bool | None  # computes in BF16 itself; an emulated BF16 is False
    tf32: bool | None  # has TF32; whether PyTorch uses it is a setting
    fp16_fast: bool | None  # has units that make FP16 matrix products fast
    has_code: bool = True  # whether this build of PyTorch has code for the GPU
    torch_version: str = torch.__version__
    python_version: str = platform.python_version()


class Units(NamedTuple):
    """Which formats a device computes in itself. None stands for "not known"."""

    native_bf16: bool | None
    tf32: bool | None
    fp16_fast: bool | None  # has units that make FP16 matrix products fast
    fp8: bool | None  # has units for FP8 matrix products; nothing in PyTorch's autocast uses them


def nvidia_units(capability, name=""):
    """Give the Units of an NVIDIA GPU.

    capability: its compute capability, (7, 5) for a T4. name: what the card calls itself; it tells the cards
    of capability 7.5 that have no tensor cores.
    """
    ampere_or_newer = capability >= (8, 0)
    tensor_cores = capability >= (7, 0) and not _is_turing_without_tensor_cores(name, capability)
    return Units(
        native_bf16=ampere_or_newer, tf32=ampere_or_newer, fp16_fast=tensor_cores, fp8=capability >= (8, 9)
    )


def cpu_units(flags):
    """Give the Units of a processor from the names of its abilities; None if they are not known."""
    if flags is None:
        return Units(native_bf16=None, tf32=False, fp16_fast=None, fp8=None)
    # x86 names first, then Arm's (as PyTorch and as Linux write them).
    native_bf16 = not flags.isdisjoint({"avx512_bf16", "amx_bf16", "bf16", "sve_bf16", "svebf16"})
    fp16_fast = "amx_fp16" in flags
    if not fp16_fast and flags & {"avx512_fp16", "fp16_arith", "asimdhp"}:
        fp16_fast = None  # computes in FP16 itself, but has no units for FP16 matrix products
    return Units(native_bf16, tf32=False, fp16_fast=fp16_fast, fp8=None)


def describe(device=None):
    """Describe a device as a Machine.

    device: "cuda", "cuda:1", "mps", "xpu", "cpu" or a torch.device. Without it: the GPU if PyTorch can use
    one, else the CPU.

    ValueError if the device is of another kind or is not there.
    """
    if device is None:
        device = "cuda" if _is_there("cuda") else "mps" if _is_there("mps") else "cpu"
    try:
        device = torch.device(device)
    except RuntimeError:
        raise ValueError(f'There is no device {device!r}. Use "cuda", "mps", "xpu" or "cpu".') from None
    if device.type not in _DESCRIBE:
        raise ValueError(f'A {device.type} device is not described here. Use "cuda", "mps", "xpu" or "cpu".')
    if not _is_there(device.type):
        raise ValueError(
            f'PyTorch finds no {device.type} device here. Use "cpu", or describe() without a device.'
        )
    return _DESCRIBE[device.type](device)


def _is_there(kind):
    if kind == "mps":
        return torch.backends.mps.is_available()
    return kind == "cpu" or getattr(torch, kind).is_available()


def _describe_cuda(device):
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        # PyTorch answers "BF16: yes" for every AMD GPU, native or not, so what is native stays unknown.
        return Machine("cuda", "ROCm", properties.name, None, properties.total_memory, None, None, None)
    capability = tuple(torch.cuda.get_device_capability(device))
    units = nvidia_units(capability, properties.name)
    return Machine(
        "cuda",
        "CUDA",
        properties.name,
        capability,
        properties.total_memory,
        units.native_bf16,
        units.tf32,
        units.fp16_fast,
        _has_code_for(capability),
    )


def _has_code_for(capability):
    """Whether this build has machine code (sm_) or intermediate code (compute_) that this GPU can run.

    Machine code runs on the same major capability from its minor one on, intermediate code on any newer GPU
    (CUDA programming guide, "Binary Compatibility" and "PTX Compatibility"). Newer builds leave old GPUs out.
    """
    built = [re.fullmatch(r"(sm|compute)_(\d+)(\d)[a-z]?", name) for name in torch.cuda.get_arch_list()]
    built = [(each[1], (int(each[2]), int(each[3]))) for each in built if each]
    return not built or any(
        each <= capability and (kind == "compute" or each[0] == capability[0]) for kind, each in built
    )


def _is_turing_without_tensor_cores(name, capability):
    """The chips TU116 and TU117 report 7.5 like a T4. Only the card's name tells them apart."""
    names = r"\bGTX 16\d\d|\bMX[45]50\b|\bT(400|500|550|600|1000|1200|2000)\b"
    return capability == (7, 5) and re.search(names, name) is not None


def _describe_mps(device):
    # CPU and GPU share the memory: this is how much of it Metal advises to use. PyTorch 2.6 tells no name.
    name = getattr(torch.backends.mps, "get_name", lambda: "Apple GPU")()
    memory = getattr(torch.mps, "recommended_max_memory", lambda: None)()
    return Machine("mps", "MPS", name, None, memory, native_bf16=None, tf32=False, fp16_fast=None)


def _describe_xpu(device):
    properties = torch.xpu.get_device_properties(device)
    # PyTorch 2.6 doesn't tell native BF16 from emulated; newer versions have this property.
    native_bf16 = getattr(properties, "has_bfloat16_conversions", None)
    memory = properties.total_memory
    return Machine("xpu", "XPU", properties.name, None, memory, native_bf16, tf32=None, fp16_fast=None)


def _describe_cpu(device):
    units = cpu_units(_cpu_flags())
    return Machine(
        "cpu", "CPU", _cpu_name(), None, _cpu_memory(), units.native_bf16, units.tf32, units.fp16_fast
    )


def _cpu_flags():
    """The names of the processor's abilities, from PyTorch (newer than 2.6) or from Linux; else None."""
    get_capabilities = getattr(torch.cpu, "get_capabilities", None)
    if get_capabilities is not None:
        return {name for name, value in get_capabilities().items() if value is True}
    listed = _cpuinfo("flags") or _cpuinfo("Features")
    return set(listed.split()) if listed else None


def _cpu_name():
    return _cpuinfo("model name") or platform.processor() or platform.machine() or "CPU"


def _cpuinfo(field):
    """The first entry with this name in Linux's description of the processor, or None."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return None


def _cpu_memory():
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return None


_DESCRIBE = {"cuda": _describe_cuda, "mps": _describe_mps, "xpu": _describe_xpu, "cpu": _describe_cpu}
