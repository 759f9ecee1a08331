"""What was counted, as numbers and as a table."""

import math
import numbers
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from amp_lessons.formats import as_float

ACTIVATION, WEIGHT_COPY, PARAMETER = "activation", "weight copy", "parameter"
_NOTHING_KEPT = (
    "Nothing is kept. Did you expect something? Under torch.no_grad() and torch.inference_mode() autograd",
    "keeps nothing, and neither does it where no parameter has requires_grad.",
)
LONGEST_TABLE = 15  # lines; what is smaller is summed up in one more


class Row(NamedTuple):
    """One piece of memory that autograd keeps."""

    kind: str  # "activation" or "weight copy"
    kept_for: str  # the operations whose backward needs it, for example "relu, addmm"
    shape: tuple
    dtype: object  # a torch.dtype
    bytes: int


@dataclass(frozen=True, repr=False)
class Kept:
    """The bytes that autograd keeps for backward. print() shows it as a table.

    total: what is kept beyond the parameters, activations + weight_copies.
    by_dtype: the total as a dict from torch.dtype to bytes, the largest first.
    activations: inputs, outputs and whatever else a layer needs again, masks and statistics too.
    weight_copies: copies of parameters in another dtype, as autocast makes them.
    parameters: parameters and buffers kept as they are. They exist anyway, so this costs nothing.
    rows: the total as a tuple of Row, the largest first.
    """

    total: int
    by_dtype: dict
    activations: int
    weight_copies: int
    parameters: int
    rows: tuple

    def __str__(self):
        dtypes = ", ".join(f"{_name(dtype)} {text(size)}" for dtype, size in self.by_dtype.items())
        summary = [
            f"kept for backward  {text(self.total)}" + (f"  ({dtypes})" if dtypes else ""),
            f"  activations      {text(self.activations)}",
            f"  weight copies    {text(self.weight_copies)}",
        ]
        if self.parameters:
            summary.append(f"parameters, kept as they are at no extra cost  {text(self.parameters)}")
        if not self.rows and not self.parameters:
            summary += ["", *_NOTHING_KEPT]
        return "\n".join(summary + self._table())

    __repr__ = __str__  # so that a cell can end in it

    def _table(self):
        if not self.rows:
            return []
        pieces, sizes = Counter(self.rows), Counter()  # like pieces share a line
        for row in self.rows:
            sizes[row] += row.bytes
        order = sorted(sizes, key=sizes.get, reverse=True)
        lines = [("bytes", "pieces", "dtype", "shape", "kind", "kept for the backward of")]
        for row in order[:LONGEST_TABLE]:
            about = _name(row.dtype), str(row.shape), row.kind, row.kept_for
            lines.append((text(sizes[row]), str(pieces[row]), *about))
        rest = order[LONGEST_TABLE:]
        if rest:
            size, count = sum(sizes[row] for row in rest), sum(pieces[row] for row in rest)
            lines.append((text(size), str(count), "", "", "", "(smaller ones)"))
        widths = [max(map(len, column)) for column in zip(*lines)]
        align = [str.rjust, str.rjust, str.ljust, str.ljust, str.ljust, str.ljust]
        padded = [[pad(*each) for pad, *each in zip(align, line, widths)] for line in lines]
        return ["", *("  ".join(line).rstrip() for line in padded)]


def text(size):
    """Give a number of bytes as a learner reads it: text(3_565_158) is "3.4 MiB".

    Three digits at most. 1 KiB is 1,024 bytes. A difference may be negative. TypeError if it isn't a number,
    ValueError if it is NaN, infinite or too large for a float.
    """
    if isinstance(size, bool) or not isinstance(size, numbers.Real):
        raise TypeError(f"Pass a number of bytes, not {size!r}. Where nothing was measured, say so in words.")
    size, unit = as_float(size), 0
    if not math.isfinite(size):
        raise ValueError(f"Pass a finite number of bytes, not {size}: it can't be a measurement.")
    while abs(size) >= 999.5 and unit < 4:
        size, unit = size / 1024, unit + 1
    digits = f"{size:.0f}" if abs(size) >= 100 or unit == 0 else f"{size:.3g}"
    return f"{digits} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"


def _name(dtype):
    return str(dtype).removeprefix("torch.")
