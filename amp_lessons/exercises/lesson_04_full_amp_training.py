"""The exercises of lesson 04: an FP32 loop turned into AMP, settings for any machine, an exact resume."""

import math
import weakref

import numpy
import torch
import torch.nn.functional as F
from torch import nn

from amp_lessons.exercises import expect
from amp_lessons.exercises.clipped_steps import look_at_clipping
from amp_lessons.exercises.converted_loop import Job, trained
from amp_lessons.exercises.exercise import Choice, Exercise, Lesson, NotYet, QuickCheck, Test
from amp_lessons.exercises.regions import not_only_cpu
from amp_lessons.exercises.resumed_run import resumed, same, was_just_seeded
from amp_lessons.exercises.shown import kind_and_value

# convert-the-loop --------------------------------------------------------------------------------------

STEPS = 40
SEEDS = (1, 2, 3)
LIMIT = 1.0  # of the gradients' norm
_trained = weakref.WeakKeyDictionary()  # answer -> the Trained of its first run: each of its steps is AMP
_clipped = weakref.WeakSet()  # answers that clip as well: only there do losses say anything


def _points(seed, size=3):
    """32 points of two classes that overlap: in 40 steps the loss comes down to a quarter or so."""
    numbers = torch.Generator().manual_seed(seed)
    y = torch.arange(32) % 2
    return size * (torch.randn(32, 4, generator=numbers) + 0.5 * (2 * y - 1)[:, None]), y


def _job(seed, batches, lr=0.3):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    return Job(model, torch.optim.SGD(model.parameters(), lr=lr), batches)


def _with_an_overflow():
    """Eleven batches. The first is so large that its gradients overflow at a scale of 65536, the second's
    gradients stay below LIMIT, all others' are above. The weights hardly move."""
    sizes = (200, 2, *9 * (4,))
    return _job(0, [_points(seed=0, size=size) for size in sizes], lr=1e-4)


def _in_fp32(job):
    """The losses of the script that is to be converted, and its gradients' norms before they are clipped."""
    losses, norms = [], []
    for x, y in job.batches:
        job.optimizer.zero_grad()
        loss = F.cross_entropy(job.model(x), y)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(job.model.parameters(), LIMIT).item())
        job.optimizer.step()
        losses.append(loss.item())
    return losses, norms


def _every_step_is_amp(answer):
    training = trained(answer.train, [_with_an_overflow()])
    not_only_cpu(answer.train, "train")
    _trained[answer] = training


def _gradients_are_clipped(answer):
    if answer not in _trained:
        raise NotYet("The clipping comes next, once every step is in FP16 and scaled.")
    _, norms = _in_fp32(_with_an_overflow())
    look_at_clipping(_trained[answer], LIMIT, free=norms[1])
    _clipped.add(answer)


def _losses(returned, count):
    if returned is None:
        raise NotYet("train(...) is None. Is there a `return losses` missing?")
    if isinstance(returned, (torch.Tensor, numpy.ndarray)) and returned.ndim == 1:
        returned = returned.tolist()
    entries = expect.sequence(returned, "What train(...) returns", length=count)
    return [expect.number(entry, f"Loss {i} of your list") for i, entry in enumerate(entries)]


def _the_losses_are_those_of_fp32(answer):
    if answer not in _clipped:
        raise NotYet("The losses come next, once every step is right.")
    overflowing = _with_an_overflow()
    true_losses, _ = _in_fp32(_with_an_overflow())  # the weights hardly move: a skipped step changes little
    references = [_job(seed, [_points(seed)] * STEPS) for seed in SEEDS]
    for reference in references:
        _in_fp32(reference)
    jobs = [_job(seed, [_points(seed)] * STEPS) for seed in SEEDS]
    returned = trained(answer.train, [overflowing, *jobs]).returned
    noted = _losses(returned[0], len(true_losses))
    _a_loss_is_true("The first loss", noted[0], true_losses[0])
    for seed, job, reference, losses in zip(SEEDS, jobs, references, returned[1:]):
        x, y = job.batches[0]
        got = F.cross_entropy(job.model(x), y).item()
        want = F.cross_entropy(reference.model(x), y).item()
        if not abs(got - want) <= 0.1 * want:
            raise NotYet(
                f"Seed {seed}: after {STEPS} steps your model's loss is {got:.4f}, the FP32 loop's "
                f"{want:.4f}. They should agree within 10 %. What else does your loop change?"
            )
        _losses(losses, STEPS)
    for i, (got, true) in enumerate(zip(noted, true_losses)):
        _a_loss_is_true(f"Loss {i}", got, true)


def _a_loss_is_true(which, got, true):
    if abs(got - true) <= 0.02 * true:
        return
    said = f"{which} of your list is {got:.5g}; the model's is {true:.5g}."
    if abs(got - 2 * true) <= 0.04 * true:
        raise NotYet(
            f"{said} It is twice as large: this step overflowed, so update() halved the scale, and you "
            "divided by the new one. Note the loss before you scale it.",
            "scale-read-after-update",
        )
    if 100 * true < got < math.inf:
        raise NotYet(
            f"{said} Yours is about {2.0 ** round(math.log2(got / true)):g} times as large: it still holds "
            "the loss scale. Note the loss before you scale it.",
            "scaled-loss-in-the-list",
        )
    raise NotYet(f"{said} Note each batch's own loss, as it is before you scale it.")


CONVERT_THE_LOOP = Exercise(
    id="convert-the-loop",
    title="Convert the loop",
    minutes=12,
    stub='''
def train(model, optimizer, batches):
    """The loop below in mixed precision: FP16 autocast, and a GradScaler on x's device.

    batches: a list of pairs (x, y). Take the device from x (x.device.type): the check trains
    on the CPU. Returns the losses, one number for each batch, as the FP32 loop does, and clips
    what the FP32 loop clips.
    """
    # losses = []
    # for x, y in batches:
    #     optimizer.zero_grad()
    #     loss = F.cross_entropy(model(x), y)
    #     loss.backward()
    #     nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    #     optimizer.step()
    #     losses.append(loss.item())
    # return losses
    raise NotImplementedError
''',
    hints=(
        "A scaler is made before the loop, the forward pass and the loss go into an autocast block, and the "
        "scaler's calls take the place of backward and step. Between those two: how large are the gradients "
        "that the clipping meets?",
        "After scaler.scale(loss).backward() they are multiplied by the scale, and 1.0 is a limit for true "
        "ones: scaler.unscale_(optimizer) comes before the clip. The list gets the loss that was not scaled.",
        "Before the loop: scaler = torch.amp.GradScaler(batches[0][0].device.type). In it: with "
        "torch.autocast(x.device.type, dtype=torch.float16): loss = F.cross_entropy(model(x), y). After the "
        "clip: scaler.step(optimizer), scaler.update().",
    ),
    tests=[
        Test("FP16 products and a scaled backward in every step", 2, _every_step_is_amp),
        Test("gradients clipped at their true size", 1, _gradients_are_clipped),
        Test("true losses in the list, FP32's final loss on three seeds", 2, _the_losses_are_those_of_fp32),
    ],
    why=(
        "Every step multiplied matrices in FP16, scaled its loss, clipped unscaled gradients and stepped "
        "through the scaler, and the final loss is FP32's."
    ),
)

# any-device --------------------------------------------------------------------------------------------

GPUS_WITH_BF16 = {
    "an A100": (8, 0),
    "an RTX 3090": (8, 6),
    "an RTX 4090": (8, 9),
    "an H100": (9, 0),
    "a B200": (10, 0),
    "an RTX 5090": (12, 0),
}
# Cards of the GTX 16 series report 7.5 but have no tensor cores. Only their name tells, so they are left out.
GPUS_WITH_FP16 = {"a T4": (7, 5), "a V100": (7, 0)}
OLDER_GPUS = {"a P100": (6, 0), "a GTX 1080": (6, 1)}
CPUS = {
    "a CPU with BF16 instructions": True,
    "a CPU without BF16 instructions": False,
    "a CPU of which nothing is known": None,
}


def _settings(answer, name, device, capability, fast_bf16, want):
    machine = {"device": device, "capability": capability, "fast_bf16": fast_bf16}
    got = answer.amp_settings(machine)
    if not isinstance(got, (tuple, list)) or len(got) != 3:
        missing = " Is there a `return` missing?" if got is None else ""
        raise NotYet(
            f"For {name} your answer should be three values, (device_type, dtype, use_scaler); it is "
            f"{kind_and_value(got)}.{missing}"
        )
    entries = expect.sequence(got, f"What you give for {name}", length=3)
    kind = expect.text(entries[0], f"The device type for {name}")
    dtype = entries[1]
    if not isinstance(dtype, torch.dtype):
        raise NotYet(
            f"The dtype for {name} should be a torch dtype, such as torch.float16; yours is "
            f"{kind_and_value(dtype)}."
        )
    scaler = expect.boolean(entries[2], f"use_scaler for {name}")
    if (kind, dtype, scaler) == want:
        return
    if kind != device:
        raise NotYet(
            f"For {name} you gave the device type {kind!r}; machine['device'] is {device!r}.",
            "another-device",
        )
    said = f"For {name} you chose {_in_words(dtype, scaler)}."
    for sentence, mistake in _known_settings(device, capability, fast_bf16, dtype, scaler, want):
        raise NotYet(f"{said} {sentence}", mistake)
    raise NotYet(f"{said} Better: {_in_words(*want[1:])}.")


def _known_settings(device, capability, fast_bf16, dtype, scaler, want):
    """The one sentence, with its mistake's code, that these settings call for; or none."""
    native = want[1] == torch.bfloat16
    of_capability = f"Its capability is {capability[0]}.{capability[1]}, " if capability else ""
    if dtype == torch.float16 and not scaler and device == "cuda":
        yield "Small gradients become 0 in FP16 unless the loss is scaled.", "fp16-without-scaler"
    elif dtype == torch.bfloat16 and device == "cuda" and not native:
        yield (
            f"{of_capability}and native BF16 begins at 8.0: below that PyTorch only emulates it, slowly. "
            "Use FP16 with a scaler.",
            "bf16-emulated-on-t4",
        )
    elif dtype == torch.bfloat16 and native and scaler:
        yield "BF16 has the range of FP32: nothing underflows that a scaler could save.", "scaler-with-bf16"
    elif dtype == torch.float32 and scaler:
        yield "FP32 needs no scaler: it holds the small gradients as they are.", "scaler-with-fp32"
    elif device == "cuda" and dtype == torch.float32:
        if capability < (7, 0):
            gain = "and without tensor cores FP16 saves no time, but memory"
        else:
            gain = f"so it has tensor cores for {'BF16' if native else 'FP16'}, which FP32 leaves unused"
        yield f"{of_capability}{gain}.", "gpu-in-fp32"
    elif dtype == torch.float16 and device == "cuda":
        yield (
            f"That works. But {of_capability[0].lower()}{of_capability[1:]}so it computes in BF16 itself, "
            "which spares you the scaler and its skipped steps.",
            "fp16-where-bf16-is-native",
        )
    elif dtype == torch.float16:
        yield "On most CPUs FP16 is many times slower than FP32.", "fp16-on-cpu"
    elif dtype == torch.bfloat16:
        known = "has none" if fast_bf16 is False else "may have none (fast_bf16 is None: not known)"
        yield (
            f"Without BF16 instructions it gains no time, and this CPU {known}. FP32 is the safe choice.",
            "bf16-on-any-cpu",
        )
    elif dtype == torch.float32:
        yield "It has instructions for BF16 (fast_bf16 is True), which FP32 leaves unused.", "cpu-bf16-unused"


def _in_words(dtype, scaler):
    return f"{str(dtype)[6:]} {'with' if scaler else 'without'} a scaler"


def _gpus_with_bf16(answer):
    for name, capability in GPUS_WITH_BF16.items():
        _settings(answer, name, "cuda", capability, None, ("cuda", torch.bfloat16, False))


def _gpus_with_fp16(answer):
    for name, capability in GPUS_WITH_FP16.items():
        _settings(answer, name, "cuda", capability, None, ("cuda", torch.float16, True))


def _older_gpus(answer):
    for name, capability in OLDER_GPUS.items():
        _settings(answer, name, "cuda", capability, None, ("cuda", torch.float16, True))


def _cpus(answer):
    for name, fast_bf16 in CPUS.items():
        dtype = torch.bfloat16 if fast_bf16 else torch.float32
        _settings(answer, name, "cpu", None, fast_bf16, ("cpu", dtype, False))


ANY_DEVICE = Exercise(
    id="any-device",
    title="Settings for any device",
    minutes=5,
    stub='''
def amp_settings(machine):
    """How to train on `machine`: (device_type, dtype, use_scaler).

    machine["device"]      "cuda" or "cpu"
    machine["capability"]  the GPU's compute capability, such as (7, 5); None for a CPU
    machine["fast_bf16"]   whether a CPU has BF16 instructions: True, False, or None where
                           nobody knows; None for a GPU, whose capability tells
    Prefer BF16 where the hardware computes in it. A GPU below 8.0, however old: FP16 with a
    scaler, at least for its memory. A CPU of which BF16 is not certain: FP32.
    dtype is a torch dtype, torch.float32 where autocast stays off; use_scaler is a bool.
    """
    raise NotImplementedError
''',
    hints=(
        "Three questions: is it a GPU or a CPU, does the hardware compute in BF16, and which dtype needs a "
        "scaler?",
        "A GPU computes in BF16 from capability 8.0 on. Tuples compare from the left: (7, 5) < (8, 0). Only "
        "FP16 needs a scaler.",
        'Begin with `if machine["device"] == "cuda":` and choose dtype there by the capability, in the '
        'else-branch by machine["fast_bf16"]: None counts as False. One comparison of dtype then gives '
        "use_scaler.",
    ),
    tests=[
        Test("GPUs that compute in BF16", 1, _gpus_with_bf16),
        Test("a T4 and a V100", 1, _gpus_with_fp16),
        Test("older GPUs", 0.5, _older_gpus),
        Test("CPUs", 0.5, _cpus),
    ],
    why="BF16 where the hardware computes in it, otherwise FP16 on a GPU; only FP16 needs a scaler.",
)

# resume-exactly ----------------------------------------------------------------------------------------


def _run(answer):
    return resumed(answer.save_checkpoint, answer.load_checkpoint)


def _weights_come_back(answer):
    run = _run(answer)
    if same(run.loaded.weights, run.saved.weights):
        return
    got, want, made = (state.weights["0.weight"][0, 0].item() for state in (run.loaded, run.saved, run.made))
    said = f"After load_checkpoint the model's first weight is {got:.8g}; when you saved it was {want:.8g}."
    if same(run.loaded.weights, run.uninterrupted.end.weights):
        raise NotYet(
            f"{said} After that the run went on and was saved to another file: you loaded its weights. The "
            "file at `path` has to hold all that is loaded, no variable beside it.",
            "state-beside-the-file",
        )
    if same(run.loaded.weights, run.made.weights):
        raise NotYet(
            f"{said} The model still is as it was made: load into the objects you are given, with "
            "load_state_dict.",
            "loads-into-another-model",
        )
    if abs(got - want) < 0.01 * abs(want) + abs(want - made) * 0.01:
        raise NotYet(f"{said} It was rounded on the way: save the weights in FP32.", "saves-rounded-weights")
    raise NotYet(said)


def _adam(state):
    """How many steps Adam has counted, and one of its running means, or (0, 0.0) for a new Adam."""
    first = state.optimizer["state"].get(0)
    return (int(first["step"]), first["exp_avg"][0, 0].item()) if first else (0, 0.0)


def _optimizer_comes_back(answer):
    run = _run(answer)
    if not run.attached:
        raise NotYet(
            "After load_checkpoint the optimizer does not step on the model's weights: it still holds the "
            "tensors that the model was made with, and yours has new ones. Copy into those that are there: "
            "load_state_dict without assign=True.",
            "optimizer-left-behind",
        )
    if same(run.loaded.optimizer, run.saved.optimizer):
        return
    (got, mean), (want, wanted_mean) = _adam(run.loaded), _adam(run.saved)
    if got != want:
        raise NotYet(
            f"After load_checkpoint Adam has counted {got} steps; when you saved it had counted {want}. Its "
            "running means are lost as well. Save and load optimizer.state_dict().",
            "forgets-the-optimizer",
        )
    raise NotYet(
        f"After load_checkpoint the optimizer's state is another one: Adam's first running mean is "
        f"{mean:.8g}, when you saved it was {wanted_mean:.8g}. Save and load optimizer.state_dict() as it is."
    )


def _scaler_comes_back(answer):
    run = _run(answer)
    got, want = run.loaded.scaler, run.saved.scaler
    if same(got, want):
        return
    if got["scale"] != want["scale"]:
        raise NotYet(
            f"After load_checkpoint the scale restarts at {got['scale']:g}; uninterrupted it was "
            f"{want['scale']:g}. Steps are skipped until the scaler has found it again. Save and load "
            "scaler.state_dict().",
            "resume-without-scaler-state",
        )
    if got["_growth_tracker"] != want["_growth_tracker"]:
        raise NotYet(
            f"The scale is back, but the scaler has counted {got['_growth_tracker']} good steps since it "
            f"last changed; when you saved it had counted {want['_growth_tracker']}. So it will grow at "
            "another step. Save and load the whole scaler.state_dict().",
            "forgets-the-growth-tracker",
        )
    raise NotYet("The scale is back, but not all of scaler.state_dict(). Save and load it as it is.")


def _the_epoch_is_the_same(answer):
    run = _run(answer)
    got, want = run.resumed, run.uninterrupted
    if got is None:
        raise NotYet(f"With what load_checkpoint put back, the training can't go on: {run.error}")
    if got.order != want.order:
        said = f"The resumed epoch begins with the samples {got.order[:4]}, the uninterrupted one with "
        said += f"{want.order[:4]}."
        if same(run.loaded.random, run.made.random):
            raise NotYet(
                f"{said} torch.randperm draws them, and goes on from where torch's random numbers are. Save "
                "torch.get_rng_state(), and give it to torch.set_rng_state() when you load.",
                "forgets-the-random-state",
            )
        if was_just_seeded(run.loaded.random):
            raise NotYet(
                f"{said} Torch's random state was set, but not to what it was when you saved. A seed starts "
                "from the beginning again: save torch.get_rng_state().",
                "seeds-again",
            )
        raise NotYet(
            f"{said} When load_checkpoint ends, torch's random state is not the one it was when you saved. "
            "Whatever draws random numbers moves it on, making a layer too: call torch.set_rng_state() last.",
            "moves-the-random-state-on",
        )
    for i, (mine, theirs) in enumerate(zip(got.losses, want.losses)):
        if mine != theirs:
            raise NotYet(
                f"The samples come in the right order, but batch {i} of the resumed epoch has the loss "
                f"{mine:.9g}, uninterrupted {theirs:.9g}. Something of the checkpoint is missing or rounded."
            )
    if not (same(got.end.weights, want.end.weights) and same(got.end.scaler, want.end.scaler)):
        mine, theirs = (each.end.weights["0.weight"][0, 0].item() for each in (got, want))
        raise NotYet(
            f"All losses agree, yet at the end the first weight is {mine:.9g}, uninterrupted {theirs:.9g}, "
            f"and the scale {got.end.scaler['scale']:g}, uninterrupted {want.end.scaler['scale']:g}."
        )


RESUME_EXACTLY = Exercise(
    id="resume-exactly",
    title="Resume exactly",
    minutes=10,
    stub='''
def save_checkpoint(path, model, optimizer, scaler):
    """At an epoch's end: write to the file `path` what it takes to resume this run, so that it
    is bit-identical to one never stopped. Think of everything that the next epoch depends on:
    its batches are drawn with torch.randperm on the CPU.

    Dicts, tensors and numbers only, so that torch.load reads it with its default settings.
    """
    raise NotImplementedError


def load_checkpoint(path, model, optimizer, scaler):
    """Put all of it back, into a model, an optimizer and a scaler that were just made."""
    raise NotImplementedError
''',
    hints=(
        "Four things belong in. Three are the states of what you are given; the fourth decides which samples "
        "torch.randperm draws next.",
        "model, optimizer and scaler each have state_dict() and load_state_dict(). Put the dicts into one, "
        "with torch.get_rng_state(), and torch.save it to path.",
        'torch.save({"model": model.state_dict(), "optimizer": ..., "scaler": ..., "random": '
        "torch.get_rng_state()}, path). Then checkpoint = torch.load(path), "
        'model.load_state_dict(checkpoint["model"]), and so on; at the end torch.set_rng_state.',
    ),
    tests=[
        Test("the weights", 1, _weights_come_back),
        Test("the optimizer's state", 1, _optimizer_comes_back),
        Test("the scaler's state", 1, _scaler_comes_back),
        Test("the next epoch, bit for bit", 1, _the_epoch_is_the_same),
    ],
    why=(
        "Weights, optimizer, scaler and random state are all that the next epoch depends on, so it is the "
        "same bit for bit."
    ),
)

# quick checks ------------------------------------------------------------------------------------------

WHATS_IN_A_CHECKPOINT = QuickCheck(
    id="whats-in-a-checkpoint",
    question=(
        "In a long FP16 run the scale has grown from 65,536 (2¹⁶) to 1,048,576 (2²⁰). The run stops, and you "
        "resume it without the scaler's state. What happens?"
    ),
    choices=[
        Choice(
            "A",
            "The first steps overflow and are skipped, until the scale has come down to where it was.",
            "That happens where the scale had fallen. Here it restarts 16 times lower than it was, so what "
            "did not overflow before does not overflow now.",
        ),
        Choice(
            "B",
            "For thousands of steps the smallest gradients are lost. Nothing is raised.",
            "From 65,536 it takes four doublings back to 2²⁰, each after 2,000 good steps. Until then "
            "gradients that only the larger scale kept above 0 are 0.",
            right=True,
        ),
        Choice(
            "C",
            "Nothing that matters: the first `update()` finds the scale that fits these gradients.",
            "`update()` measures nothing. It halves the scale after an overflow, and doubles it after 2,000 "
            "good steps in a row.",
        ),
    ],
)

DOES_MEMORY_HALVE = QuickCheck(
    id="does-memory-halve",
    question="You turn on 16-bit autocast, with Adam. Which part of the memory becomes about half as large?",
    choices=[
        Choice(
            "A",
            "All of it: 16 bits are half of 32.",
            "Weights, gradients and Adam's two running means stay in FP32, four numbers for each weight. "
            "Autocast does not touch them.",
        ),
        Choice(
            "B",
            "The weights, their gradients and the optimizer's state.",
            "All three stay in FP32. Autocast even adds to the weights: a 16-bit copy of them is kept until "
            "backward is done.",
        ),
        Choice(
            "C",
            "Most of the activations that are kept for backward.",
            "What layers hand on in 16 bits is kept in 16 bits. So much is gained where activations "
            "dominate: large batches, long sequences. A few ops keep FP32 all the same.",
            right=True,
        ),
    ],
)

WHEN_AMP_DOES_NOT_PAY = QuickCheck(
    id="when-amp-does-not-pay",
    question=(
        "On a GPU with tensor cores, a net of three layers with 64 units and a batch of 32 is slower with "
        "AMP than in FP32. What is the likely reason?"
    ),
    choices=[
        Choice(
            "A",
            "FP16 loses digits, so that the net needs more steps to reach the same loss.",
            "Slower here means time for each step. How many steps the net needs is another question, and AMP "
            "seldom changes it.",
        ),
        Choice(
            "B",
            "Its products are tiny, and casts and scaler come on top.",
            "Each cast is a kernel of its own, each launch costs time, and products this small gain nothing. "
            "AMP pays where large products dominate.",
            right=True,
        ),
        Choice(
            "C",
            "The loss scale is too small.",
            "The scale decides which gradients survive. Multiplying by 8 or by 65,536 takes the same time.",
        ),
    ],
)

WHICH_PRECISION_HERE = QuickCheck(
    id="which-precision-here",
    question=(
        "On a T4 (capability 7.5) `torch.cuda.is_bf16_supported()` answers True. Which do you train with?"
    ),
    choices=[
        Choice(
            "A",
            "BF16 without a scaler, since PyTorch says it is supported.",
            "The answer counts emulation. A T4 has no units for BF16: it runs, slowly. Ask with "
            "`including_emulation=False`, or look for capability 8.0.",
        ),
        Choice(
            "B",
            "FP16 without a scaler: the tensor cores add up in FP32.",
            "The sums are in FP32, but the gradients between the layers are stored in FP16, where small ones "
            "become 0.",
        ),
        Choice(
            "C",
            "FP16 with GradScaler.",
            "A T4's tensor cores multiply FP16, and the scaler keeps the small gradients.",
            right=True,
        ),
    ],
)

LESSON = Lesson(
    notebook="04_full_amp_training",
    title="Full AMP training",
    promise="Convert an FP32 training script to AMP on any device, measure it, and resume it exactly.",
    minutes_reading=25,
    minutes_exercises=27,
    exercises=[CONVERT_THE_LOOP, ANY_DEVICE, RESUME_EXACTLY],
    quick_checks=[DOES_MEMORY_HALVE, WHEN_AMP_DOES_NOT_PAY, WHICH_PRECISION_HERE, WHATS_IN_A_CHECKPOINT],
)
