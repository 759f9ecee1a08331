"""The optional exercises of lesson 03 in which learners build a gradient scaler of their own."""

import math

import torch

from amp_lessons.exercises import expect
from amp_lessons.exercises.answer import Answer, ToDo
from amp_lessons.exercises.by_hand import by_hand
from amp_lessons.exercises.exercise import Exercise, NotYet, Test
from amp_lessons.exercises.faults import kind_and_text
from amp_lessons.exercises.shown import kind_and_value
from amp_lessons.exercises.unrun import has_run

# unscale-and-look --------------------------------------------------------------------------------------


def _with_gradients(*gradients, make=torch.optim.SGD, groups=1, **settings):
    """An optimizer over one parameter of ones for each gradient; None leaves a parameter without one."""
    parameters = []
    for gradient in gradients:
        parameter = torch.nn.Parameter(torch.ones(2 if gradient is None else len(gradient)))
        if gradient is not None:
            parameter.grad = torch.tensor(gradient)
        parameters.append(parameter)
    if groups == 1:
        return parameters, make(parameters, **settings)
    return parameters, make([{"params": [parameter]} for parameter in parameters], **settings)


def _looked(answer, optimizer, scale):
    what = f"unscale_and_look(optimizer, {scale:g})"
    with by_hand():
        try:
            result = has_run(answer.unscale_and_look(optimizer, scale), "unscale_and_look")
            return expect.boolean(result, what)
        except (AttributeError, TypeError) as error:
            if "NoneType" not in str(error):
                raise
            raise NotYet(
                f"{kind_and_text(error)}\nA parameter that took no part in the loss has None for its .grad: "
                "leave it out.",
                "trips-over-none",
            ) from error


def _divides(answer):
    gradients, scale = ([1024.0, -512.0], [3072.0]), 1024.0
    parameters, optimizer = _with_gradients(*gradients, lr=0.1)
    found = _looked(answer, optimizer, scale)
    if any((parameter != 1).any() for parameter in parameters):
        raise NotYet(
            f"The first weights were [1, 1]; they are {parameters[0].tolist()} now. Divide what is in their "
            ".grad and leave the weights alone.",
            "divides-the-weights",
        )
    for parameter, gradient in zip(parameters, gradients):
        _divided(parameter, gradient, scale)
    if found:
        raise NotYet(
            "You said True, and every gradient is finite. True stands for an inf or NaN.",
            "says-it-the-other-way-round",
        )


def _divided(parameter, before, scale):
    want, got = [value / scale for value in before], parameter.grad
    if got is None:
        raise NotYet("A parameter's .grad is None afterwards. It should hold the unscaled gradient.")
    expect.tensor(got, "The .grad after unscale_and_look", shape=(len(before),))
    got = got.tolist()
    if got == want:
        return
    start = f"A .grad of {before}, with scale {scale:g}, is {got} afterwards; it should be {want}."
    if got == before:
        raise NotYet(f"{start} It has not changed: does your quotient get back into .grad?", "divides-a-copy")
    if got == [value * scale for value in before]:
        raise NotYet(f"{start} You multiplied by the scale.", "multiplies-by-the-scale")
    if not all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(got, want)):
        raise NotYet(start)


def _of_every_parameter(answer):
    gradients, scale = ([2.0], None, [4.0], [6.0]), 0.5
    parameters, optimizer = _with_gradients(*gradients, groups=4, lr=0.1)
    found = _looked(answer, optimizer, scale)
    left = [p for p, before in zip(parameters, gradients) if before and p.grad.tolist() == before]
    if parameters[0].grad.tolist() == [4.0] and len(left) == 2:
        raise NotYet(
            f"The optimizer has 4 groups of parameters, and you divided in the first: a later .grad is still "
            f"{left[0].grad.tolist()}. Loop over optimizer.param_groups, then over group['params'].",
            "only-the-first-group",
        )
    for parameter, before in zip(parameters, gradients):
        if before is not None:
            _divided(parameter, before, scale)
        elif parameter.grad is not None:
            raise NotYet(f"A parameter had None for its .grad, and you put {parameter.grad.tolist()} there.")
    if found:
        raise NotYet("You said True where one .grad is None and the others are finite.", "counts-none-as-inf")
    _, none = _with_gradients(None, lr=0.1)
    if _looked(answer, none, scale):
        raise NotYet("You said True where the only .grad is None.", "counts-none-as-inf")


def _found(answer, gradients, expected, explain, mistake, scale=1024.0):
    parameters, optimizer = _with_gradients(*gradients, lr=0.1)
    got = _looked(answer, optimizer, scale)
    if got is not expected:
        raise NotYet(f"You said {got} for the gradients {_listed(gradients)}. {explain}", mistake)
    return parameters


def _listed(gradients):
    return ", ".join(str(gradient) for gradient in gradients)


def _looks(answer):
    inf, nan = math.inf, math.nan
    _found(answer, [[1.0, inf], [2.0]], True, "There is an inf among them.", "misses-inf")
    _found(
        answer, [[-inf, 1.0], [2.0]], True, "Minus infinity is an overflow as well.", "misses-minus-infinity"
    )
    _found(
        answer,
        [[1.0, nan], [2.0]],
        True,
        "NaN counts too: inf − inf, for one, is NaN. torch.isfinite(t) is False for both.",
        "misses-nan",
    )
    _found(answer, [[2.0], [1.0, inf]], True, "There is an inf in the last one.", "only-the-first-gradient")
    _found(answer, [[inf], [1e6, -1e30]], True, "There is an inf in the first one.", "only-the-last-gradient")
    _found(
        answer,
        [[1e6, -1e15], [70000.0]],
        False,
        "Every one of them is finite. Gradients of FP32 weights are FP32, where 65504 is no limit.",
        "compares-with-fp16s-limit",
    )
    _found(
        answer,
        [[3e38, 3e38], [1.0]],
        False,
        "Every one of them is finite, only their sum is not, nor their norm. Look at each value.",
        "looks-at-the-sum",
        scale=1.0,  # as large after dividing
    )
    parameters = _found(
        answer, [[inf, 1024.0], [2048.0]], True, "There is an inf in the first one.", "misses-inf"
    )
    last = parameters[1].grad.tolist()
    if last != [2.0]:
        raise NotYet(
            f"The gradients were [inf, 1024] and [2048], the scale 1024. Afterwards the second is {last}, "
            f"not [2.0]. Divide all of them, also after you have found an inf.",
            "stops-at-the-first-inf",
        )
    first = parameters[0].grad
    if first is None or first.isfinite().all():
        now = first if first is None else first.tolist()
        raise NotYet(
            f"The gradients were [inf, 1024] and [2048], the scale 1024. Afterwards the first is {now}. The "
            "inf is gone: divide only, whatever comes out. Skipping the step is for the next function.",
            "removes-the-inf",
        )


UNSCALE_AND_LOOK = Exercise(
    id="unscale-and-look",
    title="Unscale and look (optional)",
    minutes=10,
    stub='''
def unscale_and_look(optimizer, scale):
    """Divide the .grad of every parameter in `optimizer` by the number `scale`.

    Returns True if any of them holds inf or NaN, else False. A .grad may be None: skip it.
    """
    raise NotImplementedError
''',
    hints=(
        "An optimizer keeps its parameters in optimizer.param_groups: a list of dicts, each with a list "
        "under 'params'.",
        "Two loops, one over groups and one over group['params']. Start with found = False; leave out what "
        "has no .grad; parameter.grad /= scale writes the quotient back.",
        "found = found or not bool(torch.isfinite(parameter.grad).all()), in the inner loop, and "
        "`return found` after both.",
    ),
    tests=[
        Test("gradients divided by the scale", 1, _divides),
        Test("several groups, and parameters without a gradient", 1, _of_every_parameter),
        Test("inf and NaN", 1, _looks),
    ],
    why=(
        "Every .grad is divided, one look says whether any value overflowed, and with a scale that is a "
        "power of two the division costs no precision."
    ),
    optional=True,
)

# skip-or-step ------------------------------------------------------------------------------------------


def _after_unscaling(test):
    """A test of skip_or_step that also says when its unscale_and_look is missing or not right yet."""

    def run(answer):
        function = answer.skip_or_step
        namespace = getattr(function, "__globals__", {})
        try:
            test(function)
        except NameError as error:
            if error.name != "unscale_and_look":
                raise
            raise NotYet(
                "skip_or_step calls unscale_and_look, and the notebook has none: it is the exercise before "
                "this one. Run its cell first."
            ) from error
        except NotYet as not_yet:
            if not_yet.mistake != "uses-gradscaler" and _is_wrong(namespace):
                note = 'unscale_and_look is not right yet, which may be the cause: check("unscale-and-look")'
                raise NotYet(f"{not_yet.message}\n{note}", not_yet.mistake) from None
            raise

    return run


def _is_wrong(namespace):
    before = Answer(UNSCALE_AND_LOOK, namespace)
    try:
        for test in UNSCALE_AND_LOOK.tests:
            test.run(before)
    except ToDo:
        return "unscale_and_look" in namespace
    except Exception:
        return True
    return False


def _told(function, optimizer, scale):
    """What skip_or_step returned, and how often it called optimizer.step()."""
    steps = []
    hook = optimizer.register_step_post_hook(lambda *_: steps.append(True))
    with by_hand():
        result = has_run(function(optimizer, scale), "skip_or_step")
    hook.remove()
    return expect.boolean(result, f"skip_or_step(optimizer, {scale:g})"), len(steps)


def _steps(function):
    scale, rate = 8.0, 0.5
    (parameter,), optimizer = _with_gradients([8.0, -16.0], lr=rate)
    skipped, steps = _told(function, optimizer, scale)
    got = parameter.tolist()
    start = f"Weights [1, 1], gradient [1, -2] times the scale 8, SGD with lr 0.5: yours are {got} afterwards"
    if got == [1.0, 1.0]:
        raise NotYet(f"{start}, not stepped. The gradients are finite: call optimizer.step().", "never-steps")
    if got == [1 - rate * 8.0, 1 + rate * 16.0]:
        raise NotYet(
            f"{start}: a step of 8 times the size. Unscale the gradients before the step.",
            "steps-on-scaled-gradients",
        )
    if got == [1 - rate / 8.0, 1 + rate * 2 / 8.0]:
        raise NotYet(
            f"{start}: the gradients were divided by the scale twice. unscale_and_look divides each time you "
            "call it: call it once and keep what it returns.",
            "unscales-twice",
        )
    if got == [0.0, 3.0]:
        raise NotYet(f"{start}: two steps. Step once.", "steps-twice")
    if got != [0.5, 2.0]:
        raise NotYet(f"{start}; they should be [0.5, 2.0].")
    if steps == 0:
        raise NotYet(
            f"{start}, as they should be, but not by optimizer.step(): it was not called. Only "
            "optimizer.step() moves them right for every optimizer.",
            "moves-the-weights-itself",
        )
    if skipped:
        raise NotYet(
            "You said True after a step that was taken. True stands for a skipped one.",
            "says-it-the-other-way-round",
        )


def _skips(function):
    (parameter,), optimizer = _with_gradients([8.0, math.inf], lr=0.5)
    skipped, _ = _told(function, optimizer, 8.0)
    if parameter.tolist() != [1.0, 1.0]:
        raise NotYet(
            f"The gradient held an inf, and the weights went from [1, 1] to {parameter.tolist()}. Step only "
            "if unscale_and_look returns False.",
            "steps-on-inf",
        )
    if not skipped:
        raise NotYet(
            "You said False after a skipped step. Return what unscale_and_look found.", "hides-the-skip"
        )


def _keeps_the_state(function):
    (parameter,), optimizer = _with_gradients([8.0, 16.0], make=torch.optim.Adam, lr=0.5)
    _told(function, optimizer, 8.0)
    weights, state = parameter.tolist(), _adam(optimizer, parameter)
    parameter.grad = torch.tensor([math.nan, 8.0])
    _, steps = _told(function, optimizer, 8.0)
    now = _adam(optimizer, parameter)
    if parameter.tolist() != weights:
        raise NotYet(
            f"The gradient held a NaN, and Adam moved the weights from {weights} to {parameter.tolist()}. A "
            "skipped step moves nothing: don't call optimizer.step() at all.",
            "moves-on-a-skip",
        )
    if now != state:
        raise NotYet(
            f"Adam's count of steps went from {state[0]:g} to {now[0]:g} over a step that should be skipped, "
            "and its averages with it. Don't call optimizer.step() at all.",
            "changes-the-state-on-a-skip",
        )
    if steps:
        raise NotYet(
            "The gradient held a NaN, and optimizer.step() was called all the same. It left no trace here, "
            "but leaving it out is what skips the step for every optimizer.",
            "steps-on-a-skip",
        )


def _adam(optimizer, parameter):
    state = optimizer.state[parameter]
    return float(state.get("step", 0.0)), [float(value) for value in state.get("exp_avg", [])]


SKIP_OR_STEP = Exercise(
    id="skip-or-step",
    title="Skip or step (optional)",
    minutes=8,
    stub='''
def skip_or_step(optimizer, scale):
    """Unscale with your unscale_and_look; step the optimizer unless inf or NaN was found.

    Returns True if the step was skipped, else False.
    """
    raise NotImplementedError
''',
    hints=(
        "unscale_and_look divides, and tells you what you need to decide. How often may you call it?",
        "Call it once, keep its answer in a variable, and call optimizer.step() under an `if`.",
        "found_inf = unscale_and_look(optimizer, scale), then `if not found_inf: optimizer.step()`, then "
        "return found_inf.",
    ),
    tests=[
        Test("a step is taken", 1, _after_unscaling(_steps)),
        Test("a step is skipped", 0.5, _after_unscaling(_skips)),
        Test("a skipped step leaves Adam alone", 0.5, _after_unscaling(_keeps_the_state)),
    ],
    why="The gradients are divided once, and where one is inf or NaN neither weights nor moments move.",
    optional=True,
)

# grow-and-back-off -------------------------------------------------------------------------------------


def _next_scale(answer, scale, good_steps, found_inf, interval=None):
    shown = f"{_short(scale)}, {good_steps}, {found_inf}" + ("" if interval is None else f", {interval}")
    what = f"grow_and_back_off({shown})"
    further = () if interval is None else (interval,)
    with by_hand():
        pair = has_run(answer.grow_and_back_off(scale, good_steps, found_inf, *further), "grow_and_back_off")
    if pair is None or not issubclass(type(pair), (list, tuple)):
        missing = " Is there a `return` missing?" if pair is None else ""
        raise NotYet(f"{what} should be (scale, good_steps); yours is {kind_and_value(pair)}.{missing}")
    pair = expect.sequence(pair, what, 2)
    return what, expect.number(pair[0], f"{what}[0]"), expect.number(pair[1], f"{what}[1]")


def _short(number):
    """2.0**30 as "2**30", 1024.0 as "1024"."""
    if 0 < number < math.inf and math.log2(number).is_integer() and not 0.1 < number < 1e6:
        return f"2**{int(math.log2(number))}"
    return f"{number:g}"


def _gives(answer, arguments, want, known):
    """Check one call; `known` maps a wrong (scale, count) to its explanation and the mistake's code."""
    what, scale, count = _next_scale(answer, *arguments)
    if (scale, count) == want:
        return
    start = f"{what} should be ({_short(want[0])}, {want[1]}); yours is ({_short(scale)}, {count:g})."
    explain, mistake = known.get((scale, count), ("", None))
    if (count, scale) == want:
        explain, mistake = "The scale comes first, then the count.", "swaps-the-two"
    raise NotYet(f"{start} {explain}".strip(), mistake)


def _counts(answer):
    _gives(
        answer,
        (1024.0, 0, False, 3),
        (1024.0, 1),
        {
            (1024.0, 0): (
                "A good step counts: growth_interval of them in a row make it grow.",
                "forgets-to-count",
            ),
            (2048.0, 0): ("Only growth_interval good steps in a row make it grow.", "grows-at-every-step"),
            (2048.0, 1): ("Only growth_interval good steps in a row make it grow.", "grows-at-every-step"),
            (512.0, 0): ("That is what an overflow does.", "the-other-way-round"),
        },
    )
    early = ("This is the second good step, and the interval is 3.", "grows-one-early")
    _gives(answer, (1024.0, 1, False, 3), (1024.0, 2), {(2048.0, 0): early, (2048.0, 2): early})


def _grows(answer):
    late = (
        "This is the third good step in a row, so the scale grows now, not one step later: count this step "
        "first, then compare.",
        "grows-one-late",
    )
    kept = (
        "After growing, the count starts again at 0; else it grows at the next step too.",
        "forgets-to-reset-after-growth",
    )
    one = ("The step that grows belongs to the old interval: the count is 0 after it.", "restarts-at-one")
    _gives(
        answer,
        (1024.0, 2, False, 3),
        (2048.0, 0),
        {
            (1024.0, 3): late,
            (1024.0, 2): late,
            (2048.0, 3): kept,
            (2048.0, 2): kept,
            (2048.0, 1): one,
            (1024.0, 0): ("The count starts again, but the scale did not grow.", "never-grows"),
        },
    )
    fixed = ("The interval is the last argument, here 1.", "ignores-the-interval")
    _gives(answer, (8.0, 0, False, 1), (16.0, 0), {(8.0, 1): fixed})
    default = ("Without a fourth argument the interval is 2000.", "changes-the-default")
    _gives(answer, (65536.0, 1998, False), (65536.0, 1999), {(131072.0, 0): default})
    _gives(answer, (65536.0, 1999, False), (131072.0, 0), {(65536.0, 2000): default})
    cap = ("A scale may grow as long as the gradients allow it: put no limit there.", "caps-the-scale")
    _gives(answer, (2.0**30, 2, False, 3), (2.0**31, 0), {(2.0**n, 0): cap for n in range(31)})


def _backs_off(answer):
    _gives(
        answer,
        (1024.0, 2, True, 3),
        (512.0, 0),
        {
            (512.0, 2): ("An overflow ends the row of good steps: back to 0.", "keeps-the-count"),
            (512.0, 3): ("A skipped step is no good step, and it ends the row.", "counts-the-overflow"),
            (512.0, 1): ("A skipped step is no good step, and it ends the row.", "counts-the-overflow"),
            (1024.0, 0): ("Found an inf: the scale halves, growth or not.", "grows-and-backs-off"),
            (1024.0, 3): ("Found an inf: the scale halves.", "ignores-the-overflow"),
            (2048.0, 0): ("Found an inf: the scale halves.", "ignores-the-overflow"),
        },
    )
    floor = ("PyTorch has no floor at 1: it would hide that something else is wrong.", "stops-at-one")
    _gives(answer, (1.0, 0, True, 3), (0.5, 0), {(1.0, 0): floor})
    _gives(
        answer, (2.0**-10, 0, True, 3), (2.0**-11, 0), {(0.5, 0): ("PyTorch has no floor.", "has-a-floor")}
    )


GROW_AND_BACK_OFF = Exercise(
    id="grow-and-back-off",
    title="Grow and back off (optional)",
    minutes=10,
    stub='''
def grow_and_back_off(scale, good_steps, found_inf, growth_interval=2000):
    """The scale for the next step, and how many good steps in a row there now are.

    An overflow halves the scale and ends the row. The step that makes `growth_interval` good
    steps in a row doubles the scale and starts a new row at 0. Returns (scale, good_steps).
    (PyTorch also stops growing before FP32 ends, at 2**127; yours need not.)
    """
    raise NotImplementedError
''',
    hints=(
        "Two cases: an overflow, or a good step. Only in the second is there something to count.",
        "After an overflow both numbers are known at once. After a good step, add 1 first, then compare with "
        "growth_interval.",
        "if found_inf: return scale * 0.5, 0. Then good_steps += 1, and if good_steps == growth_interval: "
        "return scale * 2.0, 0. Else return both.",
    ),
    tests=[
        Test("good steps are counted", 1, _counts),
        Test("enough of them double the scale", 1, _grows),
        Test("an overflow halves it", 1, _backs_off),
    ],
    why=(
        "It halves at each overflow and doubles after growth_interval good steps in a row, as PyTorch does; "
        "only PyTorch keeps the scale where doubling would leave FP32's range, at 2¹²⁷."
    ),
    optional=True,
)
