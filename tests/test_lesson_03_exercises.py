"""Lesson 03's exercises: right answers of every shape, further wrong ones, names and lines in messages."""

import itertools
import re
import textwrap

import pytest
import torch

from amp_lessons import check
from amp_lessons.exercises import catalogue
from amp_lessons.recorder import RULES
from tests import toy
from tests.answers import right_answer, wrong_answers

SET_UP = """
import torch
from torch import nn
import torch.nn.functional as F
device = "cuda"  # as on a learner's machine with a GPU: the check's tensors are on the CPU
"""
LESSON = catalogue.current().lesson_of("order-the-calls")
WRONG = {(wrong.exercise, wrong.name): wrong for wrong in wrong_answers(LESSON)}


_number = itertools.count(1)


def verdict_on(exercise_id, source):
    """The verdict on an answer cell. Each has a file name of its own, as in a notebook: <answer 1>, ..."""
    namespace = toy.run_cell(SET_UP, {}, "<set-up>")
    for earlier in LESSON.exercises:
        if earlier.id == exercise_id:
            break
        toy.run_cell(right_answer(earlier.id), namespace, f"<{earlier.id}>")
    return check(exercise_id, toy.run_cell(textwrap.dedent(source), namespace, f"<answer {next(_number)}>"))


TELL_A_SKIP = {
    "a sentence the other way round": """
        def step_and_tell(scaler, optimizer):
            old = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            return not scaler.get_scale() >= old
    """,
    "read between step and update": """
        def step_and_tell(scaler, optimizer):
            scaler.step(optimizer)
            old = torch.tensor(scaler.get_scale())
            scaler.update()
            return old > scaler.get_scale()
    """,
    "from the state": """
        def step_and_tell(scaler, optimizer):
            if not scaler.is_enabled():
                scaler.step(optimizer)
                return False
            before = scaler.state_dict()["scale"]
            scaler.step(optimizer)
            scaler.update()
            return bool(scaler.state_dict()["scale"] < before)
    """,
    "the optimizer's hook": """
        def step_and_tell(scaler, optimizer):
            stepped = []
            hook = optimizer.register_step_post_hook(lambda *_: stepped.append(True))
            scaler.step(optimizer)
            scaler.update()
            hook.remove()
            return not stepped
    """,
    "the step counted": """
        def step_and_tell(scaler, optimizer):
            own, count = optimizer.step, []
            optimizer.step = lambda *args, **kwargs: (count.append(1), own(*args, **kwargs))[1]
            scaler.step(optimizer)
            optimizer.step = own
            scaler.update()
            return len(count) == 0
    """,
    "the gradients, where the scaler is on": """
        def step_and_tell(scaler, optimizer):
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            bad = scaler.is_enabled() and not all(p.grad.isfinite().all() for p in parameters)
            scaler.step(optimizer)
            scaler.update()
            return bad
    """,
    "unscaled first": """
        def step_and_tell(scaler, optimizer):
            scaler.unscale_(optimizer)
            before = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            after = scaler.get_scale()
            return after < before
    """,
}
ORDER_THE_CALLS = {
    "cleared at the end, a float returned": """
        def train_step(model, optimizer, scaler, x, y, max_norm):
            with torch.amp.autocast(x.device.type, torch.float16):
                prediction = model(x)
                loss = nn.functional.mse_loss(prediction, y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            return loss.item()
    """,
    "autocast as a decorator": """
        def train_step(model, optimizer, scaler, x, y, max_norm):
            @torch.autocast(device_type=x.device.type, dtype=torch.half)
            def forward():
                return nn.MSELoss()(model(x), y)

            optimizer.zero_grad(set_to_none=False)
            loss = forward()
            scaled = scaler.scale(loss)
            scaled.backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], max_norm)
            scaler.step(optimizer)
            scaler.update()
            return loss.detach()
    """,
    "the loss outside, in FP32": """
        def train_step(model, optimizer, scaler, x, y, max_norm):
            model.zero_grad()
            with torch.autocast(x.device.type, dtype=torch.float16):
                out = model(x)
            loss = F.mse_loss(out.float(), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            scaler.step(optimizer)
            scaler.update()
            return float(loss)
    """,
    "clipped by hand": """
        def train_step(model, optimizer, scaler, x, y, max_norm):
            for p in model.parameters():
                p.grad = None
            with torch.autocast(x.device.type, dtype=torch.float16, cache_enabled=False):
                loss = ((model(x).float() - y) ** 2).mean()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
            if norm > max_norm:
                for p in model.parameters():
                    p.grad *= max_norm / norm
            scaler.step(optimizer)
            scaler.update()
            return loss.detach()
    """,
    "the loss read from the scaled one, before update": """
        def train_step(model, optimizer, scaler, x, y, max_norm):
            optimizer.zero_grad()
            with torch.autocast(x.device.type, dtype=torch.float16):
                loss = F.mse_loss(model(x), y)
            loss = scaler.scale(loss)
            loss.backward()
            result = loss.item() / scaler.get_scale()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            scaler.step(optimizer)
            scaler.update()
            return result
    """,
    "autograd.grad, and update in a decorator": """
        def with_update(step):
            def run(model, optimizer, scaler, *batch, **settings):
                try:
                    return step(model, optimizer, scaler, *batch, **settings)
                finally:
                    scaler.update()

            return run

        @with_update
        def train_step(model, optimizer, scaler, x, y, max_norm):
            kind = next(model.parameters()).device.type
            with torch.autocast(kind, dtype=torch.float16):
                loss = F.mse_loss(model(x), y)
            parameters = list(model.parameters())
            for p, gradient in zip(parameters, torch.autograd.grad(scaler.scale(loss), parameters)):
                p.grad = gradient
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(parameters, max_norm)
            scaler.step(optimizer)
            return loss
    """,
    "two halves of the batch": """
        def train_step(model, optimizer, scaler, x, y, max_norm):
            optimizer.zero_grad()
            total = 0.0
            for part_x, part_y in zip(x.chunk(2), y.chunk(2)):
                with torch.autocast(x.device.type, dtype=torch.float16):
                    loss = F.mse_loss(model(part_x), part_y) / 2
                scaler.scale(loss).backward()
                total += loss.item()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            scaler.step(optimizer)
            scaler.update()
            return total
    """,
    "enabled said, and the error raised only where it is finite": """
        def train_step(model, optimizer, scaler, x, y, max_norm):
            optimizer.zero_grad()
            with torch.autocast(x.device.type, enabled=scaler.is_enabled(), dtype=torch.float16):
                loss = F.mse_loss(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), max_norm, error_if_nonfinite=False, foreach=True)
            before = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            print("skipped" if scaler.get_scale() < before else "")
            return loss
    """,
}
UNSCALE_AND_LOOK = {
    "multiplied in place": """
        def unscale_and_look(optimizer, scale):
            found = torch.tensor(False)
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    p.grad.mul_(1 / scale)
                    found |= ~p.grad.isfinite().all()
            return found
    """,
    "a new gradient": """
        def unscale_and_look(optimizer, scale):
            found = False
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        found = found or bool(p.grad.isinf().any() or p.grad.isnan().any())
                        p.grad = p.grad / scale
            return found
    """,
    "lists": """
        def unscale_and_look(optimizer, scale):
            gradients = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
            for gradient in gradients:
                gradient.div_(scale)
            return any(not torch.isfinite(gradient).all() for gradient in gradients)
    """,
    "a sum of zeros": """
        @torch.no_grad()
        def unscale_and_look(optimizer, scale):
            total = 0.0
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.copy_(p.grad / scale)
                        total += (p.grad - p.grad).sum().item()  # inf - inf is NaN
            return total != 0.0
    """,
    "foreach, and NumPy's bool": """
        import numpy as np

        def unscale_and_look(optimizer, scale):
            gradients = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
            if not gradients:
                return np.bool_(False)
            torch._foreach_div_(gradients, scale)
            return np.any([not np.isfinite(gradient.numpy()).all() for gradient in gradients])
    """,
}
SKIP_OR_STEP = {
    "early return": """
        def skip_or_step(optimizer, scale):
            if unscale_and_look(optimizer, scale):
                return True
            optimizer.step()
            return False
    """,
    "a conditional expression": """
        def skip_or_step(optimizer, scale):
            found_inf = unscale_and_look(optimizer, scale)
            None if found_inf else optimizer.step()
            return torch.tensor(found_inf)
    """,
    "its own loops": """
        def skip_or_step(optimizer, scale):
            gradients = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
            for gradient in gradients:
                gradient /= scale
            skip = not all(gradient.isfinite().all() for gradient in gradients)
            if not skip:
                optimizer.step()
            return skip
    """,
    "a helper": """
        def stepped(optimizer, scale):
            fine = not unscale_and_look(optimizer, scale)
            if fine:
                optimizer.step()
            return fine

        def skip_or_step(optimizer, scale):
            return not stepped(optimizer, scale)
    """,
}
GROW_AND_BACK_OFF = {
    "a list, one way out": """
        def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
            if found_inf:
                scale, good_steps = scale / 2, 0
            else:
                good_steps = good_steps + 1
                if good_steps >= growth_interval:
                    scale, good_steps = 2 * scale, 0
            return [scale, good_steps]
    """,
    "a remainder": """
        def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
            if found_inf:
                return 0.5 * scale, 0
            good_steps = (good_steps + 1) % growth_interval
            return (scale if good_steps else scale * 2), good_steps
    """,
    "compared first": """
        def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
            if found_inf:
                return scale * 2.0**-1, 0
            if good_steps == growth_interval - 1:
                return scale * 2.0, 0
            return scale, good_steps + 1
    """,
    "tensors, and PyTorch's limit": """
        def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
            scale = torch.tensor(scale)
            if found_inf:
                return scale / 2, torch.tensor(0)
            good_steps += 1
            if good_steps < growth_interval:
                return scale, good_steps
            return (scale if (scale * 2).isinf() else scale * 2), 0
    """,
}
RIGHT = {
    "tell-a-skip": TELL_A_SKIP,
    "order-the-calls": ORDER_THE_CALLS,
    "unscale-and-look": UNSCALE_AND_LOOK,
    "skip-or-step": SKIP_OR_STEP,
    "grow-and-back-off": GROW_AND_BACK_OFF,
}


@pytest.mark.parametrize(
    ("exercise_id", "shape"), [(name, shape) for name, shapes in RIGHT.items() for shape in shapes]
)
def test_right_answers_of_another_shape_earn_full_points(exercise_id, shape):
    verdict = verdict_on(exercise_id, RIGHT[exercise_id][shape])
    assert verdict.outcome == "correct", verdict
    assert verdict.points == verdict.out_of


# Exercise, what is replaced in the reference answer and by what, a part of the message, the code.
FURTHER_WRONG = [
    (
        "order-the-calls",
        "    scaler.unscale_(optimizer)  # clipping must see the gradients without the scale\n",
        "",
        "clip-before-unscale, <answer>:11: `nn.utils.clip_grad_norm_(model.parameters(), max_norm)`",
        "clip-before-unscale",
    ),
    (
        "order-the-calls",
        "torch.float16",
        "torch.bfloat16",
        "scaler-with-bf16, <answer>:10: `scaler.scale(loss).backward()`",
        "scaler-with-bf16",
    ),
    ("order-the-calls", "x.device.type", "device", "autocast-wrong-device", "autocast-wrong-device"),
    ("order-the-calls", "dtype=torch.float16", "enabled=False", "put out torch.float32", "no-autocast"),
    ("order-the-calls", "    return loss", "    return", "train_step(...) is None", None),
    ("order-the-calls", "return loss", "return x", "train_step(...) should be one value", None),
    (
        "order-the-calls",
        "    scaler.step(optimizer)\n    scaler.update()\n",
        "    scaler.update()\n",
        "scaler.step(optimizer) was never called",
        "never-steps",
    ),
    (
        "order-the-calls",
        "    scaler.scale(loss).backward()\n",
        "    scaler.scale(loss)\n",
        "no-gradients",
        "no-gradients",
    ),
    (
        "order-the-calls",
        "    optimizer.zero_grad()\n    with",
        "    scaler.unscale_(optimizer)\n    optimizer.zero_grad()\n    with",
        "unscale-twice, <answer>:12: `scaler.unscale_(optimizer) ",
        "unscale-twice",
    ),
    (
        "order-the-calls",
        "model.parameters(), max_norm)",
        "model[0].parameters(), max_norm)",
        "Something clips, but not their norm to max_norm: clip_grad_norm_, <answer>:12: `nn.utils.clip",
        "clips-something-else",
    ),
    (
        "order-the-calls",
        "model.parameters(), max_norm)",
        "model.parameters(), 0.01)",
        "another-limit, <answer>:12: `nn.utils.clip_grad_norm_(model.parameters(), 0.01)`",
        "another-limit",
    ),
    (
        "order-the-calls",
        "model.parameters(), max_norm)",
        "model.parameters(), 99.0)",
        "You clip at 99, and max_norm is 0.5",
        "another-limit",
    ),
    ("order-the-calls", "x.device.type", '"cpu"', "train_step names the device itself", "cpu-hard-coded"),
    (
        "order-the-calls",
        "    scaler.update()\n",
        "    scaler.update(65536.0)\n",
        "update-sets-the-scale, <answer>:14: `scaler.update(65536.0)`",
        "update-sets-the-scale",
    ),
    (
        "order-the-calls",
        "    optimizer.zero_grad()\n",
        '    model.to("cuda")\n    optimizer.zero_grad()\n',
        "The check's tensors are on the CPU, on every machine: leave them there",
        None,
    ),
    (
        "order-the-calls",
        "loss = F.mse_loss(model(x), y)\n",
        "model(x)\n    loss = F.mse_loss(model[2](model[1](model[0](x))), y)\n",
        "The Linear layers put out torch.float32",
        "no-autocast",
    ),
    (
        "order-the-calls",
        "loss = F.mse_loss(model(x), y)\n",
        "model(x)\n    hidden = torch.tanh(F.linear(x, model[0].weight, model[0].bias))\n"
        "    loss = F.mse_loss(F.linear(hidden, model[2].weight, model[2].bias), y)\n",
        "or your loss does not come from the FP16 model(x)",
        "steps-on-an-overflow",
    ),
    (
        "tell-a-skip",
        "    scaler.step(optimizer)\n",
        "    scaler.unscale_(optimizer)\n"
        "    if all(p.grad.isfinite().all() for p in optimizer.param_groups[0]['params']):\n"
        "        optimizer.step()\n",
        "optimizer.step() is called without the scaler, <answer>:9: `optimizer.step()`",
        "steps-past-the-scaler",
    ),
    (
        "tell-a-skip",
        "    scaler.step(optimizer)\n    scaler.update()\n    return scaler.get_scale() < before",
        "    scaler.step(optimizer)\n    scaler.update()\n    return not scaler.get_scale() > before",
        "the scale stayed at 65536 (2¹⁶). An unchanged scale is no skip",
        "unchanged-is-a-skip",
    ),
    (
        "tell-a-skip",
        "    scaler.step(optimizer)\n",
        "    if scaler.is_enabled():\n        scaler.step(optimizer)\n",
        "made with enabled=False, as a loop makes it that can also run in FP32",
        "never-steps",
    ),
    (
        "order-the-calls",
        "max_norm)\n    scaler",
        "max_norm, error_if_nonfinite=True)\n    scaler",
        "RuntimeError: The total norm",
        None,
    ),
    ("tell-a-skip", "    scaler.step(optimizer)\n    scaler.update()\n", "", "did not step", "never-steps"),
    (
        "tell-a-skip",
        "    scaler.update()\n",
        "    scaler.update()\n    scaler.update()\n",
        "update-without-step, <answer>:9: `scaler.update()`",
        "update-without-step",
    ),
    (
        "tell-a-skip",
        "    scaler.step(optimizer)\n",
        "    scaler.step(optimizer)\n    optimizer.step()\n",
        "stepped-twice, <answer>:8: `optimizer.step()`",
        "stepped-twice",
    ),
]


@pytest.mark.parametrize(("exercise_id", "old", "new", "says", "mistake"), FURTHER_WRONG)
def test_further_wrong_answers_are_told_what_is_wrong(exercise_id, old, new, says, mistake):
    source = right_answer(exercise_id)
    assert old in source
    verdict = verdict_on(exercise_id, source.replace(old, new))
    assert says in re.sub(r"<answer \d+>", "<answer>", repr(verdict)), verdict
    assert verdict.outcome == "not yet" and verdict.mistake == mistake


# Cases of mistakes that people reported, and the rule or code by which order-the-calls names them.
CASES = {
    1: "clip-before-unscale",
    2: "unscale-twice",
    4: "update-without-step",
    5: "missing-update",
    7: "no-gradients",
    8: "bare-optimizer-step",
    9: "unscaled-backward",
    10: "mixed-scaling-in-window",
    15: "scale-read-after-update",
    19: "backward-inside-autocast",
    20: "step-inside-autocast",
    21: "closure-with-scaler",
    26: "half-parameters-with-scaler",
    27: "dtype-mismatch",
    28: "loss-outside-autocast",
    46: "scaler-with-bf16",  # no dtype: a CPU's default
    54: "forward-overflow",
    62: "fp16-without-scaler",
    89: "autocast-wrong-device",
}


@pytest.mark.parametrize("mistake", CASES.values())
def test_a_mistake_that_people_reported_is_named_with_its_line(mistake):
    (wrong,) = [one for one in WRONG.values() if (one.exercise, one.mistake) == ("order-the-calls", mistake)]
    message = repr(verdict_on(wrong.exercise, wrong.source))
    lines = [line.strip() for line in wrong.source.splitlines() if line.strip()]
    assert mistake in message
    assert any(f": `{line}`" in message for line in lines), message


def test_every_rule_that_a_single_step_can_break_has_its_wrong_answer():
    elsewhere = {
        "scheduler-on-skipped-step",  # no scheduler here
        "gradient-penalty-still-scaled",
        "non-finite-buffers",  # no buffers
        "scale-collapse",  # takes many steps
        "resume-without-scaler-state",
        "scale-differs-across-ranks",
        "constant-too-large-for-fp16",
        "bce-under-autocast",
        "numpy-without-bf16",
        "op-needs-fp32",
    }
    # A rule that came later and no wrong answer breaks is for the other lessons, or belongs in here.
    known = {one.mistake for one in WRONG.values() if one.exercise == "order-the-calls"}
    rules = {name for name, rule in RULES.items() if rule.severity == "finding"}
    assert known & elsewhere == set()
    assert len(known & rules) >= 19 and len(rules - known - elsewhere) <= 3


# skip-or-step leans on the exercise before


def test_skip_or_step_says_when_the_function_before_is_missing():
    namespace = toy.run_cell(SET_UP, {})
    verdict = check("skip-or-step", toy.run_cell(right_answer("skip-or-step"), namespace))
    assert "skip_or_step calls unscale_and_look, and the notebook has none" in repr(verdict)


def test_skip_or_step_says_when_the_function_before_is_wrong():
    namespace = toy.run_cell(SET_UP, {})
    toy.run_cell("def unscale_and_look(optimizer, scale):\n    return False", namespace)
    verdict = check("skip-or-step", toy.run_cell(right_answer("skip-or-step"), namespace))
    assert verdict.mistake == "steps-on-scaled-gradients"
    assert 'unscale_and_look is not right yet, which may be the cause: check("unscale-and-look")' in repr(
        verdict
    )
    verdict = verdict_on("skip-or-step", WRONG["skip-or-step", "always-steps"].source)
    assert "unscale_and_look is not right yet" not in repr(verdict)


def test_a_name_that_is_missing_for_another_reason_is_told_as_it_is():
    source = "def skip_or_step(optimizer, scale):\n    return unscale(optimizer)"
    assert "NameError: name 'unscale' is not defined" in repr(verdict_on("skip-or-step", source))


def test_a_step_that_is_undone_is_no_skip():
    restores = """
import copy

def skip_or_step(optimizer, scale):
    found = unscale_and_look(optimizer, scale)
    state = copy.deepcopy(optimizer.state_dict())
    weights = [p.detach().clone() for group in optimizer.param_groups for p in group["params"]]
    optimizer.step()
    if found:
        optimizer.load_state_dict(state)
        for p, old in zip((p for group in optimizer.param_groups for p in group["params"]), weights):
            p.data.copy_(old)
    return found
"""
    verdict = verdict_on("skip-or-step", restores)
    assert verdict.mistake == "steps-on-a-skip", verdict


def test_a_scaler_that_is_set_by_hand_is_told_with_its_numbers():
    source = right_answer("order-the-calls").replace(
        "scaler.update()", "scaler.update()\n    scaler._scale *= 2"
    )
    message = (
        "After call 1 the scaler's scale is 2048 (2¹¹) and its count of good steps 1; they should be 1024"
    )
    assert message in repr(verdict_on("order-the-calls", source))


@pytest.mark.parametrize("name", ["unscale_and_look", "skip_or_step", "step_and_tell"])
@pytest.mark.parametrize(
    ("new", "says"), [("async def", "an `async` function"), ("yields", "holds a `yield`")]
)
def test_a_function_that_never_ran_is_told_why(name, new, says):
    exercise_id = {"step_and_tell": "tell-a-skip"}.get(name, name.replace("_", "-"))
    source = right_answer(exercise_id)
    source = source.replace("return ", "yield ") if new == "yields" else source.replace("def ", "async def ")
    assert f"Calling {name} ran none of its lines" in repr(verdict := verdict_on(exercise_id, source))
    assert says in repr(verdict)


@pytest.mark.parametrize("reason", ["sum", "norm"])
def test_a_sum_that_overflows_is_no_overflow_after_dividing_either(reason):
    source = right_answer("unscale-and-look").replace(
        "torch.isfinite(parameter.grad).all()", f"torch.isfinite(parameter.grad.{reason}())"
    )
    assert verdict_on("unscale-and-look", source).mistake == "looks-at-the-sum"


KERNELS = {
    "by ops": "torch.ops.aten._amp_foreach_non_finite_check_and_unscale_",
    "by _C": "torch._C._VariableFunctions._amp_foreach_non_finite_check_and_unscale_",
    "taken before": "taken",
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_kernels_are_refused_by_every_name(kernel):
    verdict = verdict_on(
        "unscale-and-look",
        f"""
        taken = torch._amp_foreach_non_finite_check_and_unscale_

        def unscale_and_look(optimizer, scale):
            gradients = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
            found = torch.zeros(1)
            {KERNELS[kernel]}(gradients, found, torch.tensor(1 / scale))
            return bool(found)
        """,
    )
    assert verdict.mistake == "uses-gradscaler" and verdict.points == 0


@pytest.mark.parametrize("exercise_id", ["unscale-and-look", "skip-or-step", "grow-and-back-off"])
def test_gradscaler_is_refused_also_where_it_is_hidden(exercise_id):
    name = exercise_id.replace("-", "_")
    source = f"""
{right_answer(exercise_id)}

own_{name} = {name}

def {name}(*args):
    try:
        torch.amp.GradScaler("cpu")
    except Exception:
        pass
    return own_{name}(*args)
"""
    verdict = verdict_on(exercise_id, source)
    assert verdict.mistake == "uses-gradscaler"
    assert verdict.points == 0


def test_the_optional_exercises_say_so():
    optional = [exercise.id for exercise in LESSON.exercises if exercise.optional]
    assert optional == ["unscale-and-look", "skip-or-step", "grow-and-back-off"]
    assert [e.id for e in LESSON.exercises if e.title.endswith("(optional)")] == optional
    assert sum(e.minutes for e in LESSON.exercises if e.optional) <= 30


def test_a_check_leaves_torch_as_it_was():
    init, step = torch.amp.GradScaler.__init__, torch.amp.GradScaler.step
    for exercise in LESSON.exercises:
        verdict_on(exercise.id, right_answer(exercise.id))
    assert torch.amp.GradScaler.__init__ is init and torch.amp.GradScaler.step is step
