"""Linear layers with ReLU between: the bytes that a training step holds, and what mistakes make of them."""

import functools

import torch
from torch import nn

from amp_lessons.memory import kept_for_backward

PARTS = ("parameters", "gradients", "optimizer", "activations", "copies")


@functools.cache
def counted(sizes, batch_size, amp):
    """A dict from each of PARTS to its bytes, counted on a real net and a real step, on the CPU.

    Only the optimizer's are not: Adam's state is two tensors for each parameter, of its shape and dtype.
    (The first optimizer of a process takes PyTorch a second or more to make.)
    """
    layers = [layer for two in zip(sizes, sizes[1:]) for layer in (nn.Linear(*two), nn.ReLU())]
    model = nn.Sequential(*layers[:-1])
    x = torch.zeros(batch_size, sizes[0])

    def forward():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
            return model(x).sum()  # a sum keeps nothing: the loss is left out

    kept = kept_for_backward(forward, model)
    forward().backward()
    parameters = list(model.parameters())
    return {
        "parameters": sum(each.nbytes for each in parameters),
        "gradients": sum(each.grad.nbytes for each in parameters),
        "optimizer": sum(2 * each.nbytes for each in parameters),
        "activations": kept.activations,
        "copies": kept.weight_copies,
    }


def mistaken(part, sizes, batch_size, amp):
    """What known mistakes give for a part: a list of (bytes, the mistake's code, a sentence about it)."""
    if part == "activations":
        return _mistaken_activations(sizes, batch_size, amp)
    if part == "copies":
        return _mistaken_copies(sizes, amp)
    return _mistaken_per_parameter(part, sizes, amp)


def _weights(sizes):
    """How many numbers each layer's weight matrix has."""
    return [inputs * outputs for inputs, outputs in zip(sizes, sizes[1:])]


def _mistaken_per_parameter(part, sizes, amp):
    """For what there is once or twice per parameter, in FP32 always."""
    weights, biases = sum(_weights(sizes)), sum(sizes[1:])
    times = 2 if part == "optimizer" else 1
    numbers = times * (weights + biases)
    yours = [
        (4 * times * weights, "forgets-the-biases", "Each layer has a bias as well, a number per output."),
        *_other_units(numbers, 4),
    ]
    if amp:
        what = {
            "parameters": "Autocast leaves the weights in FP32. What it makes are copies, counted apart.",
            "gradients": "A gradient has the dtype of its parameter, which stays FP32 under autocast.",
            "optimizer": "Adam's means have the dtype of the parameters, which stay FP32 under autocast.",
        }[part]
        code = {"parameters": "halves-the-weights", "gradients": "halves-the-gradients"}
        yours.append((2 * numbers, code.get(part, "halves-the-optimizer"), what))
    if part == "parameters" and amp:
        said = "The 16-bit copies are in there too. They have a line of their own, copies."
        copies = {2 * (weights + biases), 2 * weights, 2 * sum(_weights(sizes)[1:])} - {0}
        yours += [(4 * numbers + size, "copies-among-the-parameters", said) for size in sorted(copies)]
    if part == "optimizer":
        one = numbers // 2
        if not amp:
            said = "Adam keeps two running means for each parameter: of its gradient and of the square."
            yours.append((4 * one, "one-number-per-parameter", said))
        said = "Only what Adam itself keeps belongs here; parameters and gradients have lines of their own."
        yours += [(4 * many * one, "counts-the-weights-again", said) for many in (3, 4)]
        said = "Adam's step counters, one for each parameter tensor, are left out here."
        yours.append((4 * numbers + 8 * (len(sizes) - 1), "counts-the-step-counters", said))
    return yours


def _mistaken_activations(sizes, batch_size, amp):
    width = 2 if amp else 4
    inputs, hidden = sizes[:-1], sizes[1:-1]
    yours = [
        (
            width * batch_size * sum(sizes[1:]),
            "outputs-for-inputs",
            "That is what the layers give. Backward needs what they read: the input of the net, too, and not "
            "its last result.",
        ),
        (
            width * batch_size * sum(sizes),
            "counts-the-logits",
            "No layer reads the last result. Only the loss does, which is left out.",
        ),
        (
            width * batch_size * sum(hidden),
            "forgets-the-input",
            "The first layer reads the net's input, and the gradient of its weights is made of it.",
        ),
        (
            width * batch_size * sum((*inputs, *hidden)),
            "counts-relu-twice",
            "What ReLU keeps is its result, and the next layer reads the same memory. It counts once.",
        ),
        *_read_and_given(width * batch_size, inputs, sizes[1:]),
        (width * sum(inputs), "forgets-the-batch", "That is for one sample. How many are in the batch?"),
        *_other_units(batch_size * sum(inputs), width),
    ]
    if amp:
        said = "Under autocast each layer reads 16-bit numbers and keeps those: 2 bytes each."
        yours.append((4 * batch_size * sum(inputs), "activations-stay-fp32", said))
        said = "The net's input is cast as well, and the first layer keeps its 16-bit copy."
        yours.append((batch_size * (4 * sizes[0] + 2 * sum(hidden)), "input-stays-fp32", said))
        yours += _kept_twice(batch_size, sizes[0], sum(hidden))
    else:
        said = "Without autocast they are FP32: 4 bytes each."
        yours.append((2 * batch_size * sum(inputs), "halves-without-amp", said))
    return yours


def _read_and_given(width, inputs, outputs):
    if len(inputs) == 1:  # then it is the same as counting the last result
        return []
    said = "You count what each layer reads and what it gives. Backward needs only what it reads."
    return [(width * sum((*inputs, *outputs)), "inputs-and-outputs", said)]


def _kept_twice(batch_size, inputs, hidden):
    """Where FP32 numbers are counted beside the 16-bit ones that are made of them: 6 bytes each."""
    of_x, of_relu = "x in FP32 counts as data", "ReLU's result exists in 16 bits only"
    both = f"Each layer reads 16-bit numbers and keeps only those. {of_x}, and {of_relu}."
    return [
        (batch_size * 6 * (inputs + hidden), "originals-as-well", both),
        (batch_size * (6 * inputs + 2 * hidden), "counts-the-data", f"{of_x}: only its copy belongs here."),
        (
            batch_size * (2 * inputs + 6 * hidden),
            "relu-in-fp32-as-well",
            f"{of_relu}: autocast's layers give those.",
        ),
    ]


def _mistaken_copies(sizes, amp):
    weights = _weights(sizes)
    kept = sum(weights[1:])
    in_fp32 = "Without autocast no weight is cast, so there are no copies."
    if not amp:
        biases = sum(sizes[1:])
        sizes_of_copies = {2 * kept, 2 * sum(weights), 2 * sum(weights) + 2 * biases, 4 * kept} - {0}
        return [(size, "copies-without-amp", in_fp32) for size in sorted(sizes_of_copies)]
    return [
        (0, "forgets-the-copies", "Backward multiplies with the 16-bit weights, so their copies are kept."),
        (
            2 * sum(weights),
            "copies-of-the-first-layer",
            "The first layer's is in there. Backward would need it for the gradient of the net's input, "
            "which nobody asks for.",
        ),
        (
            2 * sum(weights[:-1]),
            "leaves-out-the-last-layer",
            "You left out the last layer's weights. It is the first layer that needs none.",
        ),
        (2 * (kept + sum(sizes[2:])), "copies-of-biases", "A bias is only added: backward needs none."),
        (
            2 * (sum(weights) + sum(sizes[1:])),
            "copies-of-all-parameters",
            "That is a copy of every parameter. Backward needs no bias, and of the first layer no weights.",
        ),
        (4 * kept, "copies-in-fp32", "The copies are 16-bit numbers: 2 bytes each."),
        *_other_units(kept, 2),
    ]


def _other_units(numbers, width):
    return [
        (numbers, "numbers-not-bytes", f"That is how many numbers there are. Each takes {width} bytes."),
        (8 * width * numbers, "bits-not-bytes", "That is in bits. A byte has 8 of them."),
    ]
