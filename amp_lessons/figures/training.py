"""What happens over the steps and epochs of training."""

import math
from collections.abc import Mapping, Sequence

import matplotlib

from amp_lessons.figures.line_labels import label_ends
from amp_lessons.figures.picture import Picture
from amp_lessons.figures.style import (
    MUTED,
    PRECISION_COLOURS,
    PRECISION_MARKERS,
    house_style,
    new_figure,
    power_ticks,
    set_message,
)
from amp_lessons.figures.words import number, percent
from amp_lessons.formats import as_float

LINE_STYLES = ("-", (0, (4, 1.6)), (0, (1.2, 1.4)), (0, (6, 1.5, 1.2, 1.5)))


@house_style()
def share_lost_over_training(
    epochs: Sequence[float], shares_by_layer: Mapping[str, Sequence[float]], fmt: str = "FP16"
) -> Picture:
    """Draw, for each layer, the share of its gradients that becomes zero, against the epoch.

    ``shares_by_layer`` maps each layer, from input to output, to one share (0 to 1) per epoch. The colours
    run from dark at the input to light at the output, so the order of the layers can be seen; as many are
    labelled as there is room for. Raises ValueError where lengths differ, nothing is given, an epoch is not
    finite or a share is not from 0 to 1.
    """
    epochs = [as_float(epoch) for epoch in epochs]
    layers = {str(layer): [as_float(share) for share in shares] for layer, shares in shares_by_layer.items()}
    if not layers or not epochs:
        raise ValueError("give at least one epoch and one layer")
    for epoch in epochs:
        if not math.isfinite(epoch):
            raise ValueError(f"there is an epoch {epoch:g}: give finite numbers, for example range(30)")
    for layer, shares in layers.items():
        if len(shares) != len(epochs):
            raise ValueError(
                f"layer {layer!r} has {len(shares)} shares for {len(epochs)} epochs: give one for each"
            )
        for share in shares:
            if not 0 <= share <= 1:
                raise ValueError(
                    f"layer {layer!r} has the share {share:g}: give numbers from 0 to 1, 0.25 for 25 %"
                )
    figure, axes = new_figure(8.4, 4.3)
    colours = matplotlib.colormaps["viridis"]
    top = max(0.05, max(max(shares) for shares in layers.values()))
    labels = []
    for place, (layer, shares) in enumerate(layers.items()):
        colour = colours(0.0 if len(layers) == 1 else 0.78 * place / (len(layers) - 1))
        axes.plot(epochs, shares, color=colour, marker="osD^vP*X"[place % 8], markersize=6)
        words = f"{layer}" + (" (input side)" if place == 0 and len(layers) > 1 else "")
        words += " (output side)" if place == len(layers) - 1 and len(layers) > 1 else ""
        labels.append((epochs[-1], shares[-1], f"{words}: {percent(shares[-1])}", colour))
    axes.set_ylim(-0.02 * top, min(1.02, top * 1.12))
    label_ends(axes, labels)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share * 100:g} %")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel="epoch", ylabel="share of the non-zero gradients")
    first = [shares[0] for shares in layers.values()]
    last = [shares[-1] for shares in layers.values()]
    verb = "more and more" if min(b - a for a, b in zip(first, last)) > 0 else "part"
    set_message(figure, f"{fmt} turns {verb} of the gradients to 0")
    return Picture(
        figure,
        f"Share of non-zero gradients that {fmt} turns to 0, epoch {number(epochs[0])} to "
        f"{number(epochs[-1])}, from the input side to the output side: "
        + "; ".join(
            f"{layer} {percent(shares[0])} to {percent(shares[-1])}" for layer, shares in layers.items()
        )
        + ".",
    )


@house_style()
def training_runs(
    runs: Mapping[str, Mapping],
    error_label: str = "error / amplitude",
    zeros_label: str = "gradients that are zero",
    step_label: str = "training step",
) -> Picture:
    """Draw several training runs: the error above, the share of zero gradients below, on one axis of steps.

    ``runs`` maps a label to ``{"error": [one number a step], "zeros": [one share a step] or None}``. A
    label that begins with FP32, FP16 or BF16 gets that precision's colour and marker; a second run of the
    same precision gets another line style. An error or a share that is NaN leaves a gap. ``step_label``
    names what one number stands for, in the singular. Raises ValueError where a list is empty, the two
    lists differ in length or a share is not from 0 to 1.
    """
    cleaned = {str(label): _run(str(label), run) for label, run in runs.items()}
    if not cleaned:
        raise ValueError('give at least one run, for example {"FP32": {"error": [0.6, 0.3], "zeros": None}}')
    with_zeros = any(run["zeros"] is not None for run in cleaned.values())
    figure, panels = new_figure(
        8.6,
        6.0 if with_zeros else 4.0,
        nrows=2 if with_zeros else 1,
        sharex=True,
        squeeze=False,
        height_ratios=(1.4, 1) if with_zeros else None,
    )
    upper, lower = panels[0, 0], panels[-1, 0]
    log = _reads_better_on_log([value for run in cleaned.values() for value in run["error"]])
    height = (lambda value: math.log2(value) if value > 0 else math.nan) if log else (lambda value: value)
    looks = _looks(cleaned)
    last_step = max(len(run["error"]) for run in cleaned.values()) - 1
    for panel, key, convert in ((upper, "error", height), (lower, "zeros", float)):
        if key == "zeros" and not with_zeros:
            break
        panel.update_datalim([(0, 0), (last_step, 0)], updatey=False)  # also where a line is all NaN
        ends = []
        for label, run in cleaned.items():
            if run[key] is None:
                continue
            points = [convert(value) if math.isfinite(value) else math.nan for value in run[key]]
            panel.plot(
                points,
                markevery=(len(ends) * max(1, len(points) // 40), max(1, len(points) // 8)),
                markersize=6,
                **looks[label],
            )
            finite = [point for point in points if math.isfinite(point)]
            value = run[key][-1]
            text = f"{label}: {percent(value) if key == 'zeros' else number(float(f'{value:.2g}'))}"
            ends.append((last_step, finite[-1] if finite else math.nan, text, looks[label]["color"]))
        if key == "zeros":
            panel.set_ylim(-0.04, 1.06)
        elif not log:
            panel.set_ylim(bottom=0)
        label_ends(panel, ends)
    if log:
        _log2_ticks(upper)
    upper.set_ylabel(error_label)
    if with_zeros:
        lower.set_ylabel(zeros_label)
        lower.yaxis.set_major_formatter(lambda share, _: f"{share * 100:g} %")
    lower.set_xlabel(step_label)
    figure.align_ylabels()
    lower.xaxis.get_major_locator().set_params(integer=True)
    set_message(figure, _runs_title(cleaned, step_label))
    return Picture(figure, _runs_alt(cleaned, error_label, zeros_label, step_label))


def _run(label, run):
    if not isinstance(run, Mapping) or "error" not in run:
        raise ValueError(f'run {label!r} needs an entry "error": a list with one number a step')
    error = [as_float(value) for value in run["error"]]
    zeros = run.get("zeros")
    zeros = None if zeros is None else [as_float(value) for value in zeros]
    if not error:
        raise ValueError(f"run {label!r} has no step: its list of errors is empty")
    if zeros is not None and len(zeros) != len(error):
        raise ValueError(
            f"run {label!r} has {len(zeros)} shares of zeros for {len(error)} errors: give one a step, "
            "or None"
        )
    for share in zeros or []:
        if share < 0 or share > 1:
            raise ValueError(
                f"run {label!r} has the share of zeros {share:g}: give numbers from 0 to 1, 0.25 for 25 %"
            )
    return {"error": error, "zeros": zeros}


def _looks(runs):
    """Colour by precision; line style and marker tell runs of the same precision apart."""
    seen, looks = {}, {}
    for place, label in enumerate(runs):
        name = next((name for name in PRECISION_COLOURS if label.lower().startswith(name)), "")
        turn = seen[name] = seen.get(name, -1) + 1
        looks[label] = {
            "color": PRECISION_COLOURS.get(name, MUTED),
            "marker": PRECISION_MARKERS.get(name, "x") if turn == 0 else "DvP*"[turn % 4],
            "linestyle": LINE_STYLES[turn % len(LINE_STYLES)],
            # Narrower lines above wider ones, broken above solid: all can be seen where they coincide.
            "linewidth": min(5, 1 + len(runs) - place) if len(runs) > 3 else 2,
            "zorder": 2 + place,
        }
    return looks


def _reads_better_on_log(values):
    """A log axis pays once the errors span more than a factor of 10, as an early spike makes them do."""
    finite = [value for value in values if math.isfinite(value) and value > 0]
    return bool(finite) and max(finite) > 10 * min(finite)


def _log2_ticks(axes):
    """Label an axis of exponents: plain numbers near 1 (0.25, 0.5, 1), powers of two far from it."""
    bottom, top = axes.get_ylim()
    step = max(1, round((top - bottom) / 6))
    exponents = [step * count for count in range(-160, 161) if bottom <= step * count <= top]
    power_ticks(axes.yaxis, exponents)
    if exponents and -4 <= exponents[0] and exponents[-1] <= 10:
        axes.yaxis.set_ticklabels([number(2.0**exponent) for exponent in exponents])


def _runs_title(runs, step_label):
    last = {label: run["error"][-1] for label, run in runs.items()}
    broken = [label for label, value in last.items() if not math.isfinite(value)]
    if broken:
        return f"{broken[0]} ends in {number(last[broken[0]])}"
    reference = next((label for label in last if label.upper().startswith("FP32")), min(last, key=last.get))
    newest = list(last)[-1]  # a run that is added to a picture is what the picture is about
    near = [last[label] < 1.2 * min(last.values()) for label in last]
    if len(last) > 3 and all(near) and min(last.values()) > 0:
        return f"All {len(last)} runs end close together"
    if newest != reference and last[reference] > 0:
        ratio = last[newest] / last[reference]
        if 1 / 1.2 < ratio < 1.2:
            return f"{newest}: the curve ends about where {reference}'s does"
        return f"{newest}: the curve ends {number(float(f'{ratio:.2g}'))} times as high as {reference}'s"
    return f"Error over {max(len(run['error']) for run in runs.values()):,} {step_label}s"


def _runs_alt(runs, error_label, zeros_label, step_label):
    parts = [f"Training runs over {max(len(run['error']) for run in runs.values()):,} {step_label}s."]
    for label, run in runs.items():
        first, last = (number(float(f"{value:.2g}")) for value in (run["error"][0], run["error"][-1]))
        text = f"{label}: {error_label} from {first} to {last}"
        if run["zeros"] is not None:
            text += f", {zeros_label} from {percent(run['zeros'][0])} to {percent(run['zeros'][-1])}"
        parts.append(text + ".")
    return " ".join(parts)
