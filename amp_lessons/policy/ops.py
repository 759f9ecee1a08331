"""The ops whose autocast rule can be asked, each with a call on small tensors and its name in ATen.

A call gets floating-point tensors of zeros, or without values. What is float32 in every model that trains
under autocast, the weights of a normalisation, is made in the call.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Op:
    """One op: `call(first, *others)` runs it on tensors of the shapes given.

    aten: the name, with its overload if it has one, under which autocast's lists would have it.
    calls: ops of this table that it is made of, where it is not on every device's lists itself.
    touches_gpu: a PyTorch built for CUDA asks the driver about the GPU to run it, on fake tensors too.
    mixes: whether it is asked about two input dtypes at once.
    """

    name: str
    aten: str
    call: Callable
    shapes: tuple
    calls: tuple = ()
    touches_gpu: bool = False
    mixes: bool = True


def _ints(like, *shape):
    """Indices or classes: whole numbers on the device of another tensor."""
    return torch.zeros(shape, dtype=torch.int64, device=like.device)


def _float32(like, *shape):
    return torch.zeros(shape, dtype=torch.float32, device=like.device)


def _layer_norm(x):
    return F.layer_norm(x, (4,), _float32(x, 4), _float32(x, 4))


def _group_norm(x):
    return F.group_norm(x, 2, _float32(x, 2), _float32(x, 2))


def _batch_norm(x):
    return F.batch_norm(x, _float32(x, 2), _float32(x, 2), _float32(x, 2), _float32(x, 2), training=True)


def _lstm_cell(x, h, c, *weights):
    return torch.lstm_cell(x, (h, c), *weights)[0]


def _cell_shapes(gates):
    """Shapes of input weight, hidden weight and their biases for a recurrent cell with 4 in and 4 out."""
    return (gates * 4, 4), (gates * 4, 4), (gates * 4,), (gates * 4,)


VECTOR, MATRIX, BATCH, IMAGE, VOLUME = (4,), (4, 4), (2, 4, 4), (2, 2, 4, 4), (2, 2, 4, 4, 4)
ONE, TWO, THREE = (MATRIX,), (MATRIX, MATRIX), (MATRIX, MATRIX, MATRIX)

_PRODUCTS = [
    Op("linear", "linear", F.linear, TWO),
    Op("matmul", "matmul", torch.matmul, TWO),
    Op("mm", "mm", torch.mm, TWO),
    Op("bmm", "bmm", torch.bmm, (BATCH, BATCH)),
    Op("mv", "mv", torch.mv, (MATRIX, VECTOR)),
    Op("addmm", "addmm", torch.addmm, THREE),
    Op("baddbmm", "baddbmm", torch.baddbmm, (BATCH, BATCH, BATCH)),
    Op("einsum", "einsum", lambda x, y: torch.einsum("ij,jk->ik", x, y), TWO, calls=("bmm",)),
    Op("conv1d", "conv1d", F.conv1d, ((2, 2, 4), (2, 2, 2)), touches_gpu=True),
    Op("conv2d", "conv2d", F.conv2d, (IMAGE, (2, 2, 2, 2)), touches_gpu=True),
    Op("conv3d", "conv3d", F.conv3d, (VOLUME, (2, 2, 2, 2, 2)), touches_gpu=True),
    Op(
        "conv_transpose2d",
        "conv_transpose2d.input",
        F.conv_transpose2d,
        (IMAGE, (2, 2, 2, 2)),
        touches_gpu=True,
    ),
    Op(
        "scaled_dot_product_attention",
        "scaled_dot_product_attention",
        F.scaled_dot_product_attention,
        (IMAGE, IMAGE, IMAGE),
        touches_gpu=True,
    ),
    Op("lstm_cell", "lstm_cell", _lstm_cell, (MATRIX, MATRIX, MATRIX, *_cell_shapes(4)), calls=("linear",)),
    Op("gru_cell", "gru_cell", torch.gru_cell, (MATRIX, MATRIX, *_cell_shapes(3)), calls=("linear",)),
    Op(
        "rnn_tanh_cell",
        "rnn_tanh_cell",
        torch.rnn_tanh_cell,
        (MATRIX, MATRIX, *_cell_shapes(1)),
        calls=("linear",),
    ),
]
_ACTIVATIONS = [
    Op("relu", "relu", F.relu, ONE),
    Op("gelu", "gelu", F.gelu, ONE),
    Op("silu", "silu", F.silu, ONE),
    Op("tanh", "tanh", torch.tanh, ONE),
    Op("sigmoid", "sigmoid", torch.sigmoid, ONE),
    Op("leaky_relu", "leaky_relu", F.leaky_relu, ONE),
    Op("prelu", "prelu", F.prelu, (MATRIX, (1,))),
    Op("softplus", "softplus", F.softplus, ONE),
    Op("softmax", "softmax.int", lambda x: F.softmax(x, -1), ONE),
    Op("log_softmax", "log_softmax.int", lambda x: F.log_softmax(x, -1), ONE),
    Op("dropout", "dropout", lambda x: F.dropout(x, 0.5, training=True), ONE),
]
_NORMS = [
    Op("layer_norm", "layer_norm", _layer_norm, ONE),
    Op("rms_norm", "rms_norm", lambda x: F.rms_norm(x, (4,)), ONE),
    Op("group_norm", "group_norm", _group_norm, (IMAGE,)),
    Op("batch_norm", "batch_norm", _batch_norm, (IMAGE,), touches_gpu=True),
    Op("instance_norm", "instance_norm", F.instance_norm, (IMAGE,), calls=("batch_norm",)),
]
_POINTWISE = [
    Op("exp", "exp", torch.exp, ONE),
    Op("expm1", "expm1", torch.expm1, ONE),
    Op("log", "log", torch.log, ONE),
    Op("log1p", "log1p", torch.log1p, ONE),
    Op("pow", "pow.Tensor_Scalar", lambda x: torch.pow(x, 2), ONE),
    Op("sqrt", "sqrt", torch.sqrt, ONE),
    Op("rsqrt", "rsqrt", torch.rsqrt, ONE),
    Op("reciprocal", "reciprocal", torch.reciprocal, ONE),
    Op("sin", "sin", torch.sin, ONE),
    Op("tan", "tan", torch.tan, ONE),
    Op("abs", "abs", torch.abs, ONE),
    Op("clamp", "clamp", lambda x: torch.clamp(x, min=0.0), ONE),
]
_REDUCTIONS = [
    Op("sum", "sum", torch.sum, ONE),
    Op("mean", "mean", torch.mean, ONE),
    Op("var", "var", torch.var, ONE),
    Op("amax", "amax", torch.amax, ONE),
    Op("prod", "prod", torch.prod, ONE),
    Op("cumsum", "cumsum", lambda x: torch.cumsum(x, 0), ONE),
    Op("cumprod", "cumprod", lambda x: torch.cumprod(x, 0), ONE),
    Op("norm", "linalg_vector_norm", torch.norm, ONE),
    Op("logsumexp", "logsumexp", lambda x: torch.logsumexp(x, 0), ONE),
]
_LOSSES = [
    Op(
        "cross_entropy",
        "cross_entropy_loss",
        lambda x: F.cross_entropy(x, _ints(x, 4)),
        ONE,
        calls=("log_softmax", "nll_loss"),
    ),
    Op("nll_loss", "nll_loss", lambda x: F.nll_loss(x, _ints(x, 4)), ONE),
    Op("mse_loss", "mse_loss", F.mse_loss, TWO),
    Op("l1_loss", "l1_loss", F.l1_loss, TWO),
    Op("smooth_l1_loss", "smooth_l1_loss", F.smooth_l1_loss, TWO),
    Op("huber_loss", "huber_loss", F.huber_loss, TWO),
    Op("kl_div", "kl_div", lambda x, y: F.kl_div(x, y, reduction="batchmean"), TWO),
    Op("binary_cross_entropy", "binary_cross_entropy", F.binary_cross_entropy, TWO, mixes=False),
    Op(
        "binary_cross_entropy_with_logits",
        "binary_cross_entropy_with_logits",
        F.binary_cross_entropy_with_logits,
        TWO,
    ),
    Op("triplet_margin_loss", "triplet_margin_loss", F.triplet_margin_loss, THREE),
    Op("cosine_similarity", "cosine_similarity", F.cosine_similarity, TWO),
    Op("cdist", "cdist", torch.cdist, TWO),
]
_COMBINING = [
    Op("add", "add.Tensor", torch.add, TWO),
    Op("mul", "mul.Tensor", torch.mul, TWO),
    Op("div", "div.Tensor", torch.div, TWO),
    Op("maximum", "maximum", torch.maximum, TWO),
    Op("where", "where.self", lambda x, y: torch.where(_ints(x, 4, 4) > 0, x, y), TWO),
    Op("cat", "cat", lambda x, y: torch.cat((x, y)), TWO),
    Op("stack", "stack", lambda x, y: torch.stack((x, y)), TWO),
    Op("addcmul", "addcmul", torch.addcmul, THREE),
    Op("addcdiv", "addcdiv", torch.addcdiv, THREE),
    Op("atan2", "atan2", torch.atan2, TWO),
    Op("dot", "dot", torch.dot, (VECTOR, VECTOR)),
    Op("cross", "cross", lambda x, y: torch.cross(x, y, dim=-1), ((4, 3), (4, 3))),
    Op("bilinear", "bilinear", F.bilinear, (MATRIX, MATRIX, (2, 4, 4)), calls=("bmm",)),
    Op("tensordot", "tensordot", lambda x, y: torch.tensordot(x, y, dims=1), TWO, calls=("mm",)),
    Op("scatter_add", "scatter_add", lambda x, y: torch.scatter_add(x, 0, _ints(x, 4, 4), y), TWO),
    Op("index_put", "index_put", lambda x, y: torch.index_put(x, (_ints(x, 4),), y), TWO),
]
_SHAPES = [
    Op("embedding", "embedding", lambda weight: F.embedding(_ints(weight, 2), weight), ONE),
    Op("max_pool2d", "max_pool2d", lambda x: F.max_pool2d(x, 2), (IMAGE,)),
    Op("avg_pool2d", "avg_pool2d", lambda x: F.avg_pool2d(x, 2), (IMAGE,)),
    Op("avg_pool3d", "avg_pool3d", lambda x: F.avg_pool3d(x, 2), (VOLUME,)),
    Op("interpolate", "upsample_nearest2d", lambda x: F.interpolate(x, scale_factor=2.0), (IMAGE,)),
    Op(
        "grid_sample",
        "grid_sampler",
        lambda x, grid: F.grid_sample(x, grid, align_corners=False),
        (IMAGE, (2, 4, 4, 2)),
        touches_gpu=True,
    ),
    Op("transpose", "transpose.int", lambda x: torch.transpose(x, 0, 1), ONE),
]

TABLE = {
    op.name: op
    for group in (_PRODUCTS, _ACTIVATIONS, _NORMS, _POINTWISE, _REDUCTIONS, _LOSSES, _COMBINING, _SHAPES)
    for op in group
}
