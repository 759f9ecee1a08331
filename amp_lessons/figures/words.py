"""Numbers as the words that stand in titles, labels and alternative text."""

import math

from amp_lessons.formats import power_of_two


def percent(share: float) -> str:
    """Return a share from 0 to 1 as text like ``"3.1 %"``; only an exact 0 reads "0 %"."""
    if math.isnan(share):
        return "an unknown share"
    if share == 0 or share == 1:
        return f"{share * 100:.0f} %"
    if share < 0.001:
        return "under 0.1 %"
    if share > 0.999:
        return "over 99.9 %"
    return f"{share * 100:.1f}".removesuffix(".0") + " %"


def number(value: float) -> str:
    """Return a number to four digits: ``"3.403 × 10³⁸"``, ``"65,504"``, ``"0.11"``."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}".replace("inf", "infinity").replace("nan", "NaN")
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.4g}"
    if 1e4 <= abs(value) < 1e6:
        return f"{float(f'{value:.4g}'):,.0f}"
    return scientific(value)


def three_digits(value: float) -> str:
    """Return a number to three digits: ``"1,370"``, ``"3.98"``."""
    return number(float(f"{value:.3g}"))


def scientific(value: float) -> str:
    """Return a finite number to four digits with a power of ten: ``"3.403 × 10³⁸"``, ``"1 × 10⁷"``."""
    digits, exponent = f"{value:.3e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')} × 10{power_of_two(int(exponent))[1:]}"


def small_percent(share: float) -> str:
    """Return a share to two digits however small it is, written out: ``"0.000012 %"``."""
    decimals = max(0, 1 - math.floor(math.log10(share * 100))) if share else 0
    text = f"{share * 100:.{decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def scale_text(scale: float) -> str:
    """Return a loss scale as text: ``"2¹⁰ = 1,024"`` for a power of two, else the plain number."""
    mantissa, exponent = math.frexp(scale)
    return f"{power_of_two(exponent - 1)} = {number(scale)}" if mantissa == 0.5 else number(scale)


def listed(items) -> str:
    """Join words as a sentence does: ``"a, b and c"``."""
    items = [str(item) for item in items]
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
