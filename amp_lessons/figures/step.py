"""One mixed-precision training step as boxes and arrows."""

from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from amp_lessons.figures.picture import Picture
from amp_lessons.figures.style import (
    INK,
    MUTED,
    PRECISION_COLOURS,
    house_style,
    new_figure,
    set_message,
    tint,
)
from amp_lessons.formats import FP32, Format, format_of

WIDTH, HEIGHT = 2.0, 1.12  # of a box, in the units of the drawing
LEFT, COPY, PASS, RIGHT = 0.0, 2.95, 5.45, 8.0
UPPER, MIDDLE, LOWER = 1.75, 0.875, 0.0


@house_style()
def mixed_precision_step(fmt: str = "fp16") -> Picture:
    """Draw one training step: weights, forward, loss, backward, update; each box says how many bits it holds.

    ``fmt`` is the 16-bit format of the inner part ("fp16" or "bf16"). The order is that of PyTorch's
    autocast: the loss and the weight update are in FP32, the matrix products of forward and backward in 16
    bits. Raises ValueError for an unknown format or one that is not narrower than FP32.
    """
    narrow = format_of(fmt)
    if narrow.bits >= FP32.bits:
        raise ValueError(f"{narrow.label} is as wide as FP32: choose 'fp16' or 'bf16' for the inner part")
    figure, axes = new_figure(9.0, 4.1)
    axes.set(xlim=(-0.15, RIGHT + WIDTH + 0.15), ylim=(-0.3, UPPER + HEIGHT + 0.68), aspect="equal")
    axes.set_axis_off()

    inner = FancyBboxPatch(
        (COPY - 0.2, LOWER - 0.2),
        PASS + WIDTH - COPY + 0.4,
        UPPER + HEIGHT - LOWER + 0.78,
        boxstyle="round,pad=0,rounding_size=0.15",
        linewidth=0,
        facecolor=tint(PRECISION_COLOURS[narrow.name], 0.1),
    )
    axes.add_patch(inner)
    centre = (COPY + PASS + WIDTH) / 2
    axes.text(
        centre,
        UPPER + HEIGHT + 0.3,
        f"computed in {narrow.label}: {narrow.bits} bits a number",
        ha="center",
        va="center",
        fontsize=12.5,
        fontweight="bold",
        color=_dark(narrow),
    )
    axes.text(
        LEFT + WIDTH / 2,
        UPPER + HEIGHT + 0.3,
        f"kept in {FP32.label}:\n{FP32.bits} bits a number",
        ha="center",
        va="center",
        fontsize=12.5,
        fontweight="bold",
        color=_dark(FP32),
    )

    _box(axes, LEFT, UPPER, "weights", FP32)
    _box(axes, COPY, UPPER, "weight copy", narrow)
    _box(axes, PASS, UPPER, "forward pass", narrow)
    _box(axes, RIGHT, MIDDLE, "loss", FP32)
    _box(axes, PASS, LOWER, "backward pass", narrow)
    _box(axes, COPY, LOWER, "gradients", narrow)
    _box(axes, LEFT, LOWER, "weight update", FP32)

    upper, lower = UPPER + HEIGHT / 2, LOWER + HEIGHT / 2
    _arrow(axes, (LEFT + WIDTH, upper), (COPY, upper), "round")
    _arrow(axes, (COPY + WIDTH, upper), (PASS, upper))
    _arrow(axes, (PASS + WIDTH, upper), (RIGHT + WIDTH / 2, MIDDLE + HEIGHT), bend=-0.32)
    _arrow(axes, (RIGHT + WIDTH / 2, MIDDLE), (PASS + WIDTH, lower), bend=-0.32)
    _arrow(axes, (PASS, lower), (COPY + WIDTH, lower))
    _arrow(axes, (COPY, lower), (LEFT + WIDTH, lower), "widen")
    _arrow(axes, (LEFT + WIDTH / 2, LOWER + HEIGHT), (LEFT + WIDTH / 2, UPPER))
    set_message(figure, f"Compute in {narrow.bits} bits, keep the weights in {FP32.bits}")
    return Picture(
        figure,
        (
            f"One training step: the {FP32.bits}-bit FP32 weights are rounded to a {narrow.bits}-bit "
            f"{narrow.label} copy; forward and backward pass compute in {narrow.label}; the loss and the "
            "weight update are in FP32, and the "
            f"{narrow.label} gradients are widened to FP32 before the update."
        ),
    )


def _dark(fmt: Format):
    return tuple(0.72 * part for part in tint(PRECISION_COLOURS[fmt.name], 1))


def _box(axes, x, y, name, fmt):
    """Draw a box with its name, its format and a little square for each bit: half the bits, half as wide."""
    colour = PRECISION_COLOURS[fmt.name]
    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            WIDTH,
            HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.1",
            linewidth=2,
            edgecolor=colour,
            facecolor="white",
            zorder=3,
        )
    )
    axes.text(
        x + WIDTH / 2, y + 0.83, name, ha="center", va="center", fontsize=12.5, fontweight="bold", zorder=4
    )
    axes.text(
        x + WIDTH / 2,
        y + 0.53,
        f"{fmt.label} · {fmt.bits} bits",
        ha="center",
        va="center",
        fontsize=11,
        color=_dark(fmt),
        zorder=4,
    )
    side = (WIDTH - 0.2) / FP32.bits
    start = x + WIDTH / 2 - fmt.bits * side / 2
    for bit in range(fmt.bits):
        axes.add_patch(
            Rectangle(
                (start + bit * side, y + 0.15), side * 0.78, 0.2, linewidth=0, facecolor=colour, zorder=4
            )
        )


def _arrow(axes, start, end, label="", bend=0.0):
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=17,
            linewidth=2,
            color=INK,
            shrinkA=2,
            shrinkB=2,
            connectionstyle=f"arc3,rad={bend}",
            zorder=5,
        )
    )
    if label:
        axes.text(
            (start[0] + end[0]) / 2 + (0.08 if end[0] < start[0] else -0.08),
            start[1] + 0.12,
            label,
            ha="center",
            va="bottom",
            fontsize=11,
            color=MUTED,
            zorder=6,
        )
