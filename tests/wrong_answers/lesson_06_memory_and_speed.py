# ruff: noqa
# Wrong answers that learners write, each with what the verdict must say. Read as text by the tests.

# %% predict-the-bytes: no-biases
# says: predict_bytes((6, 16, 4), 5, False)["parameters"] gave 640 bytes. Each layer has a bias
# mistake: forgets-the-biases
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: counts-numbers
# says: gave 180 bytes. That is how many numbers there are
# mistake: numbers-not-bytes
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": 2 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: counts-bits
# says: gave 5,760 bytes. That is in bits
# mistake: bits-not-bytes
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 32 * parameters,
        "gradients": 32 * parameters,
        "optimizer": 64 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: everything-halves
# says: True)["parameters"] gave 360 bytes. Autocast leaves the weights in FP32
# mistake: halves-the-weights
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": width * parameters,
        "gradients": width * parameters,
        "optimizer": 2 * width * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: copies-counted-as-parameters
# says: gave 848 bytes. The 16-bit copies are in there too
# mistake: copies-among-the-parameters
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters + (2 * copied if amp else 0),
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: gradients-halve
# says: True)["gradients"] gave 360 bytes. A gradient has the dtype of its parameter
# mistake: halves-the-gradients
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": width * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: one-mean
# says: False)["optimizer"] gave 720 bytes. Adam keeps two running means
# mistake: one-number-per-parameter
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 4 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: sixteen-bytes-in-all
# says: gave 2,880 bytes. Only what Adam itself keeps belongs here
# mistake: counts-the-weights-again
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 16 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: adam-halves
# says: gave 720 bytes. Adam's means have the dtype of the parameters
# mistake: halves-the-optimizer
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 2 * width * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: with-step-counters
# says: gave 1,456 bytes. Adam's step counters
# mistake: counts-the-step-counters
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters + 4 * 2 * len(pairs),
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: what-layers-give
# says: False)["activations"] gave 400 bytes. That is what the layers give
# mistake: outputs-for-inputs
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[1:]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: all-sizes
# says: gave 520 bytes. No layer reads the last result
# mistake: counts-the-logits
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: reads-and-gives
# says: gave 840 bytes. You count what each layer reads and what it gives
# mistake: inputs-and-outputs
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(a + b for a, b in pairs),
        "copies": 2 * sum(a * b for a, b in pairs[1:]) if amp else 0,
    }


# %% predict-the-bytes: hidden-only
# says: gave 320 bytes. The first layer reads the net's input
# mistake: forgets-the-input
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[1:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: relu-as-well
# says: gave 760 bytes. What ReLU keeps is its result
# mistake: counts-relu-twice
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * (sum(sizes[:-1]) + sum(sizes[1:-1])),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: one-sample
# says: gave 88 bytes. That is for one sample
# mistake: forgets-the-batch
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: activations-in-fp32
# says: True)["activations"] gave 440 bytes. Under autocast each layer reads 16-bit numbers
# mistake: activations-stay-fp32
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: input-in-fp32
# says: gave 280 bytes. The net's input is cast as well
# mistake: input-stays-fp32
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": batch_size * (4 * sizes[0] + width * sum(sizes[1:-1])),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: always-16-bits
# says: gave 220 bytes. Without autocast they are FP32
# mistake: halves-without-amp
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: no-copies
# says: True)["copies"] gave 0 bytes. Backward multiplies with the 16-bit weights
# mistake: forgets-the-copies
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 0,
    }


# %% predict-the-bytes: copies-of-every-matrix
# says: gave 320 bytes. The first layer's is in there
# mistake: copies-of-the-first-layer
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs)
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: all-but-the-last
# says: gave 192 bytes. You left out the last layer's weights
# mistake: leaves-out-the-last-layer
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[:-1])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: biases-copied
# says: gave 136 bytes. A bias is only added
# mistake: copies-of-biases
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b + b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: all-copied
# says: gave 360 bytes. That is a copy of every parameter
# mistake: copies-of-all-parameters
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = parameters
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: copies-of-4-bytes
# says: gave 256 bytes. The copies are 16-bit numbers
# mistake: copies-in-fp32
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 4 * copied if amp else 0,
    }


# %% predict-the-bytes: copies-in-fp32-training
# says: False)["copies"] gave 128 bytes. Without autocast no weight is cast
# mistake: copies-without-amp
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied,
    }


# %% predict-the-bytes: an-original-beside-each
# says: True)["activations"] gave 660 bytes. Each layer reads 16-bit numbers and keeps only those. x in FP32 counts as data, and ReLU's result exists in 16 bits only
# mistake: originals-as-well
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": (6 if amp else 4) * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: the-input-twice
# says: True)["activations"] gave 340 bytes. x in FP32 counts as data
# mistake: counts-the-data
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]) + (4 * batch_size * sizes[0] if amp else 0),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: hidden-ones-twice
# says: True)["activations"] gave 540 bytes. ReLU's result exists in 16 bits only
# mistake: relu-in-fp32-as-well
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1])
        + (4 * batch_size * sum(sizes[1:-1]) if amp else 0),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: none-where-there-are-none
# says: False)["copies"] is None. Write 0 where there are none
# mistake: none-for-zero
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else None,
    }


# %% predict-the-bytes: a-line-left-open
# says: ["optimizer"] is still `...`
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 4 * parameters,
        "gradients": 4 * parameters,
        "optimizer": ...,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: two-bytes-in-fp32-too
# says: gave 360 bytes. It should be 720: counted on a real net
def predict_bytes(sizes, batch_size, amp):
    pairs = list(zip(sizes, sizes[1:]))
    parameters = sum(a * b + b for a, b in pairs)
    width = 2 if amp else 4
    copied = sum(a * b for a, b in pairs[1:])
    return {
        "parameters": 2 * parameters,
        "gradients": 4 * parameters,
        "optimizer": 8 * parameters,
        "activations": width * batch_size * sum(sizes[:-1]),
        "copies": 2 * copied if amp else 0,
    }


# %% predict-the-bytes: prints-it
# says: predict_bytes((6, 16, 4), 5, False) is None
def predict_bytes(sizes, batch_size, amp):
    print({"parameters": 4 * sum(a * b + b for a, b in zip(sizes, sizes[1:]))})


# %% largest-batch: one-by-one
# says: After 60 calls of needed you asked once more, for 61. Trying one
# mistake: counts-one-by-one
def largest_batch(needed, budget):
    batch_size = 0
    while needed(batch_size + 1) <= budget:
        batch_size += 1
    return batch_size


# %% largest-batch: by-tens
# says: You went on by 8 each time
# mistake: goes-by-even-steps
def largest_batch(needed, budget):
    batch_size = 1
    while needed(batch_size) <= budget:
        batch_size += 8
    while batch_size > 0 and needed(batch_size) > budget:
        batch_size -= 1
    return batch_size


# %% largest-batch: a-line
# says: You divided by 0: needed gave the same for two of the batch sizes [1, 2]
# mistake: trusts-two-points
def largest_batch(needed, budget):
    first, second = needed(1), needed(2)
    if first > budget:
        return 0
    return 1 + (budget - first) // (second - first)


# %% largest-batch: doubles-only
# says: your largest batch is 16. But 17 needs 1,930,000,000, which fits as well. You doubled
# mistake: stops-at-a-power-of-two
def largest_batch(needed, budget):
    if needed(1) > budget:
        return 0
    batch_size = 1
    while needed(2 * batch_size) <= budget:
        batch_size *= 2
    return batch_size


# %% largest-batch: less-than
# says: your largest batch is 39. But 40 needs 4,000,000,000, which fits as well: exactly the budget
# mistake: leaves-no-byte
def largest_batch(needed, budget):
    low, high = 0, 1
    while needed(high) < budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if needed(middle) < budget:
            low = middle
        else:
            high = middle
    return low


# %% largest-batch: the-other-end
# says: your largest batch is 29. It needs 3,010,000,000: too much. 28 is the last that fits
# mistake: one-too-many
def largest_batch(needed, budget):
    low, high = 0, 1
    while needed(high) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if needed(middle) <= budget:
            low = middle
        else:
            high = middle
    return high


# %% largest-batch: one-less
# says: your largest batch is 27. But 28 needs 2,920,000,000, which fits as well, and is the last
# mistake: one-too-few
def largest_batch(needed, budget):
    low, high = 0, 1
    while needed(high) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if needed(middle) <= budget:
            low = middle
        else:
            high = middle
    return low - 1


# %% largest-batch: at-least-one
# says: your largest batch is 1. It needs 490,000,000: too much. Not even one sample fits
# mistake: never-0
def largest_batch(needed, budget):
    low, high = 0, 1
    while needed(high) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if needed(middle) <= budget:
            low = middle
        else:
            high = middle
    return max(low, 1)


# %% largest-batch: minus-one
# says: Where not even one sample fits, the answer is 0
# mistake: below-0
def largest_batch(needed, budget):
    if needed(1) > budget:
        return -1
    low, high = 1, 2
    while needed(high) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if needed(middle) <= budget:
            low = middle
        else:
            high = middle
    return low


# %% largest-batch: returns-at-equality
# says: more than one batch size needs exactly the budget
# mistake: stops-at-the-first-equal
def largest_batch(needed, budget):
    low, high = 0, 1
    while needed(high) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        size = needed(middle)
        if size == budget:
            return middle
        if size < budget:
            low = middle
        else:
            high = middle
    return low


# %% largest-batch: never-ends
# says: So you did the times before: the interval no longer shrinks
# mistake: never-narrows
def largest_batch(needed, budget):
    low, high = 0, 1
    while needed(high) <= budget:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high + 1) // 2
        if needed(middle) <= budget:
            low = middle
        else:
            high = middle
    return low


# %% largest-batch: asks-again
# says: You asked for 19 batch sizes more than once. Keep what needed gave in a variable
# mistake: asks-twice
def largest_batch(needed, budget):
    low, high = 0, 1
    while needed(high) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if needed(middle) <= budget:
            low = middle
        if needed(middle) > budget:
            high = middle
    return low


# %% largest-batch: starts-at-zero
# says: You called needed(0)
# mistake: asks-for-no-sample
def largest_batch(needed, budget):
    if needed(0) > budget:
        return 0
    low, high = 0, 1
    while needed(high) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if needed(middle) <= budget else (low, middle)
    return low


# %% largest-batch: halves-with-a-slash
# says: You called needed with a float (24.0)
# mistake: batch-not-whole
def largest_batch(needed, budget):
    low, high = 0, 1
    while needed(high) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle) <= budget else (low, middle)
    return low


# %% largest-batch: up-to-4096
# says: your largest batch is 4,096
# mistake: sets-an-end
def largest_batch(needed, budget):
    low, high = 0, 4096
    while low < high:
        middle = (low + high + 1) // 2
        if needed(middle) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


# %% largest-batch: a-guess
# says: You never called needed
# mistake: never-asks
def largest_batch(needed, budget):
    return 16


# %% largest-batch: asks-for-every-hundredth
# says: Doubling and halving the interval take about 40
# mistake: too-many-calls
def largest_batch(needed, budget):
    batch_size, growth = 1, 1.05
    if needed(1) > budget:
        return 0
    while needed(int(batch_size * growth) + 1) <= budget:
        batch_size = int(batch_size * growth) + 1
    while needed(batch_size + 1) <= budget:
        batch_size += 1
    return batch_size


# %% time-it-right: no-wait
# says: 20 µs is how long step() takes to ask
# mistake: times-the-asking
import statistics


def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    times = []
    for _ in range(20):
        start = clock()
        step()
        times.append(clock() - start)
    return statistics.median(times)


# %% time-it-right: waits-too-late
# says: read the clock after the wait(), not before
# mistake: stops-before-the-wait
import statistics


def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    times = []
    for _ in range(20):
        start = clock()
        step()
        times.append(clock() - start)
        wait()
    return statistics.median(times)


# %% time-it-right: starts-too-late
# says: Start the clock before step(), not after it
# mistake: starts-after-the-step
import statistics


def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    times = []
    for _ in range(20):
        step()
        start = clock()
        wait()
        times.append(clock() - start)
    return statistics.median(times)


# %% time-it-right: whole-time
# says: You gave 30 ms; a step takes this device 3 ms. Yours is the time of 10 steps
# mistake: total-not-per-step
def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    start = clock()
    for _ in range(10):
        step()
    wait()
    return clock() - start


# %% time-it-right: python-clock
# says: You never read clock()
# mistake: another-clock
import statistics
import time


def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    times = []
    for _ in range(20):
        start = time.perf_counter()
        step()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


# %% time-it-right: in-milliseconds
# says: That is in milliseconds
# mistake: milliseconds
import statistics


def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    times = []
    for _ in range(20):
        start = clock()
        step()
        wait()
        times.append(clock() - start)
    return 1000 * statistics.median(times)


# %% time-it-right: steps-a-second
# says: That is steps per second
# mistake: steps-per-second
def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    start = clock()
    for _ in range(20):
        step()
    wait()
    return 20 / (clock() - start)


# %% time-it-right: the-wrong-way-round
# says: Take the earlier reading of the clock from the later one
# mistake: negative
def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    start = clock()
    for _ in range(20):
        step()
    wait()
    return (start - clock()) / 20


# %% time-it-right: no-step
# says: You never called step()
# mistake: never-steps
def seconds_per_step(step, wait, clock):
    start = clock()
    wait()
    return clock() - start


# %% time-it-right: warm-up-in-the-divisor
# says: You asked for 25 steps. How many of them lie between
def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    start = clock()
    for _ in range(20):
        step()
    wait()
    return (clock() - start) / 25


# %% time-it-right: no-warm-up
# says: its first two take 300 ms and 60 ms
# mistake: times-the-warm-up
def seconds_per_step(step, wait, clock):
    wait()
    start = clock()
    for _ in range(20):
        step()
    wait()
    return (clock() - start) / 20


# %% time-it-right: no-wait-before
# says: When you began it still had 500 ms of earlier work
# mistake: counts-earlier-work
def seconds_per_step(step, wait, clock):
    start = clock()
    for _ in range(20):
        step()
    wait()
    return (clock() - start) / 20


# %% time-it-right: warms-up-only
# says: a step takes this device 3 ms. At a reading of your clock the device was still at work
# mistake: warms-up-without-waiting
def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    start = clock()
    for _ in range(20):
        step()
    wait()
    return (clock() - start) / 20


# %% time-it-right: a-mean
# says: and a mean holds that too
# mistake: mean-of-disturbed
def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    start = clock()
    for _ in range(20):
        step()
    wait()
    return (clock() - start) / 20


# %% time-it-right: blocks-of-ten
# says: You timed 10 steps at once, and 10 of your 20 times hold such a step
# mistake: long-blocks
import statistics


def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    times = []
    for _ in range(20):
        start = clock()
        for _ in range(10):
            step()
        wait()
        times.append((clock() - start) / 10)
    return statistics.median(times)


# %% time-it-right: two-times
# says: Of your 2 times 1 holds such a step. Time more steps
# mistake: too-few-times
import statistics


def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    times = []
    for _ in range(2):
        start = clock()
        step()
        wait()
        times.append(clock() - start)
    return statistics.median(times)


# %% time-it-right: one-step
# says: You timed one step, and met that one
# mistake: times-one-step
def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    start = clock()
    step()
    wait()
    return clock() - start


# %% time-it-right: the-slowest
# says: Yours is the slowest step
# mistake: takes-the-slowest
def seconds_per_step(step, wait, clock):
    for _ in range(5):
        step()
    wait()
    times = []
    for _ in range(20):
        start = clock()
        step()
        wait()
        times.append(clock() - start)
    return max(times)


# %% time-it-right: no-warm-up-few-steps
# says: together too much for the 5 steps
# mistake: too-few-for-all-at-once
import statistics


def seconds_per_step(step, wait, clock):
    times = []
    for _ in range(5):
        start = clock()
        step()
        wait()
        times.append(clock() - start)
    return statistics.median(times)


# %% time-it-right: thousands
# says: You asked for more than 1,000 steps
# mistake: too-many-steps
def seconds_per_step(step, wait, clock):
    for _ in range(100):
        step()
    wait()
    start = clock()
    for _ in range(10_000):
        step()
    wait()
    return (clock() - start) / 10_000


# %% why-no-speedup: a-memory
# says: Case A is not "memory-bound ops". Nine tenths of the FP32 step
# mistake: case-a-memory-bound-ops
causes = {
    "A": "memory-bound ops",
    "B": "memory-bound ops",
    "C": "odd sizes",
    "D": "small work",
    "E": "emulated BF16",
    "F": "old hardware",
}


# %% why-no-speedup: a-clock
# says: Both scripts call torch.cuda.synchronize()
# mistake: case-a-not-waited-for
causes = {
    "A": "not waited for",
    "B": "memory-bound ops",
    "C": "odd sizes",
    "D": "small work",
    "E": "emulated BF16",
    "F": "old hardware",
}


# %% why-no-speedup: b-loading
# says: The GPU is busy for 98 %
# mistake: case-b-data-loading
causes = {
    "A": "TF32 in the baseline",
    "B": "data loading",
    "C": "odd sizes",
    "D": "small work",
    "E": "emulated BF16",
    "F": "old hardware",
}


# %% why-no-speedup: b-small
# says: in kernels of 0.2 ms and more
# mistake: case-b-small-work
causes = {
    "A": "TF32 in the baseline",
    "B": "small work",
    "C": "odd sizes",
    "D": "small work",
    "E": "emulated BF16",
    "F": "old hardware",
}


# %% why-no-speedup: b-clock
# says: add up to the 160 ms
# mistake: case-b-not-waited-for
causes = {
    "A": "TF32 in the baseline",
    "B": "not waited for",
    "C": "odd sizes",
    "D": "small work",
    "E": "emulated BF16",
    "F": "old hardware",
}


# %% why-no-speedup: b-old
# says: An L4 (capability 8.9) has tensor cores
# mistake: case-b-old-hardware
causes = {
    "A": "TF32 in the baseline",
    "B": "old hardware",
    "C": "odd sizes",
    "D": "small work",
    "E": "emulated BF16",
    "F": "old hardware",
}


# %% why-no-speedup: c-old
# says: the other net reaches 80 TFLOPS
# mistake: case-c-old-hardware
causes = {
    "A": "TF32 in the baseline",
    "B": "memory-bound ops",
    "C": "old hardware",
    "D": "small work",
    "E": "emulated BF16",
    "F": "old hardware",
}


# %% why-no-speedup: c-tf32
# says: A V100 has no TF32
# mistake: case-c-tf32-in-the-baseline
causes = {
    "A": "TF32 in the baseline",
    "B": "memory-bound ops",
    "C": "TF32 in the baseline",
    "D": "small work",
    "E": "emulated BF16",
    "F": "old hardware",
}


# %% why-no-speedup: d-loading
# says: the pauses are 5 µs long
# mistake: case-d-data-loading
causes = {
    "A": "TF32 in the baseline",
    "B": "memory-bound ops",
    "C": "odd sizes",
    "D": "data loading",
    "E": "emulated BF16",
    "F": "old hardware",
}


# %% why-no-speedup: d-memory
# says: it idles for 5 µs
# mistake: case-d-memory-bound-ops
causes = {
    "A": "TF32 in the baseline",
    "B": "memory-bound ops",
    "C": "odd sizes",
    "D": "memory-bound ops",
    "E": "emulated BF16",
    "F": "old hardware",
}


# %% why-no-speedup: e-old
# says: FP16 takes 0.4 times as long
# mistake: case-e-old-hardware
causes = {
    "A": "TF32 in the baseline",
    "B": "memory-bound ops",
    "C": "odd sizes",
    "D": "small work",
    "E": "old hardware",
    "F": "old hardware",
}


# %% why-no-speedup: e-memory
# says: which moves as many bytes as BF16
# mistake: case-e-memory-bound-ops
causes = {
    "A": "TF32 in the baseline",
    "B": "memory-bound ops",
    "C": "odd sizes",
    "D": "small work",
    "E": "memory-bound ops",
    "F": "old hardware",
}


# %% why-no-speedup: f-emulated
# says: This run is in FP16, not in BF16
# mistake: case-f-emulated-bf16
causes = {
    "A": "TF32 in the baseline",
    "B": "memory-bound ops",
    "C": "odd sizes",
    "D": "small work",
    "E": "emulated BF16",
    "F": "emulated BF16",
}


# %% why-no-speedup: f-memory
# says: 85 % of the time are matrix products
# mistake: case-f-memory-bound-ops
causes = {
    "A": "TF32 in the baseline",
    "B": "memory-bound ops",
    "C": "odd sizes",
    "D": "small work",
    "E": "emulated BF16",
    "F": "memory-bound ops",
}


# %% why-no-speedup: a-cause-of-its-own
# says: which is none of the eight
causes = {
    "A": "TF32 in the baseline",
    "B": "memory-bound ops",
    "C": "the vocabulary",
    "D": "small work",
    "E": "emulated BF16",
    "F": "old hardware",
}


# %% why-no-speedup: one-left-open
# says: causes["D"] is still `...`
causes = {
    "A": "TF32 in the baseline",
    "B": "memory-bound ops",
    "C": "odd sizes",
    "D": ...,
    "E": "emulated BF16",
    "F": "old hardware",
}
