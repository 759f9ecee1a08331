"""Reads a number that a person typed, such as ``1e-8``, ``2^-24``, ``1.5 × 2⁻¹⁵`` or ``1/3``. No eval."""

import math
import re

ACCEPTED = "a number such as 0.1, 1e-8, 65520, 2**-24, 2^-24, 2⁻²⁴, 1.5 × 2⁻¹⁵, 1 + 2⁻¹¹, 1/3, inf or nan"
_LONGEST = 80
_SUPERSCRIPTS = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(?P<word>infinity|inf|nan)|(?P<sign>[-+*/^]))",
    re.ASCII,
)


def number_from(text: str) -> float:
    """Return the number written in ``text`` as a Python float.

    Knows decimals, powers (``**``, ``^`` or superscript digits), products, quotients and sums, with the usual
    precedence, and ``inf`` and ``nan``. Raises ValueError with a message that says what is accepted.
    """
    plain = text.strip().lower()
    if not plain:
        raise ValueError(f"There is nothing in the field. Type {ACCEPTED}.")
    if len(plain) > _LONGEST:
        raise ValueError(f"That is longer than {_LONGEST} characters. Type {ACCEPTED}.")
    try:
        return _Reader(_tokens(plain)).whole()
    except _Unreadable:
        comma = " Write the decimal point as a point, without separators." if "," in plain else ""
        raise ValueError(
            f"“{text.strip()}” is not a number that this field can read.{comma} Type {ACCEPTED}."
        ) from None
    except OverflowError:
        raise ValueError(
            f"“{text.strip()}” is too large even for a Python float. Type inf, or a number below 1.8e308."
        ) from None
    except ZeroDivisionError:
        raise ValueError(
            f"“{text.strip()}” divides by zero. Type inf for infinity, or another number."
        ) from None


class _Unreadable(Exception):
    pass


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
            value = value + self.product() if sign == "+" else value - self.product()
        return value

    def product(self):
        value = self.power()
        while sign := self.next_is("*", "/"):
            value = value * self.power() if sign == "*" else value / self.power()
        return value

    def power(self):
        if sign := self.next_is("+", "-"):
            return -self.power() if sign == "-" else self.power()
        base = self.atom()
        return base ** self.power() if self.next_is("^") else base

    def atom(self):
        token = self.tokens.pop(0) if self.tokens else ""
        if token in ("inf", "infinity", "nan"):
            return float(token)
        if not token or token in "+-*/^":
            raise _Unreadable
        if math.isinf(float(token)):
            raise OverflowError
        return float(token)
