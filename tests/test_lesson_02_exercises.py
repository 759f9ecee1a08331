"""Lesson 02's exercises: right answers of any shape pass, odd ones get a message and no error of ours."""

import re

import pytest
import torch
from torch import nn

from amp_lessons import check, policy
from amp_lessons.exercises import lesson_02_autocast as lesson_02
from amp_lessons.exercises.percent import percent_cells
from amp_lessons.exercises.regions import not_only_cpu
from tests.answers import right_answer
from tests.toy import run_cell

RIGHT = """
# %% predict-the-dtypes: texts
predicted = {
    "linear": "float16", "relu": "torch.float16", "float16 + float32": "float32", "layer_norm": "fp32",
    "softmax": "torch.float32", "cross_entropy": "float", "linear.weight": "FP32",
    "linear.weight.grad": "float32",
}

# %% predict-the-dtypes: other-names-for-the-dtypes
half, full = torch.half, torch.float
predicted = dict.fromkeys(
    ["softmax", "layer_norm", "cross_entropy", "float16 + float32", "linear.weight", "linear.weight.grad"],
    full,
)
predicted["linear"] = predicted["relu"] = half

# %% predict-the-dtypes: asks-the-policy
from amp_lessons import policy

low, full = torch.float16, torch.float32
predicted = {op: policy.ask(op).outputs[low,] for op in ("relu", "layer_norm", "softmax", "cross_entropy")}
predicted["linear"] = policy.ask("linear").outputs[full, full]
predicted["float16 + float32"] = policy.ask("add").outputs[low, full]
linear = nn.Linear(2, 2)
linear(torch.ones(1, 2)).sum().backward()
predicted |= {"linear.weight": linear.weight.dtype, "linear.weight.grad": linear.weight.grad.dtype}

# %% predict-the-dtypes: from-tensors
h, x = torch.ones(1).half(), torch.ones(1)
predicted = {
    "linear": h.dtype, "relu": h.dtype, "float16 + float32": (h + x).dtype, "layer_norm": x.dtype,
    "softmax": x.dtype, "cross_entropy": x.dtype, "linear.weight": x.dtype, "linear.weight.grad": x.dtype,
}

# %% autocast-the-forward: gives-the-tensor
def train_step(model, optimizer, x, y):
    with torch.autocast(x.device.type, torch.bfloat16):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    return loss

# %% autocast-the-forward: the-device-variable
def train_step(model, optimizer, x, y):
    with torch.amp.autocast(device_type=device, dtype=torch.bfloat16, cache_enabled=False):
        loss = nn.CrossEntropyLoss()(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()

# %% autocast-the-forward: a-decorator
def train_step(model, optimizer, x, y):
    @torch.autocast(device_type=x.device.type, dtype=torch.bfloat16)
    def loss_of_the_batch():
        return F.cross_entropy(model(x), y)

    model.train()
    model.zero_grad()
    loss = loss_of_the_batch()
    torch.autograd.backward(loss)
    optimizer.step()
    return float(loss)

# %% autocast-the-forward: loss-in-an-island
def train_step(model, optimizer, x, y):
    kind = "cuda" if x.is_cuda else "cpu"
    with torch.autocast(kind, dtype=torch.bfloat16):
        logits = model(x)
        with torch.autocast(kind, enabled=False):
            loss = F.cross_entropy(logits.float(), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()

# %% autocast-the-forward: loss-outside-in-float32
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(next(model.parameters()).device.type, dtype=torch.bfloat16):
        logits = model(x)
    loss = F.cross_entropy(logits.float(), y)
    loss.backward()
    optimizer.step()
    return loss.item()

# %% autocast-the-forward: a-scaler-that-is-off
def train_step(model, optimizer, x, y):
    scaler = torch.amp.GradScaler(x.device.type, enabled=False)
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()

# %% autocast-the-forward: a-helper-and-a-closure
from torch.amp import autocast

def forward(model, x, y):
    with autocast(str(x.device.type), torch.bfloat16):
        return F.nll_loss(F.log_softmax(model(x), dim=-1), y)

def train_step(model, optimizer, x, y):
    def closure():
        optimizer.zero_grad()
        loss = forward(model, x, y)
        loss.backward()
        return loss

    return optimizer.step(closure)

# %% autocast-the-forward: evaluates-in-fp32-as-well
def train_step(model, optimizer, x, y):
    with torch.no_grad():
        print("before", F.cross_entropy(model(x), y).item())
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    with torch.inference_mode():
        print("after", F.cross_entropy(model(x), y).item())
    return loss.item()

# %% autocast-the-forward: rounds-what-it-returns
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return round(loss.item(), 2)

# %% autocast-the-forward: gradients-from-autograd-grad
def train_step(model, optimizer, x, y):
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        loss = F.nll_loss(F.log_softmax(model(x).float(), 1), y)
    parameters = list(model.parameters())
    for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters)):
        parameter.grad = gradient
    optimizer.step()
    return loss

# %% fp32-island: in-one-line
def similarity(h):
    with torch.amp.autocast(h.device.type, enabled=False):
        return h.float() @ h.float().T

# %% fp32-island: a-decorator
@torch.autocast(device_type=device, enabled=False)
def similarity(h):
    h = h.to(torch.float32)
    return torch.matmul(h, h.t())

# %% fp32-island: einsum-in-a-function
def similarity(h):
    @torch.autocast(h.device.type, enabled=False)
    def product(a):
        return torch.einsum("nd,md->nm", a, a)

    return product(h.float())

# %% fp32-island: converts-before-the-block
def similarity(h):
    h = h.type(torch.float32)
    kind = h.device.type
    with torch.autocast(kind, dtype=torch.bfloat16, enabled=False):
        s = F.linear(h, h)
    return s

# %% fp32-island: through-float64
def similarity(h):
    return (h.double() @ h.double().T).float()

# %% fp32-island: without-a-product
def similarity(h):
    h = h.float()
    return (h[:, None] * h[None]).sum(-1)

# %% fp32-island: autocast-to-float32
def similarity(h):
    with torch.autocast(h.device.type, dtype=torch.float32):
        return h.float() @ h.float().T

# %% fp32-island: by-hand
def similarity(h):
    kind = h.device.type
    before = torch.is_autocast_enabled(kind)
    torch.set_autocast_enabled(kind, False)
    try:
        return h.float().mm(h.float().mT)
    finally:
        torch.set_autocast_enabled(kind, before)

# %% migrate-the-spelling: positional
from torch.amp import GradScaler, autocast

def make_scaler(device_type):
    return GradScaler(device_type)

def forward(model, x):
    with autocast(x.device.type, torch.float16):
        out = model(x)
    return out

# %% migrate-the-spelling: keywords
def make_scaler(device_type):
    return torch.GradScaler(device=device_type, init_scale=2.0**16, enabled=True)

def forward(model, x):
    with torch.amp.autocast(device_type=x.device.type, dtype=torch.half, enabled=True):
        return model(x)

# %% migrate-the-spelling: a-decorator
def make_scaler(device_type):
    return torch.amp.GradScaler(torch.device(device_type))

@torch.autocast(device_type=device, dtype=torch.float16)
def forward(model, x):
    return model(x)

# %% migrate-the-spelling: asks-the-model
make_scaler = torch.amp.GradScaler

def forward(model, x):
    kind = next(model.parameters()).device.type
    return torch.autocast(kind, dtype=torch.float16)(model)(x)

# %% migrate-the-spelling: without-gradients
def make_scaler(device_type):
    return torch.amp.GradScaler(device_type)

@torch.no_grad()
def forward(model, x):
    with torch.autocast(x.device.type, dtype=torch.float16):
        return model(x)

# %% migrate-the-spelling: float32-comes-out
def make_scaler(device_type="cuda"):
    scaler = torch.amp.GradScaler(device_type)
    return scaler

def forward(model, x):
    with torch.autocast("cuda" if x.is_cuda else "cpu", dtype=torch.float16):
        return model(x).float()
"""
ANSWERS = percent_cells(RIGHT)


def names(**others):
    """What the set-up cell defines, on a machine without a GPU."""
    return {"torch": torch, "nn": nn, "F": nn.functional, "device": "cpu", **others}


def checked(exercise_id, source, **others):
    return check(exercise_id, run_cell(source, names(**others), f"<{exercise_id} {hash(source)}>"))


@pytest.mark.parametrize(("title", "source"), ANSWERS, ids=[title for title, _ in ANSWERS])
def test_a_right_answer_of_another_shape_passes(title, source):
    verdict = checked(title.split(":")[0], source)
    assert verdict.outcome == "correct", verdict
    assert verdict.points == verdict.out_of


def test_every_exercise_has_four_right_answers_of_another_shape():
    ids = [title.split(":")[0] for title, _ in ANSWERS]
    assert all(ids.count(exercise.id) >= 4 for exercise in lesson_02.LESSON.exercises)


@pytest.mark.parametrize("exercise_id", ["autocast-the-forward", "fp32-island", "migrate-the-spelling"])
def test_a_device_that_the_tensors_are_not_on_is_named(exercise_id):
    """As on a learner's machine with a GPU, where the set-up cell's device is "cuda"."""
    reference = right_answer(exercise_id)
    for name in ("x", "h"):
        reference = reference.replace(f"device_type={name}.device.type", "device_type=device")
    verdict = checked(exercise_id, reference, device="cuda")
    assert (verdict.outcome, verdict.mistake) == ("not yet", "autocast-wrong-device")
    assert "cuda" in repr(verdict)


def test_the_predictions_are_compared_with_what_pytorch_answers():
    """The lesson's point: on CUDA and on a CPU the right dict differs in just these two entries."""
    differ = []
    for key, (op, dtypes, _) in lesson_02._OPS.items():
        cuda, cpu = (policy.ask(op, device, torch.float16).outputs[dtypes] for device in ("cuda", "cpu"))
        assert {cuda, cpu} <= {torch.float16, torch.float32}
        if cuda is not cpu:
            differ.append(key)
    assert differ == ["layer_norm", "softmax"]


ODD = """
# %% predict-the-dtypes: a list
predicted = [torch.float16]
# %% predict-the-dtypes: a key is missing
predicted = {"linear": torch.float16}
# %% predict-the-dtypes: none
predicted = dict.fromkeys(PREDICTED, None)
# %% predict-the-dtypes: another float
predicted = dict.fromkeys(PREDICTED, torch.float64)
# %% autocast-the-forward: raises
def train_step(model, optimizer, x, y):
    raise RuntimeError("not today")
# %% autocast-the-forward: never calls the model
def train_step(model, optimizer, x, y):
    return 1.0
# %% autocast-the-forward: nan
def train_step(model, optimizer, x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(x)
    return float("nan")
# %% autocast-the-forward: bf16 without autocast
def train_step(model, optimizer, x, y):
    model.bfloat16()
    F.cross_entropy(model(x), y).backward()
# %% autocast-the-forward: too few arguments
def train_step(model, optimizer):
    return 0.0
# %% fp32-island: nothing
def similarity(h):
    pass
# %% fp32-island: a list
def similarity(h):
    return (h.float() @ h.float().T).tolist()
# %% fp32-island: a number
def similarity(h):
    return h.float().sum()
# %% fp32-island: integers
def similarity(h):
    return h.long() @ h.long().T
# %% fp32-island: bf16
def similarity(h):
    return h.bfloat16() @ h.bfloat16().T
# %% migrate-the-spelling: nothing
def make_scaler(device_type):
    pass
def forward(model, x):
    pass
# %% migrate-the-spelling: pairs
def make_scaler(device_type):
    return device_type, torch.amp.GradScaler(device_type)
def forward(model, x):
    with torch.autocast(x.device.type, dtype=torch.float16):
        return model(x), x
# %% migrate-the-spelling: strings
make_scaler = "torch.amp.GradScaler"
forward = "torch.autocast"
"""


@pytest.mark.parametrize("cell", percent_cells(ODD), ids=lambda cell: cell[0])
def test_an_odd_answer_gets_a_message(cell):
    title, source = cell
    verdict = checked(title.split(":")[0], source, PREDICTED=list(lesson_02._OPS))
    assert verdict.outcome == "not yet", verdict
    assert "no fault of yours" not in repr(verdict)
    assert "amp_lessons" not in repr(verdict)


def test_part_of_a_prediction_earns_its_part():
    source = right_answer("predict-the-dtypes").replace('"softmax": torch.float32', '"softmax": ...')
    verdict = checked("predict-the-dtypes", source)
    assert (verdict.outcome, verdict.points) == ("not yet", 2.0)


def test_half_of_the_migration_earns_half():
    source = right_answer("migrate-the-spelling").split("def forward")[0]
    stub = lesson_02.MIGRATE_THE_SPELLING.stub.rpartition("def forward")[2]
    verdict = checked("migrate-the-spelling", f"{source}\n\ndef forward{stub}")
    assert (verdict.outcome, verdict.points) == ("not yet", 1.0)
    assert "`forward` is still to do" in repr(verdict)


@pytest.mark.parametrize(
    ("spelling", "named"),
    [
        ("torch.cuda.amp.autocast()", "torch.cuda.amp.autocast"),
        ("torch.cpu.amp.autocast(dtype=torch.float16)", "torch.cpu.amp.autocast"),
    ],
)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:.*CUDA.*:UserWarning")
def test_the_old_spelling_is_named_also_as_a_decorator(spelling, named):
    block, decorator = (
        right_answer("migrate-the-spelling").split("def forward(model, x):")[0],
        f"@{spelling}\n",
    )
    body = f"def forward(model, x):\n    with {spelling}:\n        return model(x)\n"
    for source in (f"{block}{decorator}def forward(model, x):\n    return model(x)\n", block + body):
        verdict = checked("migrate-the-spelling", source)
        assert (verdict.points, verdict.mistake) == (1.0, "old-spelling")
        assert named in repr(verdict)


GENERATORS = [("return", "yield", "is-a-generator"), ("def ", "async def ", "is-async")]
STEP = """
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        logits = model(x)
        {inside}
    {outside}
    loss.backward()
    optimizer.step()
    return {returned}
"""
CROSS_ENTROPY = "loss = F.cross_entropy(logits, y)"


@pytest.mark.parametrize(
    ("inside", "outside", "returned", "says", "mistake"),
    [
        ("pass", CROSS_ENTROPY, "round(loss.item(), 4)", "is BF16", "loss-in-bf16"),
        ("pass", CROSS_ENTROPY, "loss.float() * 1.001", "is BF16", "loss-in-bf16"),
        ("pass", f"{CROSS_ENTROPY}.float()", "loss", "is BF16", "loss-in-bf16"),
        (
            "loss = -F.log_softmax(logits, 1).gather(1, y[:, None]).mean()",
            "",
            "loss",
            "log_softmax, on a CPU, keeps BF16",
            "loss-in-bf16",
        ),
        (CROSS_ENTROPY, "", "0", "The loss you return is 0;", None),
        ("loss = logits.mean()", "", "loss", "the cross-entropy of this batch", None),
    ],
)
def test_the_loss_is_told_by_its_value_and_by_what_backward_got(inside, outside, returned, says, mistake):
    source = STEP.format(inside=inside, outside=outside, returned=returned)
    verdict = checked("autocast-the-forward", source)
    assert verdict.outcome == "not yet"
    assert says in repr(verdict)
    assert verdict.mistake == mistake


@pytest.mark.parametrize(
    ("body", "mistake"),
    [
        ("return (h @ h.T).float() * 1.0", "converts-too-late"),
        ("f = h.float().clone(); return f @ f.T", "forgets-to-disable"),
        ("f = h.float() * 1.0; return f @ f.T", "forgets-to-disable"),
        ("f = h.float(); return (f[:, None] * f[None]).sum(-1).half()", "converts-back"),
    ],
)
def test_where_the_island_overflows_is_told_from_its_products(body, mistake):
    verdict = checked("fp32-island", f"def similarity(h):\n    {body}\n")
    assert (verdict.outcome, verdict.mistake) == ("not yet", mistake)


@pytest.mark.parametrize("exercise_id", ["autocast-the-forward", "fp32-island", "migrate-the-spelling"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_an_old_region_is_found_wherever_it_was_made(exercise_id):
    source = right_answer(exercise_id)
    new = next(line for line in source.splitlines() if "with torch.autocast" in line)
    old = re.sub(r"device_type=[\w.]+, ", "", new).replace("torch.autocast", "torch.cpu.amp.autocast")
    call = old.strip().removeprefix("with ").removesuffix(":")
    made = source.replace(new, new[: new.index("with")] + "with OLD:")
    verdict = checked(exercise_id, f"OLD = {call}\n{made}")
    assert (verdict.outcome, verdict.mistake) == ("not yet", "old-spelling")
    assert "torch.cpu.amp.autocast" in repr(verdict)


@pytest.mark.parametrize("exercise_id", ["fp32-island", "migrate-the-spelling"])
@pytest.mark.parametrize(("old", "new", "mistake"), GENERATORS)
def test_a_generator_and_a_coroutine_are_named(exercise_id, old, new, mistake):
    verdict = checked(exercise_id, right_answer(exercise_id).replace(old, new))
    assert (verdict.outcome, verdict.mistake) == ("not yet", mistake)


@pytest.mark.parametrize(
    "around",
    [
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        torch.inference_mode,
        torch.no_grad,
        lambda: torch.autograd.set_detect_anomaly(True),
    ],
    ids=["autocast", "inference_mode", "no_grad", "detect_anomaly"],
)
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_a_check_inside_an_open_block_says_the_same(around):
    for exercise in lesson_02.LESSON.exercises:
        namespace = run_cell(right_answer(exercise.id), names())
        with around():
            verdict = check(exercise.id, namespace)
        assert verdict.outcome == "correct", verdict


def test_only_a_device_that_nothing_asked_for_counts_as_hard_coded():
    def asks(x):
        return torch.autocast("cpu" if x.device.type == "cpu" else "cuda")

    def moves(x):
        return torch.autocast(x.device.type)(x.to)("cpu")

    class Callable:
        def __call__(self, x):
            return "cpu"

    for fine in (asks, moves, Callable(), len, torch.relu):
        not_only_cpu(fine, "f")
    with pytest.raises(lesson_02.NotYet, match='"cpu"'):
        not_only_cpu(lambda x: torch.autocast("cpu"), "f")
