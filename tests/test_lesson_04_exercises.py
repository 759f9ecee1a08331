"""Lesson 04's exercises: right answers of other shapes, and the limits of what its checks accept."""

import copy
import re
import types

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.amp.grad_scaler import GradScaler

from amp_lessons import check
from amp_lessons.exercises import lesson_04_full_amp_training as lesson_04
from amp_lessons.exercises.converted_loop import Job, trained
from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.percent import percent_cells
from amp_lessons.exercises.resumed_run import Run, resumed, same, was_just_seeded
from amp_lessons.exercises.scale_calls import scale_calls
from amp_lessons.hardware import Machine
from amp_lessons.recommendation import recommend
from tests.answers import right_answer, wrong_answers

RIGHT = '''
# %% convert-the-loop: positional, cleared at the end
def train(model, optimizer, batches):
    kind = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler(kind)
    losses = []
    for x, y in batches:
        with torch.autocast(kind, torch.float16):
            output = model(x)
            loss = F.cross_entropy(output, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=False)
        losses += [loss.detach()]
    return losses

# %% convert-the-loop: a decorator, a scaler made at the first batch
def train(model, optimizer, batches):
    scaler, losses = None, []

    @torch.autocast(device_type=batches[0][0].device.type, dtype=torch.half)
    def forward(x, y):
        return F.cross_entropy(model(x), y)

    for x, y in batches:
        if scaler is None:
            scaler = torch.GradScaler(device=x.device.type)
        loss = forward(x, y)
        optimizer.zero_grad()
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.unscale_(optimizer=optimizer)
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=1, foreach=False)
        scaler.step(optimizer=optimizer)
        scaler.update()
        losses.append(float(loss))
    return losses

# %% convert-the-loop: the loss in FP32 outside, clipped by hand
def train(model, optimizer, batches):
    losses = []
    scaler = torch.amp.GradScaler(device=batches[0][0].device.type)
    for batch in batches:
        x, y = batch
        model.zero_grad()
        with torch.amp.autocast(x.device.type, dtype=torch.float16):
            output = model(x)
        loss = F.cross_entropy(output.float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.cat([each.grad.flatten() for each in model.parameters()]).norm()
        for each in model.parameters():
            each.grad *= torch.clamp(1.0 / norm, max=1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return tuple(losses)

# %% convert-the-loop: the notebook's device, a scaler beside the function, a schedule that waits
scaler = torch.amp.GradScaler(device)

def train(model, optimizer, batches):
    """Takes the device from the set-up cell."""
    losses = []
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            loss = nn.CrossEntropyLoss()(model(x.to(device)), y.to(device))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
        scaler.step(optimizer)
        before = scaler.get_scale()
        scaler.update()
        if scaler.get_scale() >= before:
            schedule.step()
        losses.append(loss.cpu().item())
    return losses

# %% convert-the-loop: a high start, no cache, the loss and the limit by way of the scale
def train(model, optimizer, batches):
    device_type = batches[0][0].device.type
    scaler = torch.amp.GradScaler(device_type, init_scale=2.0**20, growth_interval=1000)
    losses = []
    model.train()
    for x, y in batches:
        with torch.autocast(device_type, dtype=torch.float16, cache_enabled=False):
            loss = F.cross_entropy(model(x), y)
        scale = scaler.get_scale()
        scaled = scaler.scale(loss)
        optimizer.zero_grad()
        scaled.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0 * scale)
        scaler.step(optimizer)
        scaler.update()
        losses.append(scaled.item() / scale)
    return losses

# %% convert-the-loop: a switch for the precision
def step(model, optimizer, scaler, x, y, dtype):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype, enabled=dtype != torch.float32):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.get_total_norm([each.grad for each in model.parameters()])
    nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()

def train(model, optimizer, batches, dtype=torch.float16):
    scaler = torch.amp.GradScaler(batches[0][0].device.type, enabled=dtype == torch.float16)
    return [step(model, optimizer, scaler, x, y, dtype) for x, y in batches]

# %% convert-the-loop: a low start, one that unscales and asks for the norm first
def train(model, optimizer, batches):
    losses, scaler = [], torch.amp.GradScaler(batches[0][0].device.type, init_scale=128.0)
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if nn.utils.get_total_norm(each.grad for each in model.parameters()) > 1:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses

# %% convert-the-loop: autograd.grad, a tensor of losses
def train(model, optimizer, batches):
    losses, scaler = [], torch.amp.GradScaler(batches[0][0].device.type)
    parameters = list(model.parameters())
    for x, y in batches:
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        for parameter, gradient in zip(parameters, torch.autograd.grad(scaler.scale(loss), parameters)):
            parameter.grad = gradient
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(parameters, 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    return torch.stack(losses)

# %% convert-the-loop: an array of losses, an evaluation in FP32
import numpy as np

def train(model, optimizer, batches):
    losses, scaler = np.zeros(len(batches)), torch.amp.GradScaler(batches[0][0].device.type)
    for i, (x, y) in enumerate(batches):
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses[i] = loss.item()
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == y).float().mean()
    return losses

# %% any-device: a named tuple
from typing import NamedTuple

class Settings(NamedTuple):
    device_type: str
    dtype: torch.dtype
    use_scaler: bool

def amp_settings(machine):
    if machine["device"] == "cpu":
        return Settings("cpu", torch.bfloat16 if machine["fast_bf16"] else torch.float32, False)
    native = machine["capability"] >= (8, 0)
    return Settings("cuda", torch.bfloat16 if native else torch.float16, not native)

# %% any-device: early returns
def amp_settings(machine):
    if machine["device"] == "cpu" and machine["fast_bf16"]:
        return "cpu", torch.bfloat16, False
    if machine["device"] == "cpu":
        return "cpu", torch.float32, False
    if machine["capability"][0] >= 8:
        return "cuda", torch.bfloat16, False
    return "cuda", torch.half, True

# %% any-device: a list, and the major number
def amp_settings(machine):
    kind = machine["device"]
    major = (machine["capability"] or [0])[0]
    native = bool(machine["fast_bf16"]) or major > 7
    slow = torch.float16 if kind == "cuda" else torch.float
    return [kind, torch.bfloat16 if native else slow, kind == "cuda" and not native]

# %% any-device: a match
def amp_settings(machine):
    match machine:
        case {"device": "cuda", "capability": (major, _)} if major >= 8:
            dtype = torch.bfloat16
        case {"device": "cuda"}:
            dtype = torch.float16
        case {"fast_bf16": True}:
            dtype = torch.bfloat16
        case _:
            dtype = torch.float32
    return machine["device"], dtype, dtype is torch.float16

# %% any-device: a number for the capability
def amp_settings(machine):
    machine = dict(machine)
    capability = machine.pop("capability")
    if capability is not None:
        number = 10 * capability[0] + capability[1]
        return ("cuda", torch.float16, True) if number < 80 else ("cuda", torch.bfloat16, False)
    return ("cpu", {True: torch.bfloat16}.get(machine["fast_bf16"], torch.float32), torch.tensor(False))

# %% resume-exactly: a tuple
def save_checkpoint(path, model, optimizer, scaler):
    states = tuple(each.state_dict() for each in (model, optimizer, scaler))
    torch.save((*states, torch.get_rng_state()), path)

def load_checkpoint(path, model, optimizer, scaler):
    *states, random = torch.load(path, weights_only=True)
    for each, state in zip((model, optimizer, scaler), states):
        each.load_state_dict(state)
    torch.random.set_rng_state(random)

# %% resume-exactly: random state first, an open file
def save_checkpoint(path, model, optimizer, scaler):
    with open(path, "wb") as file:
        torch.save(dict(rng=torch.random.get_rng_state(), m=model.state_dict(), o=optimizer.state_dict(),
                        s=scaler.state_dict(), epoch=1, note="an epoch's end"), file)

def load_checkpoint(path, model, optimizer, scaler):
    with path.open("rb") as file:
        checkpoint = torch.load(file, map_location="cpu")
    torch.set_rng_state(checkpoint["rng"])
    model.load_state_dict(checkpoint["m"])
    optimizer.load_state_dict(checkpoint["o"])
    scaler.load_state_dict(checkpoint["s"])
    return checkpoint["epoch"]

# %% resume-exactly: more than it needs
import random

def save_checkpoint(path, model, optimizer, scaler):
    state = {"model": {name: value.clone() for name, value in model.state_dict().items()}}
    state |= {"optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
    state |= {"torch": torch.get_rng_state(), "python": random.getstate()}
    torch.save(state, str(path))

def load_checkpoint(path, model, optimizer, scaler):
    state = torch.load(str(path))
    model.load_state_dict(state["model"], strict=True)
    optimizer.load_state_dict(state["optimizer"])
    scaler.load_state_dict(state["scaler"])
    random.setstate(state["python"])
    torch.set_rng_state(state["torch"])
    model.train()

# %% resume-exactly: CUDA's random states as well
def save_checkpoint(path, model, optimizer, scaler):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
    state["rng"], state["cuda_rng"] = torch.get_rng_state(), torch.cuda.get_rng_state_all()
    torch.save(state, path)

def load_checkpoint(path, model, optimizer, scaler):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scaler.load_state_dict(state["scaler"])
    torch.set_rng_state(state["rng"])
    if torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda_rng"])

# %% resume-exactly: copied by hand
def save_checkpoint(path, model, optimizer, scaler):
    weights = [parameter.detach() for parameter in model.parameters()]
    torch.save([weights, optimizer.state_dict(), scaler.state_dict(), torch.get_rng_state()], path)

@torch.no_grad()
def load_checkpoint(path, model, optimizer, scaler):
    weights, optimizer_state, scaler_state, random_state = torch.load(path)
    for parameter, saved in zip(model.parameters(), weights):
        parameter.copy_(saved)
    optimizer.load_state_dict(optimizer_state)
    scaler.load_state_dict(scaler_state)
    torch.set_rng_state(random_state)
'''
RIGHT_CELLS = percent_cells(RIGHT)


def names_after(source):
    """What a notebook holds after the set-up cell and this one, on a machine without a GPU."""
    names = {"torch": torch, "nn": nn, "F": F, "device": "cpu"}
    exec(compile(source, "<answer>", "exec"), names)
    return names


@pytest.mark.parametrize("title, source", RIGHT_CELLS, ids=[title for title, _ in RIGHT_CELLS])
def test_right_answers_of_every_shape_pass(title, source):
    exercise_id = title.partition(":")[0]
    verdict = check(exercise_id, names_after(source))
    assert (verdict.outcome, verdict.points) == ("correct", verdict.out_of), verdict


def test_there_are_four_of_each_and_twelve_wrong_loops():
    for exercise in lesson_04.LESSON.exercises:
        assert sum(title.startswith(f"{exercise.id}:") for title, _ in RIGHT_CELLS) >= 4
    loops = [wrong for wrong in wrong_answers(lesson_04.LESSON) if wrong.exercise == "convert-the-loop"]
    assert len(loops) >= 12


@pytest.mark.slow
def test_what_is_wrong_with_a_loop_is_told_by_name_and_line():
    told_by_value = {
        "scaled-loss-in-the-list",
        "scale-read-after-update",
        "cpu-hard-coded",
        "only-runs-later",
    }
    for wrong in wrong_answers(lesson_04.LESSON):
        if wrong.exercise == "convert-the-loop" and wrong.mistake and wrong.mistake not in told_by_value:
            assert wrong.mistake in repr(check(wrong.exercise, names_after(wrong.source))), wrong.name


# convert-the-loop


def small_job():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    x, y = torch.randn(8, 4), torch.arange(8) % 2
    return Job(model, torch.optim.SGD(model.parameters(), lr=0.1), [(x, y)] * 4)


def test_a_judged_loop_trains_as_it_would_alone():
    train = names_after(right_answer("convert-the-loop"))["train"]
    alone, judged = small_job(), small_job()
    losses = train(alone.model, alone.optimizer, alone.batches)
    assert trained(train, [judged]).returned == [losses]
    assert same(alone.model.state_dict(), judged.model.state_dict())


def test_a_long_recording_that_forgets_its_middle_is_no_reason_to_refuse():
    def train(model, optimizer, batches):
        scaler = GradScaler("cpu")
        for x, y in batches:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            assert [scaler.get_scale() for _ in range(10)]
        return len(batches)

    job = small_job()
    job.batches.extend(job.batches * 29)
    assert trained(train, [job]).returned == [120]


@pytest.mark.parametrize("name", ["train", "fail"])
def test_nothing_of_the_judging_stays(name):
    names = names_after(right_answer("convert-the-loop"))
    names["fail"] = lambda model, optimizer, batches: 1 / 0
    before, job = (GradScaler.__init__, GradScaler.scale), small_job()
    try:
        trained(names[name], [job])
    except ZeroDivisionError:
        assert name == "fail"
    assert (GradScaler.__init__, GradScaler.scale) == before
    assert "_apply" not in vars(job.model)
    assert not job.optimizer._optimizer_step_pre_hooks
    assert not any(layer._forward_hooks for layer in job.model.modules())


def test_scale_calls_know_the_scaler_the_dtype_and_the_lines():
    earlier = GradScaler("cpu")
    with scale_calls() as calls:
        scaler = GradScaler("cpu", init_scale=8.0)
        scaled = scaler.scale(torch.tensor(1.0, dtype=torch.float16))
        earlier.scale([torch.ones(2)])
    assert scaled.item() == 8.0
    assert [(call.scaler, call.dtype) for call in calls] == [(scaler, torch.float16), (earlier, None)]
    assert [call.scale for call in calls] == [8.0, 65536.0]
    assert calls[0].made.code == 'scaler = GradScaler("cpu", init_scale=8.0)'
    assert calls[0].place.line == calls[0].made.line + 1
    assert calls[1].made.code == ""


def test_the_first_batch_overflows_and_fp32_learns_on_every_seed():
    job = lesson_04._with_an_overflow()
    scaler = GradScaler("cpu")
    x, y = job.batches[0]
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(job.model(x), y)
    scaler.scale(loss).backward()
    scaler.step(job.optimizer)
    scaler.update()
    assert loss.isfinite() and scaler.get_scale() == 32768.0
    for seed in lesson_04.SEEDS:
        losses, _ = lesson_04._in_fp32(lesson_04._job(seed, [lesson_04._points(seed)] * lesson_04.STEPS))
        assert losses[-1] < 0.6 * losses[0]


def test_the_clip_bites_in_fp32():
    large, free, *clipped = lesson_04._in_fp32(lesson_04._with_an_overflow())[1]
    assert large > 100 and free < 0.9 * lesson_04.LIMIT
    assert min(clipped) > 1.5 * lesson_04.LIMIT
    for seed in (2, 3):
        _, norms = lesson_04._in_fp32(lesson_04._job(seed, [lesson_04._points(seed)] * lesson_04.STEPS))
        assert norms[0] > 1.2 * lesson_04.LIMIT > norms[-1]


def with_clip(*lines):
    """The right answer with other lines in place of its unscale_ and clip."""
    source = right_answer("convert-the-loop")
    unscale_and_clip = re.search(r"( +)scaler\.unscale_.*\n.*clip_grad_norm_.*\n", source)
    indent = unscale_and_clip[1]
    return source.replace(unscale_and_clip[0], "".join(f"{indent}{line}\n" for line in lines))


@pytest.mark.parametrize(
    "lines, mistake",
    [
        (["nn.utils.clip_grad_norm_(model.parameters(), 1.0)"], "clip-before-unscale"),
        (["nn.utils.clip_grad_value_(model.parameters(), 1.0)"], "clip-before-unscale"),
        (
            ["nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "scaler.unscale_(optimizer)"],
            "unscale-after-clip",
        ),
        (["scaler.unscale_(optimizer)"], "forgets-the-clip"),
        (["scaler.unscale_(optimizer)", "nn.utils.clip_grad_norm_(model.parameters(), 5)"], "another-limit"),
    ],
)
def test_who_only_clips_wrongly_keeps_the_points_for_the_steps(lines, mistake):
    verdict = check("convert-the-loop", names_after(with_clip(*lines)))
    assert (verdict.mistake, verdict.points) == (mistake, 2), verdict
    assert [result.passed for result in verdict.results] == [True, False, False]


def test_gradients_made_smaller_than_the_scripts_are_told():
    source = with_clip(
        "scaler.unscale_(optimizer)",
        "for each in model.parameters():",
        "    each.grad *= 0.3 / each.grad.norm()",
    )
    assert "with a gradient of norm 0.6, smaller than the FP32 script's" in repr(
        check("convert-the-loop", names_after(source))
    )


def test_a_clip_that_never_bites_because_all_is_skipped_is_no_proof():
    source = right_answer("convert-the-loop").replace(
        "GradScaler(device_type)", "GradScaler(device_type, 2.0**60)"
    )
    verdict = check("convert-the-loop", names_after(source))
    assert "Of 11 steps only 0 were taken" in repr(verdict)


def test_an_async_loop_is_told_that_it_runs_nothing():
    verdict = check("convert-the-loop", names_after("async " + right_answer("convert-the-loop")))
    assert verdict.mistake == "only-runs-later" and "never awaited" not in verdict.printed


def test_a_scale_that_update_sets_is_told_whatever_the_number():
    source = right_answer("convert-the-loop").replace("scaler.update()", "scaler.update(65536.0)")
    assert check("convert-the-loop", names_after(source)).mistake == "update-sets-the-scale"


@pytest.mark.parametrize("scale", [1.0, 256.0, 1024.0, 2.0**40])
def test_a_scaler_may_start_anywhere(scale):
    source = right_answer("convert-the-loop").replace("(device_type)", f"(device_type, init_scale={scale})")
    verdict = check("convert-the-loop", names_after(source))
    assert verdict.results[0].passed, verdict


@pytest.mark.skipif(torch.cuda.is_available(), reason="there such a model moves")
def test_a_model_that_cannot_leave_the_cpu_is_told_to_stay():
    source = right_answer("convert-the-loop").replace("losses = []", 'losses = []\n    model.to("cuda")')
    verdict = check("convert-the-loop", names_after(source))
    assert verdict.mistake == "leaves-the-cpu"
    assert "The check's model and tensors are on the CPU: leave them there." in repr(verdict)


def test_a_model_that_was_moved_is_missed():
    source = right_answer("convert-the-loop").replace(
        "    return losses", '    model.to_empty(device="meta")\n    return losses'
    )
    verdict = check("convert-the-loop", names_after(source))
    assert verdict.mistake == "leaves-the-cpu" and "the model is on meta" in repr(verdict)


def test_an_error_of_another_kind_is_told_as_it_is():
    source = right_answer("convert-the-loop").replace("losses = []", "losses = []\n    assert not batches")
    assert "AssertionError" in repr(check("convert-the-loop", names_after(source)))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="without CUDA such a scaler is off")
def test_a_scaler_for_cuda_is_told_where_it_would_work():
    source = right_answer("convert-the-loop").replace("GradScaler(device_type)", 'GradScaler("cuda")')
    assert check("convert-the-loop", names_after(source)).mistake == "scaler-for-another-device"


# any-device


def machine(device, capability, native_bf16):
    backend = device.upper()
    tensor_cores = capability is not None and capability >= (7, 0)
    return Machine(device, backend, "a machine", capability, None, native_bf16, None, tensor_cores)


def test_the_right_settings_are_what_the_hardware_card_recommends():
    settings = names_after(right_answer("any-device"))["amp_settings"]
    gpus = {**lesson_04.GPUS_WITH_BF16, **lesson_04.GPUS_WITH_FP16, **lesson_04.OLDER_GPUS}
    for name, capability in gpus.items():
        known = {"device": "cuda", "capability": capability, "fast_bf16": None}
        advice = recommend(machine("cuda", capability, capability >= (8, 0)))
        assert settings(known) == ("cuda", advice.dtype, advice.scaler), name
    for name, fast_bf16 in lesson_04.CPUS.items():
        known = {"device": "cpu", "capability": None, "fast_bf16": fast_bf16}
        advice = recommend(machine("cpu", None, fast_bf16))
        assert settings(known) == ("cpu", advice.dtype, advice.scaler), name


MACHINES = [
    *(("cuda", name, capability, None) for name, capability in lesson_04.GPUS_WITH_BF16.items()),
    *(("cuda", name, capability, None) for name, capability in lesson_04.GPUS_WITH_FP16.items()),
    *(("cuda", name, capability, None) for name, capability in lesson_04.OLDER_GPUS.items()),
    *(("cpu", name, None, fast_bf16) for name, fast_bf16 in lesson_04.CPUS.items()),
]


@pytest.mark.parametrize("scaler", [True, False])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_wrong_settings_are_told_in_words(dtype, scaler):
    for device, name, capability, fast_bf16 in MACHINES:
        answer = types.SimpleNamespace(amp_settings=lambda machine: (device, dtype, scaler))
        native = fast_bf16 or (capability or (0, 0)) >= (8, 0)
        best = torch.bfloat16 if native else torch.float16 if device == "cuda" else torch.float32
        want = device, best, best == torch.float16
        if (device, dtype, scaler) == want:
            lesson_04._settings(answer, name, device, capability, fast_bf16, want)
            continue
        with pytest.raises(NotYet) as told:
            lesson_04._settings(answer, name, device, capability, fast_bf16, want)
        assert told.value.message.startswith(f"For {name} you chose {str(dtype)[6:]} with")
        assert told.value.mistake or dtype == torch.float64


@pytest.mark.parametrize("capability, name", [((8, 6), "an RTX 3090"), ((12, 0), "an RTX 5090")])
def test_a_list_of_capabilities_is_no_rule(capability, name):
    known = {*lesson_04.GPUS_WITH_BF16.values()} - {capability}
    source = right_answer("any-device").replace(
        'machine["capability"] >= (8, 0)', f'machine["capability"] in {known}'
    )
    verdict = check("any-device", names_after(source))
    assert verdict.mistake == "fp16-where-bf16-is-native" and f"For {name} you chose" in repr(verdict)


def test_older_gpus_take_no_points_of_a_t4():
    source = right_answer("any-device").replace("else torch.float16", "else old")
    source = source.replace(
        "native =",
        "old = torch.float16 if machine['capability'] >= (7, 0) else torch.float32\n        native =",
    )
    verdict = check("any-device", names_after(source))
    assert (verdict.mistake, verdict.points) == ("gpu-in-fp32", 2.5), verdict


# resume-exactly


def test_the_run_leaves_something_to_save_in_every_part():
    start = Run(seed=1).state()
    end = Run(seed=1).epoch().end
    assert end.scaler["scale"] < start.scaler["scale"] == 65536.0
    assert end.scaler["_growth_tracker"] != start.scaler["_growth_tracker"]
    assert end.optimizer["state"] and not start.optimizer["state"]
    assert not same(start.weights, end.weights) and not same(start.random, end.random)


def test_the_run_is_the_same_each_time():
    one, again = (Run(seed=1).epoch() for _ in range(2))
    assert (one.order, one.losses) == (again.order, again.losses)
    assert same(one.end.weights, again.end.weights) and same(one.end.scaler, again.end.scaler)


def test_each_part_that_is_left_out_makes_another_run():
    names = names_after(right_answer("resume-exactly"))
    whole = resumed(names["save_checkpoint"], names["load_checkpoint"])
    assert whole.resumed.losses == whole.uninterrupted.losses
    for part in ("model", "optimizer", "scaler", "random"):
        source = re.sub(rf".*\[\"{part}\"\].*\n?", "", right_answer("resume-exactly"))
        names = names_after(source)
        run = resumed(names["save_checkpoint"], names["load_checkpoint"])
        assert run.resumed.losses != run.uninterrupted.losses, part


def test_what_cannot_train_on_is_told():
    source = right_answer("resume-exactly") + "\n    model.half()"
    verdict = check("resume-exactly", names_after(source))
    assert verdict.outcome == "not yet"
    assert any("the training can't go on: ValueError" in result.message for result in verdict.results)


def test_a_file_written_beside_the_path_and_moved_there_is_right():
    source = right_answer("resume-exactly").replace(
        "torch.save(checkpoint, path)",
        'beside = path.with_suffix(".tmp")\n    torch.save(checkpoint, beside)\n    beside.replace(path)',
    )
    assert check("resume-exactly", names_after(source)).outcome == "correct"


def test_a_seeded_state_is_told_from_one_that_went_on():
    torch.manual_seed(5)
    seeded = torch.get_rng_state()
    torch.rand(3)
    assert was_just_seeded(seeded) and not was_just_seeded(torch.get_rng_state())


def test_same_tells_bits_and_kinds_apart():
    state = {"a": torch.ones(2), "b": [1, 2.0], "c": {"d": None}}
    assert same(state, copy.deepcopy(state))
    assert not same(state, {**state, "a": torch.ones(2).double()})
    assert not same(state, {**state, "a": torch.tensor([1.0, 1.0000001])})
    assert not same(state, {**state, "b": [1, 2]})
    assert not same(state, {"a": state["a"], "b": state["b"]})
    assert not same(torch.ones(1), 1.0)


# quick checks


def test_the_length_of_a_choice_does_not_tell_the_right_one():
    longest = [
        max(each.choices, key=lambda choice: len(choice.text)) for each in lesson_04.LESSON.quick_checks
    ]
    assert not any(choice.right for choice in longest)
