"""Running totals of the same additions in several formats: which sum goes on and which one stops."""

import math
from collections.abc import Iterable, Mapping, Sequence

from matplotlib.axes import Axes

from amp_lessons.figures.line_labels import label_ends
from amp_lessons.figures.picture import Picture
from amp_lessons.figures.style import (
    MUTED,
    PRECISION_COLOURS,
    PRECISION_MARKERS,
    house_style,
    legible,
    new_figure,
    set_message,
)
from amp_lessons.figures.words import listed, number, percent, scientific, small_percent
from amp_lessons.formats import as_float

_LONGEST_MESSAGE = 74  # characters that fit above the figure
_CLOSE = 0.0005  # a share of the true total
_LARGEST = 1e306  # a picture needs room beside its largest number, and a float ends at 1.8e308
_ROW = 16  # points from line to line of the words in the picture


@house_style()
def running_sums(sums: Mapping[str, Sequence[float]], exact: float | None = None) -> Picture:
    """Draw the running total of each format against the number of additions.

    ``sums`` maps "FP32", "FP16", "BF16" (or another label) to its list of totals, one after each addition.
    ``exact`` is the true total at the end, drawn as a thin grey line from 0. A sum has stopped where at least
    its last two additions changed nothing. Raises ValueError where nothing is given, lengths differ, a
    finite number is over 10³⁰⁶ in size or ``exact`` is not finite. Totals that are infinite or NaN are left
    out of the picture and told in words.
    """
    sums = checked_sums(sums)
    if exact is not None:
        exact = as_float(exact)
        if not math.isfinite(exact):
            raise ValueError(f"the true total is {exact:g}: give a finite number, or None to leave it out")
        _check_size("the true total", exact)
    figure, axes = new_figure(8.4, 4.0)
    draw_sums(axes, sums, exact)
    set_message(figure, sums_message(sums, exact))
    return Picture(figure, sums_alt(sums, exact))


def checked_sums(sums: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Return the totals as lists of Python floats. ValueError where nothing is given or lengths differ."""
    if not isinstance(sums, Mapping) or not sums:
        raise ValueError('give at least one sum, for example {"FP32": [0.1, 0.2], "BF16": [0.1, 0.2]}')
    for label, totals in sums.items():
        if isinstance(totals, (str, bytes)) or not isinstance(totals, Iterable):
            raise ValueError(f"the sum {str(label)!r} has to be a list of totals, not {totals!r}")
    cleaned = {str(label): [as_float(total) for total in totals] for label, totals in sums.items()}
    lengths = {label: len(totals) for label, totals in cleaned.items()}
    if min(lengths.values()) == 0 or len(set(lengths.values())) > 1:
        told = ", ".join(f"{label} has {length:,}" for label, length in lengths.items())
        raise ValueError(f"give each sum one total for each addition, at least one: {told}")
    for label, totals in cleaned.items():
        _check_size(
            f"a total of {label}", max((abs(each) for each in totals if math.isfinite(each)), default=0)
        )
    return cleaned


def _check_size(what, value):
    if abs(value) > _LARGEST:
        raise ValueError(f"{what} is {abs(value):.3g} in size: a picture holds numbers up to {_LARGEST:g}")


def draw_sums(axes: Axes, sums: Mapping[str, list[float]], exact: float | None) -> None:
    """Draw the lines of checked sums with a label at the end of each."""
    count = len(next(iter(sums.values())))
    if exact is not None:
        axes.plot([0, count], [0, exact], color=MUTED, linewidth=1.2, zorder=len(sums) + 2)
    ends = [] if exact is None else [(count, exact, f"true total: {value_text(exact)}", MUTED)]
    broken = {}
    for place, (label, totals) in enumerate(sums.items()):
        name = next((name for name in PRECISION_COLOURS if label.lower().startswith(name)), "")
        colour = PRECISION_COLOURS.get(name, MUTED)
        heights = [0.0] + [total if math.isfinite(total) else math.nan for total in totals]
        axes.plot(
            range(count + 1),
            heights,
            color=colour,
            marker=PRECISION_MARKERS.get(name, "x"),
            markersize=7,
            markeredgecolor="white",
            # Where lines coincide, the markers of each are seen.
            markevery=(max(1, count * (2 + 2 * place) // 80), max(1, count // 8)),
            linewidth=max(2.0, 2 + 1.2 * (len(sums) - 1 - place)),
            zorder=2 + place,
        )
        last = totals[-1]
        if not math.isfinite(last):
            end = max(place for place, height in enumerate(heights) if math.isfinite(height))
            axes.plot([end], [heights[end]], "x", color=colour, markersize=10, markeredgewidth=3, zorder=9)
            broken.setdefault((end, heights[end], math.isinf(last)), []).append((label, colour))
        ends.append(
            (count, last if math.isfinite(last) else math.nan, f"{label}: {value_text(last)}", colour)
        )
    axes.set_xlim(-0.01 * count, 1.01 * count)
    _name_broken(axes, broken, count)
    label_ends(axes, ends)
    axes.yaxis.set_major_formatter(lambda value, _: _tick_text(float(f"{value:.6g}")))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel="additions", ylabel="total so far")


def _name_broken(axes, broken, count):
    """Say where lines end early why they do, out of the way of the lines.

    ``broken`` maps (place, height, whether it overflows) to the labels and colours of the lines that end
    there.
    """
    low, high = axes.get_ylim()
    tall = axes.figure.get_size_inches()[1] * axes.get_subplotspec().get_position(axes.figure).height
    point = (high - low) / max(72 * tall, 36)  # in data units
    rows = {True: 0, False: 0}
    for (place, height, overflows), lines in broken.items():
        at_the_right = place > 0.6 * count
        above = at_the_right == (high > -low)  # totals that rise lie above what is right of the mark
        labels = [label for label, _ in lines]
        fate = (
            _verb("overflow", labels) if overflows else f"{'is' if len(lines) == 1 else 'are'} NaN from here"
        )
        offset = (6 + _ROW * rows[above]) * (1 if above else -1)
        rows[above] = (rows[above] + 1) % 4
        axes.annotate(
            f"{listed(labels) if len(lines) <= 3 else f'{len(lines)} sums'} {fate}",
            (place, height),
            xytext=(-4 if at_the_right else 4, offset),
            textcoords="offset points",
            ha="right" if at_the_right else "left",
            va="bottom" if above else "top",
            fontsize=11.5,
            fontweight="bold",
            color=legible(lines[0][1] if len(lines) == 1 else MUTED),
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "boxstyle": "square,pad=0.05"},
            zorder=8,
        )
        edge = height + (offset + (_ROW if above else -_ROW)) * point
        low, high = min(low, edge), max(high, edge)
    axes.set_ylim(low, high)


def _tick_text(value):
    """A total at the axis: from a million on as a power of ten, which is short enough for the margin."""
    return value_text(value) if abs(value) < 1e6 else scientific(value).replace("-", "−")


def sums_message(sums: Mapping[str, list[float]], exact: float | None, still: int = 2) -> str:
    """Return in a few words what became of checked sums: true whatever the totals are.

    ``still`` is how many additions at the end must have changed nothing for a sum to have stopped.
    """
    broken = {
        label: totals[-1] for label, totals in sums.items() if not math.isfinite(totals[-1])
    }  # what is infinite stays so
    stopped = {label: totals[-1] for label, totals in sums.items() if _has_stopped(totals, exact, still)}
    parts = [_broken_words(broken)] if broken else []
    if stopped:
        parts.append(_stopped_words(stopped, exact))
    if not parts:
        return _close_words({label: totals[-1] for label, totals in sums.items()}, exact)
    message = "; ".join(parts)
    if len(message) <= _LONGEST_MESSAGE:
        return message
    short = [f"{listed(stopped)} {_verb('stop', stopped)} before the end"] if stopped else []
    if broken:
        short = [f"{listed(broken)} {'is' if len(broken) == 1 else 'are'} not finite at the end", *short]
    return "; ".join(short)


def sums_alt(sums: Mapping[str, list[float]], exact: float | None, still: int = 2) -> str:
    """Return the sentence that states what the picture of checked sums shows; ``still`` as above."""
    count = len(next(iter(sums.values())))
    parts = []
    for label, totals in sums.items():
        if _has_stopped(totals, exact, still):
            additions = stops_after(totals)
            after = f"after addition {additions:,}" if additions else "from the start"
            parts.append(f"{label} stops at {value_text(totals[-1])} {after}")
        else:
            parts.append(f"{label} ends at {value_text(totals[-1])}")
    true = "" if exact is None else f" The true total is {value_text(exact)}."
    return f"Running totals of {count:,} addition{'' if count == 1 else 's'}. {'; '.join(parts)}.{true}"


def stops_after(totals: Sequence[float]) -> int:
    """Return after how many additions the total has its last value."""
    place = len(totals)
    while place > 1 and totals[place - 2] == totals[-1]:
        place -= 1
    return 0 if place == 1 and totals[-1] == 0 else place  # a total starts at 0


def value_text(value: float) -> str:
    """Return a total to four digits, a whole number in full, with a true minus sign."""
    rounded = value if not math.isfinite(value) or value == int(value) else float(f"{value:.4g}")
    return number(rounded).replace("-", "−")


def share_text(share: float) -> str:
    """Return an error as a share of the true total, to two digits where it is small: ``"0.0013 %"``."""
    if share > 1:
        return f"{number(float(f'{share * 100:.3g}'))} %"
    return small_percent(share) if share < 0.001 else percent(share)


def _has_stopped(totals, exact, still):
    last = totals[-1]
    at_rest = math.isfinite(last) and len(totals) > still and set(totals[-1 - still :]) == {last}
    return at_rest and (exact is None or value_text(last) != value_text(exact))


def _verb(verb, subjects):
    return f"{verb}s" if len(subjects) == 1 else verb


def _broken_words(broken):
    infinite = [label for label, total in broken.items() if math.isinf(total)]
    others = [label for label in broken if label not in infinite]
    words = [f"{listed(infinite)} {_verb('overflow', infinite)} to infinity"] if infinite else []
    return "; ".join(words + ([f"{listed(others)} {_verb('end', others)} in NaN"] if others else []))


def _stopped_words(stopped, exact):
    places = {}
    for label, total in stopped.items():
        places.setdefault(value_text(total), []).append(label)
    (first, labels), *others = places.items()
    words = [f"{listed(labels)} {_verb('stop', labels)} at {first}"]
    words += [f"{listed(labels)} at {place}" for place, labels in others]
    if exact is None:
        return listed(words)
    on_the_way = all(0 <= math.copysign(1, exact) * total < abs(exact) for total in stopped.values())
    end = " on the way to " if on_the_way else ", the true total is "
    return f"{listed(words)}{end}{value_text(exact)}"


def _close_words(last, exact):
    if exact is None:
        (first, total), *others = last.items()
        ends = [f"{first} ends at {value_text(total)}"]
        return listed(ends + [f"{label} at {value_text(total)}" for label, total in others])
    errors = {label: abs(total - exact) for label, total in last.items()}
    farthest = max(errors, key=errors.get)
    who = (
        f"{farthest} ends"
        if len(last) == 1
        else "Both sums end"
        if len(last) == 2
        else f"All {len(last)} sums end"
    )
    if errors[farthest] == 0:
        return f"{who} exactly at {value_text(exact)}"
    if errors[farthest] <= _CLOSE * abs(exact):
        return f"{who} within {_CLOSE * 100:g} % of {value_text(exact)}"
    if exact == 0:
        return f"{farthest} ends at {value_text(last[farthest])}, the true total is 0"
    away = share_text(errors[farthest] / abs(exact))
    return f"{farthest} ends {away} from the true total, {value_text(exact)}"
