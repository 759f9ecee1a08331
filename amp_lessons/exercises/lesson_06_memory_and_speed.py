"""The exercises of lesson 06: a step's bytes by hand, the largest batch, an honest clock, six slow cases."""

import statistics

from amp_lessons.exercises import expect, no_speedup
from amp_lessons.exercises.exercise import Choice, Exercise, Lesson, NotYet, QuickCheck, Test
from amp_lessons.exercises.linear_stack import counted, mistaken
from amp_lessons.exercises.needed_bytes import LARGEST, MOST_CALLS, Needed
from amp_lessons.exercises.pretend_device import MOST_STEPS, PERIOD, SLOWER, PretendDevice
from amp_lessons.exercises.shown import kind_and_value, shown
from amp_lessons.exercises.unrun import has_run

CASES = no_speedup.CASES  # letter -> text, as the notebook tells it

# predict-the-bytes -------------------------------------------------------------------------------------

NETS = (((6, 16, 4), 5), ((64, 512, 512, 10), 32), ((8, 4), 3), ((5, 7, 7, 3, 2), 1))  # sizes, batch size


def _predicted(answer, *parts):
    for sizes, batch_size in NETS:
        for amp in (False, True):
            call = f"predict_bytes({sizes}, {batch_size}, {amp})"
            given = has_run(answer.predict_bytes(sizes, batch_size, amp), "predict_bytes")
            if given is None:
                raise NotYet(f"{call} is None. Is there a `return` missing?")
            given = expect.dictionary(given, call)
            for part in parts:
                _one_part(given, call, part, sizes, batch_size, amp)


def _one_part(given, call, part, sizes, batch_size, amp):
    none = " Write 0 where there are none." if part == "copies" else ""
    bytes_of_it = " It should be a number of bytes. (`print(...)`, for one, shows a value and gives None.)"
    if part not in given:
        raise NotYet(f'{call} has no entry "{part}".{none}')
    if given[part] is None or given[part] is False:
        raise NotYet(f'{call}["{part}"] is {given[part]}.{none or bytes_of_it}', "none-for-zero")
    got = expect.number(given[part], f'{call}["{part}"]')
    want = counted(sizes, batch_size, amp)[part]
    if got == want:
        return
    said = f'{call}["{part}"] gave {got:,.10g} bytes.'
    for value, mistake, sentence in mistaken(part, sizes, batch_size, amp):
        if got == value:
            raise NotYet(f"{said} {sentence}", mistake)
    source = "Adam keeps two tensors for each parameter" if part == "optimizer" else "counted on a real net"
    raise NotYet(f"{said} It should be {want:,}: {source}.")


def _parameters_and_gradients(answer):
    _predicted(answer, "parameters", "gradients")


def _optimizer(answer):
    _predicted(answer, "optimizer")


def _activations(answer):
    _predicted(answer, "activations")


def _copies(answer):
    _predicted(answer, "copies")


PREDICT_THE_BYTES = Exercise(
    id="predict-the-bytes",
    title="Predict the bytes",
    minutes=8,
    stub='''
def predict_bytes(sizes, batch_size, amp):
    """What training a stack of Linear layers with Adam keeps in memory, kind by kind, in bytes.

    Temporary tensors are left out: a step's peak is another number.
    sizes: how many numbers a sample has, from layer to layer. (64, 512, 512, 10) are three
    Linear layers, each with a bias, and a ReLU between one and the next.
    amp: False for FP32 throughout, True for 16-bit autocast.

    optimizer: without Adam's step counters. activations: what each Linear layer reads. ReLU
    keeps its result, and the next layer reads that same memory. The loss is left out.
    copies: autocast's copies of those weight matrices with which backward multiplies to get
    the gradient of a layer's input. x itself needs no gradient. Copies of biases are not kept.
    """
    return {
        "parameters": ...,
        "gradients": ...,
        "optimizer": ...,
        "activations": ...,
        "copies": ...,
    }
''',
    hints=(
        "Count numbers first, then multiply by the bytes of each. Which of the five are in 16 bits under "
        "autocast?",
        "A layer has inputs × outputs weights and one bias for each output: zip(sizes, sizes[1:]) gives all "
        "pairs. Adam keeps two means of each. Layers read sizes[:-1] numbers of every sample; only these and "
        "the copies are in 16 bits.",
        "With pairs = list(zip(sizes, sizes[1:])), count = sum(a * b + b for a, b in pairs) and width = 2 if "
        "amp else 4: parameters and gradients are 4 * count each, activations width * batch_size * "
        "sum(sizes[:-1]). Copies: 2 * sum(a * b for a, b in pairs[1:]) if amp else 0.",
    ),
    tests=[
        Test("parameters and gradients", 1, _parameters_and_gradients),
        Test("Adam's state", 1, _optimizer),
        Test("activations", 1, _activations),
        Test("16-bit copies of the weights", 1, _copies),
    ],
    why=(
        "Parameters, gradients and Adam's state stay in FP32; only what layers read halves under autocast, "
        "and copies of the weights come on top."
    ),
)

# largest-batch -----------------------------------------------------------------------------------------

GB = 10**9
MB = 10**6


def _fits(answer, bytes_of, budget, about=""):
    needed = Needed(bytes_of)
    try:
        found = has_run(answer.largest_batch(needed, budget), "largest_batch")
    except ZeroDivisionError as error:
        if len(set(map(bytes_of, needed.asked))) < len(needed.asked):
            raise NotYet(
                f"You divided by 0: needed gave the same for two of the batch sizes {needed.asked}. {about} "
                "A line through two points tells nothing here.",
                "trusts-two-points",
            ) from error
        raise
    got = expect.integer(found, f"largest_batch(needed, {budget:,})")
    want = _true_largest(bytes_of, budget)
    if got == want:
        return
    size = f"{got:,}" if abs(got) <= LARGEST else shown(got)
    said = f"With a budget of {budget:,} bytes your largest batch is {size}."
    if got < 0:
        raise NotYet(f"{said} Where not even one sample fits, the answer is 0.", "below-0")
    if got > LARGEST:
        raise NotYet(f"{said} That is beyond any machine.")
    if got > want:
        raise NotYet(*_too_large(said, got, bytes_of, budget, needed, about))
    raise NotYet(*_too_small(said, got, bytes_of, budget, needed, about))


def _true_largest(bytes_of, budget):
    batch_size = 0
    for step in reversed([2**power for power in range(40)]):
        if bytes_of(batch_size + step) <= budget:
            batch_size += step
    return batch_size


def _too_large(said, got, bytes_of, budget, needed, about):
    said = f"{said} It needs {bytes_of(got):,}: too much."
    if len(needed.asked) <= 4 and about:
        return f"{said} You asked for {needed.asked} only. {about}", "trusts-two-points"
    if got == 1:
        return f"{said} Not even one sample fits, so the answer is 0.", "never-0"
    if bytes_of(got - 1) <= budget:
        return f"{said} {got - 1:,} is the last that fits.", "one-too-many"
    return f"{said} Return a batch size of which needed said that it fits.", None


def _too_small(said, got, bytes_of, budget, needed, about):
    following = bytes_of(got + 1)
    said = f"{said} But {got + 1:,} needs {following:,}, which fits as well"
    if not needed.asked:
        return f"{said}. You never called needed.", "never-asks"
    if len(needed.asked) <= 4 and about:
        return f"{said}. You asked for {needed.asked} only. {about}", "trusts-two-points"
    if bytes_of(max(got, 1)) == budget:
        return f"{said}: more than one batch size needs exactly the budget.", "stops-at-the-first-equal"
    if following == budget:
        return f"{said}: exactly the budget is not too much.", "leaves-no-byte"
    if max(needed.asked) <= got + 1:
        return f"{said}. You asked for none beyond {max(needed.asked):,}: no end is given.", "sets-an-end"
    if got >= 2 and got & (got - 1) == 0 and {got, 2 * got} <= set(needed.asked):
        return (
            f"{said}. You doubled up to {got:,}, a power of 2. The largest that fits lies somewhere between "
            f"that and {2 * got:,}: halve that interval.",
            "stops-at-a-power-of-two",
        )
    if bytes_of(got + 2) > budget:
        return f"{said}, and is the last that does.", "one-too-few"
    return f"{said}.", None


def _grows_evenly(batch_size):
    return 400 * MB + 90 * MB * batch_size


def _small_answers(answer):
    _fits(answer, _grows_evenly, 3 * GB)
    _fits(answer, _grows_evenly, 4 * GB)  # 40 samples need exactly that
    _fits(answer, _grows_evenly, 600 * MB)  # 2
    _fits(answer, _grows_evenly, 500 * MB)  # 1
    _fits(answer, _grows_evenly, 450 * MB)  # none
    _fits(answer, _grows_evenly, 1900 * MB)  # 16, a power of two


def _peaks_in_the_optimizer_step(batch_size):
    """Up to 10 samples the optimizer's step needs more than forward and backward do."""
    return max(1200 * MB, 200 * MB + 100 * MB * batch_size)


def _in_blocks(batch_size):
    """Rounded up to blocks, as an allocator takes them: up to five batch sizes need the same."""
    return -(-(400 * MB + 90 * MB * batch_size) // (500 * MB)) * 500 * MB


def _uneven_growth(answer):
    flat = (
        "Small batches all need the same here: the optimizer's step is the peak, until activations pass it."
    )
    _fits(answer, _peaks_in_the_optimizer_step, 4 * GB, flat)
    _fits(answer, _peaks_in_the_optimizer_step, 1200 * MB, flat)
    blocks = "Memory is taken in blocks here, so that it grows in steps."
    _fits(answer, _in_blocks, 3 * GB, blocks)
    _fits(answer, _in_blocks, 2900 * MB, blocks)


def _large_answers(answer):
    few = "The bytes do not grow evenly."
    _fits(answer, lambda batch_size: 2 * GB + 12_000 * batch_size, 15 * GB)
    _fits(answer, lambda batch_size: 2**20 * batch_size, 2**40)  # 2**20, exactly
    _fits(answer, lambda batch_size: 2 * GB + 12_000 * batch_size + batch_size // 1000 * 50_000, 15 * GB, few)


LARGEST_BATCH = Exercise(
    id="largest-batch",
    title="The largest batch that fits",
    minutes=6,
    stub=f'''
def largest_batch(needed, budget):
    """The largest batch size whose training step needs at most `budget` bytes, a whole number.

    needed(batch_size) gives the bytes of a step, for any whole batch size from 1 on. It never
    falls as the batch grows, but does not always grow evenly. Each call takes a second on a
    real machine: make at most {MOST_CALLS}. The answer may be a million or more, and is 0 where
    not even one sample fits.
    """
    raise NotImplementedError
''',
    hints=(
        "Trying 1, 2, 3, … takes a million calls for a million. How few does it take to find one batch size "
        "that is too large?",
        "Double until it no longer fits. Then you know a batch size that fits and one that does not: ask for "
        "the middle, and go on with the half in which the border lies.",
        "fits, too_large = 0, 1. While needed(too_large) <= budget: fits, too_large = too_large, 2 * "
        "too_large. Then while too_large - fits > 1: middle = (fits + too_large) // 2, and middle takes the "
        "place of one of the two.",
    ),
    tests=[
        Test("small answers: exactly the budget, one sample, none", 1, _small_answers),
        Test("bytes that do not grow evenly", 1, _uneven_growth),
        Test("large answers in few calls", 1, _large_answers),
    ],
    why=(
        "Doubling and halving ask only whether a batch fits, so about 40 calls find a million, however the "
        "bytes grow."
    ),
)

# time-it-right -----------------------------------------------------------------------------------------

TOLERANCE = 0.08  # the pretended steps vary by 4 % both ways; the fastest is welcome as well
SLOW_FIRST = (0.3, 0.06)
BUSY = 0.5


def _measured(answer, device):
    return expect.number(
        has_run(answer.seconds_per_step(device.step, device.wait, device.clock), "seconds_per_step"),
        "seconds_per_step(step, wait, clock)",
    )


def _near(seconds, device):
    return abs(seconds / device.typical - 1) <= TOLERANCE


def _time(seconds):
    """Seconds as a learner reads them: 3.02 ms."""
    if abs(seconds) < 999.5e-6:
        return f"{1e6 * seconds:.3g} µs"
    return f"{1e3 * seconds:.3g} ms" if abs(seconds) < 0.9995 else f"{seconds:.3g} s"


def _quiet_devices():
    """One that takes long to compute, and one that takes long to ask: its model has many small layers."""
    return PretendDevice(), PretendDevice(asking=2e-3, work=0.5e-3)


def _waits_for_the_work(answer):
    for device in _quiet_devices():
        seconds = _measured(answer, device)
        if not _near(seconds, device):
            raise NotYet(*_on_a_quiet_device(seconds, device))


def _on_a_quiet_device(seconds, device):
    typical, asking = device.typical, device.asking
    said = f"You gave {_time(seconds)}; a step takes this device {_time(typical)}."
    if device.steps == 0:
        return f"{said} You never called step().", "never-steps"
    if device.readings < 2:
        how_often = "never read clock()" if device.readings == 0 else "read clock() only once"
        return (
            f"{said} You {how_often}. The device is pretended and has its own time, of which "
            "time.perf_counter() knows nothing.",
            "another-clock",
        )
    if seconds < 0:
        return f"{said} Take the earlier reading of the clock from the later one.", "negative"
    if asking < typical and seconds < 2 * asking:
        why = f"{_time(asking)} is how long step() takes to ask. It returns before the work is done"
        if device.waits == 0:
            return f"{said} {why}, and you never called wait().", "times-the-asking"
        return f"{said} {why}: read the clock after the wait(), not before.", "stops-before-the-wait"
    if asking == typical and seconds < 0.1 * typical:
        return (
            f"{said} Its model has many small layers: asking for them is what takes long, and the device "
            "keeps up. Start the clock before step(), not after it.",
            "starts-after-the-step",
        )
    if seconds <= 0:
        return f"{said} Between the two readings of your clock nothing happened.", None
    if abs(seconds / typical / 1000 - 1) <= TOLERANCE and device.steps < 900:
        return f"{said} That is in milliseconds. Return seconds.", "milliseconds"
    if abs(seconds * typical - 1) <= TOLERANCE:
        return f"{said} That is steps per second. Return seconds per step.", "steps-per-second"
    if seconds > typical and device.readings_while_busy:
        return (
            f"{said} At a reading of your clock the device was still at work on steps that you had asked for "
            "before it. Call wait() after the warm-up, then start the clock.",
            "warms-up-without-waiting",
        )
    if seconds > 1.5 * typical and seconds <= (1 + TOLERANCE) * device.steps * typical:
        return (
            f"{said} Yours is the time of {seconds / typical:.0f} steps; you asked for {device.steps}. "
            "Divide by the number of steps.",
            "total-not-per-step",
        )
    return (
        f"{said} You asked for {device.steps} steps. How many of them lie between two readings of your "
        "clock?",
        None,
    )


def _only_after_a_quiet_device(answer):
    for device in _quiet_devices():
        if not _near(_measured(answer, device), device):
            raise NotYet("This comes next, once the steps of a device that nothing disturbs are timed right.")


def _forgets_what_came_before(answer):
    _only_after_a_quiet_device(answer)
    device = PretendDevice(work=4e-3, busy=BUSY)
    seconds = _measured(answer, device)
    if not _near(seconds, device):
        raise NotYet(
            f"You gave {_time(seconds)}; a step takes this device {_time(device.typical)}. When you began it "
            f"still had {_time(BUSY)} of earlier work to do, which your time holds. Call wait() before you "
            "start the clock as well.",
            "counts-earlier-work",
        )
    device = PretendDevice(work=4e-3, slow_first=SLOW_FIRST)
    seconds = _measured(answer, device)
    if not _near(seconds, device):
        first, second = map(_time, SLOW_FIRST)
        raise NotYet(
            f"You gave {_time(seconds)}; a step takes this device {_time(device.typical)}. But its first two "
            f"take {first} and {second}, while it chooses its kernels, and your time holds at least one of "
            "them. Run a few steps before you start the clock.",
            "times-the-warm-up",
        )


def _bears_disturbance(answer):
    _only_after_a_quiet_device(answer)
    for disturbed in range(PERIOD):
        device = PretendDevice(work=5e-3, disturbed=disturbed)
        seconds = _measured(answer, device)
        if not _near(seconds, device):
            raise NotYet(*_on_a_disturbed_device(seconds, device))
    for disturbed in range(PERIOD):
        device = PretendDevice(work=5e-3, busy=BUSY, slow_first=SLOW_FIRST, disturbed=disturbed)
        seconds = _measured(answer, device)
        if not _near(seconds, device):
            raise NotYet(
                f"You gave {_time(seconds)}; a step takes this device {_time(device.typical)}. It was busy, "
                "its first steps were slow, and one step was disturbed: together too much for the "
                f"{device.steps} steps you asked for. Warm up, wait, then time more of them.",
                "too-few-for-all-at-once",
            )


def _on_a_disturbed_device(seconds, device):
    said = (
        f"You gave {_time(seconds)}; a step takes this device {_time(device.typical)}. But one step in "
        f"{PERIOD} takes {SLOWER} times as long, since something else runs as well"
    )
    if seconds > 0.9 * SLOWER * device.typical:
        if device.readings <= 3:
            return f"{said}. You timed one step, and met that one: time several.", "times-one-step"
        return f"{said}. Yours is the slowest step. Take the median.", "takes-the-slowest"
    blocks = device.timed
    holding = sum(disturbed for _, disturbed in blocks)
    if len(blocks) > 1 and 2 * holding >= len(blocks):
        return _most_times_disturbed(
            said, statistics.mode(steps for steps, _ in blocks), holding, len(blocks)
        )
    return (
        f"{said}, and a mean holds that too. Read the clock around each step (or around a few), and take the "
        "median of these times.",
        "mean-of-disturbed",
    )


def _most_times_disturbed(said, steps, holding, times):
    """Of an answer that took so many times, each of so many steps: too many hold a disturbed step."""
    verb = "holds" if holding == 1 else "hold"
    if steps == 1:
        return (
            f"{said}. Of your {times} times {holding} {verb} such a step. Time more steps.",
            "too-few-times",
        )
    share = f"all your {times}" if holding == times else f"{holding} of your {times}"
    return (
        f"{said}. You timed {steps} steps at once, and {share} times {verb} such a step. Wait and read the "
        "clock after each step, or after two or three, and take the median.",
        "long-blocks",
    )


TIME_IT_RIGHT = Exercise(
    id="time-it-right",
    title="Time it right",
    minutes=5,
    stub=f'''
def seconds_per_step(step, wait, clock):
    """How many seconds a typical training step takes on this device.

    step()   asks the device for one training step and returns at once, as on a GPU
    wait()   returns when the device has done all that it was asked for
    clock()  gives the time in seconds. Use no other: the check's device is a pretended one

    It may be busy when you begin. Its first few steps are much slower than the others, and now
    and then something else disturbs a step. Ask for {MOST_STEPS:,} steps at most.
    """
    raise NotImplementedError
''',
    hints=(
        "Three things spoil a measurement here: a clock that does not wait for the device, what came before, "
        "and a step that something else disturbed.",
        "Run a few steps first, and wait for them. Then read the clock around a step with its wait, many "
        "times. Which kind of average ignores a few times that are far off?",
        "for _ in range(5): step(). Then wait(). Then 20 times: start = clock(), step(), wait(), "
        "times.append(clock() - start). Return statistics.median(times), after import statistics.",
    ),
    tests=[
        Test("the work and not the asking", 1, _waits_for_the_work),
        Test("neither slow first steps nor earlier work", 1, _forgets_what_came_before),
        Test("a step now and then is disturbed", 1, _bears_disturbance),
    ],
    why=(
        "Each time you took ends when the work is done, and neither slow first steps nor disturbed ones move "
        "your result."
    ),
)

# why-no-speedup ----------------------------------------------------------------------------------------


def _plain(text):
    return " ".join(text.replace("-", " ").replace("_", " ").lower().split())


_CAUSE_OF = {_plain(cause): cause for cause in no_speedup.CAUSES}


def _cause_of(letter):
    def run(answer):
        causes = expect.dictionary(answer.causes, "causes")
        if letter not in causes:
            raise NotYet(f'causes has no entry "{letter}".')
        given = causes[letter]
        if given is ...:
            raise NotYet(f'causes["{letter}"] is still `...`: put a cause there.')
        cause = _CAUSE_OF.get(_plain(expect.text(given, f'causes["{letter}"]')))
        if cause is None:
            raise NotYet(
                f'causes["{letter}"] is {kind_and_value(given)}, which is none of the eight. They are: '
                + ", ".join(f'"{each}"' for each in no_speedup.CAUSES)
                + "."
            )
        if cause != no_speedup.RIGHT[letter]:
            raise NotYet(
                f'Case {letter} is not "{cause}". {no_speedup.AGAINST[letter][cause]}',
                f"case-{letter}-{_plain(cause)}".lower().replace(" ", "-"),
            )

    return run


_WIDTH = max(map(len, no_speedup.CAUSES)) + 2

WHY_NO_SPEEDUP = Exercise(
    id="why-no-speedup",
    title="Why there was no speedup",
    minutes=4,
    stub="# The six cases stand above. Choose a cause for each; two of the eight are left over.\n"
    + "".join(
        f"#   {f'{chr(34)}{cause}{chr(34)}':{_WIDTH}}  {text}\n" for cause, text in no_speedup.CAUSES.items()
    )
    + "causes = {\n"
    + "".join(f'    "{letter}": ...,\n' for letter in CASES)
    + "}\n",
    hints=(
        "First ask where the time goes: is the GPU busy at all? Then what it does: large products or small "
        "ones. Then what the products run on.",
        "In D the GPU idles after each kernel. In the others it is busy: ask with what, and look at what the "
        "card has, at the sizes, and at what the run is compared with.",
        "A: which precision did the FP32 run multiply in? B: what became faster, and what did not? C: is "
        "1,023 a multiple of 8? E: which capability does native BF16 begin at? F: and tensor cores?",
    ),
    tests=[Test(f"case {letter}", 0.5, _cause_of(letter)) for letter in CASES],
    why=(
        "In each case one thing decides: how busy the GPU is and with what, how fast its products run, what "
        "the card has, or what the baseline was."
    ),
)

# quick checks ------------------------------------------------------------------------------------------

WHAT_HALVES = QuickCheck(
    id="what-halves",
    question=(
        "In FP32 a training step holds 1 GB of parameters, 1 GB of gradients, 2 GB of Adam's state and 8 GB "
        "of activations. About how much is it under 16-bit autocast, if all activations are in 16 bits there?"
    ),
    choices=[
        Choice(
            "A",
            "6 GB: every number takes 2 bytes in place of 4.",
            "Parameters, gradients and Adam's state stay in FP32, 4 GB of it. Autocast casts what layers "
            "read.",
        ),
        Choice(
            "B",
            "Between 8 and 9 GB: half of the activations go.",
            "4 GB stay, the activations shrink from 8 to 4 GB, and the 16-bit copies of the weights add up "
            "to half a GB.",
            right=True,
        ),
        Choice(
            "C",
            "10 GB: parameters, gradients and Adam's state halve, from 4 to 2 GB.",
            "It is the other way round. These stay in FP32, so that small updates are not lost; the "
            "activations halve.",
        ),
    ],
)

WHY_FASTER = QuickCheck(
    id="why-faster",
    question=(
        "The same T4: 320 GB a second, 8.1 TFLOPS in FP32, 65 in FP16. "
        "How much faster can it multiply 8 × 4,096 numbers by 4,096 × 4,096 if all are FP16, not FP32?"
    ),
    choices=[
        Choice(
            "A",
            "About 8 times: 65 TFLOPS in place of 8.1.",
            "The 0.27 billion operations take 33 µs in FP32, but reading the 67 MB of the large matrix takes "
            "210 µs. Faster multiplying does not shorten that.",
        ),
        Choice(
            "B",
            "Not at all: reading is the limit, and stays as slow.",
            "Reading is the limit, true. But FP16 has half as many bytes to read.",
        ),
        Choice(
            "C",
            "About twice: half as many bytes.",
            "34 MB in place of 67 take 105 µs rather than 210. Where memory is the limit, half the bytes are "
            "all that 16 bits give.",
            right=True,
        ),
    ],
)

AMDAHL = QuickCheck(
    id="amdahl",
    question=(
        "Matrix products are half of a step's time. In 16 bits they become 8 times as fast, and nothing else "
        "changes. How much faster is the step?"
    ),
    choices=[
        Choice(
            "A",
            "1.8 times as fast.",
            "The other half stays: 1 / (0.5 + 0.5 / 8) = 1.78. Even products that take no time would give "
            "only 2.",
            right=True,
        ),
        Choice(
            "B",
            "4 times as fast: half of 8.",
            "The half that did not change takes as long as before. It alone keeps the step above half of its "
            "old time.",
        ),
        Choice(
            "C",
            "4.5 times as fast: the mean of 8 and 1.",
            "Times add up, speeds do not. The old time was 0.5 + 0.5; the new one is 0.5 + 0.0625.",
        ),
    ],
)

CLOCK_WITHOUT_WAITING = QuickCheck(
    id="clock-without-waiting",
    question=(
        "On a GPU `start = time.perf_counter(); train_step(x, y); print(time.perf_counter() - start)` shows "
        "0.2 ms, with a batch of 8 as with one of 512. Why?"
    ),
    choices=[
        Choice(
            "A",
            "The GPU computes all samples at the same time, so that 512 take no longer than 8.",
            "Up to a point it does. But the same time whatever the batch shows that the clock does not see "
            "the work at all.",
        ),
        Choice(
            "B",
            "The clock shows how long it took to ask for the step.",
            "The call returns when the work is queued. Call `torch.cuda.synchronize()` before each reading "
            "of the clock.",
            right=True,
        ),
        Choice(
            "C",
            "`time.perf_counter()` is too coarse to tell two such short times apart.",
            "It tells times below a microsecond apart. What it measures here is short.",
        ),
    ],
)

LESSON = Lesson(
    notebook="06_memory_and_speed",
    title="Memory and speed",
    promise="Predict the memory of a model you cannot run, and measure speed without fooling yourself.",
    minutes_reading=40,
    minutes_exercises=23,
    exercises=[PREDICT_THE_BYTES, LARGEST_BATCH, TIME_IT_RIGHT, WHY_NO_SPEEDUP],
    quick_checks=[WHAT_HALVES, WHY_FASTER, CLOCK_WITHOUT_WAITING, AMDAHL],
)
