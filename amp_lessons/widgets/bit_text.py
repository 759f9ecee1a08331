"""What the bits of a number mean, in words and as HTML."""

import math

from amp_lessons.figures.words import number, small_percent
from amp_lessons.formats import (
    FP32,
    Format,
    exact_text,
    neighbours,
    power_of_two,
    round_once,
    round_to,
    value_of,
)

_KINDS = {
    "normal": "normal number",
    "subnormal": "subnormal number: the smaller, the fewer bits",
    "zero": "zero",
    "infinity": "infinity",
    "NaN": "NaN, not a number",
}


def bit_meaning(place: int, fmt: Format) -> str:
    """Say what the bit at ``place`` (0 is the sign) is worth."""
    if place == 0:
        return "sign: 1 makes the number negative"
    if place <= fmt.exponent_bits:
        return f"exponent: adds {2 ** (fmt.exponent_bits - place)} to the stored exponent"
    return f"mantissa: adds {power_of_two(fmt.exponent_bits - place)} to the factor"


def kind_of(bits: str, fmt: Format) -> str:
    """Return "zero", "subnormal", "normal", "infinity" or "NaN", read from the bits alone."""
    exponent, mantissa = bits[1 : 1 + fmt.exponent_bits], bits[1 + fmt.exponent_bits :]
    if "0" not in exponent:
        return "NaN" if "1" in mantissa else "infinity"
    if "1" not in exponent:
        return "subnormal" if "1" in mantissa else "zero"
    return "normal"


def formula(bits: str, fmt: Format) -> str:
    """Return how the number follows from its three fields, in Unicode: ``+ 2⁻¹⁴ × (1 + 654/1024)``."""
    kind = kind_of(bits, fmt)
    stored, mantissa = int(bits[1 : 1 + fmt.exponent_bits], 2), int(bits[1 + fmt.exponent_bits :], 2)
    sign, whole = "−" if bits[0] == "1" else "+", 2**fmt.mantissa_bits
    if kind in ("infinity", "NaN"):
        return f"exponent all ones, mantissa {'not ' if kind == 'NaN' else ''}zero: this pattern means {kind}"
    if kind == "normal":
        return (
            f"{sign} {power_of_two(stored - fmt.bias)} × (1 + {mantissa:,}/{whole:,}), "
            f"exponent {stored} − {fmt.bias} = {str(stored - fmt.bias).replace('-', '−')}"
        )
    size = f"{sign} {power_of_two(1 - fmt.bias)} × (0 + {mantissa:,}/{whole:,})"
    return f"{size}, exponent all zeros: no leading 1"


def rounding_text(typed: float, value: float, fmt: Format) -> str:
    """Say what became of a typed number: kept exactly, or rounded, with the absolute and relative error."""
    shown = number_text(typed)
    if math.isnan(typed):
        return "NaN stays NaN"
    if typed == value:
        return f"{shown} is kept exactly"
    twice = _rounded_twice_text(typed, value, fmt)
    if math.isinf(value):
        return f"{shown} becomes {number(value)}: {fmt.label} ends at {number(fmt.largest)}{twice}"
    error = abs(value - typed)
    relative = small_percent(error / abs(typed))
    return f"{shown} becomes {number_text(value)}: rounding error {number(error)}, relative {relative}{twice}"


def _rounded_twice_text(typed, value, fmt):
    """Return a sentence where PyTorch's way through FP32 ends at another number, else nothing."""
    once = round_once(typed, fmt)
    if once == value:
        return ""
    in_fp32 = number_text(round_to(typed, FP32))
    return f". PyTorch rounds to FP32 first, to {in_fp32}; rounded once, it would become {number_text(once)}"


def number_text(value: float) -> str:
    """Return Python's own shortest text for a float, which reads back to the same number."""
    return repr(float(value))


def description_html(typed: float, bits: str, fmt: Format) -> str:
    """Return a table: the value of the bits, its kind, what became of the typed number, its neighbours."""
    value = value_of(bits, fmt)
    below, above = neighbours(value, fmt)
    kind = kind_of(bits, fmt)
    rows = [
        (
            "value",
            f'<b class="amp-bit-value">{number_text(value)}</b>'
            + (_equals(value) if kind in ("normal", "subnormal") else ""),
        ),
        ("kind", f"{fmt.label} {_KINDS[kind]}"),
        ("from the bits", formula(bits, fmt)),
        ("you asked for", rounding_text(typed, value, fmt)),
    ]
    if kind != "NaN":
        rows.append(("next below", _neighbour(below, value)))
        rows.append(("next above", _neighbour(above, value)))
    cells = "".join(
        '<tr><th scope="row" style="text-align:left;padding:1px 14px 1px 0;font-weight:normal;'
        f'white-space:nowrap;vertical-align:top">{name}</th><td style="text-align:left">{text}</td></tr>'
        for name, text in rows
    )
    return (
        '<table style="margin-top:6px;line-height:1.5;border-collapse:collapse;'
        'color:var(--jp-ui-font-color1, inherit)">'
        f"{cells}</table>"
    )


def _equals(value):
    exact = exact_text(value)
    if exact == number_text(value) or f"{exact}.0" == number_text(value):
        return ""
    return f" {exact}" if exact.startswith("≈") else f" = {exact}"


def _neighbour(neighbour, value):
    if neighbour == value:
        return "none"
    if math.isinf(neighbour) or math.isinf(value):
        return number_text(neighbour)
    return f"{number_text(neighbour)}, {exact_text(abs(value - neighbour))} away"
