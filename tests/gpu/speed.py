"""Measures speed: whole training steps, and products of matrices.

``python -m tests.gpu.speed SECONDS FILE`` does it in a process of its own and writes FILE anew after each
measurement, so that a crash takes none with it.
"""

import sys

import torch

from tests.gpu import apart, product_speed, result_file, training_speed, workloads
from tests.gpu.budget import Budget
from tests.gpu.precisions import PRECISIONS

SPARE = 10  # seconds in which the process ends by itself before it is ended
STEP_SECONDS, PRODUCT_SECONDS = 8.0, 1.0  # about, for each thing that is measured


def run(seconds):
    """Measure in a process of its own; give {"outcome", "products", "steps", "left_out", "notes"}.

    outcome: "measured" if nothing was left out, else "cut" or "failed". left_out: {"what", "why"} each.
    notes: what is not measured on such a device, which is no failure.
    """
    ended, told = apart.run(["-m", "tests.gpu.speed", str(max(1, seconds - SPARE))], seconds)
    told = told or {"products": [], "steps": [], "left_out": [], "notes": []}
    if ended != "well":
        why = "the time was spent" if ended == "cut" else "the process that measured ended by an error"
        told["left_out"].append({"what": "what is not listed here", "why": why})
    return {"outcome": outcome_of(told["left_out"])} | told


def outcome_of(left_out):
    whys = [each["why"] for each in left_out]
    if not whys:
        return "measured"
    return "cut" if all("time was spent" in why for why in whys) else "failed"


def for_this_device(names, device):
    """(those of the names that are measured on this device, a note for each other one).

    Without BF16 units PyTorch emulates it, so slowly that it would use up the time. Without TF32 units the
    setting does nothing: that would be plain FP32 under a wrong name.
    """
    if device != "cuda" or torch.version.hip is not None or torch.cuda.get_device_capability() >= (8, 0):
        return list(names), []
    major, minor = torch.cuda.get_device_capability()
    lacking = [name for name in names if name in ("fp32 with tf32", "bf16")]
    why = f"not measured: a GPU of capability {major}.{minor} has no units for it, which come with 8.0"
    return [name for name in names if name not in lacking], [f"{name}: {why}" for name in lacking]


def measure_all(device, seconds, small, sizes, make_large, texts, note):
    """Measure the products, then both models in each precision; calls note(results) after each.

    The GPT, which takes longest, comes last.
    make_large(texts): the workload that fills the device; with fewer texts if that many don't fit.
    """
    precisions, notes = for_this_device(PRECISIONS, device)
    formats, _ = for_this_device(product_speed.FORMATS, device)
    results = {"products": [], "steps": [], "left_out": [], "notes": notes}
    budget = Budget(seconds)

    def attempt(kind, what, measure):
        if budget.is_spent():
            results["left_out"].append({"what": what, "why": "the time was spent"})
        else:
            try:
                results[kind].append(measure())
                print(f"measured: {what}", flush=True)
            except torch.OutOfMemoryError:
                return False
            except Exception as error:  # a device that lacks a format, for one: the others are measured
                why = f"{type(error).__name__}: {error}"[:500]
                results["left_out"].append({"what": what, "why": why})
        note(results)
        return True

    def steps(workload):
        """Whether a step fits into memory in every precision, FP32, the largest, first."""
        return all(
            attempt(
                "steps",
                f"{workload.name}, {name}",
                lambda name=name: training_speed.measure(workload, name, device, STEP_SECONDS),
            )
            for name in precisions
        )

    for size in sizes:
        for name in formats:
            fits = attempt(
                "products",
                f"product of {size} × {size}, {name}",
                lambda size=size, name=name: product_speed.measure(size, name, device, PRODUCT_SECONDS),
            )
            if not fits:
                results["left_out"].append({"what": f"product of {size} × {size}, {name}", "why": "no room"})
    if not steps(small):
        results["left_out"].append({"what": small.name, "why": "it does not fit into this GPU's memory"})
    before_large = len(results["steps"])
    while not steps(make_large(texts)):
        del results["steps"][before_large:]  # one size for all, or they can't be compared
        texts //= 2
        if texts == 0:
            results["left_out"].append({"what": "TinyGPT", "why": "it does not fit into this GPU's memory"})
            break
    note(results)
    return results


def main(seconds, file):
    free, _ = torch.cuda.mem_get_info()
    measure_all(
        "cuda",
        seconds,
        workloads.digits_classifier(),
        product_speed.SIZES,
        workloads.gpt,
        workloads.texts_that_fit(free),
        lambda results: result_file.write(results, file),
    )


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2])
