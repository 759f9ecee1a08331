"""Trains with a learner's mixed-precision loop under the recorder, and names what is wrong with it."""

import contextlib
import copy
import inspect
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.faults import kind_and_text
from amp_lessons.exercises.scale_calls import scale_calls
from amp_lessons.exercises.watched import in_words, linear_outputs, watched
from amp_lessons.recorder.places import NOWHERE, here, place_of_exception
from amp_lessons.recorder.recording import Recording

# Findings that say more together with what else is known of the loop: told here, not by watched().
_TOLD_HERE = (
    "fp16-without-scaler",
    "scaler-with-bf16",
    "backward-inside-autocast",
    "step-inside-autocast",
    "clip-before-unscale",
)
_STAY = "The check's model and tensors are on the CPU: leave them there."
_NEEDS_CUDA = ("not compiled with CUDA", "No CUDA GPUs", "NVIDIA driver", "on the same device")


@dataclass(frozen=True)
class Job:
    """What one call of `train` gets. The batches are pairs (x, y) on the CPU."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    batches: list

    @property
    def linears(self):
        """How many matrix products one forward pass has."""
        return sum(isinstance(layer, nn.Linear) for layer in self.model.modules())


@dataclass(frozen=True)
class Trained:
    """What the jobs' calls of `train` returned, the norms of the gradients that each job's optimizer stepped
    with, and the recording of all calls."""

    returned: list
    norms: list[list[float]]
    recording: Recording


def trained(train, jobs):
    """Call `train(model, optimizer, batches)` for each job; return a Trained.

    NotYet unless every step had FP16 matrix products, a loss that one GradScaler scaled, and a step through
    that scaler, without any finding of the recorder's. Clipping is not looked at: clipped_steps does.
    """
    dtypes, used, converted, norms = [], [], [], []
    first = copy.deepcopy(jobs[0].model)

    def train_all():
        returned = []
        for job in jobs:
            with (
                linear_outputs(job.model) as seen,
                _outputs_with_gradients(job.model) as reached,
                _conversions(job.model, converted),
                _step_norms(job) as sizes,
            ):
                dtypes.append(seen)
                used.append(reached)
                norms.append(sizes)
                returned.append(_returned(train, job))
        return returned

    with scale_calls() as calls:
        returned, recording = watched(train_all, ignore=_TOLD_HERE)
    _look_at_scalers(calls)
    _look_at_weights(jobs, converted)
    _look_for_one_scaler(calls, jobs)
    _look_at_findings(recording)
    for job, seen in zip(jobs, dtypes):
        _look_at_products(job, seen, calls, recording)
    _look_at_backwards(calls, jobs, recording)
    for job, reached in zip(jobs, used):
        _look_at_what_is_used(job, reached, calls)
    _look_at_losses(calls)
    _look_at_updates(recording.events)
    _look_at_the_first_step(first, jobs[0], calls, recording)
    return Trained(returned, norms, recording)


def _returned(train, job):
    """What train(...) returns. NotYet where it is a generator, or leaves the CPU without need."""
    try:
        returned = train(job.model, job.optimizer, list(job.batches))
    except (AssertionError, RuntimeError) as error:
        if not any(text in str(error) for text in _NEEDS_CUDA):
            raise
        raise not_yet("leaves-the-cpu", place_of_exception(error), kind_and_text(error), _STAY) from error
    device = next(job.model.parameters()).device.type
    if device != "cpu":
        raise not_yet("leaves-the-cpu", NOWHERE, f"After your training the model is on {device}.", _STAY)
    if inspect.iscoroutine(returned) or inspect.isasyncgen(returned) or inspect.isgeneratorfunction(train):
        if inspect.iscoroutine(returned):
            returned.close()
        raise NotYet(
            "Calling train(...) runs none of its lines: with `yield` or `async` in it, it only hands back "
            "something that would run them later. Collect the losses in a list, and return the list.",
            "only-runs-later",
        )
    return returned


@contextlib.contextmanager
def _outputs_with_gradients(model):
    """A `with` block; gives a list with an entry for each nn.Linear's output that a backward reached."""
    reached = []

    def listen(layer, inputs, output):
        if output.requires_grad:
            output.register_hook(lambda gradient: reached.append(gradient.dtype))

    layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    handles = [layer.register_forward_hook(listen) for layer in layers]
    try:
        yield reached
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def _step_norms(job):
    """Inside the block, collect the gradients' norm each time that the job's optimizer really steps."""
    norms = []

    def look(*_):
        gradients = [each.grad for each in job.model.parameters() if each.grad is not None]
        sizes = [torch.linalg.vector_norm(each.detach().float()) for each in gradients]
        norms.append(torch.stack(sizes).norm().item() if sizes else 0.0)

    handle = job.optimizer.register_step_pre_hook(look)
    try:
        yield norms
    finally:
        handle.remove()


@contextlib.contextmanager
def _conversions(model, places):
    """Inside the block, append to `places` each line that gives the model's weights another dtype."""
    apply = model._apply  # what half(), to() and the others call

    def listening(*args, **kwargs):
        before = [parameter.dtype for parameter in model.parameters()]
        result = apply(*args, **kwargs)
        if before != [parameter.dtype for parameter in model.parameters()]:
            places.append(here())
        return result

    model._apply = listening
    try:
        yield
    finally:
        del model._apply


def not_yet(code, place, happened, to_do):
    """A NotYet in the shape of the recorder's findings: name and line, what happened, what to do."""
    where = f", {place}: `{place.code}`" if place.code else ""
    return NotYet(f"{code}{where}\n{happened}\n{to_do}", mistake=code)


def first_place(events, *kinds):
    """Where the first of the events of these kinds took place; NOWHERE if there is none."""
    return next((event.place for event in events if event.kind in kinds), NOWHERE)


def _look_at_scalers(calls):
    for call in calls:
        place = call.made if call.made is not NOWHERE else call.place
        device = getattr(call.scaler, "_device", "cpu")
        if not isinstance(device, (str, torch.device)):
            raise not_yet(
                "number-as-the-scalers-device",
                place,
                f"The first argument of torch.amp.GradScaler is the device, and you gave {device!r}: as a "
                f"scale it counts for nothing, yours began at {call.scaler._init_scale:g}.",
                "Write torch.amp.GradScaler(x.device.type), and a scale of your own as init_scale=...",
            )
        device = str(device).partition(":")[0]
        if device != "cpu":
            raise not_yet(
                "scaler-for-another-device",
                place,
                f"Your GradScaler is made for {device}, and this loss lies on the CPU. (Without a device, "
                "it is made for cuda.) Where its device is absent, a scaler is off.",
                "Take the device from the tensors: torch.amp.GradScaler(x.device.type).",
            )
        if not call.scaler.is_enabled():
            raise not_yet(
                "scaler-disabled",
                place,
                "Your GradScaler is switched off: its scale() hands back the loss as it came, and small "
                "gradients become 0 in FP16.",
                "Take enabled=False out, or let it depend on the dtype: enabled=dtype == torch.float16.",
            )


def _look_at_weights(jobs, converted):
    for name, parameter in (pair for job in jobs for pair in job.model.named_parameters()):
        if parameter.dtype != torch.float32:
            raise not_yet(
                "model-made-half",
                converted[0] if converted else NOWHERE,
                f"After your training `{name}` is {str(parameter.dtype)[6:]}. Weights that are kept in 16 "
                "bits lose small updates.",
                "Leave the model in FP32: autocast makes the 16-bit copies that the matrix products need.",
            )


def _look_for_one_scaler(calls, jobs):
    scalers = {id(call.scaler): call for call in calls}
    if len(scalers) > len(jobs):
        call = list(scalers.values())[-1]
        raise not_yet(
            "scaler-inside-the-loop",
            call.made,
            f"{len(scalers)} scalers were at work in {_count(jobs, 'training')}: a new one begins again at "
            f"{call.scaler.get_scale():g}, so what the scaler has learnt about the scale is lost.",
            "Make the scaler once, before the loop.",
        )


def _look_at_findings(recording):
    findings = [one for one in recording.findings if one.rule != "clip-before-unscale"]
    if not findings:
        return
    first = findings[0]
    frozen = next((one for one in findings if one.rule == "step-inside-autocast"), None)
    default = next((one for one in recording.notes if one.rule == "autocast-default-dtype"), None)
    if first.rule == "scaler-with-bf16" and default is not None:
        raise NotYet(in_words(default), mistake=default.rule)
    if first.rule == "backward-inside-autocast" and frozen is not None:
        first = frozen  # one block around everything: the copies that go stale do the greater harm
    raise NotYet(in_words(first), mistake=first.rule)


def _look_at_products(job, seen, calls, recording):
    wanted = job.linears * len(job.batches)
    half = sum(dtype == torch.float16 for dtype in seen)
    if half == len(seen) >= wanted:
        return
    if not seen:
        raise NotYet(f"train ran no forward pass of the model: none of {wanted} matrix products.")
    opened = first_place(recording.events, "autocast on")
    default = next((one for one in recording.notes if one.rule == "autocast-default-dtype"), None)
    if torch.bfloat16 in seen and default is not None:
        raise NotYet(in_words(default), mistake=default.rule)
    if torch.bfloat16 in seen:
        raise not_yet(
            "bf16-not-fp16",
            opened,
            f"{seen.count(torch.bfloat16)} of {len(seen)} matrix products ran in BF16. That trains well "
            "and needs no scaler, but this exercise asks for FP16.",
            "Write dtype=torch.float16, and scale the loss.",
        )
    if half == len(seen):
        raise not_yet(
            "not-every-batch",
            calls[0].place if calls else first_place(recording.events, "backward"),
            f"train used {half // job.linears} of {len(job.batches)} batches.",
            "Go through all of `batches`. Is `return` inside the loop? It belongs after it.",
        )
    if half:
        raise not_yet(
            "some-products-in-fp32",
            opened,
            f"{half} of {max(wanted, len(seen))} matrix products ran in FP16: not all, as every step should.",
            "Enter autocast for every batch, around the forward pass and the loss.",
        )
    switched_off = first_place(recording.events, "autocast off")
    if switched_off is not NOWHERE:
        raise not_yet(
            "autocast-disabled",
            switched_off,
            "Autocast is switched off here, so all matrix products ran in FP32.",
            "Take enabled=False out.",
        )
    if calls:
        raise not_yet(
            "no-autocast",
            calls[0].place,
            "The loss is scaled, but no autocast block was entered: all matrix products ran in FP32.",
            "Put the forward pass and the loss into `with torch.autocast(x.device.type, "
            "dtype=torch.float16):`.",
        )
    raise not_yet(
        "still-fp32",
        first_place(recording.events, "backward"),
        f"This still is an FP32 loop: 0 of {wanted} matrix products ran in FP16, and no loss was scaled.",
        "Begin with autocast around the forward pass and the loss, then put the scaler's calls in place of "
        "backward() and step().",
    )


def _look_at_backwards(calls, jobs, recording):
    wanted = sum(len(job.batches) for job in jobs)
    backwards = [event for event in recording.events if event.kind in ("backward", "grad")]
    scaled = sum(event.data["scaling"] == "scaled" for event in backwards)
    if not calls:
        raise not_yet(
            "no-gradscaler",
            first_place(recording.events, "backward"),
            "No GradScaler had a part in this backward(). A scale that you choose yourself fits today and "
            "overflows tomorrow, and nothing skips the step that would then spoil the weights.",
            "Make a torch.amp.GradScaler and write scaler.scale(loss).backward().",
        )
    whole = not recording.events.dropped  # of a long recording the middle is not kept
    if scaled < len(backwards) or (whole and scaled < wanted):
        odd = next((event.place for event in backwards if event.data["scaling"] != "scaled"), NOWHERE)
        raise not_yet(
            "not-every-backward-scaled",
            odd,
            f"For {wanted} batches there were {_count(backwards, 'call')} of backward(), {scaled} of them "
            "on a loss that came from scaler.scale(). scaler.step() divides all gradients by the scale.",
            "Write scaler.scale(loss).backward(), once for every batch, whatever the loss is made of.",
        )
    tried = sum(event.kind == "step" for event in recording.events)
    bare = next((one for one in recording.events if one.kind == "stepped" and one.data["bare"]), None)
    if bare is not None:
        raise not_yet(
            "steps-past-the-scaler",
            bare.place,
            "optimizer.step() is called without the scaler: it steps also when a gradient is inf or NaN, and "
            "one such step spoils the weights.",
            "Write scaler.step(optimizer) in its place. It calls optimizer.step() for you, or skips.",
        )
    if whole and tried < wanted:
        raise not_yet(
            "not-every-batch-steps",
            first_place(recording.events, "step"),
            f"For {wanted} batches there were {tried} calls of scaler.step(optimizer).",
            "The FP32 loop steps after every batch. Do the same.",
        )


def _look_at_what_is_used(job, reached, calls):
    wanted = job.linears * len(job.batches)
    if len(reached) < wanted:
        raise not_yet(
            "loss-of-something-else",
            calls[0].place,
            f"Of {wanted} matrix products in FP16 backward went through {len(reached)}: the loss was "
            "computed from others.",
            "Compute the loss from what model(x) returns inside the autocast block.",
        )


def _look_at_updates(events):
    given = next((event for event in events if event.kind == "update" and event.data["given"]), None)
    if given is not None:
        raise not_yet(
            "update-sets-the-scale",
            given.place,
            "With a number, update() sets the scale to it. So the scale neither falls after an overflow nor "
            "grows after good steps.",
            "Write scaler.update(), with nothing in the brackets.",
        )


def _look_at_the_first_step(model, job, calls, recording):
    if recording.findings:  # clipping by value removes inf as well: clipped_steps tells
        return
    step = next((event for event in recording.events if event.kind in ("skip", "stepped")), None)
    # Half the scale: what overflows there overflows for certain, in whatever order the numbers are added.
    if step is None or step.kind == "skip" or not _overflows(model, job.batches[0], calls[0].scale / 2):
        return
    raise not_yet(
        "hides-the-overflow",
        step.place,
        f"At the scale {calls[0].scale:g} the first batch's gradients overflow, so this step had to be "
        "skipped, and yours stepped. Something removed the inf before scaler.unscale_ could see it.",
        "Leave inf and NaN in the gradients: the scaler skips the step, and update() lowers the scale.",
    )


def _overflows(model, batch, scale):
    """Whether a gradient of `model` is inf or NaN when the loss of `batch` is multiplied by `scale`."""
    x, y = batch
    model.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(model(x), y)
    (scale * loss).backward()
    return not all(parameter.grad.isfinite().all() for parameter in model.parameters())


def _look_at_losses(calls):
    for call in calls:
        if call.dtype in (torch.float16, torch.bfloat16):
            raise not_yet(
                "loss-outside-autocast",
                call.place,
                f"The loss that is scaled here is {str(call.dtype)[6:]}: it was computed from a 16-bit "
                "output after the autocast block had ended.",
                "Compute the loss inside the block: there F.cross_entropy runs in FP32.",
            )


def _count(things, word):
    """ "1 training", "3 trainings"."""
    return f"{len(things)} {word if len(things) == 1 else word + 's'}"
