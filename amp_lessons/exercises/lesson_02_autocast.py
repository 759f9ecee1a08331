"""The exercises of lesson 02: which op runs in which dtype, and where the autocast block belongs."""

import copy
import inspect
import warnings

import torch
import torch.nn.functional as F
from torch import nn

from amp_lessons import op_dtypes, policy
from amp_lessons.exercises import expect
from amp_lessons.exercises.exercise import Choice, Exercise, Lesson, NotYet, QuickCheck, Test
from amp_lessons.exercises.regions import no_old_autocast, not_only_cpu, on_the_cpu, regions
from amp_lessons.exercises.shown import kind_and_value
from amp_lessons.exercises.watched import backward_roots, linear_outputs, watched

FP16, BF16, FP32 = torch.float16, torch.bfloat16, torch.float32


def _name(dtype):
    return str(dtype).removeprefix("torch.")


def _ran(result, function):
    """The result of a call that ran. NotYet for a generator or a coroutine, which has not begun to run."""
    if inspect.isgenerator(result):
        raise NotYet(
            f"With a `yield` in it, {function} is a generator: calling it runs none of its lines. "
            "Use `return`.",
            "is-a-generator",
        )
    if inspect.iscoroutine(result):
        result.close()
        raise NotYet(
            f"`async def`: calling {function} runs none of its lines. Leave `async` out.", "is-async"
        )
    return result


# predict-the-dtypes ------------------------------------------------------------------------------------

_DTYPES = {
    "float16": FP16,
    "fp16": FP16,
    "half": FP16,
    "bfloat16": BF16,
    "bf16": BF16,
    "float32": FP32,
    "fp32": FP32,
    "float": FP32,
    "float64": torch.float64,
    "double": torch.float64,
}
# What each op gets, what is told to the wrong answer, and that mistake's code.
_OPS = {
    "linear": ("linear", (FP32, FP32), "It is on the 16-bit list: autocast casts weight, bias and input."),
    "relu": ("relu", (FP16,), "It is on no list: it runs in the dtype that it gets, here the Linear's."),
    "layer_norm": ("layer_norm", (FP16,), "It is on CUDA's FP32 list, which casts the input up."),
    "softmax": ("softmax", (FP16,), "It is on CUDA's FP32 list, which casts the input up."),
    "float16 + float32": ("add", (FP16, FP32), "Where two dtypes meet in a sum, the wider one wins."),
    "cross_entropy": ("cross_entropy", (FP16,), "A loss such as this one runs in FP32."),
}
_OPS_MISTAKES = {
    "linear": "linear-stays-float32",
    "relu": "relu-goes-back",
    "layer_norm": "cpu-list-instead-of-cuda",
    "softmax": "cpu-list-instead-of-cuda",
    "float16 + float32": "sum-takes-the-narrower",
    "cross_entropy": "loss-in-float16",
}
_KEYS = (*_OPS, "linear.weight", "linear.weight.grad")


def _predictions(answer):
    """The learner's dict with a dtype for each key, or `...` where one is left open."""
    given = expect.dictionary(answer.predicted, "predicted", _KEYS)
    read = {key: given[key] if given[key] is ... else _as_dtype(given[key], key) for key in _KEYS}
    for dtype, mistake, message in (
        (FP16, "everything-float16", "Autocast decides op by op, and leaves the parameters as they are."),
        (FP32, "everything-float32", "Then autocast would change nothing. The products do run in 16 bits."),
    ):
        if all(each is dtype for each in read.values()):
            raise NotYet(f"You said {_name(dtype)} for all {len(_KEYS)}. {message}", mistake)
    return read


def _as_dtype(value, key):
    if type(value) is torch.dtype:
        return value
    if type(value) is str:
        plain = value.strip().lower().removeprefix("torch.")
        if plain in _DTYPES:
            return _DTYPES[plain]
    raise NotYet(
        f'predicted["{key}"] should be a dtype such as torch.float16; yours is {kind_and_value(value)}.'
    )


def _predicted(read, key, truth, because, mistake=None):
    """Compare one entry with what PyTorch answered."""
    mine = read[key]
    if mine is ...:
        raise NotYet(f'predicted["{key}"] is still `...`: put your answer there.')
    if mine is truth:
        return
    message = f'You said {_name(mine)} for "{key}"; PyTorch says {_name(truth)}. {because}'
    if mine is BF16:
        message = f'You said bfloat16 for "{key}", but the block asks for dtype=torch.float16. {because}'
        mistake = "bfloat16-for-float16"
    raise NotYet(message, mistake if mine in (FP16, FP32, BF16) else None)


def _predicted_op(read, key):
    op, dtypes, because = _OPS[key]
    on_cpu = policy.ask(op, "cpu", FP16).outputs[dtypes]
    truth = policy.ask(op, "cuda", FP16).outputs[dtypes]
    if read[key] is on_cpu and on_cpu is not truth:
        because += f" You gave the CPU's answer: there it stays {_name(on_cpu)}."
    _predicted(read, key, truth, because, _OPS_MISTAKES[key])


def _predicts_products(answer):
    read = _predictions(answer)
    for key in ("linear", "relu", "float16 + float32"):
        _predicted_op(read, key)


def _predicts_fp32_ops(answer):
    read = _predictions(answer)
    for key in ("layer_norm", "softmax", "cross_entropy"):
        _predicted_op(read, key)


def _predicts_parameters(answer):
    read = _predictions(answer)
    linear = nn.Linear(4, 2)
    with torch.autocast("cpu", dtype=FP16):
        out = linear(torch.randn(3, 4))
    out.float().sum().backward()
    _predicted(
        read,
        "linear.weight",
        linear.weight.dtype,
        "Autocast works with a 16-bit copy of the weight; the weight itself is left alone.",
        "weights-become-half",
    )
    _predicted(
        read,
        "linear.weight.grad",
        linear.weight.grad.dtype,
        "Backward passes through the cast as well: the gradient arrives in the parameter's own dtype.",
        "gradients-are-half",
    )


PREDICT_THE_DTYPES = Exercise(
    id="predict-the-dtypes",
    title="Predict the dtypes",
    minutes=5,
    stub="""
# Inside torch.autocast("cuda", dtype=torch.float16). The parameters and x are FP32; h = linear(x).
# Fill in the dtype of each result: torch.float16 or torch.float32.
predicted = {
    "linear": ...,  # linear(x)
    "relu": ...,  # F.relu(h)
    "float16 + float32": ...,  # h + x
    "layer_norm": ...,  # F.layer_norm(h, h.shape[-1:])
    "softmax": ...,  # F.softmax(h, dim=-1)
    "cross_entropy": ...,  # F.cross_entropy(h, classes)
    "linear.weight": ...,  # the parameter
    "linear.weight.grad": ...,  # after backward, outside the block
}
""",
    hints=(
        "Ask of each op: is it on the 16-bit list, on the FP32 list, or on none? The question is about CUDA.",
        "Large products are on the 16-bit list; norms, softmax and losses on CUDA's FP32 list; an op on no "
        "list keeps the dtype it gets. The parameters are not changed.",
        "Two of the eight are float16: the product, and the op on no list that follows it. For any op, "
        'from amp_lessons import policy; policy.ask("softmax", "cuda") gives CUDA\'s answer.',
    ),
    tests=[
        Test("a product and what follows it", 1, _predicts_products),
        Test("what CUDA keeps in FP32", 1, _predicts_fp32_ops),
        Test("the parameter and its gradient", 1, _predicts_parameters),
    ],
    why="Autocast casts inputs op by op, by CUDA's lists; parameters and their gradients stay FP32.",
    seconds=10.0,  # asking CUDA's policy for the first time loads much of PyTorch
)

# autocast-the-forward ----------------------------------------------------------------------------------

_REGION_RULES = ("backward-inside-autocast", "step-inside-autocast")


def _training():
    """A small model, its optimizer and a batch."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    return model, torch.optim.SGD(model.parameters(), lr=0.5), torch.randn(12, 8), torch.randint(4, (12,))


def _reference_step(model, optimizer, x, y, zero=True):
    if zero:
        optimizer.zero_grad()
    with torch.autocast("cpu", dtype=BF16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def _recorded_steps(answer, training, steps=1, ignore=_REGION_RULES):
    """Run the learner's steps; gives (what each returned, the recording). FP16 is told what it lacks."""

    def train():
        with no_old_autocast():
            return [_ran(answer.train_step(*training), "train_step") for _ in range(steps)]

    try:
        return watched(train, ignore)
    except NotYet as found:
        if found.mistake == "fp16-without-scaler":
            advice = "Lesson 03 is about that scaler. This exercise asks for BF16: dtype=torch.bfloat16."
            raise NotYet(f"{found.message}\n{advice}", found.mistake) from found
        raise


def _forward_in_bf16(answer):
    training = model, _, x, y = _training()
    _let_rounding_show(model, x)
    in_fp32 = F.cross_entropy(model(x), y).item()
    in_bf16 = _reference_step(*copy.deepcopy((model, training[1], x, y)))
    with linear_outputs(model) as outputs, backward_roots() as roots:
        (loss,), recording = _recorded_steps(answer, training)
    _parameters_in_fp32(model, "train_step")
    _region_found(recording, outputs, BF16)
    _loss_right(loss, in_bf16, in_fp32)
    _loss_in_fp32(roots)


def _let_rounding_show(model, x):
    """Change weights and inputs so that the inputs differ by less than BF16 can tell: the loss shows it."""
    with torch.no_grad():
        model[0].weight *= 32
        model[0].weight[:, 1::2] = -model[0].weight[:, ::2]  # what the inputs have in common cancels out
        x.mul_(0.15).add_(256.5)


def _parameters_in_fp32(model, function):
    for name, parameter in model.named_parameters():
        if parameter.dtype is not FP32:
            raise NotYet(
                f"After {function} the parameter {name} is {_name(parameter.dtype)}. The model itself must "
                "stay FP32, or small updates are lost; autocast makes the 16-bit copies.",
                "model-made-bf16" if parameter.dtype is BF16 else "model-made-half",
            )


def _region_found(recording, outputs, wanted):
    """NotYet unless each Linear put out `wanted`, under a region that asks for it."""
    opened = regions(recording)
    fitting = on_the_cpu(opened)
    if not outputs:
        raise NotYet("The model has not been called to train: call model(x) inside the autocast block.")
    first = next((dtype for dtype in outputs if dtype is not wanted), wanted)
    if not fitting:
        raise NotYet(
            f"No autocast block was entered, and the model's Linear layers put out {_name(outputs[0])}. "
            f"Put the forward into `with torch.autocast(device_type=x.device.type, dtype={wanted}):`.",
            "no-autocast",
        )
    if not any(region.on for region in fitting):
        raise NotYet(
            f"{fitting[0].where}\nThis block switches autocast off, and the Linear layers put out "
            f"{_name(first)}. Leave `enabled` out, and name the dtype.",
            "autocast-disabled",
        )
    default = next((region for region in fitting if region.on and region.default), None)
    if default is not None:
        raise NotYet(
            f"{default.where}\nThis block names no dtype. On a CPU that means bfloat16, on a CUDA GPU "
            f"float16. Write dtype={wanted}.",
            "autocast-default-dtype",
        )
    if first is FP32:
        raise NotYet(
            f"There is an autocast block ({fitting[0].where}), but a Linear put out float32: model(x) was "
            "called outside it. Move the call into the block.",
            "forward-outside-autocast",
        )
    if first is not wanted:
        raise NotYet(f"A Linear put out {_name(first)}; asked for is {_name(wanted)}: dtype={wanted}.")


def _loss_right(loss, wanted, in_fp32):
    value = expect.number(loss, "train_step(model, optimizer, x, y)")
    if abs(value - wanted) <= 0.02 * wanted:
        return
    if abs(value - in_fp32) <= 0.02 * in_fp32:
        raise NotYet(
            f"The loss you return, {value:.4g}, is that of an FP32 forward; in BF16 this batch's is "
            f"{wanted:.4g}. Return the loss of the forward inside the block, and train with it.",
            "loss-of-another-forward",
        )
    raise NotYet(
        f"The loss you return is {value:.4g}; the cross-entropy of this batch, before the step, is "
        f"{wanted:.4g}. Return F.cross_entropy(model(x), y)."
    )


def _loss_in_fp32(roots):
    """NotYet where the loss that backward began from is BF16, also if it was cast up afterwards."""
    for root in roots:
        if torch.equal(root.bfloat16().to(root.dtype), root):  # FP32 values hardly ever fit into BF16
            raise NotYet(
                f"Backward began from a loss of {root.flatten()[0]:.6g}, which is BF16. Compute it inside "
                "the block with F.cross_entropy, which autocast runs in FP32. (Outside, nothing casts the "
                "BF16 logits up; and log_softmax, on a CPU, keeps BF16 in the block as well.)",
                "loss-in-bf16",
            )


def _backward_and_step_outside(answer):
    _recorded_steps(answer, _training(), steps=2, ignore=())


def _two_steps_train(answer):
    training = model, optimizer, x, y = _training()
    start, plain, piled_up = _weights(model), *(copy.deepcopy(training) for _ in range(2))
    for step in range(2):
        _reference_step(*plain)
        _reference_step(*piled_up, zero=step == 0)
    stepped = []
    optimizer.register_step_post_hook(lambda *_: stepped.append(True))
    _, recording = _recorded_steps(answer, training, steps=2)
    kinds = {event.kind for event in recording.events}
    moved = _weights(model).double() - start.double()
    if not moved.any():
        raise NotYet(*_why_nothing_moved(kinds))
    if not stepped:
        raise NotYet(*_who_moved_them(kinds))
    if _off(model, plain[0], start) < 0.1:
        if len(stepped) > 2:
            raise NotYet(
                f"Two calls of train_step called optimizer.step() {len(stepped)} times: step once in each.",
                "steps-more-than-once",
            )
        return
    if _off(model, piled_up[0], start) < 0.1:
        raise NotYet(
            "The first step is right; in the second the old gradients are still there, and the new ones are "
            "added to them. Call optimizer.zero_grad() once in every step.",
            "gradients-not-zeroed",
        )
    right = (_weights(plain[0]) - start).norm().item()
    raise NotYet(
        f"Two of your steps move the weights by {moved.norm().item():.3g} (the norm of the change), two "
        f"plain ones by {right:.3g}, or elsewhere. Call zero_grad, backward and optimizer.step once each."
    )


def _who_moved_them(kinds):
    unused = "The weights moved, but nothing called the step of the optimizer you are given."
    if "stepped" in kinds:
        return f"{unused} Leave out the optimizer of your own.", "another-optimizer"
    return f"{unused} Leave the weights to optimizer.step().", "moves-the-weights-by-hand"


def _weights(model):
    return torch.cat([parameter.detach().float().flatten() for parameter in model.parameters()])


def _off(model, right, start):
    """How far the weights are from the right ones, relative to how far these have moved."""
    return ((_weights(model) - _weights(right)).norm() / (_weights(right) - start).norm()).item()


def _why_nothing_moved(kinds):
    unmoved = "After two of your steps the weights are what they were."
    if "backward" not in kinds:
        return f"{unmoved} Nothing called backward: loss.backward() gives the gradients.", "no-backward"
    if "stepped" not in kinds:
        return f"{unmoved} Nothing called optimizer.step(), which moves them.", "no-step"
    return (
        f"{unmoved} Are the gradients cleared between backward and the step? Call zero_grad before backward.",
        "gradients-cleared-before-step",
    )


def _device_from_the_batch(answer):
    training = _training()
    with linear_outputs(training[0]) as outputs:
        _, recording = _recorded_steps(answer, training)
    _region_found(recording, outputs, BF16)
    not_only_cpu(answer.train_step, "train_step")


AUTOCAST_THE_FORWARD = Exercise(
    id="autocast-the-forward",
    title="Put the block where it belongs",
    minutes=6,
    stub='''
def train_step(model, optimizer, x, y):
    """One training step under BF16 autocast, with cross-entropy as the loss. Returns the loss.

    The check brings tensors of its own, on the CPU: take the device type from x."""
    raise NotImplementedError
''',
    hints=(
        "Write the step in FP32 first: zero_grad, forward, loss, backward, step. Which of these five want "
        "autocast?",
        "The forward and the loss go into `with torch.autocast(...)`. Backward and the step come after it.",
        "with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16): "
        "loss = F.cross_entropy(model(x), y). Before it zero_grad, after it backward and step.",
    ),
    tests=[
        Test("forward and loss in the block", 1.5, _forward_in_bf16),
        Test("backward and step after it", 0.5, _backward_and_step_outside),
        Test("two steps train the model", 0.5, _two_steps_train),
        Test("the device comes from the tensors", 0.5, _device_from_the_batch),
    ],
    why=(
        "Forward and loss run under autocast; backward follows the forward's dtypes by itself, and the step "
        "works on FP32."
    ),
    seconds=10.0,  # a session's first optimizer loads much of PyTorch
)

# fp32-island -------------------------------------------------------------------------------------------

_ISLAND = "similarity(h), inside an FP16 autocast region,"
_PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "matmul", "linear", "mv", "dot", "sum"}  # names in ATen
_EXACT = 2e-5  # FP32 products in another order differ by less, products in FP16 by more


def _large_rows():
    """FP16 rows whose products are all far above 65504."""
    h = (100 + 200 * torch.rand(6, 64)).half()
    h[2] = -h[2]
    return h


def _in_a_region(answer, h):
    """similarity(h) inside an FP16 region: (result, the regions that it opened)."""
    with torch.autocast("cpu", dtype=FP16):
        got, recording = watched(lambda: _similarity(answer, h))
        if not torch.is_autocast_enabled("cpu"):
            raise NotYet(
                "After similarity(h) autocast is off for whatever follows in the region. Switch it off in a "
                "`with` block, which switches it on again.",
                "leaves-autocast-off",
            )
    return got, regions(recording)


def _similarity(answer, h):
    with no_old_autocast():
        return _ran(answer.similarity(h), "similarity")


def _right_inside_a_region(answer):
    h = _large_rows()
    given = h.clone()
    got, opened = _in_a_region(answer, given)
    expect.tensor(got, _ISLAND, shape=(6, 6))
    if not got.isfinite().all():
        raise NotYet(*_why_infinite(answer, h, got, opened))
    if got.dtype is not FP32:
        raise NotYet(f"{_ISLAND} should be float32; yours is {_name(got.dtype)}.")
    wanted = h.float() @ h.float().T
    off = ((got - wanted) / wanted).abs().max().item()
    if 1e-2 > off > _EXACT:
        rounded = f"Your similarity is finite, but up to {off:.2g} of a value off: that is"
        if BF16 in _products(answer, h):
            raise NotYet(
                f"{rounded} BF16's rounding. BF16 reaches as far as FP32, with 3 digits instead of 7. Use "
                "enabled=False, and h.float().",
                "product-in-bf16",
            )
        raise NotYet(
            f"{rounded} FP16's rounding. Scaling avoids infinity; only a product of FP32 tensors has FP32's "
            "digits.",
            "scales-instead",
        )
    expect.close_tensor(got, wanted, "similarity(h)", relative=_EXACT)
    if given.dtype is not FP16 or not torch.equal(given, h):
        raise NotYet(
            "similarity(h) changes h itself, which its caller still uses. Give what h.float() returns a "
            "name, and leave h as it is: no .data, nothing in place.",
            "changes-h",
        )


def _products(answer, h):
    """The dtypes that similarity(h) gets its products in, inside an FP16 region."""
    with torch.autocast("cpu", dtype=FP16), op_dtypes.trace() as calls:
        answer.similarity(h.clone())
    return {call.output for call in calls if call.name in _PRODUCTS}


def _why_infinite(answer, h, got, opened):
    """(message, mistake) for a similarity that overflows inside a region."""
    overflows = f"{_ISLAND} gives {_name(got.dtype)} with inf in it."
    closed = [region for region in on_the_cpu(opened, "h") if not region.on]
    if got.dtype is FP16 and FP32 in _products(answer, h):
        return (
            f"{overflows} The product is computed in FP32, and its result is turned back into FP16. Return "
            "it as it is.",
            "converts-back",
        )
    outside = answer.similarity(h.clone())
    fits_outside = isinstance(outside, torch.Tensor) and bool(outside.isfinite().all())
    if not closed and fits_outside:
        return (
            f"{overflows} Outside a region it is finite: so h is converted, and autocast casts it back for "
            "the product. Compute it in a block with enabled=False.",
            "forgets-to-disable",
        )
    if closed and fits_outside:
        return (
            f"{overflows} Your block, {closed[0].where}, ends before the product, which autocast then "
            "casts to FP16 again. Move the product into the block.",
            "product-outside-the-island",
        )
    if got.dtype is FP32:
        return (
            f"{overflows} The product is converted after it overflowed in FP16, and inf stays inf. Convert h "
            "before the product.",
            "converts-too-late",
        )
    if closed:
        return (
            f"{overflows} Your block, {closed[0].where}, stops further casts, but h arrives in FP16 and "
            "stays so. Call h.float() in it.",
            "forgets-float",
        )
    return (
        f"{overflows} The product runs in FP16, which ends at 65504; one of these is "
        f"{h[0].float().square().sum():.3g}.",
        "product-in-fp16",
    )


def _right_outside_a_region(answer):
    small = (1e-4 * (1 + torch.rand(3, 80))).half().requires_grad_()
    what = "similarity(h), outside any region, for values near 1e-4,"
    got = expect.tensor(answer.similarity(small), what, shape=(3, 3), dtype=FP32)
    with torch.no_grad():
        wanted = small.float() @ small.float().T
    expect.close_tensor(got, wanted, what, relative=_EXACT)
    if not got.requires_grad:
        raise NotYet(
            "h needs a gradient, and your result leads back to none. Convert with h.float(), which backward "
            "passes through, and leave detach, no_grad and .data out.",
            "cuts-the-graph",
        )


def _island_takes_its_device(answer):
    got, _ = _in_a_region(answer, _large_rows())
    expect.tensor(got, _ISLAND, shape=(6, 6), dtype=FP32)
    if not got.isfinite().all():
        raise NotYet(f"{_ISLAND} has inf in it.")
    not_only_cpu(answer.similarity, "similarity", "h")


FP32_ISLAND = Exercise(
    id="fp32-island",
    title="An FP32 island",
    minutes=6,
    stub='''
def similarity(h):
    """h @ h.T, computed in FP32, as an FP32 tensor.

    h has the shape (n, d) and is FP16. The call stands inside an FP16 autocast region, and the
    products are larger than 65504. Take the device type from h: the check's tensors are on the CPU."""
    raise NotImplementedError
''',
    hints=(
        "Two things put this product into FP16: what autocast does to it, and what h is.",
        "A nested block with enabled=False stops autocast. It leaves h as it is: convert h as well.",
        "with torch.autocast(device_type=h.device.type, enabled=False): h = h.float(), then return h @ h.T, "
        "still in the block.",
    ),
    tests=[
        Test("inside an FP16 region", 1, _right_inside_a_region),
        Test("outside of one, and with gradients", 0.5, _right_outside_a_region),
        Test("the device comes from h", 0.5, _island_takes_its_device),
    ],
    why="enabled=False keeps autocast from casting the product, and .float() makes h FP32 before it.",
)

# migrate-the-spelling ----------------------------------------------------------------------------------


def _without_old_spelling(function, *arguments):
    """Call it; NotYet with the warning's own text where it makes something of a deprecated spelling."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments)
    for warning in caught:
        text = str(warning.message)
        if issubclass(warning.category, FutureWarning) and ".amp." in text:
            raise NotYet(f"This is still the old spelling. PyTorch warns:\n{text}", "old-spelling")
    return result


def _a_scaler_for(answer, device_type):
    call = f'make_scaler("{device_type}")'
    scaler = _ran(_without_old_spelling(answer.make_scaler, device_type), "make_scaler")
    if isinstance(scaler, (torch.cuda.amp.GradScaler, torch.cpu.amp.GradScaler)):
        raise NotYet(
            f"{call} gives a scaler of the old spelling, {type(scaler).__module__}. Use "
            "torch.amp.GradScaler.",
            "old-spelling",
        )
    if not isinstance(scaler, torch.amp.GradScaler):
        raise NotYet(f"{call} should be a torch.amp.GradScaler; yours is {kind_and_value(scaler)}.")
    given = getattr(scaler, "_device", device_type)  # PyTorch takes whatever comes first for the device
    if not isinstance(given, (str, torch.device)):
        raise NotYet(
            f"{call} takes {given!r} for its device. In torch.cuda.amp.GradScaler the scale came first; "
            "now it is the device. Name the scale: init_scale=...",
            "scaler-positional-scale",
        )
    if torch.device(given).type != device_type:
        raise NotYet(
            f"{call} is a scaler for {given}. Without a device it is for cuda: pass device_type on.",
            "scaler-ignores-the-device",
        )
    return scaler, call


def _makes_a_scaler(answer):
    scaler, call = _a_scaler_for(answer, "cpu")
    if not scaler.is_enabled():
        raise NotYet(
            f"{call} is disabled: it passes the loss on unscaled. The old one was enabled, and a CPU can "
            "have one too. Leave `enabled` out.",
            "scaler-disabled",
        )
    _a_scaler_for(answer, "cuda")


def _forward_in_fp16(answer):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    x = torch.randn(5, 8)
    with torch.no_grad():
        wanted = model(x)

    def run():
        with no_old_autocast():
            return _ran(_without_old_spelling(answer.forward, model, x), "forward")

    with linear_outputs(model, evaluation=True) as outputs:
        got, recording = watched(run)
    _parameters_in_fp32(model, "forward")
    _region_found(recording, outputs, FP16)
    what = "forward(model, x)"
    expect.close_tensor(got, wanted, what, relative=0.01, absolute=0.01)
    not_only_cpu(answer.forward, "forward")


MIGRATE_THE_SPELLING = Exercise(
    id="migrate-the-spelling",
    title="Migrate the spelling",
    minutes=4,
    stub='''
# The old code, which warns and knows only CUDA. Write it anew, for any device:
#
#     from torch.cuda.amp import autocast, GradScaler
#
#     def make_scaler():
#         return GradScaler()
#
#     def forward(model, x):
#         with autocast():
#             return model(x)


def make_scaler(device_type):
    """An enabled gradient scaler for "cuda" or "cpu"."""
    raise NotImplementedError


def forward(model, x):
    """model(x) under FP16 autocast, on whatever device x is."""
    raise NotImplementedError
''',
    hints=(
        "Both live in torch.amp now, and both want to know the device first.",
        "The old autocast() meant CUDA and FP16. The new one is told both: device_type and dtype.",
        "torch.amp.GradScaler(device_type), and with torch.autocast(device_type=x.device.type, "
        "dtype=torch.float16): return model(x).",
    ),
    tests=[
        Test("a scaler for any device", 1, _makes_a_scaler),
        Test("a forward for any device", 1, _forward_in_fp16),
    ],
    why="torch.amp takes the device as an argument, so the same two lines serve a GPU and a CPU.",
)

# quick checks ------------------------------------------------------------------------------------------

WHAT_STAYS_FP32 = QuickCheck(
    id="what-stays-fp32",
    question=(
        "An FP32 `Linear` ran under FP16 autocast, then backward, and `weight.grad` is float32. Can an entry "
        "of it be exactly 0 by underflow?"
    ),
    choices=[
        Choice(
            "A",
            "No: float32 holds values as small as 1e-45.",
            "The float32 tensor would hold the value, but what it is given comes from float16, as 0.",
        ),
        Choice(
            "B",
            "Yes: backward computed it in float16 and cast it to float32 afterwards.",
            "Below about 3e-8 FP16 has only 0, and a cast to float32 leaves 0 at 0. Lesson 03 is about this.",
            right=True,
        ),
        Choice(
            "C",
            "Only if the weight itself was float16.",
            "A float16 copy of the weight is enough. Autocast makes one, and backward computes the copy's "
            "gradient in float16.",
        ),
    ],
)

WHY_BACKWARD_OUTSIDE = QuickCheck(
    id="why-backward-outside",
    question="Why does `loss.backward()` stand after the autocast block, and not in it?",
    choices=[
        Choice(
            "A",
            "In the block it raises an error.",
            "It runs without a word, which is why this mistake is often found late.",
        ),
        Choice(
            "B",
            "Backward runs in the dtypes of the forward by itself; in the block autocast adds casts to it.",
            "The products of the backward would be cast to 16 bits even where the forward kept FP32.",
            right=True,
        ),
        Choice(
            "C",
            "Outside the block backward runs in FP32, which keeps small gradients.",
            "An op that ran in float16 has its backward in float16 as well, inside or outside. Small "
            "gradients need the scaler of lesson 03.",
        ),
    ],
)

CPU_AND_CUDA_LISTS = QuickCheck(
    id="cpu-and-cuda-lists",
    question=(
        "On your laptop's CPU, `softmax` of a float16 tensor gives float16 under FP16 autocast. What does "
        "that tell you about a CUDA GPU?"
    ),
    choices=[
        Choice(
            "A",
            "There it gives float16 as well: autocast is one policy.",
            "Each device has lists of its own. CUDA's FP32 list holds softmax, the CPU's does not.",
        ),
        Choice(
            "B",
            "Nothing: CUDA has its own lists, and there it gives float32.",
            '`policy.ask("softmax", "cuda")` asks for CUDA\'s answer, on a machine without a GPU too.',
            right=True,
        ),
        Choice(
            "C",
            "There it is an error: CUDA has no softmax for float16.",
            "It has one, and uses it outside autocast. Under autocast the input is cast to float32 first, "
            "for the digits.",
        ),
    ],
)

ENABLED_FALSE_NEEDS_FLOAT = QuickCheck(
    id="enabled-false-needs-float",
    question=(
        "In an FP16 region `h` comes out of a `Linear`. In a nested block with `enabled=False` you compute "
        "`h @ h.T`. In which dtype?"
    ),
    choices=[
        Choice(
            "A",
            "float32: autocast is off, and the model is FP32.",
            "Switching autocast off converts nothing. h was float16 when it came, and still is.",
        ),
        Choice(
            "B",
            "float16: h stays what it is.",
            "enabled=False means hands off, not FP32. For FP32 call h.float() in the block.",
            right=True,
        ),
        Choice(
            "C",
            "None: an FP16 product outside autocast is an error.",
            "Two float16 tensors multiply anywhere. An error comes where float16 meets an FP32 weight.",
        ),
    ],
)

LESSON = Lesson(
    notebook="02_autocast",
    title="Autocast",
    promise="See which op runs in which dtype, and put the block where it belongs.",
    minutes_reading=25,
    minutes_exercises=21,
    exercises=[PREDICT_THE_DTYPES, AUTOCAST_THE_FORWARD, FP32_ISLAND, MIGRATE_THE_SPELLING],
    quick_checks=[WHAT_STAYS_FP32, WHY_BACKWARD_OUTSIDE, ENABLED_FALSE_NEEDS_FLOAT, CPU_AND_CUDA_LISTS],
)
