"""The exercises of lesson 03: what scale, step and update do, and one step in the right order."""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional as F

from amp_lessons.exercises import expect
from amp_lessons.exercises.exercise import Choice, Exercise, Lesson, NotYet, QuickCheck, Test
from amp_lessons.exercises.faults import fault_in_words
from amp_lessons.exercises.own_scaler_exercises import GROW_AND_BACK_OFF, SKIP_OR_STEP, UNSCALE_AND_LOOK
from amp_lessons.exercises.regions import not_only_cpu
from amp_lessons.exercises.unrun import has_run
from amp_lessons.exercises.watched import linear_outputs, watched
from amp_lessons.recorder.rules.numbers import scale_text


def _recorded(train):
    """The Recording of `train()`. NotYet with its first finding."""
    return watched(train)[1]


def _event(recording, kind, **data):
    """The first event of this kind with these data, or None."""
    return next(
        (one for one in recording.events if one.kind == kind and data.items() <= one.data.items()), None
    )


def _at(event):
    return f", {event.place}: `{event.place.code}`" if event.place.code else ""


def _leaves_it_to_the_scaler(recording):
    bare = _event(recording, "stepped", bare=True)
    if bare is not None:
        raise NotYet(
            f"optimizer.step() is called without the scaler{_at(bare)}\nIt steps also when a gradient is inf "
            "or NaN. Write scaler.step(optimizer) in its place: it calls optimizer.step() for you, or skips.",
            "steps-past-the-scaler",
        )
    given = _event(recording, "update", given=True)
    if given is not None:
        raise NotYet(
            f"update-sets-the-scale{_at(given)}\nupdate() was given a scale, and takes that: it does not "
            "halve it after an overflow, and counts no good step.\nCall scaler.update() without an argument.",
            "update-sets-the-scale",
        )


# tell-a-skip -------------------------------------------------------------------------------------------

_FINITE, _INF, _NAN, _ZERO = "finite", "inf", "NaN", "zero"
_LOSS_FACTOR = {_FINITE: 1.0, _INF: 1e37, _NAN: 1.0, _ZERO: 0.0}  # 1e37 times a scale above 34 is inf in FP32


@dataclasses.dataclass
class _Told:
    """One call of step_and_tell: what it returned, and what really happened."""

    gradients: str
    enabled: bool  # the scaler
    got: object
    skipped: bool
    before: float  # the scale
    after: float
    calls: list[str]  # "scale read", "step", "stepped" (by the optimizer) and "update", in order

    def reads(self, when):
        """Whether it reads the scale, "before" or "after" update()."""
        turn = self.calls.index("update") if "update" in self.calls else len(self.calls)
        return "scale read" in (self.calls[:turn] if when == "before" else self.calls[turn:])


def _tell(answer, kinds, settings, record):
    """Call step_and_tell for each kind of gradients, with a scaler of these settings.

    Returns a _Told for each, and the Recording or None.
    """
    weights = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
    optimizer = torch.optim.SGD([weights], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", **settings)
    told, calls = [], []
    optimizer.register_step_post_hook(lambda *_: calls.append("stepped"))
    for name, call in (("get_scale", "scale read"), ("step", "step"), ("update", "update")):
        _listen(scaler, name, call, calls)

    def train():
        for kind in kinds:
            optimizer.zero_grad()
            scaler.scale((weights * _LOSS_FACTOR[kind]).sum()).backward()
            if kind == _NAN or (kind == _INF and not scaler.is_enabled()):
                weights.grad[1] = math.nan if kind == _NAN else math.inf
            before = type(scaler).get_scale(scaler)
            calls.clear()
            got = has_run(answer.step_and_tell(scaler, optimizer), "step_and_tell")
            own, after = list(calls), type(scaler).get_scale(scaler)
            told.append(_Told(kind, scaler.is_enabled(), got, "stepped" not in own, before, after, own))

    return told, (_recorded if record else lambda run: run())(train)


def _listen(owner, name, call, calls):
    def heard(*args, **kwargs):
        calls.append(call)
        return getattr(type(owner), name)(owner, *args, **kwargs)  # asked now: the recorder replaces methods

    setattr(owner, name, heard)


def _tells(answer, kinds, record=False, **settings):
    calls, recording = _tell(answer, kinds, settings, record)
    if recording is not None:
        _leaves_it_to_the_scaler(recording)
    for told in calls:
        told.got = expect.boolean(told.got, "step_and_tell(scaler, optimizer)")
    finds_skips = all(told.got for told in calls if told.skipped)
    for told in calls:
        should = told.enabled and told.gradients in (_INF, _NAN)
        if told.skipped and not should:
            raise NotYet(_never_steps(told), "never-steps")
        if should and not told.skipped:
            raise NotYet(
                f"The gradients held {told.gradients}, and the optimizer stepped: the weights are lost. "
                "scaler.unscale_() only looks; scaler.step(optimizer) is what skips.",
                "steps-past-the-scaler",
            )
        if told.got is not should:
            raise NotYet(*(_false_skip(told, finds_skips) if told.got else _missed_skip(told)))
        if told.enabled and "update" not in told.calls:
            raise NotYet("scaler.update() was not called. It belongs after scaler.step().", "missing-update")


_DISABLED = (
    "This scaler was made with enabled=False, as a loop makes it that can also run in FP32: it multiplies by "
    "nothing, looks for no inf, and its step() calls optimizer.step() every time."
)


def _never_steps(told):
    if not told.enabled:
        return f"{_DISABLED} Yours did not step. Call scaler.step(optimizer), with this scaler too."
    return "The gradients were fine, and the optimizer did not step. Call scaler.step(optimizer)."


def _course(told):
    if told.after == told.before:
        return f"the scale stayed at {scale_text(told.before)}"
    fell = "fell" if told.after < told.before else "grew"
    return f"the scale {fell} from {scale_text(told.before)} to {scale_text(told.after)}"


def _false_skip(told, finds_skips):
    if not told.enabled:
        return (
            f"{_DISABLED} So no step was skipped, and you said True. Compare its get_scale() before and "
            "after update(): that is 1.0 both times.",
            "forgets-the-disabled-scaler",
        )
    start = f"You said True after a step that was taken; {_course(told)}."
    if told.gradients == _ZERO and not told.reads("before"):
        return (
            f"{start} The gradients were 0, so the weights stayed where they were. That is no skip.",
            "looks-at-the-weights",
        )
    if told.after > told.before:
        return f"{start} After a skip the scale is smaller, not only different.", "any-change-is-a-skip"
    both = told.reads("before") and told.reads("after")
    if both and told.after == told.before and finds_skips:
        return f"{start} An unchanged scale is no skip: ask whether it is smaller.", "unchanged-is-a-skip"
    if both:
        return f"{start} True stands for a skipped step.", "says-it-the-other-way-round"
    if told.reads("after"):
        return (
            f"{start} One reading tells nothing: keep the scale from before update() and compare with that.",
            "compares-with-a-fixed-number",
        )
    return (
        f"{start} What scaler.step() returns does not tell: it hands on what optimizer.step() returns, and "
        "SGD's returns None.",
        "reads-steps-result",
    )


def _missed_skip(told):
    start = f"You said False after a step that was skipped ({told.gradients} in a gradient); {_course(told)}."
    if told.after < told.before and told.reads("before") and told.reads("after"):
        return f"{start} However far it falls, a smaller scale means a skip.", "expects-a-half"
    if told.reads("after") and not told.reads("before"):
        return (
            f"{start} You read it only after update(), and by then it has fallen. Read it before as well.",
            "reads-too-late",
        )
    if told.reads("before") and not told.reads("after"):
        return (
            f"{start} You read it only before update(), which is what changes it. Read it after as well.",
            "reads-too-early",
        )
    return f"{start} Compare scaler.get_scale() before and after scaler.update().", None


def _taken_or_skipped(answer):
    _tells(answer, [_FINITE, _INF, _NAN, _FINITE], record=True)


def _other_scales(answer):
    _tells(answer, [_FINITE, _FINITE, _INF, _FINITE], growth_interval=1)
    _tells(answer, [_FINITE, _INF], init_scale=1024.0, backoff_factor=0.25)


def _nothing_moves(answer):
    _tells(answer, [_ZERO, _INF])
    try:
        _tells(answer, [_FINITE, _INF], enabled=False)
    except NotYet:
        raise
    except Exception as error:
        namespace = getattr(answer.step_and_tell, "__globals__", {})
        raise NotYet(
            f"{fault_in_words(error, namespace)}\n{_DISABLED} It keeps no scale and no state, but "
            "scaler.get_scale() can be asked all the same: it is 1.0.",
            "needs-an-enabled-scaler",
        ) from error


TELL_A_SKIP = Exercise(
    id="tell-a-skip",
    title="Tell that a step was skipped",
    minutes=5,
    stub='''
def step_and_tell(scaler, optimizer):
    """Call scaler.step(optimizer) and scaler.update().

    Returns True if the optimizer's step was skipped, else False.
    """
    raise NotImplementedError
''',
    hints=(
        "scaler.step() does not tell. Which number does update() change after a skip, and which way?",
        "scaler.get_scale() gives the scale at this moment. You need it twice, on both sides of update().",
        "before = scaler.get_scale(), then scaler.step(optimizer), scaler.update(), then return "
        "scaler.get_scale() < before.",
    ),
    tests=[
        Test("steps taken and steps skipped", 1, _taken_or_skipped),
        Test("a scale that grows, and one that falls to a quarter", 0.5, _other_scales),
        Test("gradients of 0, and a scaler with enabled=False", 0.5, _nothing_moves),
    ],
    why="Only a skip makes the scale smaller at update(); a good step leaves it or makes it grow.",
)

# order-the-calls ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class _Call:
    """What one call of train_step did to optimizer and scaler."""

    before: float  # the scale
    norms: list[float] = dataclasses.field(default_factory=list)  # of the gradients at each real step
    scale: float = 0.0  # afterwards
    good_steps: int = 0  # the scaler's count


@dataclasses.dataclass
class _Run:
    """Some steps of one small model: what the steps returned, and what was seen from outside."""

    model: nn.Module
    losses: list
    calls: list[_Call]
    dtypes: list  # of what the Linear layers put out
    recording: object = None

    @property
    def norms(self):
        """The gradients' norm each time the optimizer really stepped."""
        return [norm for call in self.calls for norm in call.norms]

    @property
    def weights(self):
        return torch.cat([parameter.detach().flatten().float() for parameter in self.model.parameters()])

    @property
    def scale_calls(self):
        """The learner's calls of scaler.scale()."""
        return [event for event in self.recording.events if event.kind == "scale"][1:]

    def event(self, kind, **data):
        """The first event of this kind with these data, or None."""
        return _event(self.recording, kind, **data)


def _run(train_step, batches, init_scale, max_norm, watch):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=init_scale)
    run = _Run(model, [], [], [])

    def look(optimizer, *_):
        gradients = [p.grad.detach().float().flatten() for p in model.parameters() if p.grad is not None]
        run.calls[-1].norms.append(torch.cat(gradients).norm().item() if gradients else 0.0)

    def train():
        scaler.scale(torch.zeros(()))  # a scaler that is in use already: it has its scale
        for x, y in batches:
            call = _Call(scaler._scale.item())  # get_scale() would be recorded
            run.calls.append(call)
            run.losses.append(has_run(train_step(model, optimizer, scaler, x, y, max_norm), "train_step"))
            call.scale, call.good_steps = scaler._scale.item(), scaler._growth_tracker.item()

    optimizer.register_step_pre_hook(look)
    with linear_outputs(model) as run.dtypes:
        run.recording = watch(train)
    return run


def _reference_step(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=torch.float16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


def _batches(*factors):
    """A batch for each factor: 8 inputs of width 8, and targets of about the factor's size."""
    x = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
    return [(x, factor * (1 + 0.1 * x.sum(1, keepdim=True))) for factor in factors]


def _trains(answer, batches, init_scale, max_norm):
    theirs = _run(answer.train_step, batches, init_scale, max_norm, watch=_recorded)
    ours = _run(_reference_step, batches, init_scale, max_norm, watch=lambda train: train())
    _in_half(theirs)
    _through_the_scaler(theirs)
    _returns_the_loss(theirs, ours, calls=1)
    _clips(theirs, max_norm)
    _steps_and_skips(theirs, ours)
    _learns(theirs, ours, max_norm)
    _returns_the_loss(theirs, ours, calls=len(batches))


def _in_half(theirs):
    if not theirs.dtypes:
        raise NotYet("train_step never calls model(x).", "never-calls-the-model")
    other = next((dtype for dtype in theirs.dtypes if dtype is not torch.float16), None)
    if other is not None:
        raise NotYet(
            f"The Linear layers put out {other}, not torch.float16. Call the model inside `with "
            "torch.autocast(device_type=x.device.type, dtype=torch.float16):`.",
            "no-autocast",
        )


def _through_the_scaler(theirs):
    _leaves_it_to_the_scaler(theirs.recording)
    if theirs.event("step") is None:
        raise NotYet("scaler.step(optimizer) was never called.", "never-steps")
    if len(theirs.recording.scalers) > 1:
        made = theirs.recording.scalers
        raise NotYet(
            f"Use the scaler that train_step is given: here {len(made)} of them were used. A new one starts "
            "at 65536 in every step and never learns which scale fits.",
            "makes-its-own-scaler",
        )


def _returns_the_loss(theirs, ours, calls):
    for turn, (got, want) in enumerate(zip(theirs.losses[:calls], ours.losses)):
        want = float(want)
        loss = expect.number(got, "train_step(...)")
        if getattr(got, "dtype", None) is torch.float16:
            raise NotYet(
                f"loss-outside-autocast{_at(theirs.scale_calls[turn])}\nYou returned {loss:.4g} in "
                "torch.float16, which has three digits and ends at 65504.\nInside the autocast block "
                "F.mse_loss(model(x), y) is FP32.",
                "loss-outside-autocast",
            )
        if math.isclose(loss, want, rel_tol=1e-2, abs_tol=1e-4):
            continue
        start = f"In call {turn + 1} you returned {loss:.4g}; the loss was {want:.4g}."
        if not math.isfinite(loss):
            raise NotYet(
                f"forward-overflow{_at(theirs.scale_calls[turn])}\n{start} FP16 ends at 65504, and a square "
                "gets there soon.\nF.mse_loss inside the autocast block computes in FP32.",
                "forward-overflow",
            )
        factor = loss / want
        read = theirs.event("scale read")
        if read is not None and any(math.isclose(factor, each, rel_tol=1e-2) for each in (2.0, 0.5)):
            raise NotYet(
                f"scale-read-after-update{_at(read)}\n{start} After update() get_scale() is the next step's "
                "scale.\nKeep the loss from before scaler.scale() and return that.",
                "scale-read-after-update",
            )
        if factor > 2 and math.log2(factor) % 1 < 0.02:
            raise NotYet(
                f"{start} Yours is still multiplied by the scale. Return what you gave to scaler.scale(), "
                "not what it returned.",
                "returns-the-scaled-loss",
            )
        raise NotYet(f"{start} Return F.mse_loss(model(x), y) of this step, as it was before scaling.")


def _clips(theirs, max_norm):
    worst = max(theirs.norms, default=0.0)
    if worst <= max_norm * 1.001:
        return
    start = f"The optimizer stepped with a gradient of norm {worst:.4g}, and max_norm is {max_norm:g}."
    clip = theirs.event("clip")
    if clip is None:
        raise NotYet(
            f"{start} Nothing clips it: nn.utils.clip_grad_norm_(model.parameters(), max_norm) belongs "
            "between unscale_ and step.",
            "never-clips",
        )
    where = f"{clip.data.get('function', 'clipping')}{_at(clip)}"
    kinds = [one.kind for one in theirs.recording.events if one.kind in ("step", "clip")]
    if kinds[0] == "step":
        raise NotYet(
            f"{start} You clip too late: {where}\nClip between scaler.unscale_(optimizer) and "
            "scaler.step(optimizer).",
            "clips-after-the-step",
        )
    _at_this_limit(clip, max_norm)
    raise NotYet(
        f"{start} Something clips, but not their norm to max_norm: {where}\nUse "
        "nn.utils.clip_grad_norm_(model.parameters(), max_norm).",
        "clips-something-else",
    )


def _at_this_limit(clip, max_norm):
    limit = clip.data["limit"]
    if type(limit) in (int, float) and not math.isclose(limit, max_norm):
        raise NotYet(
            f"another-limit{_at(clip)}\nYou clip at {limit:g}, and max_norm is {max_norm:g}.\nClip the "
            "unscaled gradients at max_norm.",
            "another-limit",
        )


def _steps_and_skips(theirs, ours):
    for turn, (mine, right) in enumerate(zip(theirs.calls, ours.calls), 1):
        if mine.norms and not right.norms:
            raise NotYet(
                f"In call {turn} the gradients overflow, and the step has to be skipped; yours stepped, with "
                f"a gradient of norm {mine.norms[0]:.3g}. Either something removes the inf before unscale_ "
                "looks, or your loss does not come from the FP16 model(x).",
                "steps-on-an-overflow",
            )
        if len(mine.norms) != len(right.norms):
            times = len(mine.norms)
            raise NotYet(
                f"In call {turn} the optimizer stepped {times} times; it should be {len(right.norms)}."
            )
        if (mine.scale, mine.good_steps) != (right.scale, right.good_steps):
            raise NotYet(
                f"After call {turn} the scaler's scale is {scale_text(mine.scale)} and its count of good "
                f"steps {mine.good_steps}; they should be {scale_text(right.scale)} and {right.good_steps}. "
                "Leave them to scaler.update()."
            )


def _learns(theirs, ours, max_norm):
    dtypes = {str(parameter.dtype) for parameter in theirs.model.parameters()} - {"torch.float32"}
    if dtypes:
        raise NotYet(
            f"The model's weights are {dtypes.pop()} now. Leave them in FP32: autocast casts copies."
        )
    start = _run(_reference_step, [], 1.0, 1.0, watch=lambda train: None).weights
    far = (theirs.weights - ours.weights).norm() / (ours.weights - start).norm()
    if not far < 0.05:
        _divides_once(theirs, ours)
        if theirs.event("clip") is not None:
            _at_this_limit(theirs.event("clip"), max_norm)
        moved = (theirs.weights - start).norm().item()
        should = (ours.weights - start).norm().item()
        raise NotYet(
            f"After {len(theirs.losses)} calls the weights are elsewhere than they should be: they moved by "
            f"{moved:.4g}, and the same steps done right move them by {should:.4g}. The optimizer stepped "
            f"with gradients of norm {_listed(theirs.norms)}; they should be {_listed(ours.norms)}."
        )


def _divides_once(theirs, ours):
    for mine, right in zip(theirs.calls, ours.calls):
        if not mine.norms or not mine.norms[0]:
            continue
        if math.isclose(right.norms[0] / mine.norms[0], mine.before, rel_tol=0.05):
            raise NotYet(
                f"divided-twice{_at(theirs.event('step'))}\nThe optimizer stepped with a gradient of norm "
                f"{mine.norms[0]:.3g}, {mine.before:g} times too small: scaler.step() divides by the scale "
                "what scaler.unscale_() has not divided, and here it had been divided already.\nCall "
                "scaler.unscale_(optimizer) in place of dividing yourself: the scaler then knows.",
                "divided-twice",
            )


def _listed(numbers):
    return ", ".join(f"{number:.3g}" for number in numbers)


def _plain_steps(answer):
    _trains(answer, _batches(1, 1.2, 1), init_scale=2.0**10, max_norm=10.0)
    not_only_cpu(answer.train_step, "train_step")


def _clipped_steps(answer):
    _trains(answer, _batches(1, 300, 1), init_scale=2.0**5, max_norm=0.5)


def _skipped_steps(answer):
    _trains(answer, _batches(1, 1e6, 1, 1), init_scale=2.0**10, max_norm=0.5)


ORDER_THE_CALLS = Exercise(
    id="order-the-calls",
    title="One step, in the right order",
    minutes=10,
    stub='''
def train_step(model, optimizer, scaler, x, y, max_norm):
    """One FP16 training step on the batch (x, y), with the gradients' norm clipped to max_norm.

    The loss is F.mse_loss(model(x), y). Returns it, as it is before scaling.
    Take the device for autocast from the tensors: x.device.type.
    """
    raise NotImplementedError
''',
    hints=(
        "Two things go into the autocast block. After backward, which call makes the gradients ready to be "
        "clipped?",
        "zero_grad; in the block the model and the loss; outside it scale and backward, unscale_, clip, "
        "step, update.",
        "After the block: scaler.scale(loss).backward(), scaler.unscale_(optimizer), "
        "nn.utils.clip_grad_norm_(model.parameters(), max_norm), scaler.step(optimizer), scaler.update(), "
        "return loss.",
    ),
    tests=[
        Test("three plain steps", 2, _plain_steps),
        Test("a gradient that must be clipped", 1, _clipped_steps),
        Test("a step that overflows", 1, _skipped_steps),
    ],
    why=(
        "Forward and loss run under autocast, the clipping sees unscaled gradients, and scaler.step() and "
        "update() close each step, taken or skipped."
    ),
)

# quick checks ------------------------------------------------------------------------------------------

WHO_SEES_THE_SCALE = QuickCheck(
    id="who-sees-the-scale",
    question=(
        "The loop calls `scaler.scale(loss).backward()` and then `print(loss.item())`. The scale is 65536. "
        "What does it print?"
    ),
    choices=[
        Choice(
            "A",
            "The loss times 65536, until `scaler.update()` runs.",
            "update() changes the scale for the next step. It touches no loss and no gradient.",
        ),
        Choice(
            "B",
            "The loss times 65536: `scale` works in place.",
            "`scale` returns a new tensor, and nobody kept it here.",
        ),
        Choice(
            "C",
            "The loss itself: only the tensor that `scale` returned, and the gradients, carry the scale.",
            "The name `loss` still stands for the unscaled tensor.",
            right=True,
        ),
    ],
)

WHY_THE_FIRST_SKIPS = QuickCheck(
    id="why-the-first-skips",
    question=(
        "A run starts with a scale of 2²⁴, and its first six steps are skipped; then training goes well. "
        "The loss was finite in every step. What happened?"
    ),
    choices=[
        Choice(
            "A",
            "The data of the first batches held inf or NaN.",
            "Then the loss would be inf or NaN too, and no smaller scale would help. Here a smaller one did.",
        ),
        Choice(
            "B",
            "The scale was too large for the gradients, and each skip halved it until it fitted.",
            "Six skips take 2²⁴ down to 2¹⁸. A scaler starts high on purpose and finds its scale by trying.",
            right=True,
        ),
        Choice(
            "C",
            "The scaler waits a few steps, to measure the gradients before it trains.",
            "It measures nothing ahead: a step is skipped only if one of its gradients is inf or NaN.",
        ),
    ],
)

WHEN_TO_UNSCALE = QuickCheck(
    id="when-to-unscale",
    question="When do you have to call `scaler.unscale_(optimizer)` yourself?",
    choices=[
        Choice(
            "A",
            "When you read or change gradients between backward and step, as clipping does.",
            "Whatever looks at .grad there would see it multiplied by the scale.",
            right=True,
        ),
        Choice(
            "B",
            "In every step, or the optimizer gets scaled gradients.",
            "`scaler.step()` unscales by itself if you have not done so.",
        ),
        Choice(
            "C",
            "After each backward, also where you add up the gradients of several batches.",
            "Once for each update(), after the last backward: a second call raises a RuntimeError.",
        ),
    ],
)

ONE_UPDATE_PER_STEP = QuickCheck(
    id="one-update-per-step",
    question="A model has two optimizers and one scaler. How often do you call `scaler.update()`?",
    choices=[
        Choice(
            "A",
            "Twice: after each `scaler.step(...)`.",
            "The first could change the scale between the two steps, and the second optimizer's gradients "
            "would be divided by another number than they were multiplied by.",
        ),
        Choice(
            "B",
            "Once, after both steps.",
            "It gathers what was found for both optimizers, changes the scale once, and makes them ready for "
            "the next step.",
            right=True,
        ),
        Choice(
            "C",
            "Only after a step that was skipped.",
            "update() also counts the good steps and lets the scale grow. Without it the next "
            "`scaler.step()` raises a RuntimeError.",
        ),
    ],
)

LESSON = Lesson(
    notebook="03_scale_step_update",
    title="Scale, step, update",
    promise="Know what each of the scaler's calls does, and see it skip, back off and grow.",
    minutes_reading=25,
    minutes_exercises=15,
    exercises=[TELL_A_SKIP, ORDER_THE_CALLS, UNSCALE_AND_LOOK, SKIP_OR_STEP, GROW_AND_BACK_OFF],
    quick_checks=[WHO_SEES_THE_SCALE, WHY_THE_FIRST_SKIPS, WHEN_TO_UNSCALE, ONE_UPDATE_PER_STEP],
)
