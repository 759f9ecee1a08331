"""Labels beside the ends of lines, in place of a legend."""

import math

from amp_lessons.figures.style import legible, spread

# From a label to the end of its line.
LEADER = {"arrowstyle": "-", "linewidth": 1, "shrinkA": 2, "shrinkB": 4, "relpos": (0, 0.5)}


def label_ends(axes, ends):
    """Write each line's label at the right of the axes, moved apart where labels would overlap.

    ``ends`` holds (x, height, label, colour); a height of NaN is a line that isn't there, and its label goes
    to the bottom. If there isn't room for all, the first, the last and as many as fit between are labelled.
    """
    figure_height = axes.figure.get_size_inches()[1] * axes.get_subplotspec().get_position(axes.figure).height
    low, high = axes.get_ylim()
    gap = (high - low) * 0.235 / max(figure_height, 0.5)  # the height of one line of text, in data units
    ends = _evenly(ends, max(2, int((high - low) / gap)))
    heights = [low if math.isnan(height) else height for _, height, _, _ in ends]
    places = spread(heights, gap, low + gap / 2, high - gap / 2)
    for (x, end, text, colour), height, place in zip(ends, heights, places):
        axes.annotate(
            text,
            (x, height),
            xytext=(1.03, (place - low) / (high - low)),
            textcoords="axes fraction",
            va="center",
            fontsize=11.5,
            fontweight="bold",
            color=legible(colour),
            annotation_clip=False,
            arrowprops=None if math.isnan(end) else {**LEADER, "color": colour},
        )


def _evenly(items, count):
    """Return the items, or the first, the last and others evenly between them if there are over ``count``."""
    if len(items) <= count:
        return items
    return [items[round(place * (len(items) - 1) / (count - 1))] for place in range(count)]
