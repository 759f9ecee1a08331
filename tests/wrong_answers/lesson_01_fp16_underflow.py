# ruff: noqa
# Wrong answers that learners write, each with what the verdict must say. Read as text by the tests.

# %% flush-to-zero: below-the-smallest-normal
# says: You said True for 1e-6
# mistake: smallest-normal-is-zero
def becomes_zero(value):
    return value != 0 and abs(value) < torch.finfo(torch.float16).tiny


# %% flush-to-zero: below-the-smallest-number
# says: You said True for 1.4 * 2**-25
# mistake: smallest-subnormal-is-zero
def becomes_zero(value):
    return value != 0 and abs(value) < 2.0**-24


# %% flush-to-zero: a-round-limit
# says: You said True for 1.001 * 2**-25
def becomes_zero(value):
    return value != 0 and abs(value) <= 3e-8


# %% flush-to-zero: the-tie-survives
# says: You said False for 2**-25
# mistake: keeps-the-tie
def becomes_zero(value):
    return value != 0 and abs(value) < 2.0**-25


# %% flush-to-zero: no-absolute-value
# says: You said True for -1.0
# mistake: forgets-the-sign
def becomes_zero(value):
    return value != 0 and value <= 2.0**-25


# %% flush-to-zero: zero-counts
# says: You said True for 0.0
# mistake: counts-zero-as-lost
def becomes_zero(value):
    return torch.tensor(value).half().item() == 0


# %% flush-to-zero: gives-the-number
# says: tensor(1.0133e-06
def becomes_zero(value):
    return torch.tensor(value).half()


# %% share-lost: counts
# says: You got 2 for
# mistake: count-not-share
def share_lost(gradient):
    return ((gradient != 0) & (gradient.half() == 0)).sum()


# %% share-lost: per-cent
# says: You got 50 for
# mistake: percent-not-share
def share_lost(gradient):
    non_zero = gradient[gradient != 0]
    return 100 * (non_zero.half() == 0).float().mean().item()


# %% share-lost: all-zeros-in-fp16
# says: You got 0.75 for [[0, 0, 0, 1e-8]
# mistake: old-zeros-as-lost
def share_lost(gradient):
    return (gradient.half() == 0).float().mean()


# %% share-lost: of-all-values
# says: You got 0.125 for
# mistake: old-zeros-in-the-total
def share_lost(gradient):
    return (((gradient != 0) & (gradient.half() == 0)).sum() / gradient.numel()).item()


# %% share-lost: more-than-all
# says: You got 2 for [[0, 0, 0, 1e-8]
# mistake: old-zeros-above-the-line
def share_lost(gradient):
    return ((gradient.half() == 0).sum() / (gradient != 0).sum()).item()


# %% share-lost: smallest-normal
# says: You got 0.75 for [1e-2, 1e-5
# mistake: smallest-normal-counts-as-lost
def share_lost(gradient):
    non_zero = gradient[gradient != 0]
    if len(non_zero) == 0:
        return 0.0
    return (non_zero.abs() < 6.1e-5).float().mean().item()


# %% share-lost: no-absolute-value
# says: You got 0.25 for
# mistake: only-positive-values
def share_lost(gradient):
    non_zero = gradient[gradient != 0]
    if len(non_zero) == 0:
        return 0.0
    return ((non_zero > 0) & (non_zero < 2.0**-25)).float().mean().item()


# %% share-lost: mean-of-nothing
# says: You got nan
# mistake: nan-for-no-values
def share_lost(gradient):
    non_zero = gradient[gradient != 0]
    return (non_zero.half() == 0).float().mean()


# %% pick-a-scale: first-that-overflows
# says: You chose 2²⁸ for [3e-4, 1e-6]
# mistake: one-step-too-far
def pick_scale(gradient):
    scale = 2.0**-40
    while not (gradient * scale).half().isinf().any():
        scale *= 2
    return scale


# %% pick-a-scale: no-absolute-value
# says: -5 times
# mistake: forgets-the-sign
def pick_scale(gradient):
    scale = 2.0**60
    while scale * gradient.max() >= 65520:
        scale /= 2
    return scale


# %% pick-a-scale: quotient
# says: You chose 2.18347e+08
# mistake: no-power-of-two
def pick_scale(gradient):
    return (65504 / gradient.abs().max()).item()


# %% pick-a-scale: half-as-large
# says: You chose 2²⁶ for [3e-4, 1e-6]
# mistake: one-step-too-careful
import math


def pick_scale(gradient):
    return 2.0 ** math.floor(math.log2(32752 / gradient.abs().max().item()))


# %% pick-a-scale: the-default
# says: You chose 2¹⁶ for [3e-4, 1e-6]
# mistake: default-scale
def pick_scale(gradient):
    return 65536.0


# %% pick-a-scale: never-below-one
# says: You chose 2⁰ for [1e6, 2.0]
# mistake: overflows
def pick_scale(gradient):
    scale = 2.0**60
    while scale > 1 and (gradient * scale).half().isinf().any():
        scale /= 2
    return scale


# %% pick-a-scale: looks-in-fp32
# says: You chose 2¹²⁸ for [3e-4
# mistake: looks-in-fp32
def pick_scale(gradient):
    scale = 1.0
    while not (gradient * scale * 2).isinf().any():
        scale *= 2
    return scale


# %% swallowed-update: python-numbers
# says: You said False for weight 1 and update 0.0001
# mistake: adds-in-fp32
def is_swallowed(weight, update):
    return weight + update == weight


# %% swallowed-update: a-fixed-limit
# says: You said True for weight 0.0625 and update 0.0001
# mistake: ignores-the-weight
def is_swallowed(weight, update):
    return abs(update) < 2.0**-11


# %% swallowed-update: rule-of-thumb
# says: You said True for weight 1 and update -0.0004
# mistake: same-up-and-down
def is_swallowed(weight, update):
    return abs(weight) >= 2048 * abs(update)


# %% swallowed-update: compares-with-the-python-number
# says: You said False for weight 0.3 and update 1e-05
# mistake: compares-with-python-number
def is_swallowed(weight, update):
    after = torch.tensor(weight).half() + torch.tensor(update).half()
    return after.item() == weight


# %% swallowed-update: gives-the-sum
# says: tensor(1., dtype=torch.float16)
def is_swallowed(weight, update):
    return torch.tensor(weight).half() + torch.tensor(update).half()


# %% swallowed-update: rounds-only-the-sum
# says: You said False for weight 0.30016 and update 2e-05
# mistake: stores-too-late
def is_swallowed(weight, update):
    return (torch.tensor(weight + update).half() == torch.tensor(weight).half()).item()


# %% pick-a-scale: largest-number-as-limit
# says: You chose 2¹⁵ for [0.9996, 0.1]
# mistake: limit-too-low
def pick_scale(gradient):
    scale = 2.0**100
    while (gradient * scale).abs().max() > 65504:
        scale /= 2
    return scale


# %% share-lost: smallest-number-as-limit
# says: You got 0.6667 for [5e-8
# mistake: smallest-subnormal-counts-as-lost
def share_lost(gradient):
    non_zero = gradient[gradient != 0]
    if len(non_zero) == 0:
        return 0.0
    return (non_zero.abs() < 2.0**-24).float().mean().item()


# %% share-lost: below-the-limit-only
# says: You got 0 for [5e-8
# mistake: keeps-the-tie
def share_lost(gradient):
    non_zero = gradient[gradient != 0]
    if len(non_zero) == 0:
        return 0.0
    return (non_zero.abs() < 2.0**-25).float().mean().item()


# %% swallowed-update: half-steps-below-everything
# says: You said False for weight 1.5 and update -0.0004
# mistake: half-steps-everywhere
import math


def is_swallowed(weight, update):
    step = 2.0 ** (math.floor(math.log2(abs(weight))) - 10)
    if update * weight < 0:
        step /= 2
    return abs(update) <= step / 2


# %% pick-a-scale: too-short-a-search
# says: You chose 2³⁰ for [1e-7]
# mistake: too-careful
def pick_scale(gradient):
    scale = 2.0**30
    while (gradient * scale).half().isinf().any():
        scale /= 2
    return scale
