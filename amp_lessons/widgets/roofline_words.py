"""What limits a matrix product on a GPU, in words."""

from collections.abc import Mapping

from amp_lessons.figures.words import listed, number, three_digits
from amp_lessons.roofline import LABELS, Bound, Gpu

_A_KERNELS_START = 10e-6  # seconds; several microseconds, so that a shorter bound says little


def duration(seconds: float) -> str:
    """Return a time to three digits with a unit: ``"0.211 ms"``, ``"12.5 µs"``, ``"under 1 ns"``."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)):
        if seconds * factor >= (1 if unit == "ns" else 0.1):
            return f"{three_digits(seconds * factor)} {unit}"
    return "under 1 ns"


def amount(count: float) -> str:
    """Return a number of bytes to three digits with a decimal prefix: ``"67.1 MB"``."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{three_digits(count / size)} {prefix}B"
    return f"{count:.0f} bytes"


def times(ratio: float) -> str:
    """Return a ratio as text: ``"2.0"``, ``"12.4"``; near 1 with one digit more."""
    return f"{ratio:.2f}" if 1 < ratio < 1.1 else f"{ratio:,.1f}"


def headline(bounds: Mapping[str, Bound]) -> str:
    """Say what limits the product and what 16 bits can gain. ``bounds`` has "fp32" and others by name."""
    full, halves = bounds["fp32"], {name: bounds[name] for name in ("fp16", "bf16") if name in bounds}
    if not halves:
        return f"{_capital(full.limited_by)} limits this product in FP32. This GPU has no 16-bit products."
    different = len({(bound.limited_by, bound.seconds) for bound in halves.values()}) > 1
    groups = [[name] for name in halves] if different else [list(halves)]
    return " ".join(_gain(full, bounds[group[0]], listed(LABELS[name] for name in group)) for group in groups)


def remarks(gpu: Gpu, bounds: Mapping[str, Bound], sizes: tuple[int, int, int]) -> list[str]:
    """Return sentences on what the bounds rest on, for a product of sizes (m, k, n)."""
    m, k, n = sizes
    full = bounds["fp32"]
    half = bounds.get("fp16") or bounds.get("bf16")
    moved = f"{amount(full.bytes)} in FP32" + (f", {amount(half.bytes)} in 16 bits" if half else "")
    sentences = [
        f"2 · {m:,} · {k:,} · {n:,} = {number(full.operations)} operations; "
        f"the product moves at least {moved}."
    ]
    if full.bytes > gpu.memory_bytes:
        sentences.append(
            f"The matrices don’t fit into the {gpu.name}’s memory of {amount(gpu.memory_bytes)} "
            + ("in FP32." if half and half.bytes <= gpu.memory_bytes else "in any of these formats.")
        )
    if min(bound.seconds for bound in bounds.values()) < _A_KERNELS_START:
        sentences.append(
            "A kernel takes a few microseconds to start, which isn’t counted here: where a bound is as short "
            "as this, the start weighs as much, and 16 bits gain less."
        )
    sentences.append("All times are lower bounds from peak rates; real kernels reach a part of these rates.")
    if any(size % 8 for size in sizes):
        sentences.append("A size that isn’t a multiple of 8 often makes 16-bit kernels slower still.")
    return sentences


def _gain(full, half, who):
    ratio = times(full.seconds / half.seconds)
    at_most = f"at most {ratio} times as fast as FP32 at its own limit"
    if full.limited_by == half.limited_by == "memory":
        return f"Memory limits this product in FP32 as in {who}: half the bytes, so 16 bits are {at_most}."
    if full.limited_by == half.limited_by:
        return (
            f"Arithmetic limits this product in FP32 as in {who}: by the peak rates, 16 bits are {at_most}."
        )
    if half.limited_by == "memory":
        rates = times(full.compute_seconds / half.compute_seconds)
        return (
            f"Arithmetic limits this product in FP32, memory in {who}: 16 bits are {at_most}, between the 2 "
            f"of half the bytes and the {rates} of the peak rates."
        )
    return f"Memory limits this product in FP32, arithmetic in {who}: 16 bits are {at_most}."


def _capital(text):
    return text[:1].upper() + text[1:]
