"""Reads a number that a person typed, such as ``1e-8``, ``2^-24``, ``1.5 × 2⁻¹⁵`` or ``1/3``. No eval."""

import math
import re

ACCEPTED = "a number such as 0.1, 1e-8, 65520, 2**-24, 2^-24, 2⁻²⁴, 1.5 × 2⁻¹⁵, 1 + 2⁻¹¹{} 1/3{}"
_LONGEST = 80
_SUPERSCRIPTS = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(?P<word>infinity|inf|nan)|(?P<sign>[-+*/^]))",
    re.ASCII,
)


def number_from(text: str, largest: float = math.inf) -> float:
    """Return the number written in ``text`` as a Python float.

    Knows decimals, powers (``**``, ``^`` or superscript digits), products, quotients and sums, with the usual
    precedence, and ``inf`` and ``nan``; where ``largest`` is finite, only numbers of at most this size.
    Raises ValueError with a message that says what is accepted, also for a number too large or too small for
    a Python float, which would make it infinity or 0.
    """
    finite = math.isfinite(largest)
    accepted = ACCEPTED.format(" or", "") if finite else ACCEPTED.format(",", ", inf or nan")
    at_most = f"a number of at most {largest:g}, such as 0.01".replace("e+", "e")
    plain = text.strip().lower()
    if not plain:
        raise ValueError(f"There is nothing in the field. Type {accepted}.")
    if len(plain) > _LONGEST:
        raise ValueError(f"That is longer than {_LONGEST} characters. Type {accepted}.")
    try:
        value = _Reader(_tokens(plain)).whole()
    except _Unreadable:
        comma = " Write the decimal point as a point, without separators." if "," in plain else ""
        raise ValueError(
            f"“{text.strip()}” is not a number that this field can read.{comma} Type {accepted}."
        ) from None
    except OverflowError:
        raise ValueError(
            f"“{text.strip()}” is too large even for a Python float. "
            f"Type {at_most if finite else 'inf, or a number below 1.8e308'}."
        ) from None
    except _TooSmall:
        raise ValueError(
            f"“{text.strip()}” is too small even for a Python float. Type 0, or a number above 5e-324."
        ) from None
    except ZeroDivisionError:
        another = at_most if finite else "inf for infinity, or another number"
        raise ValueError(f"“{text.strip()}” divides by zero. Type {another}.") from None
    if finite and not abs(value) <= largest:  # NaN is not, either
        what = "is too large" if math.isfinite(value) else "is not finite"
        raise ValueError(f"“{text.strip()}” {what}. Type {at_most}.")
    return value


class _Unreadable(Exception):
    pass


class _TooSmall(Exception):
    pass


def _infinity_is_meant(result, *operands):
    """``result``, unless it is infinite only because a Python float ends there."""
    if math.isinf(result) and not any(map(math.isinf, operands)):
        raise OverflowError
    return result


def _zero_is_meant(result, *operands):
    """``result``, unless it is 0 only because a Python float ends there."""
    if result == 0 and all(operands) and not any(map(math.isinf, operands)):
        raise _TooSmall
    return result


def _tokens(text):
    text = re.sub("[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda power: "^" + power[0].translate(_SUPERSCRIPTS), text)
    text = text.replace("**", "^").replace("×", "*").replace("·", "*").replace("−", "-").replace("∞", "inf")
    tokens, place = [], 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if not found:
            raise _Unreadable
        tokens.append(found[found.lastgroup])
        place = found.end()
    return tokens


class _Reader:
    """Reads a sum of products of powers, one token after the other."""

    def __init__(self, tokens):
        self.tokens = tokens

    def whole(self):
        value = self.sum()
        if self.tokens:
            raise _Unreadable
        return value

    def next_is(self, *signs):
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in signs else None

    def sum(self):
        value = self.product()
        while sign := self.next_is("+", "-"):
            term = self.product() if sign == "+" else -self.product()
            value = _infinity_is_meant(value + term, value, term)
        return value

    def product(self):
        value = self.power()
        while sign := self.next_is("*", "/"):
            factor = self.power()
            result = value * factor if sign == "*" else value / factor
            value = _zero_is_meant(_infinity_is_meant(result, value, factor), value, factor)
        return value

    def power(self):
        if sign := self.next_is("+", "-"):
            return -self.power() if sign == "-" else self.power()
        base = self.atom()
        if not self.next_is("^"):
            return base
        exponent = self.power()
        return _zero_is_meant(base**exponent, base, exponent)  # Python itself raises OverflowError

    def atom(self):
        token = self.tokens.pop(0) if self.tokens else ""
        if token in ("inf", "infinity", "nan"):
            return float(token)
        if not token or token in "+-*/^":
            raise _Unreadable
        written_zero = not re.search("[1-9]", token.partition("e")[0])
        return _zero_is_meant(_infinity_is_meant(float(token)), 0.0 if written_zero else 1.0)
