"""Exceptions of PyTorch that need the dtypes explained."""

import torch

from tests.recorder.toy_training import half, problem


def bf16():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def wrong_left_the_region():
    net, x, _ = problem()
    with half():
        hidden = net[0](x)
    net[2](hidden)  # <- dtype-mismatch


def wrong_region_switched_off():
    net, x, _ = problem()
    with half():
        hidden = net[0](x)
        with torch.autocast("cpu", enabled=False):
            net[2](hidden)  # <- dtype-mismatch


def wrong_conv():
    _, x, _ = problem()
    layer = torch.nn.Conv1d(1, 1, 3)
    with bf16():
        hidden = layer(x[:, None])
    layer(torch.nn.functional.pad(hidden, (1, 1)))  # <- dtype-mismatch


def wrong_loss_outside():
    net, x, y = problem()
    with half():
        out = net(x)
    torch.nn.functional.huber_loss(out, y).backward()  # <- dtype-mismatch


def wrong_batched_product():
    net, x, _ = problem()
    with half():
        out = net[0](x)
    torch.bmm(out[None], torch.ones(1, 8, 8))  # <- dtype-mismatch


def wrong_dot():
    net, x, _ = problem()
    with half():
        out = net[0](x)
    out[0].dot(torch.ones(8))  # <- dtype-mismatch


def wrong_attention():
    net, x, _ = problem()
    with half():
        out = net[0](x)[None]
    torch.nn.functional.scaled_dot_product_attention(out, out, out.float())  # <- dtype-mismatch


def wrong_accumulator():
    net, x, _ = problem()
    with half():
        messages = net[0](x)
        zeros = torch.zeros(2, 8)
        zeros.scatter_add_(0, torch.zeros(16, 8, dtype=torch.long), messages)  # <- dtype-mismatch


def wrong_index_add():
    net, x, _ = problem()
    with half():
        torch.zeros(2, 8).index_add_(0, torch.zeros(16, dtype=torch.long), net[0](x))  # <- dtype-mismatch


def wrong_mask():
    net, x, _ = problem()
    with half():
        net[0](x).masked_fill(x.new_ones(16, 8).bool(), -1e9)  # <- constant-too-large-for-fp16


def wrong_numpy():
    net, x, _ = problem()
    with torch.no_grad(), bf16():
        out = net(x)
    out.numpy()  # <- numpy-without-bf16


def wrong_quantile():
    net, x, _ = problem()
    with torch.no_grad(), half():
        out = net(x)
    out.quantile(0.5)  # <- op-needs-fp32


def right():
    net, x, _ = problem()
    with half():
        hidden = net[0](x)
        hidden.masked_fill(x.new_ones(16, 8).bool(), torch.finfo(hidden.dtype).min)
        torch.zeros(2, 8).index_add_(0, torch.zeros(16, dtype=torch.long), hidden.float())
    out = net[2](hidden.float())
    out.detach().numpy()
    out.detach().quantile(0.5)


def right_as_far_as_amp_goes_shapes():
    """What has nothing to do with AMP is not explained by it."""
    net, x, _ = problem()
    net(x[:, :2])


def right_as_far_as_amp_goes_double():
    net, x, _ = problem()
    net(x.double())
