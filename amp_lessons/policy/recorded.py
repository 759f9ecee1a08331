"""Autocast's lists in PyTorch's source, for the ops offered here: the answer where asking is impossible.

Recorded from ATen/autocast_mode.h (CUDA) and ATen/autocast_mode.cpp (CPU, MPS). What is on no list keeps the
dtype of its input, or follows PyTorch's own promotion.
"""

import torch

RECORDED_FROM = "2.13.0"

_BOTH_GPUS_LOWER = (
    "linear matmul mm bmm mv addmm baddbmm einsum conv1d conv2d conv3d conv_transpose2d prelu "
    "scaled_dot_product_attention lstm_cell"
)
_BOTH_GPUS_FLOAT32 = (
    "exp expm1 log log1p reciprocal rsqrt tan pow softplus layer_norm group_norm softmax log_softmax "
    "sum prod cumsum cumprod norm logsumexp cosine_similarity cdist nll_loss l1_loss smooth_l1_loss "
    "huber_loss mse_loss kl_div triplet_margin_loss binary_cross_entropy_with_logits"
)
_BOTH_GPUS_PROMOTE = "addcdiv addcmul atan2 bilinear cross dot grid_sample index_put tensordot scatter_add"

_LISTS = {
    "cuda": {
        "lower precision": f"{_BOTH_GPUS_LOWER} gru_cell rnn_tanh_cell",
        "float32": f"{_BOTH_GPUS_FLOAT32} rms_norm interpolate",
        "promote": _BOTH_GPUS_PROMOTE,
        "refused": "binary_cross_entropy",
    },
    "cpu": {
        "lower precision": "linear matmul mm bmm addmm baddbmm conv1d conv2d conv3d conv_transpose2d prelu "
        "scaled_dot_product_attention",
        "float32": "avg_pool3d binary_cross_entropy grid_sample prod cdist mse_loss nll_loss smooth_l1_loss "
        "cross_entropy l1_loss huber_loss kl_div triplet_margin_loss binary_cross_entropy_with_logits",
        "promote": "stack cat",
    },
    "mps": {
        "lower precision": _BOTH_GPUS_LOWER,
        "float32": f"{_BOTH_GPUS_FLOAT32} batch_norm",
        "promote": _BOTH_GPUS_PROMOTE,
    },
}
# device -> op's name -> rule, for what is on a list
RULES = {
    device: {name: rule for rule, names in lists.items() for name in names.split()}
    for device, lists in _LISTS.items()
}


def rule_of(op, device):
    """The rule of an Op: its own, or that of what it is made of, or "as the input"."""
    rules = RULES[device]
    return next((rules[name] for name in (op.name, *op.calls) if name in rules), "as the input")


def outputs_of(op, device, dtype, combinations):
    """What the rule means for each combination of input dtypes: a dict like the one that asking gives."""
    fixed = {"lower precision": dtype, "float32": torch.float32, "refused": "Autocast refuses this op."}
    rule = rule_of(op, device)
    return {
        dtypes: fixed.get(rule, torch.float32 if torch.float32 in dtypes else dtype)
        for dtypes in combinations
    }
