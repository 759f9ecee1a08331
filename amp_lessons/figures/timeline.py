"""One recorded training step: its calls in order, where autocast was on, and what the gradients were."""

from matplotlib.patches import FancyBboxPatch, Rectangle

from amp_lessons.figures.picture import Picture
from amp_lessons.figures.style import INK, KEPT, LOST, MUTED, PRECISION_COLOURS, house_style, new_figure
from amp_lessons.figures.style import set_message, tint

_WIDTH, _GAP = 1.0, 0.12  # of a call's box
_COLOURS = {"float16": PRECISION_COLOURS["fp16"], "bfloat16": PRECISION_COLOURS["bf16"]}


@house_style()
def step_timeline(timeline) -> Picture:
    """Draw a ``Timeline`` of the recorder: calls as boxes, autocast above them, the gradients' state below.

    A box at which a rule spoke has a thick border and the rule's name. Raises ValueError for a timeline
    without calls.
    """
    calls = timeline.calls
    if not calls:
        raise ValueError("this step has no calls to draw: record a loop that takes a step")
    named = [(position, rule) for position, call in enumerate(calls) for rule in call.rules]
    figure, axes = new_figure(max(5.0, 0.3 + 1.12 * len(calls)), 2.5 + 0.24 * len(named))
    axes.set(
        xlim=(-0.15, max(4.4, len(calls) * (_WIDTH + _GAP)) + 0.05), ylim=(-0.75 - 0.27 * len(named), 1.75)
    )
    axes.set_axis_off()
    for band in timeline.autocast:
        colour = _COLOURS.get(band.words.split()[-1], MUTED)
        _band(axes, band, 1.2, f"autocast {band.words}", colour)
    for band in timeline.gradients:
        colour = {"scaled": PRECISION_COLOURS["tf32"], "mixed": LOST}.get(band.words, KEPT)
        _band(axes, band, -0.62, f"gradients {band.words}", colour)
    for position, call in enumerate(calls):
        _box(axes, position, call)
    for row, (position, rule) in enumerate(named):
        right = _left(position) > len(calls) / 2
        x = _left(position) + (_WIDTH if right else 0)
        words = f"{rule} ▲" if right else f"▲ {rule}"
        axes.text(x, -0.72 - 0.27 * row, words, ha="right" if right else "left", va="top", fontsize=10)
    message = ", ".join(dict.fromkeys(rule for _, rule in named)) or "no findings here"
    set_message(
        figure,
        f"Step {timeline.step}: {message}"
        if len(message) < 7 * figure.get_figwidth() - 8
        else f"Step {timeline.step}",
    )
    return Picture(figure, str(timeline))


def _left(position):
    return position * (_WIDTH + _GAP)


def _box(axes, position, call):
    x = _left(position)
    axes.add_patch(
        FancyBboxPatch(
            (x, 0),
            _WIDTH,
            0.95,
            boxstyle="round,pad=0,rounding_size=0.08",
            linewidth=3.2 if call.rules else 1.4,
            edgecolor=INK if call.rules else MUTED,
            facecolor=tint(LOST, 0.3) if call.rules else "white",
            zorder=3,
        )
    )
    size = 11 if len(call.name) <= 8 else 10 if len(call.name) <= 9 else 7.5
    centre = x + _WIDTH / 2
    axes.text(centre, 0.68, call.name, ha="center", va="center", fontsize=size, fontweight="bold", zorder=4)
    if call.detail:
        axes.text(centre, 0.4, call.detail, ha="center", va="center", fontsize=10, zorder=4)
    if call.line:
        words = f"line {call.line}"
        axes.text(centre, 0.14, words, ha="center", va="center", fontsize=9, color=MUTED, zorder=4)


def _band(axes, band, y, words, colour):
    x, end = _left(band.first), _left(band.last) + _WIDTH
    axes.add_patch(
        Rectangle((x, y), end - x, 0.4, facecolor=tint(colour, 0.35), edgecolor=colour, linewidth=1.2)
    )
    room = (end - x) / _WIDTH * 10
    text = words if len(words) <= room else words.split(maxsplit=1)[1]
    axes.text((x + end) / 2, y + 0.2, text, ha="center", va="center", fontsize=9 if len(text) > room else 10)
