"""Training loops for the recorder, on the device that is asked for."""

import torch
from torch import nn

OPTIMIZERS = {
    # No momentum: PyTorch leaves its memory uninitialised where the first step of a fused SGD is skipped.
    "SGD, fused": lambda parameters: torch.optim.SGD(parameters, lr=0.01, fused=True),
    "SGD, foreach": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9, foreach=True),
    "SGD, one by one": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9, foreach=False),
    "Adam, fused": lambda parameters: torch.optim.Adam(parameters, lr=0.001, fused=True),
    "Adam, foreach": lambda parameters: torch.optim.Adam(parameters, lr=0.001, foreach=True),
    "AdamW, fused": lambda parameters: torch.optim.AdamW(parameters, lr=0.001, fused=True),
    "AdamW, one by one": lambda parameters: torch.optim.AdamW(parameters, lr=0.001, foreach=False),
}
FITS, TOO_LARGE = 2.0**7, 2.0**20  # scales: no step is skipped; the first ones are


def train(device, optimizer="SGD, foreach", dtype=torch.float16, scale=FITS, clip=None, steps=12):
    """Train a small net, and give the net, the optimizer, the scaler and the losses.

    dtype: of autocast; float32 without. scale: the scaler's first one, None for no scaler.
    clip: None, "unscaled" (as it should be) or "scaled" (the mistake).
    """
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
    net.to(device)
    optimizer = OPTIMIZERS[optimizer](net.parameters())
    scaler = torch.amp.GradScaler(device, init_scale=scale or 1.0, enabled=scale is not None)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        x = torch.randn(64, 8, device=device)
        with torch.autocast(
            device, torch.bfloat16 if dtype == torch.float32 else dtype, dtype != torch.float32
        ):
            loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        scaler.scale(loss).backward()
        if clip == "unscaled":
            scaler.unscale_(optimizer)
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    return net, optimizer, scaler, losses


def bits(net, optimizer, scaler, losses):
    """All that a run leaves behind, bit for bit."""
    kept = [*losses, *net.state_dict().values(), *(each.grad for each in net.parameters())]
    kept += [each for state in optimizer.state.values() for each in state.values() if torch.is_tensor(each)]
    bytes_of = [each.detach().cpu().contiguous().reshape(-1).view(torch.uint8).tolist() for each in kept]
    return bytes_of, scaler.state_dict()
