# Reference answers of lesson 02. Read as text by solution(); lessons and checks never import this file.
import torch
import torch.nn.functional as F

# %% predict-the-dtypes
predicted = {
    "linear": torch.float16,  # on the 16-bit list
    "relu": torch.float16,  # on no list: what goes in
    "float16 + float32": torch.float32,  # the wider one
    "layer_norm": torch.float32,  # on CUDA's FP32 list; a CPU would give float16
    "softmax": torch.float32,  # the same
    "cross_entropy": torch.float32,
    "linear.weight": torch.float32,  # autocast works with copies
    "linear.weight.grad": torch.float32,
}


# %% autocast-the-forward
def train_step(model, optimizer, x, y):
    """One training step under BF16 autocast, with cross-entropy as the loss. Returns the loss."""
    optimizer.zero_grad()
    with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% fp32-island
def similarity(h):
    """h @ h.T, computed in FP32, as an FP32 tensor."""
    with torch.autocast(device_type=h.device.type, enabled=False):
        h = h.float()  # switching autocast off converts nothing
        return h @ h.T


# %% migrate-the-spelling
def make_scaler(device_type):
    """An enabled gradient scaler for "cuda" or "cpu"."""
    return torch.amp.GradScaler(device_type)


def forward(model, x):
    """model(x) under FP16 autocast, on whatever device x is."""
    with torch.autocast(device_type=x.device.type, dtype=torch.float16):
        return model(x)
