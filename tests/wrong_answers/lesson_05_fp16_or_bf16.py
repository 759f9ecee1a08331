# ruff: noqa
# Wrong answers that learners write, each with what the verdict must say. Read as text by the tests.

# %% accumulate-in-fp32: adds-as-they-come
# says: mean_loss(1,000 losses of 0.01 in BF16) should be 0.01000977; yours is 0.003997803. You add in BF16, where the sum ends at 4
# mistake: accumulates-in-16-bit
def mean_loss(losses):
    total = 0.0
    for loss in losses:
        total += loss
    return (total / len(losses)).item()


# %% accumulate-in-fp32: converts-the-sum
# says: yours is 0.004. You convert the sum, but by then it is 4
# mistake: converts-too-late
def mean_loss(losses):
    total = sum(losses)
    return total.float().item() / len(losses)


# %% accumulate-in-fp32: a-total-in-fp16
# says: yours is 0.009953
# mistake: adds-in-fp16
def mean_loss(losses):
    total = torch.tensor(0.0, dtype=torch.float16)
    for loss in losses:
        total += loss
    return total.item() / len(losses)


# %% accumulate-in-fp32: the-sum-alone
# says: yours is 10.00977. That is their sum
# mistake: sum-not-mean
def mean_loss(losses):
    return sum(loss.item() for loss in losses)


# %% accumulate-in-fp32: one-too-few
# says: You divide by 999
# mistake: another-count
def mean_loss(losses):
    return sum(loss.item() for loss in losses) / (len(losses) - 1)


# %% accumulate-in-fp32: leaves-out-the-first
# says: One loss is missing from your sum
# mistake: leaves-one-out
def mean_loss(losses):
    return sum(loss.item() for loss in losses[1:]) / len(losses)


# %% accumulate-in-fp32: begins-with-the-first-and-adds-all
# says: One loss is in your sum twice
# mistake: counts-one-twice
def mean_loss(losses):
    total = losses[0].item()
    for loss in losses:
        total += loss.item()
    return total / len(losses)


# %% accumulate-in-fp32: integer-division
# says: yours is 0. You keep only the whole part
# mistake: whole-part-only
def mean_loss(losses):
    return sum(loss.item() for loss in losses) // len(losses)


# %% accumulate-in-fp32: tidied-up
# says: yours is 0.01. It looks rounded to decimals
# mistake: rounds-to-decimals
def mean_loss(losses):
    return round(sum(loss.item() for loss in losses) / len(losses), 4)


# %% accumulate-in-fp32: a-sum-and-a-count
# says: yours is 0.01. sum() adds in FP32 but gives BF16: 10.00977 became 10. Convert the losses first
# mistake: rounds-the-sum
def mean_loss(losses):
    return torch.stack(losses).sum().item() / len(losses)


# %% accumulate-in-fp32: divides-first
# says: yours is 0.00390625. You divide each loss in BF16, which rounds the quotient, and add in BF16
# mistake: divides-in-16-bit
def mean_loss(losses):
    return sum(loss / len(losses) for loss in losses).item()


# %% accumulate-in-fp32: in-blocks-of-ten
# says: yours is 0.0100708. It is a BF16 number: somewhere you still compute in BF16
# mistake: still-in-16-bit
def mean_loss(losses):
    blocks = [losses[i : i + 10] for i in range(0, len(losses), 10)]
    return (sum(torch.stack(block).sum() for block in blocks) / len(losses)).item()


# %% accumulate-in-fp32: sum-of-the-stack
# says: mean_loss(3,000 losses of 40 in FP16) should be 40; yours is inf. The losses add up to 120,000, and FP16 ends at 65,504
# mistake: sum-overflows
def mean_loss(losses):
    return (torch.stack(losses).sum() / len(losses)).item()


# %% accumulate-in-fp32: mean-of-the-stack
# says: the mean was rounded to BF16 at the end and is off by 0.17 %
# mistake: rounds-the-result
def mean_loss(losses):
    return torch.stack(losses).mean().item()


# %% accumulate-in-fp32: a-running-mean
# says: You keep a running mean in BF16
# mistake: running-mean-in-16-bit
def mean_loss(losses):
    mean = torch.zeros_like(losses[0])
    for count, loss in enumerate(losses, start=1):
        mean += (loss - mean) / count
    return mean.item()


# %% accumulate-in-fp32: takes-them-out
# says: The list [2.0, 1.5, 1.75] is [] after mean_loss
# mistake: changes-the-losses
def mean_loss(losses):
    count, total = len(losses), 0.0
    while losses:
        total += losses.pop().item()
    return total / count


# %% accumulate-in-fp32: no-return
# says: is None. Is there a `return` missing?
def mean_loss(losses):
    mean = torch.stack(losses).float().mean().item()


# %% accumulate-in-fp32: yields-each-mean
# says: Calling mean_loss ran none of its lines
# mistake: yields
def mean_loss(losses):
    total = 0.0
    for count, loss in enumerate(losses, start=1):
        total += loss.item()
        yield total / count


# %% reads-true-or-emulated: what-is-supported
# says: You said True for a T4, whose capability is 7.5. is_bf16_supported() is True there as well
# mistake: trusts-emulation
def computes_in_bf16(cuda):
    return cuda.is_available() and cuda.is_bf16_supported()


# %% reads-true-or-emulated: tensor-cores
# says: You said True for a T4, whose capability is 7.5. Units for BF16 begin at 8.0
# mistake: limit-too-low
def computes_in_bf16(cuda):
    return cuda.is_available() and cuda.get_device_capability()[0] >= 7


# %% reads-true-or-emulated: above-8
# says: You said False for an A100, whose capability is 8.0
# mistake: limit-too-high
def computes_in_bf16(cuda):
    return cuda.is_available() and cuda.get_device_capability() > (8, 0)


# %% reads-true-or-emulated: only-8
# says: You said False for an H100, whose capability is 9.0
# mistake: misses-newer-gpus
def computes_in_bf16(cuda):
    return cuda.is_available() and cuda.get_device_capability()[0] == 8


# %% reads-true-or-emulated: as-text
# says: You said False for a B200, whose capability is 10.0. Every GPU from 8.0 on computes in BF16. If you compare text
# mistake: compares-as-text
def computes_in_bf16(cuda):
    if not cuda.is_available():
        return False
    major, minor = cuda.get_device_capability()
    return f"{major}.{minor}" >= "8.0"


# %% reads-true-or-emulated: by-name
# says: You said True for a Quadro RTX 8000, whose capability is 7.5. Names mislead
# mistake: asks-the-name
def computes_in_bf16(cuda):
    if not cuda.is_available():
        return False
    name = cuda.get_device_name()
    return any(part in name for part in ("A100", "H100", "RTX"))


# %% reads-true-or-emulated: any-gpu
# says: You said True for a T4, whose capability is 7.5. It is a GPU, but without units for BF16
# mistake: any-gpu-counts
def computes_in_bf16(cuda):
    return cuda.is_available()


# %% reads-true-or-emulated: never-asks-for-a-gpu
# says: For a machine without a GPU your answer raised an error: `get_device_capability` does
# mistake: asks-without-a-gpu
def computes_in_bf16(cuda):
    return cuda.get_device_capability() >= (8, 0)


# %% reads-true-or-emulated: no-gpu-is-no-obstacle
# says: You said True for a machine without a GPU
# mistake: no-gpu-counts
def computes_in_bf16(cuda):
    return not cuda.is_available() or cuda.is_bf16_supported(including_emulation=False)


# %% reads-true-or-emulated: torch-cuda
# says: Your answer gave False for a T4, and asked its argument `cuda` nothing
# mistake: asks-this-machine
def computes_in_bf16(cuda):
    return torch.cuda.is_bf16_supported(including_emulation=False)


# %% reads-true-or-emulated: no-parentheses
# says: Your answer gave the method is_bf16_supported itself for a T4: call it with ()
# mistake: forgets-the-parentheses
def computes_in_bf16(cuda):
    return cuda.is_bf16_supported


# %% accumulate-in-fp32: a-generator-expression
# says: mean_loss gave a generator expression
# mistake: gives-a-generator
def mean_loss(losses):
    return (loss.item() / len(losses) for loss in losses)


# %% reads-true-or-emulated: in-words
# says: computes_in_bf16(cuda) for a T4 should be True or False; yours is a str ('emulated')
def computes_in_bf16(cuda):
    if not cuda.is_available():
        return "no GPU"
    return "true" if cuda.is_bf16_supported(including_emulation=False) else "emulated"


# %% reads-true-or-emulated: tuple-and-number
# says: TypeError: '>=' not supported between instances of 'tuple' and 'float'
def computes_in_bf16(cuda):
    return cuda.is_available() and cuda.get_device_capability() >= 8.0


# %% choose-a-precision: rounding-forgotten
# says: For an A100 and a model with activations up to 42, which bears rounding errors of 2⁻¹⁰ ≈ 0.00098, you chose BF16. BF16 rounds by up to 2⁻⁸ ≈ 0.0039
# mistake: bf16-for-fine-rounding
def choose_precision(machine, model):
    for name, key, largest in (
        ("BF16", "bf16", torch.finfo(torch.bfloat16).max),
        ("FP16 + scaler", "fp16", torch.finfo(torch.float16).max),
        ("TF32", "tf32", torch.finfo(torch.float32).max),
    ):
        if machine[key] and 4 * model["largest_activation"] <= largest:
            return name
    return "FP32"


# %% choose-a-precision: rounding-of-bf16-alone
# says: you chose FP16 + scaler. FP16 rounds by up to 2⁻¹¹ ≈ 0.00049 (half of its eps), more than 2⁻²⁰
# mistake: fp16-for-fine-rounding
def choose_precision(machine, model):
    if machine["bf16"] and model["rounding"] >= 2**-8:
        return "BF16"
    if machine["fp16"] and 4 * model["largest_activation"] <= 65504:
        return "FP16 + scaler"
    return "TF32" if machine["tf32"] else "FP32"


# %% choose-a-precision: tf32-as-precise-as-fp32
# says: you chose TF32. TF32 rounds by up to 2⁻¹¹ ≈ 0.00049 (half of its eps), more than 2⁻²⁰
# mistake: tf32-for-fine-rounding
def choose_precision(machine, model):
    if machine["bf16"] and model["rounding"] >= 2**-8:
        return "BF16"
    if machine["fp16"] and 4 * model["largest_activation"] <= 65504 and model["rounding"] >= 2**-11:
        return "FP16 + scaler"
    return "TF32" if machine["tf32"] else "FP32"


# %% choose-a-precision: activations-forgotten
# says: For a T4 and a model with activations up to 66,246, which bears rounding errors of 0.01, you chose FP16 + scaler. FP16 ends at 65,504
# mistake: fp16-overflows
def choose_precision(machine, model):
    for name, key, eps in (
        ("BF16", "bf16", torch.finfo(torch.bfloat16).eps),
        ("FP16 + scaler", "fp16", torch.finfo(torch.float16).eps),
        ("TF32", "tf32", torch.finfo(torch.float16).eps),
    ):
        if machine[key] and eps / 2 <= model["rounding"]:
            return name
    return "FP32"


# %% choose-a-precision: up-to-65504
# says: activations up to 20,000, which bears rounding errors of 0.01, you chose FP16 + scaler. They fit today, but with room to grow they are 4 · 20,000 = 80,000
# mistake: no-room
def choose_precision(machine, model):
    for name, key, dtype, range_dtype in (
        ("BF16", "bf16", torch.bfloat16, torch.bfloat16),
        ("FP16 + scaler", "fp16", torch.float16, torch.float16),
        ("TF32", "tf32", torch.float16, torch.float32),
    ):
        fits = model["largest_activation"] <= torch.finfo(range_dtype).max
        if machine[key] and fits and torch.finfo(dtype).eps / 2 <= model["rounding"]:
            return name
    return "FP32"


# %% choose-a-precision: whole-eps
# says: For an A100 and a model with activations up to 42, which bears rounding errors of 0.006, you chose FP16 + scaler. BF16 fits as well and needs no scaler
# mistake: eps-not-halved
def choose_precision(machine, model):
    for name, key, dtype, range_dtype in (
        ("BF16", "bf16", torch.bfloat16, torch.bfloat16),
        ("FP16 + scaler", "fp16", torch.float16, torch.float16),
        ("TF32", "tf32", torch.float16, torch.float32),
    ):
        fits = 4 * model["largest_activation"] <= torch.finfo(range_dtype).max
        if machine[key] and fits and torch.finfo(dtype).eps <= model["rounding"]:
            return name
    return "FP32"


# %% choose-a-precision: less-than
# says: which bears rounding errors of 2⁻⁸ ≈ 0.0039, you chose FP16 + scaler
# mistake: limit-left-out
def choose_precision(machine, model):
    for name, key, dtype, range_dtype in (
        ("BF16", "bf16", torch.bfloat16, torch.bfloat16),
        ("FP16 + scaler", "fp16", torch.float16, torch.float16),
        ("TF32", "tf32", torch.float16, torch.float32),
    ):
        fits = 4 * model["largest_activation"] < torch.finfo(range_dtype).max
        if machine[key] and fits and torch.finfo(dtype).eps / 2 < model["rounding"]:
            return name
    return "FP32"


# %% choose-a-precision: a-scaler-for-both
# says: For an A100 and a model with activations up to 42, which bears rounding errors of 0.01, you chose 'BF16 + scaler'
# mistake: scaler-for-bf16
def choose_precision(machine, model):
    if machine["bf16"] and model["rounding"] >= 2**-8:
        return "BF16 + scaler"
    if machine["fp16"] and 4 * model["largest_activation"] <= 65504:
        return "FP16 + scaler"
    return "FP32"


# %% choose-a-precision: no-scaler
# says: For a T4 and a model with activations up to 42, which bears rounding errors of 0.01, you chose 'FP16'. Small gradients become 0
# mistake: fp16-without-scaler
def choose_precision(machine, model):
    if machine["bf16"] and model["rounding"] >= 2**-8:
        return "BF16"
    if machine["fp16"] and 4 * model["largest_activation"] <= 65504:
        return "FP16"
    return "FP32"


# %% choose-a-precision: no-tf32
# says: you chose FP32. TF32 fits as well and is faster
# mistake: forgets-tf32
def choose_precision(machine, model):
    if machine["bf16"] and model["rounding"] >= 2**-8:
        return "BF16"
    if machine["fp16"] and 4 * model["largest_activation"] <= 65504 and model["rounding"] >= 2**-11:
        return "FP16 + scaler"
    return "FP32"


# %% choose-a-precision: tf32-ends-at-65504
# says: TF32 has FP32's range, not FP16's
# mistake: tf32-with-fp16-range
def choose_precision(machine, model):
    for name, key, dtype in (
        ("BF16", "bf16", torch.bfloat16),
        ("FP16 + scaler", "fp16", torch.float16),
        ("TF32", "tf32", torch.float16),
    ):
        info = torch.finfo(dtype)
        fits = 4 * model["largest_activation"] <= info.max
        if machine[key] and fits and info.eps / 2 <= model["rounding"]:
            return name
    return "FP32"


# %% choose-a-precision: fp16-first
# says: For an A100 and a model with activations up to 42, which bears rounding errors of 0.01, you chose FP16 + scaler. BF16 fits as well and needs no scaler: the machine has fast units for it, 4 · 42 = 168
# mistake: scaler-without-need
def choose_precision(machine, model):
    if machine["fp16"] and 4 * model["largest_activation"] <= 65504 and model["rounding"] >= 2**-11:
        return "FP16 + scaler"
    if machine["bf16"] and model["rounding"] >= 2**-8:
        return "BF16"
    return "TF32" if machine["tf32"] and model["rounding"] >= 2**-11 else "FP32"


# %% choose-a-precision: whatever-needs-no-scaler
# says: For an A100 and a model with activations up to 42, which bears rounding errors of 2⁻¹⁰ ≈ 0.00098, you chose TF32. FP16 + scaler fits as well and is faster
# mistake: tf32-before-16-bits
def choose_precision(machine, model):
    if machine["bf16"] and model["rounding"] >= 2**-8:
        return "BF16"
    if machine["tf32"] and model["rounding"] >= 2**-11:
        return "TF32"
    if machine["fp16"] and 4 * model["largest_activation"] <= 65504 and model["rounding"] >= 2**-11:
        return "FP16 + scaler"
    return "FP32"


# %% choose-a-precision: only-the-machine
# says: you chose FP16 + scaler. You choose that for this machine whatever the model. FP16 ends at 65,504
# mistake: only-looks-at-the-machine
def choose_precision(machine, model):
    if machine["bf16"]:
        return "BF16"
    if machine["fp16"]:
        return "FP16 + scaler"
    return "FP32"


# %% choose-a-precision: only-the-model
# says: For a T4 and a model with activations up to 42, which bears rounding errors of 0.01, you chose BF16. machine['bf16'] is False
# mistake: precision-it-lacks
def choose_precision(machine, model):
    if model["rounding"] >= 2**-8:
        return "BF16"
    if 4 * model["largest_activation"] <= 65504 and model["rounding"] >= 2**-11:
        return "FP16 + scaler"
    return "TF32" if model["rounding"] >= 2**-11 else "FP32"


# %% choose-a-precision: safe-everywhere
# says: you chose FP32. BF16 fits as well and is faster
# mistake: stays-in-fp32
def choose_precision(machine, model):
    return "FP32"


# %% choose-a-precision: a-dtype
# says: you chose a dtype (torch.bfloat16). It should be a text
def choose_precision(machine, model):
    if machine["bf16"] and model["rounding"] >= 2**-8:
        return torch.bfloat16
    return torch.float16 if machine["fp16"] else torch.float32


# %% choose-a-precision: no-last-return
# says: For a CPU without BF16 instructions and a model with activations up to 42, which bears rounding errors of 0.01, you chose nothing
def choose_precision(machine, model):
    for name, key, dtype, range_dtype in (
        ("BF16", "bf16", torch.bfloat16, torch.bfloat16),
        ("FP16 + scaler", "fp16", torch.float16, torch.float16),
        ("TF32", "tf32", torch.float16, torch.float32),
    ):
        fits = 4 * model["largest_activation"] <= torch.finfo(range_dtype).max
        if machine[key] and fits and torch.finfo(dtype).eps / 2 <= model["rounding"]:
            return name
