"""compare_own_scaler(): the learner's gradient scaler beside PyTorch's, on one schedule of overflows."""

import dataclasses
import math
import random
import sys
import time

import torch

from amp_lessons.exercises import expect, watch
from amp_lessons.exercises.answer import Answer, names_left
from amp_lessons.exercises.by_hand import by_hand
from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.faults import fault_in_words, kind_and_text
from amp_lessons.exercises.guarded import guarded
from amp_lessons.exercises.own_scaler_exercises import GROW_AND_BACK_OFF, SKIP_OR_STEP, UNSCALE_AND_LOOK
from amp_lessons.exercises.panel import Panel, code_block, heading, paragraph, plural
from amp_lessons.exercises.settings import Busy, one_at_a_time
from amp_lessons.exercises.time_limit import TookTooLong, limited_to

START = 2.0**16
SECONDS = 10.0
MOST_STEPS = 500  # with more, the scale may sink until 1 / scale is inf
PARTS = (UNSCALE_AND_LOOK, SKIP_OR_STEP, GROW_AND_BACK_OFF)
TORCHS, YOURS = "PyTorch's", "yours"


@dataclasses.dataclass(frozen=True)
class Schedule:
    """What the steps of one training meet: in each, the gradients, and inf, NaN or nothing put into them."""

    gradients: list[list[list[float]]]  # by step and parameter
    overflows: list[float | None]
    growth_interval: int

    @classmethod
    def drawn(cls, seed, steps):
        """A random one, where a step in five overflows; the same for the same arguments."""
        draw = random.Random(f"{seed} {steps}")
        gradients = [[[draw.uniform(-1, 1) for _ in range(n)] for n in (3, 2)] for _ in range(steps)]
        kinds = [math.inf, -math.inf, math.nan]
        overflows = [draw.choice(kinds) if draw.random() < 0.2 else None for _ in range(steps)]
        return cls(gradients, overflows, growth_interval=draw.randint(3, 5))


@dataclasses.dataclass
class Trace:
    """What a scaler did, step by step: the scale in use, whether it skipped, weights and scale afterwards."""

    scales: list[float] = dataclasses.field(default_factory=list)
    skipped: list[bool] = dataclasses.field(default_factory=list)
    weights: list[list[float]] = dataclasses.field(default_factory=list)
    next_scales: list[float] = dataclasses.field(default_factory=list)

    def add(self, scale, skipped, parameters, next_scale):
        """Keep one step."""
        self.scales.append(scale)
        self.skipped.append(skipped)
        self.weights.append([value for parameter in parameters for value in parameter.tolist()])
        self.next_scales.append(next_scale)


def torchs_trace(schedule):
    """What torch.amp.GradScaler does on this schedule."""
    parameters, optimizer = _training()
    scaler = torch.amp.GradScaler("cpu", init_scale=START, growth_interval=schedule.growth_interval)
    scaler.scale(torch.zeros(()))  # from here on it has its scale
    trace = Trace()
    steps = []
    optimizer.register_step_post_hook(lambda *_: steps.append(True))
    for gradients, overflow in zip(schedule.gradients, schedule.overflows):
        scale, before = scaler.get_scale(), len(steps)
        _backward(parameters, gradients, overflow, scale)
        scaler.step(optimizer)
        scaler.update()
        trace.add(scale, len(steps) == before, parameters, scaler.get_scale())
    return trace


def own_trace(schedule, skip_or_step, grow_and_back_off, trace):
    """Let these two functions do the same, and keep it in `trace`. NotYet for a value of the wrong kind."""
    parameters, optimizer = _training()
    scale, good_steps = START, 0
    for gradients, overflow in zip(schedule.gradients, schedule.overflows):
        _backward(parameters, gradients, overflow, scale)
        found = expect.boolean(skip_or_step(optimizer, scale), "skip_or_step(optimizer, scale)")
        what = "grow_and_back_off(scale, good_steps, found_inf, growth_interval)"
        pair = grow_and_back_off(scale, good_steps, found, schedule.growth_interval)
        pair = expect.sequence(pair, what, 2)
        following = expect.number(pair[0], f"{what}[0]")
        count = expect.number(pair[1], f"{what}[1]")
        if not count.is_integer():
            raise NotYet(f"{what}[1] should be a whole number; yours is {count:g}.")
        good_steps = int(count)
        trace.add(scale, found, parameters, following)
        scale = following


def _training():
    parameters = [torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(2))]
    groups = [{"params": [parameter]} for parameter in parameters]
    return parameters, torch.optim.SGD(groups, lr=0.1, momentum=0.9)


def _backward(parameters, gradients, overflow, scale):
    """What backward of a scaled loss leaves in .grad: the gradients times the scale."""
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = torch.tensor(gradient) * scale
    if overflow is not None:
        parameters[1].grad[0] = overflow


def first_difference(yours, torchs):
    """Where a trace leaves PyTorch's first, in words, with both numbers; "" where it does not."""
    for step, skipped in enumerate(yours.skipped):
        if skipped != torchs.skipped[step]:
            words = {True: "skipped", False: "took"}
            return (
                f"At step {step} they differ in the skip: yours {words[skipped]} the step, torch's "
                f"{words[torchs.skipped[step]]} it."
            )
        for mine, theirs in zip(yours.weights[step], torchs.weights[step]):
            if mine != theirs:
                return (
                    f"After step {step} they differ in a weight: yours is {mine:.9g}, torch's {theirs:.9g}."
                )
        mine, theirs = yours.next_scales[step], torchs.next_scales[step]
        if mine != theirs:
            return f"After step {step} they differ in the scale: yours is {mine:g}, torch's {theirs:g}."
    return ""


def compare_own_scaler(namespace=None, seed=0, steps=60):
    """Run the learner's three functions beside torch.amp.GradScaler, and show both. Never raises.

    `namespace` is a dict of the names to look in; left out, it is the notebook's, or the caller's globals.
    `seed` chooses the schedule: which of the `steps` steps overflow, the gradients, the growth interval.
    """
    try:
        if namespace is None:
            shell = watch.notebook()
            namespace = shell.user_ns if shell else sys._getframe(1).f_globals
        watch.start()
        if type(steps) is not int or not 1 <= steps <= MOST_STEPS:
            return _panel([f"`steps` is a whole number from 1 to {MOST_STEPS}."], {})
        with one_at_a_time():
            return _compared(namespace, Schedule.drawn(seed, steps))
    except Busy:
        message = "Another check is still running. Run this cell again when it is done."
    except KeyboardInterrupt:
        message = "You stopped the comparison before it was done."
    except BaseException as fault:  # it must not end the notebook
        message = (
            f"The comparison itself failed, which is no fault of yours: {kind_and_text(fault)}. Please "
            "report it."
        )
    return _panel([message], {})


def _compared(namespace, schedule):
    with guarded():  # torch set as in a new notebook, for both
        torchs = torchs_trace(schedule)
    missing, failed = _missing(namespace)
    traces = {TORCHS: torchs}
    texts = [
        f"{plural(len(schedule.overflows), 'step')} from a scale of 65536, growth interval "
        f"{schedule.growth_interval}, {sum(torchs.skipped)} with an inf or NaN in a gradient."
    ]
    if missing:
        still = "is" if len(missing) == 1 else "are"
        failed.append(f"{_listed(missing)} {still} still to do.")
    if failed:
        return _panel([*failed, *texts, "This is PyTorch's scaler alone."], traces)
    yours = Trace()
    trouble, printed = _run(namespace, schedule, yours)
    difference = first_difference(yours, torchs)
    if difference:
        texts.insert(0, difference)
    if trouble:
        texts.insert(1 if difference else 0, f"Yours did not get past step {len(yours.scales)}. {trouble}")
    if not difference and not trouble:
        steps = plural(len(yours.scales), "step")
        texts.insert(0, f"✓ They agree over {steps}: the scale, the skips and every weight, exactly.")
    if yours.scales:
        traces[YOURS] = yours
    return _panel(texts, traces, printed)


def _missing(namespace):
    """The names of the functions still to do, and a text for each whose cell failed."""
    missing, failed = [], []
    for exercise in PARTS:
        left = names_left(exercise, namespace)
        cell = watch.failed_cell(exercise.names, namespace)
        if cell and not (left and cell.is_stub(exercise.stub)):
            failed.append(f"The cell of `{exercise.names[0]}` failed.\n{cell.failure}")
        elif left:
            missing += left
    return missing, failed


def _run(namespace, schedule, trace):
    """Fill the learner's trace. Returns what went wrong, in words, or "", and what the functions printed."""

    def run():
        skip_or_step, grow = (
            getattr(Answer(exercise, namespace), exercise.names[0]) for exercise in PARTS[1:]
        )
        getattr(Answer(UNSCALE_AND_LOOK, namespace), UNSCALE_AND_LOOK.names[0])  # says if it is no function
        with by_hand():
            own_trace(schedule, skip_or_step, grow, trace)

    trouble, end = "", time.monotonic() + SECONDS
    with limited_to(SECONDS) as call, guarded() as printed:
        try:
            call(run)
        except TookTooLong:
            trouble = f"It ran for more than {plural(SECONDS, 'second')} and was stopped."
        except NotYet as not_yet:
            trouble = not_yet.message
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too
            trouble = fault_in_words(error, namespace)
    if not trouble and time.monotonic() > end:
        trouble = f"It ran for more than {plural(SECONDS, 'second')}."
    return trouble, printed.text


def _listed(names):
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _panel(texts, traces, printed=""):
    title = "Your scaler beside PyTorch's"
    lines, body = [title, *texts], heading(title) + "".join(map(paragraph, texts))
    if printed:
        lines += ["Your functions printed:", *(f"| {line}" for line in printed.splitlines())]
        body += paragraph("Your functions printed:") + code_block(printed)
    picture = _picture(traces)
    if picture is not None:
        lines.append(picture.alt)
        body += picture.html()
    return Panel(body, "\n".join(lines))


def _picture(traces):
    """Both scales over the steps, or PyTorch's alone where the learner's can't be drawn."""
    from amp_lessons import figures

    runs = {label: (trace.scales, trace.skipped) for label, trace in traces.items()}
    if not runs:
        return None
    try:
        return figures.scale_trace(runs)
    except (ValueError, TypeError, OverflowError):  # a negative scale, for one
        return figures.scale_trace({TORCHS: runs[TORCHS]})
