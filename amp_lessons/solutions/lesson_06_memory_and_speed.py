# Reference answers of lesson 06. Read as text by solution(); lessons and checks never import this file.


# %% predict-the-bytes
def predict_bytes(sizes, batch_size, amp):
    """What training a stack of Linear layers with Adam keeps in memory, kind by kind, in bytes."""
    layers = list(zip(sizes, sizes[1:]))
    parameters = sum(inputs * outputs + outputs for inputs, outputs in layers)
    width = 2 if amp else 4  # bytes of a number that a layer reads
    copied = sum(inputs * outputs for inputs, outputs in layers[1:])  # x needs no gradient
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% largest-batch
def largest_batch(needed, budget):
    """The largest batch size whose training step needs at most `budget` bytes."""
    fits, too_large = 0, 1
    while needed(too_large) <= budget:
        fits, too_large = too_large, 2 * too_large
    while too_large - fits > 1:  # the border lies between the two
        middle = (fits + too_large) // 2
        if needed(middle) <= budget:
            fits = middle
        else:
            too_large = middle
    return fits


# %% time-it-right
import statistics  # noqa: E402


def seconds_per_step(step, wait, clock):
    """How many seconds a typical training step takes on this device."""
    for _ in range(5):  # the first steps are slow
        step()
    wait()  # nothing is left to do when the clock starts
    times = []
    for _ in range(20):
        start = clock()
        step()
        wait()  # step() only asks
        times.append(clock() - start)
    return statistics.median(times)  # a disturbed step does not move it


# %% why-no-speedup
causes = {
    "A": "TF32 in the baseline",  # "high" lets FP32 products run in TF32
    "B": "memory-bound ops",  # 142 of 160 ms
    "C": "odd sizes",  # 1,023 and 50,257
    "D": "small work",  # 2 µs of work, 5 µs until the next
    "E": "emulated BF16",  # slower than FP32, where FP16 is faster
    "F": "old hardware",  # tensor cores begin at 7.0
}
