# ruff: noqa
# Wrong answers that learners write, each with what the verdict must say. Read as text by the tests.

# %% predict-the-dtypes: all-half
# says: You said float16 for all 8
# mistake: everything-float16
predicted = {
    "linear": torch.float16,
    "relu": torch.float16,
    "float16 + float32": torch.float16,
    "layer_norm": torch.float16,
    "softmax": torch.float16,
    "cross_entropy": torch.float16,
    "linear.weight": torch.float16,
    "linear.weight.grad": torch.float16,
}


# %% predict-the-dtypes: all-single
# says: You said float32 for all 8
# mistake: everything-float32
predicted = {
    "linear": torch.float32,
    "relu": torch.float32,
    "float16 + float32": torch.float32,
    "layer_norm": torch.float32,
    "softmax": torch.float32,
    "cross_entropy": torch.float32,
    "linear.weight": torch.float32,
    "linear.weight.grad": torch.float32,
}


# %% predict-the-dtypes: as-a-cpu-does
# says: You said float16 for "layer_norm"
# mistake: cpu-list-instead-of-cuda
predicted = {
    "linear": torch.float16,
    "relu": torch.float16,
    "float16 + float32": torch.float32,
    "layer_norm": torch.float16,
    "softmax": torch.float16,
    "cross_entropy": torch.float32,
    "linear.weight": torch.float32,
    "linear.weight.grad": torch.float32,
}


# %% predict-the-dtypes: the-products-in-float32
# says: You said float32 for "linear"
# mistake: linear-stays-float32
predicted = {
    "linear": torch.float32,
    "relu": torch.float16,
    "float16 + float32": torch.float32,
    "layer_norm": torch.float32,
    "softmax": torch.float32,
    "cross_entropy": torch.float32,
    "linear.weight": torch.float32,
    "linear.weight.grad": torch.float32,
}


# %% predict-the-dtypes: relu-in-float32
# says: You said float32 for "relu"
# mistake: relu-goes-back
predicted = {
    "linear": torch.float16,
    "relu": torch.float32,
    "float16 + float32": torch.float32,
    "layer_norm": torch.float32,
    "softmax": torch.float32,
    "cross_entropy": torch.float32,
    "linear.weight": torch.float32,
    "linear.weight.grad": torch.float32,
}


# %% predict-the-dtypes: the-narrower-sum
# says: You said float16 for "float16 + float32"
# mistake: sum-takes-the-narrower
predicted = {
    "linear": torch.float16,
    "relu": torch.float16,
    "float16 + float32": torch.float16,
    "layer_norm": torch.float32,
    "softmax": torch.float32,
    "cross_entropy": torch.float32,
    "linear.weight": torch.float32,
    "linear.weight.grad": torch.float32,
}


# %% predict-the-dtypes: the-loss-in-float16
# says: You said float16 for "cross_entropy"
# mistake: loss-in-float16
predicted = {
    "linear": torch.float16,
    "relu": torch.float16,
    "float16 + float32": torch.float32,
    "layer_norm": torch.float32,
    "softmax": torch.float32,
    "cross_entropy": torch.float16,
    "linear.weight": torch.float32,
    "linear.weight.grad": torch.float32,
}


# %% predict-the-dtypes: weights-in-float16
# says: You said float16 for "linear.weight"
# mistake: weights-become-half
predicted = {
    "linear": torch.float16,
    "relu": torch.float16,
    "float16 + float32": torch.float32,
    "layer_norm": torch.float32,
    "softmax": torch.float32,
    "cross_entropy": torch.float32,
    "linear.weight": torch.half,
    "linear.weight.grad": torch.half,
}


# %% predict-the-dtypes: gradients-in-float16
# says: You said float16 for "linear.weight.grad"
# mistake: gradients-are-half
predicted = {
    "linear": torch.float16,
    "relu": torch.float16,
    "float16 + float32": torch.float32,
    "layer_norm": torch.float32,
    "softmax": torch.float32,
    "cross_entropy": torch.float32,
    "linear.weight": torch.float32,
    "linear.weight.grad": torch.half,
}


# %% predict-the-dtypes: bfloat16
# says: You said bfloat16 for "linear"
# mistake: bfloat16-for-float16
predicted = {
    "linear": torch.bfloat16,
    "relu": torch.bfloat16,
    "float16 + float32": torch.float32,
    "layer_norm": torch.float32,
    "softmax": torch.float32,
    "cross_entropy": torch.float32,
    "linear.weight": torch.float32,
    "linear.weight.grad": torch.float32,
}


# %% predict-the-dtypes: one-is-left
# says: predicted["softmax"] is still `...`
predicted = {
    "linear": torch.float16,
    "relu": torch.float16,
    "float16 + float32": torch.float32,
    "layer_norm": torch.float32,
    "softmax": ...,
    "cross_entropy": torch.float32,
    "linear.weight": torch.float32,
    "linear.weight.grad": torch.float32,
}


# %% predict-the-dtypes: bits
# says: yours is an int (16)
predicted = {
    "linear": 16,
    "relu": 16,
    "float16 + float32": 32,
    "layer_norm": 32,
    "softmax": 32,
    "cross_entropy": 32,
    "linear.weight": 32,
    "linear.weight.grad": 32,
}


# %% autocast-the-forward: plain-fp32
# says: the model's Linear layers put out float32
# mistake: no-autocast
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: enabled-false
# says: This block switches autocast off
# mistake: autocast-disabled
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=False):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: another-device
# says: the loss lies on cpu
# mistake: autocast-wrong-device
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: no-dtype
# says: This block names no dtype
# mistake: autocast-default-dtype
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(x.device.type):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: fp16
# says: Lesson 03 is about that scaler
# mistake: fp16-without-scaler
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=torch.float16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: loss-after-the-block
# says: which is BF16
# mistake: loss-in-bf16
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        out = model(x)
    loss = F.cross_entropy(out, y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: only-the-loss-in-the-block
# says: a Linear put out float32
# mistake: forward-outside-autocast
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    out = model(x)
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(out, y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: the-model-in-bf16
# says: the parameter 0.weight is bfloat16
# mistake: model-made-bf16
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    model.bfloat16()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: the-model-in-fp16
# says: the parameter 0.weight is float16
# mistake: model-made-half
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    model.half()
    loss = F.cross_entropy(model(x.half()), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: backward-in-the-block
# says: `loss.backward()`
# mistake: backward-inside-autocast
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: all-in-the-block-but-backward
# says: `optimizer.step()`
# mistake: step-inside-autocast
def train_step(model, optimizer, x, y):
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        with torch.autocast(x.device.type, enabled=False):
            loss.backward()
        optimizer.step()
        model(x)
    return loss.item()


# %% autocast-the-forward: no-zero-grad
# says: the old gradients are still there
# mistake: gradients-not-zeroed
def train_step(model, optimizer, x, y):
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: no-backward
# says: Nothing called backward
# mistake: no-backward
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: no-step
# says: Nothing called optimizer.step()
# mistake: no-step
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    return loss.item()


# %% autocast-the-forward: zero-grad-before-the-step
# says: cleared between backward and the step
# mistake: gradients-cleared-before-step
def train_step(model, optimizer, x, y):
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: two-steps-at-once
# says: Two of your steps move the weights by
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: steps-before-backward-as-well
# says: Two calls of train_step called optimizer.step() 4 times
# mistake: steps-more-than-once
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    optimizer.step()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: moves-the-weights-by-hand
# says: Leave the weights to optimizer.step()
# mistake: moves-the-weights-by-hand
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    for p in model.parameters():
        p.data -= 0.5 * p.grad
    return loss.item()


# %% autocast-the-forward: an-optimizer-of-its-own
# says: Leave out the optimizer of your own
# mistake: another-optimizer
def train_step(model, optimizer, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: trains-in-fp32-beside-the-block
# says: is that of an FP32 forward
# mistake: loss-of-another-forward
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        model(x)
    h = F.relu(F.linear(x, model[0].weight, model[0].bias))
    loss = F.cross_entropy(F.linear(h, model[2].weight, model[2].bias), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: the-old-spelling
# says: torch.cpu.amp.autocast is the old spelling
# mistake: old-spelling
import warnings

with warnings.catch_warnings(action="ignore"):
    block = torch.cpu.amp.autocast(dtype=torch.bfloat16)


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with block:
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: yields
# says: train_step is a generator
# mistake: is-a-generator
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    yield loss.item()


# %% autocast-the-forward: async
# says: Leave `async` out
# mistake: is-async
async def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: to-the-gpu
# says: The check's tensors are on the CPU, on every machine: leave them there.
def train_step(model, optimizer, x, y):
    raise AssertionError("Torch not compiled with CUDA enabled")  # as x.to("cuda") without a GPU


# %% autocast-the-forward: always-the-cpu
# says: names the device itself: "cpu"
# mistake: cpu-hard-coded
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% autocast-the-forward: returns-nothing
# says: Is there a `return` missing?
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()


# %% autocast-the-forward: returns-the-mean
# says: The loss you return is
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item() / len(x)


# %% fp32-island: the-plain-product
# says: The product runs in FP16
# mistake: product-in-fp16
def similarity(h):
    return h @ h.T


# %% fp32-island: only-float
# says: autocast casts it back
# mistake: forgets-to-disable
def similarity(h):
    return h.float() @ h.float().T


# %% fp32-island: only-disabled
# says: h arrives in FP16 and stays so
# mistake: forgets-float
def similarity(h):
    with torch.autocast(device_type=h.device.type, enabled=False):
        return h @ h.T


# %% fp32-island: float-afterwards
# says: inf stays inf
# mistake: converts-too-late
def similarity(h):
    with torch.autocast(device_type=h.device.type, enabled=False):
        return (h @ h.T).float()


# %% fp32-island: product-after-the-block
# says: ends before the product
# mistake: product-outside-the-island
def similarity(h):
    with torch.autocast(device_type=h.device.type, enabled=False):
        h = h.float()
    return h @ h.T


# %% fp32-island: another-device
# says: This block is for cuda
# mistake: autocast-wrong-device
def similarity(h):
    with torch.autocast("cuda", enabled=False):
        h = h.float()
        return h @ h.T


# %% fp32-island: divides-first
# says: that is FP16's rounding
# mistake: scales-instead
def similarity(h):
    h = h / 32
    return (h @ h.T).float() * 1024


# %% fp32-island: in-bf16
# says: that is BF16's rounding
# mistake: product-in-bf16
def similarity(h):
    with torch.autocast(device_type=h.device.type, dtype=torch.bfloat16):
        return (h.float() @ h.float().T).float()


# %% fp32-island: changes-its-input
# says: changes h itself
# mistake: changes-h
def similarity(h):
    with torch.autocast(device_type=h.device.type, enabled=False):
        h.data = h.data.float()
        return h @ h.T


# %% fp32-island: in-float64
# says: yours is float64
def similarity(h):
    h = h.double()
    return h @ h.T


# %% fp32-island: half-in-the-end
# says: its result is turned back into FP16
# mistake: converts-back
def similarity(h):
    with torch.autocast(device_type=h.device.type, enabled=False):
        return (h.float() @ h.float().T).half()


# %% fp32-island: switches-autocast-off-for-good
# says: autocast is off for whatever follows
# mistake: leaves-autocast-off
def similarity(h):
    torch.set_autocast_enabled(h.device.type, False)
    return h.float() @ h.float().T


# %% fp32-island: detached
# says: your result leads back to none
# mistake: cuts-the-graph
def similarity(h):
    with torch.autocast(device_type=h.device.type, enabled=False):
        h = h.detach().float()
        return h @ h.T


# %% fp32-island: always-the-cpu
# says: names the device itself: "cpu"
# mistake: cpu-hard-coded
def similarity(h):
    with torch.autocast("cpu", enabled=False):
        h = h.float()
        return h @ h.T


# %% fp32-island: one-side-only
# says: dtype-mismatch
# mistake: dtype-mismatch
def similarity(h):
    with torch.autocast(h.device.type, enabled=False):
        return h.float() @ h.T


# %% fp32-island: cosines
# says: similarity(h) at [0, 0] should be
def similarity(h):
    with torch.autocast(h.device.type, enabled=False):
        h = F.normalize(h.float(), dim=1)
        return h @ h.T


# %% migrate-the-spelling: as-it-was
# says: `torch.cuda.amp.GradScaler(args...)` is deprecated
# mistake: old-spelling
from torch.cuda.amp import autocast, GradScaler


def make_scaler(device_type):
    return GradScaler()


def forward(model, x):
    with autocast():
        return model(x)


# %% migrate-the-spelling: the-number-first
# says: takes 65536.0 for its device
# mistake: scaler-positional-scale
def make_scaler(device_type):
    return torch.amp.GradScaler(65536.0)


def forward(model, x):
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        return model(x)


# %% migrate-the-spelling: a-scaler-for-cuda-only
# says: make_scaler("cpu") is a scaler for cuda
# mistake: scaler-ignores-the-device
def make_scaler(device_type):
    return torch.amp.GradScaler()


def forward(model, x):
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        return model(x)


# %% migrate-the-spelling: enabled-with-cuda-only
# says: make_scaler("cpu") is disabled
# mistake: scaler-disabled
def make_scaler(device_type):
    return torch.amp.GradScaler(device_type, enabled=device_type == "cuda")


def forward(model, x):
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        return model(x)


# %% migrate-the-spelling: the-class
# says: should be a torch.amp.GradScaler
def make_scaler(device_type):
    return torch.amp.GradScaler


def forward(model, x):
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        return model(x)


# %% migrate-the-spelling: autocast-for-cuda
# says: This block is for cuda
# mistake: autocast-wrong-device
def make_scaler(device_type):
    return torch.amp.GradScaler(device_type)


def forward(model, x):
    with torch.autocast("cuda", dtype=torch.float16):
        return model(x)


# %% migrate-the-spelling: no-dtype
# says: This block names no dtype
# mistake: autocast-default-dtype
def make_scaler(device_type):
    return torch.amp.GradScaler(device_type)


def forward(model, x):
    with torch.autocast(device_type=x.device.type):
        return model(x)


# %% migrate-the-spelling: in-bf16
# says: A Linear put out bfloat16
def make_scaler(device_type):
    return torch.amp.GradScaler(device_type)


def forward(model, x):
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        return model(x)


# %% migrate-the-spelling: no-autocast
# says: No autocast block was entered
# mistake: no-autocast
def make_scaler(device_type):
    return torch.amp.GradScaler(device_type)


def forward(model, x):
    return model(x)


# %% migrate-the-spelling: halves-the-model
# says: the parameter 0.weight is float16
# mistake: model-made-half
def make_scaler(device_type):
    return torch.amp.GradScaler(device_type)


def forward(model, x):
    return model.half()(x.half())


# %% migrate-the-spelling: a-device-with-an-index
# says: Expected `device_type` of type `str`
def make_scaler(device_type):
    return torch.amp.GradScaler(device_type)


def forward(model, x):
    with torch.autocast(x.device, dtype=torch.float16):
        return model(x)


# %% migrate-the-spelling: always-the-cpu
# says: names the device itself: "cpu"
# mistake: cpu-hard-coded
def make_scaler(device_type):
    return torch.amp.GradScaler(device_type)


def forward(model, x):
    with torch.autocast("cpu", dtype=torch.float16):
        return model(x)
