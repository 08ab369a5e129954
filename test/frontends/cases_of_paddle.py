"""Small models of PaddlePaddle: name, function of tensors, arrays of its inputs. paddle_oracle.py writes each in both
forms, in an environment of its own. A layer as the function brings weights."""

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

RNG = np.random.default_rng(3)
IMAGE, VOLUME = (2, 4, 9, 8), (2, 4, 5, 6, 7)


def real(*shape, low=-2.0, high=2.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


def whole(high, *shape, low=0, dtype=np.int64):
    return RNG.integers(low, high, shape).astype(dtype)


def bools(*shape):
    return RNG.integers(0, 2, shape).astype(bool)


class Called(nn.Layer):
    """A layer that is called with options."""

    def __init__(self, layer, **how):
        super().__init__()
        self.layer, self.how = layer, how

    def forward(self, x):
        return self.layer(x, **self.how)


class Lengths(nn.Layer):
    """A recurrent layer with the lengths of sequences."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, lengths):
        return self.layer(x, sequence_length=lengths)


def _elements():
    for name in (
        "abs ceil cos cosh erf exp expm1 floor sigmoid sign sin sinh square tan tanh trunc asinh atan neg rad2deg "
        "isnan isinf isfinite stanh"
    ).split():
        yield name, getattr(paddle, name), real(3, 5)
    yield "round", paddle.round, np.concatenate([real(10, high=9), np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])])
    for name in "log log2 log10 log1p rsqrt sqrt reciprocal".split():
        yield name, getattr(paddle, name), real(3, 5, low=0.2, high=3)
    for name in "acos asin atanh".split():
        yield name, getattr(paddle, name), real(3, 5, low=-0.9, high=0.9)
    yield "acosh", paddle.acosh, real(3, 5, low=1.1, high=3)
    yield "abs integers", paddle.abs, whole(9, 3, 4, low=-9)
    for name in (
        "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_sigmoid log_softmax mish relu relu6 selu "  # noqa: E501
        "silu softmax softplus softshrink softsign swish tanhshrink thresholded_relu"
    ).split():
        yield f"F.{name}", getattr(F, name), real(3, 6, low=-4, high=7)
    yield "F.gelu tanh", lambda x: F.gelu(x, approximate=True), real(3, 5)
    yield "F.softmax axis", lambda x: F.softmax(x, axis=1), real(2, 3, 4)
    yield "F.softplus beta", lambda x: F.softplus(x, beta=2, threshold=3), real(3, 5)
    yield "F.leaky_relu slope", lambda x: F.leaky_relu(x, 0.2), real(3, 5)
    yield "F.maxout", lambda x: F.maxout(x, 2), real(*IMAGE)
    yield "F.glu", F.glu, real(3, 6)
    yield "F.prelu all", lambda x: F.prelu(x, paddle.to_tensor([0.2])), real(2, 3, 4)
    yield "PReLU channel", nn.PReLU(4, 0.3), real(*IMAGE)
    yield "logit", lambda x: paddle.logit(x, 1e-3), real(3, 4, low=0, high=1)
    yield "F.dropout old", lambda x: F.dropout(x, 0.3, training=False, mode="downscale_in_infer"), real(3, 5)
    yield "Dropout", nn.Dropout(0.3), real(3, 5)
    for name in "add subtract multiply divide maximum minimum fmax fmin".split():
        yield name, getattr(paddle, name), real(2, 3, 4), real(2, 1, 4)
    yield "divide positive", lambda x, y: x / y, real(3, 4), real(3, 4, low=0.5)
    yield "pow tensors", paddle.pow, real(3, 4, low=0.2, high=3), real(3, 4)
    yield "pow number", lambda x: paddle.pow(x, 3), real(3, 4)
    yield "floor_divide", paddle.floor_divide, whole(20, 3, 4, low=-20), whole(5, 3, 4, low=1)
    yield "remainder", paddle.remainder, real(3, 4, high=9), real(3, 4, low=0.5)
    yield "mod integers", paddle.mod, whole(20, 3, 4, low=-20), whole(5, 3, 4, low=1)
    yield "heaviside", paddle.heaviside, np.float32([-1, 0, 0, 2]), np.float32([3, 4, 5, 6])
    yield "atan2", paddle.atan2, real(3, 4), real(3, 4)
    for name in "equal not_equal greater_than greater_equal less_than less_equal".split():
        yield name, getattr(paddle, name), whole(3, 3, 4), whole(3, 3, 4)
    for name in "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split():
        yield name, getattr(paddle, name), bools(3, 4), bools(3, 4)
    yield "logical_not", paddle.logical_not, bools(3, 4)
    for name in "bitwise_and bitwise_or bitwise_xor".split():
        yield (
            f"{name} integers",
            getattr(paddle, name),
            whole(99, 3, 4, dtype=np.int32),
            whole(99, 3, 4, dtype=np.int32),
        )
    yield "bitwise_not", paddle.bitwise_not, whole(99, 3, 4, dtype=np.int32)
    yield "allclose", paddle.allclose, real(3), real(3)
    yield "isclose", lambda x: paddle.isclose(x, x + 1e-7), real(3)
    yield "equal_all", paddle.equal_all, whole(2, 3), whole(2, 3)
    yield "kron", paddle.kron, real(2, 3), real(3, 2)
    yield "add_n", lambda *x: paddle.add_n(list(x)), real(3, 4), real(3, 4), real(3, 4)
    yield "scale", lambda x: paddle.scale(x, 2.0, 3.0), real(3, 4)
    yield "scale before", lambda x: paddle.scale(x, 2.0, 3.0, bias_after_scale=False), real(3, 4)
    yield "numbers", lambda x: (x * 2 + 1, 3 - x, 1 / x, x / 4), real(3, 4, low=1)
    yield "clip", lambda x: paddle.clip(x, -0.5, 1.0), real(3, 4)
    yield "clip one side", lambda x: paddle.clip(x, min=0.1), real(3, 4)
    yield "clip integers", lambda x: paddle.clip(x, 2, 5), whole(9, 3, 4)
    yield "cast", lambda x: (x.astype("int32"), x.astype("float64"), x.astype("bool"), x.astype("int64")), real(3, 4)
    yield "increment", lambda x: paddle.increment(x + 0, 2.0), real(1)
    yield "lerp", lambda x, y: paddle.lerp(x, y, 0.3), real(3, 4), real(3, 4)
    yield "half", lambda x: (x.astype("float16") * 2).astype("float32"), real(3, 4)


def _products():
    for name, how in {
        "": {}, "strided": {"stride": 2, "padding": 1}, "dilated": {"dilation": 2, "padding": 2},
        "grouped": {"groups": 2}, "depthwise": {"groups": 4, "out": 4}, "same": {"padding": "SAME", "stride": 2},
        "valid": {"padding": "VALID"}, "uneven": {"padding": [1, 2, 0, 1]}, "no bias": {"bias_attr": False},
        "NHWC": {"data_format": "NHWC"},
    }.items():  # fmt: skip
        out = how.pop("out", 6)
        shape = (2, 9, 8, 4) if how.get("data_format") else IMAGE
        yield f"Conv2D {name}", nn.Conv2D(4, out, 3, **how), real(*shape)
    yield "Conv1D", nn.Conv1D(4, 6, 3, stride=2, padding=1), real(2, 4, 9)
    yield "Conv3D", nn.Conv3D(4, 6, 3, padding=1), real(*VOLUME)
    for name, how in {
        "": {}, "strided": {"stride": 2, "padding": 1}, "more": {"stride": 2, "padding": 1, "output_padding": 1},
        "grouped": {"groups": 2}, "depthwise": {"groups": 4, "out": 4},
    }.items():  # fmt: skip
        out = how.pop("out", 6)
        yield f"Conv2DTranspose {name}", nn.Conv2DTranspose(4, out, 3, **how), real(*IMAGE)
    sized = nn.Conv2DTranspose(4, 6, 3, stride=2, padding=1)
    yield "Conv2DTranspose size", Called(sized, output_size=[18, 16]), real(*IMAGE)
    yield "Conv1DTranspose", nn.Conv1DTranspose(4, 6, 3, stride=2), real(2, 4, 9)
    yield "Conv3DTranspose", nn.Conv3DTranspose(4, 6, 3, stride=2), real(*VOLUME)
    yield "matmul", paddle.matmul, real(3, 4), real(4, 5)
    yield "matmul batch", paddle.matmul, real(2, 1, 3, 4), real(5, 4, 6)
    yield "matmul vector", paddle.matmul, real(2, 3, 4), real(4)
    yield "matmul row", paddle.matmul, real(4), real(2, 4, 3)
    yield "matmul dot", paddle.matmul, real(4), real(4)
    yield "matmul transposed", lambda x, y: paddle.matmul(x, y, True, True), real(2, 4, 3), real(2, 5, 4)
    yield "bmm", paddle.bmm, real(2, 3, 4), real(2, 4, 5)
    yield "mv", paddle.mv, real(3, 4), real(4)
    yield "dot", paddle.dot, real(3, 4), real(3, 4)
    yield "addmm", lambda i, x, y: paddle.addmm(i, x, y, beta=0.5, alpha=2.0), real(3, 5), real(3, 4), real(4, 5)
    yield "multi_dot", lambda *x: paddle.linalg.multi_dot(list(x)), real(3, 4), real(4, 5), real(5, 2)
    yield "einsum", lambda x, y: paddle.einsum("bij,bjk->bik", x, y), real(2, 3, 4), real(2, 4, 5)
    yield "Linear", nn.Linear(4, 5), real(2, 3, 4)
    yield "Embedding", nn.Embedding(9, 5), whole(9, 3, 4)
    yield "Embedding padding", nn.Embedding(9, 5, padding_idx=2), whole(9, 3, 4)
    yield "Bilinear", nn.Bilinear(3, 4, 5), real(2, 3), real(2, 4)
    for order in (0, 1, 2, 3, np.inf, -np.inf):
        yield f"norm {order}", lambda x, order=order: paddle.norm(x, order, axis=1), real(3, 4)
    yield "norm all", paddle.norm, real(3, 4)
    yield "norm kept", lambda x: paddle.norm(x, 2, axis=-1, keepdim=True), real(3, 4)
    yield "dist", lambda x, y: paddle.dist(x, y, 2), real(3, 4), real(3, 4)
    yield "MultiHeadAttention", nn.MultiHeadAttention(8, 2), real(2, 5, 8)
    yield "TransformerEncoderLayer", nn.TransformerEncoderLayer(8, 2, 16), real(2, 5, 8)
    for name, layer in (("LSTM", nn.LSTM), ("GRU", nn.GRU), ("SimpleRNN", nn.SimpleRNN)):
        yield f"{name}", layer(4, 5), real(2, 6, 4)
        yield f"{name} two ways", layer(4, 5, 2, direction="bidirect"), real(2, 6, 4)
    lengths = nn.LSTM(4, 5)
    yield "LSTM lengths", Lengths(lengths), real(2, 6, 4), np.int64([6, 3])
    yield "LSTM time", nn.LSTM(4, 5, time_major=True), real(6, 2, 4)
    yield "DeformConv2D", paddle.vision.ops.DeformConv2D(4, 6, 3), real(1, 4, 8, 8), real(1, 18, 6, 6)
    yield (
        "DeformConv2D mask",
        paddle.vision.ops.DeformConv2D(4, 6, 3),
        real(1, 4, 8, 8),
        real(1, 18, 6, 6),
        real(1, 9, 6, 6),
    )


def _norms():
    yield "BatchNorm2D", nn.BatchNorm2D(4), real(*IMAGE)
    yield "BatchNorm1D", nn.BatchNorm1D(4), real(3, 4)
    yield "BatchNorm NHWC", nn.BatchNorm2D(4, data_format="NHWC"), real(2, 9, 8, 4)
    yield "LayerNorm", nn.LayerNorm(8), real(2, 5, 8)
    yield "LayerNorm axes", nn.LayerNorm([5, 8]), real(2, 5, 8)
    yield "GroupNorm", nn.GroupNorm(2, 4), real(*IMAGE)
    yield "InstanceNorm2D", nn.InstanceNorm2D(4), real(*IMAGE)
    yield "LocalResponseNorm", nn.LocalResponseNorm(3), real(*IMAGE)
    yield "normalize", F.normalize, real(3, 4)
    yield "SpectralNorm", nn.SpectralNorm([4, 6], dim=0, power_iters=2), real(4, 6)
    for name, how in {
        "": {}, "strided": {"stride": 1, "padding": 1}, "ceil": {"stride": 2, "ceil_mode": True}, "same": {"padding": "SAME"},  # noqa: E501
    }.items():  # fmt: skip
        yield f"max_pool2d {name}", lambda x, how=how: F.max_pool2d(x, 3, **how), real(*IMAGE)
        yield f"avg_pool2d {name}", lambda x, how=how: F.avg_pool2d(x, 3, **how), real(*IMAGE)
    yield "avg_pool2d all", lambda x: F.avg_pool2d(x, 3, 2, 1, exclusive=False), real(*IMAGE)
    yield "max_pool2d NHWC", lambda x: F.max_pool2d(x, 3, data_format="NHWC"), real(2, 9, 8, 4)
    yield "max_pool2d index", lambda x: F.max_pool2d(x, 3, 2, 1, return_mask=True), real(*IMAGE)
    yield "max_unpool2d", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, 2, return_mask=True), 2, 2), real(1, 2, 8, 6)
    yield "avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2), real(2, 4, 9)
    yield "max_pool1d", lambda x: F.max_pool1d(x, 3, 2), real(2, 4, 9)
    yield "avg_pool3d", lambda x: F.avg_pool3d(x, 2), real(*VOLUME)
    yield "max_pool3d", lambda x: F.max_pool3d(x, 2), real(*VOLUME)
    yield "lp_pool2d", lambda x: F.lp_pool2d(x, 2.0, 2), real(1, 2, 8, 6, low=0.1)
    for size in (1, 3, [4, 2]):
        yield f"adaptive_avg_pool2d {size}", lambda x, size=size: F.adaptive_avg_pool2d(x, size), real(*IMAGE)
        yield f"adaptive_max_pool2d {size}", lambda x, size=size: F.adaptive_max_pool2d(x, size), real(*IMAGE)
    yield "adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 3), real(2, 4, 9)
    yield "adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, 2), real(*VOLUME)


def _reductions():
    for name in "sum mean max min prod amax amin logsumexp".split():
        yield name, getattr(paddle, name), real(2, 3, 4)
        yield f"{name} axis", lambda x, name=name: getattr(paddle, name)(x, axis=1), real(2, 3, 4)
        yield (
            f"{name} kept",
            lambda x, name=name: (
                getattr(paddle, name)(x, axis=[0, -1], keepdim=True)
                if name != "prod"
                else paddle.prod(x, axis=-1, keepdim=True)
            ),
            real(2, 3, 4),
        )  # noqa: E501
    yield "sum integers", paddle.sum, whole(9, 3, 4, dtype=np.int32)
    yield "sum bools", lambda x: paddle.sum(x, axis=1), bools(3, 4)
    yield "all", lambda x: paddle.all(x, axis=1), bools(3, 4)
    yield "any", lambda x: paddle.any(x, axis=1), bools(3, 4)
    yield "std", paddle.std, real(3, 4)
    yield "var", lambda x: paddle.var(x, axis=1), real(3, 4)
    for name in ("argmax", "argmin"):
        yield name, getattr(paddle, name), real(3, 4)
        yield f"{name} axis", lambda x, name=name: getattr(paddle, name)(x, axis=1, keepdim=True), real(3, 4)
        yield f"{name} int32", lambda x, name=name: getattr(paddle, name)(x, axis=0, dtype="int32"), real(3, 4)
    yield "cumsum", lambda x: paddle.cumsum(x, axis=1), real(3, 4)
    yield "cumsum all", paddle.cumsum, real(3, 4)
    yield "cumprod", lambda x: paddle.cumprod(x, dim=1), real(3, 4)
    yield "cummax", lambda x: paddle.cummax(x, axis=1), real(3, 4)
    yield "cummin", lambda x: paddle.cummin(x, axis=0), real(3, 4)
    yield "logcumsumexp", lambda x: paddle.logcumsumexp(x, axis=1), real(3, 4)
    yield "trace", paddle.trace, real(3, 4)
    yield "topk", lambda x: paddle.topk(x, 3), real(3, 7)
    yield "topk smallest", lambda x: paddle.topk(x, 2, axis=0, largest=False), real(5, 4)
    yield "sort", lambda x: paddle.sort(x, axis=1), real(3, 5)
    yield "argsort", lambda x: paddle.argsort(x, axis=0, descending=True), real(5, 3)
    yield "kthvalue", lambda x: paddle.kthvalue(x, 2, axis=1), real(3, 5)
    yield "unique", paddle.unique, whole(4, 9)
    yield "unique all", lambda x: paddle.unique(x, True, True, True), whole(4, 9)
    yield "searchsorted", paddle.searchsorted, np.float32([1, 3, 5, 7]), real(4, high=8)
    yield "cross_entropy", lambda x, y: F.cross_entropy(x, y, reduction="none"), real(3, 5), whole(5, 3, 1)


def _shapes():
    yield "reshape", lambda x: paddle.reshape(x, [0, -1]), real(2, 3, 4)
    yield "reshape computed", lambda x: paddle.reshape(x, [paddle.shape(x)[0], -1]), real(2, 3, 4)
    yield "shape arithmetic", lambda x: x.reshape([x.shape[0] * x.shape[1], -1]), real(2, 3, 4)
    yield "shape", paddle.shape, real(2, 3, 4)
    yield "numel", paddle.numel, real(2, 3, 4)
    yield "flatten", lambda x: paddle.flatten(x, 1, 2), real(2, 3, 4, 5)
    yield "squeeze", lambda x: paddle.squeeze(x, [1]), real(2, 1, 4)
    yield "squeeze all", paddle.squeeze, real(2, 1, 1)
    yield "unsqueeze", lambda x: paddle.unsqueeze(x, [0, -1]), real(2, 3)
    yield "transpose", lambda x: paddle.transpose(x, [2, 0, 1]), real(2, 3, 4)
    yield "concat", lambda x, y: paddle.concat([x, y], 1), real(2, 3), real(2, 4)
    yield "stack", lambda x, y: paddle.stack([x, y], 1), real(2, 3), real(2, 3)
    yield "unstack", lambda x: paddle.unstack(x, 1), real(2, 3)
    yield "unbind", lambda x: paddle.unbind(x, 0), real(2, 3)
    yield "split", lambda x: paddle.split(x, 3, 1), real(2, 6)
    yield "split sections", lambda x: paddle.split(x, [1, 2, -1], 1), real(2, 6)
    yield "chunk", lambda x: paddle.chunk(x, 2, 0), real(4, 3)
    yield "slice", lambda x: paddle.slice(x, [0, 2], [0, -3], [1, 9]), real(2, 3, 4)
    yield "indexing", lambda x: (x[0], x[:, 1:, ::2], x[..., -1], x[:, None, 0]), real(2, 3, 4)
    yield "strided_slice", lambda x: paddle.strided_slice(x, [1, 2], [0, 3], [3, 0], [2, -1]), real(2, 3, 4)
    yield "flip", lambda x: paddle.flip(x, [0, 2]), real(2, 3, 4)
    yield "expand", lambda x: paddle.expand(x, [2, -1, 4]), real(3, 1)
    yield "expand_as", paddle.expand_as, real(3, 1), real(2, 3, 4)
    yield "broadcast_to", lambda x: paddle.broadcast_to(x, [2, 3, 4]), real(3, 1)
    yield "broadcast_tensors", lambda x, y: paddle.broadcast_tensors([x, y]), real(3, 1), real(1, 4)
    yield "tile", lambda x: paddle.tile(x, [2, 1, 3]), real(3, 2)
    yield "repeat_interleave", lambda x: paddle.repeat_interleave(x, 2, 1), real(3, 2)
    yield "meshgrid", lambda x, y: paddle.meshgrid(x, y), real(3), real(4)
    yield "roll", lambda x: paddle.roll(x, [1, -2], [0, 1]), real(3, 4)
    yield "roll all", lambda x: paddle.roll(x, 5), real(3, 4)
    yield "tril", lambda x: paddle.tril(x, 1), real(4, 5)
    yield "triu", lambda x: paddle.triu(x, -1), real(2, 4, 5)
    yield "diag", paddle.diag, real(4)
    yield "diag offset", lambda x: paddle.diag(x, 1, 7.0), real(3)
    yield "diag matrix", lambda x: paddle.diag(x, -1), real(4, 5)
    yield "diagonal", lambda x: paddle.diagonal(x, 1, 0, 2), real(4, 2, 5)
    yield (
        "diag_embed",
        lambda x: F.diag_embed(x, 1) if hasattr(F, "diag_embed") else paddle.diag_embed(x, 1),
        real(2, 3),
    )
    for mode in ("constant", "reflect", "replicate", "circular"):
        yield f"pad {mode}", lambda x, mode=mode: F.pad(x, [1, 2, 0, 1], mode), real(1, 2, 5, 6)
    yield "pad value", lambda x: F.pad(x, [1, 2, 0, 1], value=3.0), real(1, 2, 5, 6)
    yield "pad all axes", lambda x: F.pad(x, [1, 0, 2, 1, 0, 3], value=1.0), real(2, 3, 4)
    yield "pad 1d", lambda x: F.pad(x, [1, 2]), real(1, 2, 5)
    yield "pad 3d", lambda x: F.pad(x, [1, 2, 0, 1, 2, 2]), real(1, 2, 3, 4, 5)
    yield "crop", lambda x: paddle.crop(x, [1, 2], [1, 0]), real(3, 4)
    yield "pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), real(1, 8, 3, 4)
    yield "pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), real(1, 2, 4, 6)
    yield "channel_shuffle", lambda x: F.channel_shuffle(x, 2), real(1, 4, 3, 3)
    yield "temporal_shift", lambda x: F.temporal_shift(x, 2, 0.25), real(4, 4, 3, 3)
    yield "unfold", lambda x: F.unfold(x, [2, 3], 2, 1), real(1, 2, 5, 6)
    yield "fold", lambda x: F.fold(x, [4, 5], [2, 2]), real(1, 8, 12)
    yield "moveaxis", lambda x: paddle.moveaxis(x, 0, 2), real(2, 3, 4)
    yield "rot90", paddle.rot90, real(3, 4)
    yield "zeros_like", lambda x: (paddle.zeros_like(x), paddle.ones_like(x), paddle.full_like(x, 2.5)), real(2, 3)
    yield "constants", lambda x: (paddle.zeros([2]) + x, paddle.ones([2]) * x, paddle.full([2], 3.5) - x), real(2)
    yield "arange", lambda x: x + paddle.arange(0, 6, 2, "float32"), real(3)
    yield "arange computed", lambda x: paddle.arange(paddle.shape(x)[0]).astype("float32") + x, real(5)
    yield "linspace", lambda x: x + paddle.linspace(0, 1, 5), real(5)
    yield "eye", lambda x: x + paddle.eye(3, 4), real(3, 4)
    yield "assign", lambda x: paddle.assign(x) + paddle.assign(np.float32([[1, 2, 3]])), real(2, 3)
    yield "one_hot", lambda x: F.one_hot(x, 5), whole(5, 3, 2)
    yield "full batch", lambda x: paddle.full([x.shape[0], 2], 1.5) + paddle.sum(x), real(3, 2)
    yield "tril_indices", lambda x: paddle.tril_indices(3, 4, 0) + x, whole(3, 1)


def _choice():
    yield "where", paddle.where, bools(3, 4), real(3, 4), real(3, 4)
    yield "nonzero", paddle.nonzero, bools(3, 4)
    yield "masked_select", paddle.masked_select, real(3, 4), bools(3, 4)
    yield "masked_fill", lambda x, m: paddle.masked_fill(x, m, 2.0), real(3, 4), bools(3, 4)
    yield "gather", lambda x, i: paddle.gather(x, i, axis=1), real(3, 4), whole(4, 5)
    yield "gather_nd", paddle.gather_nd, real(3, 4, 5), whole(3, 2, 2)
    yield "index_select", lambda x, i: paddle.index_select(x, i, axis=1), real(3, 4), whole(4, 5)
    yield "index_sample", paddle.index_sample, real(3, 4), whole(4, 3, 2)
    yield "index_add", lambda x, i, v: paddle.index_add(x, i, 0, v), real(3, 4), np.int64([0, 2]), real(2, 4)
    yield "index_put", lambda x, i, v: paddle.index_put(x, (i,), v), real(3, 4), np.int64([0, 2]), real(2, 4)
    yield "index tensor", lambda x, i: x[i], real(3, 4), whole(3, 5)
    yield "take_along_axis", lambda x, i: paddle.take_along_axis(x, i, 1), real(3, 4), whole(4, 3, 2)
    for rule in ("assign", "add", "mul"):
        yield (
            f"put_along_axis {rule}",
            lambda x, i, v, rule=rule: paddle.put_along_axis(x, i, v, 1, rule),
            real(3, 4),
            np.int64([[0], [2], [1]]),
            real(3, 1),
        )  # noqa: E501
    yield "scatter", lambda x, i, u: paddle.scatter(x, i, u), real(5, 3), np.int64([1, 4]), real(2, 3)
    yield (
        "scatter add",
        lambda x, i, u: paddle.scatter(x, i, u, overwrite=False),
        real(5, 3),
        np.int64([1, 1]),
        real(2, 3),
    )
    yield "scatter_nd_add", paddle.scatter_nd_add, real(3, 4), whole(3, 2, 2), real(2)
    yield "scatter_nd", lambda i, u: paddle.scatter_nd(i, u, [3, 4]), whole(3, 2, 2), real(2)
    yield (
        "multiplex",
        lambda x, y, i: paddle.multiplex([x, y], i),
        real(3, 4),
        real(3, 4),
        whole(2, 3, 1, dtype=np.int32),
    )
    yield "sequence_mask", lambda x: F.sequence_mask(x, 5, "float32"), whole(5, 3)

    def assigned(x):
        x = x + 0
        x[:, 1] = 5.0
        x[0, ::2] = -1.0
        return x

    def assigned_tensor(x, y):
        x = x + 0
        x[1:, 0:2] = y
        return x

    yield "set_value", assigned, real(3, 4)
    yield "set_value tensor", assigned_tensor, real(3, 4), real(2, 2)


def _images():
    for mode in ("nearest", "bilinear", "bicubic"):
        yield f"interpolate {mode}", lambda x, mode=mode: F.interpolate(x, [13, 5], mode=mode), real(*IMAGE)
        yield (
            f"interpolate {mode} scale",
            lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode),
            real(*IMAGE),
        )
        if mode != "nearest":
            yield (
                f"interpolate {mode} corners",
                lambda x, mode=mode: F.interpolate(x, [13, 5], mode=mode, align_corners=True),
                real(*IMAGE),
            )  # noqa: E501
    yield "interpolate asymmetric", lambda x: F.interpolate(x, [13, 5], mode="bilinear", align_mode=1), real(*IMAGE)
    yield "interpolate linear", lambda x: F.interpolate(x, [13], mode="linear", data_format="NCW"), real(2, 4, 9)
    yield (
        "interpolate trilinear",
        lambda x: F.interpolate(x, [3, 9, 4], mode="trilinear", data_format="NCDHW"),
        real(*VOLUME),
    )
    yield (
        "interpolate like",
        lambda x, y: F.interpolate(x, paddle.shape(y)[2:], mode="bilinear"),
        real(*IMAGE),
        real(1, 1, 5, 6),
    )
    for mode in ("bilinear", "nearest"):
        for outside in ("zeros", "border", "reflection"):
            yield (
                f"grid_sample {mode} {outside}",
                lambda x, g, mode=mode, outside=outside: F.grid_sample(x, g, mode, outside),
                real(1, 3, 5, 6),
                real(1, 4, 4, 2, low=-1.3, high=1.3),
            )  # noqa: E501
    yield (
        "grid_sample half",
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        real(1, 3, 5, 6),
        real(1, 4, 4, 2, high=1),
    )
    yield "affine_grid", lambda t: F.affine_grid(t, [2, 3, 4, 5]), real(2, 2, 3)
    yield "affine_grid half", lambda t: F.affine_grid(t, [1, 3, 4, 5], align_corners=False), real(1, 2, 3)
    boxes = np.float32([[0, 0, 4, 4], [1, 1, 6, 5], [2, 0, 7, 7]])
    yield (
        "roi_align",
        lambda x, b, n: paddle.vision.ops.roi_align(x, b, n, 3, 0.5),
        real(1, 4, 9, 8),
        boxes,
        np.int32([3]),
    )
    yield (
        "roi_align images",
        lambda x, b, n: paddle.vision.ops.roi_align(x, b, n, 3, 1.0, 2, False),
        real(2, 4, 9, 8),
        boxes,
        np.int32([2, 1]),
    )  # noqa: E501
    yield (
        "roi_pool",
        lambda x, b, n: paddle.vision.ops.roi_pool(x, b, n, 3, 1.0),
        real(1, 4, 9, 8),
        boxes,
        np.int32([3]),
    )
    anchors = [10, 13, 16, 30]
    yield (
        "yolo_box",
        lambda x, s: paddle.vision.ops.yolo_box(x, s, anchors, 3, 0.3, 32),
        real(1, 16, 4, 5),
        np.int32([[128, 160]]),
    )
    yield (
        "yolo_box scale",
        lambda x, s: paddle.vision.ops.yolo_box(x, s, anchors, 3, 0.3, 32, False, scale_x_y=1.05),
        real(2, 16, 4, 5),
        np.int32([[128, 160], [99, 80]]),
    )  # noqa: E501
    yield (
        "prior_box",
        lambda x, i: paddle.vision.ops.prior_box(x, i, [4.0, 8.0], [6.0, 12.0], [1.0, 2.0], flip=True, clip=True),
        real(1, 2, 3, 4),
        real(1, 3, 24, 32),
    )  # noqa: E501
    yield (
        "box_coder decode",
        lambda p, v, t: paddle.vision.ops.box_coder(p, v, t, "decode_center_size"),
        np.abs(real(4, 4)) + np.float32([0, 0, 3, 3]),
        np.abs(real(4, 4)),
        real(2, 4, 4),
    )  # noqa: E501
    yield (
        "box_coder encode",
        lambda p, v, t: paddle.vision.ops.box_coder(p, v, t),
        np.abs(real(4, 4)) + np.float32([0, 0, 3, 3]),
        np.abs(real(4, 4)) + 0.1,
        np.abs(real(3, 4)) + np.float32([0, 0, 3, 3]),
    )  # noqa: E501
    many = np.sort(RNG.uniform(0, 9, (12, 2, 2)), axis=1).reshape(12, 4).astype(np.float32)
    yield "nms", lambda b: paddle.vision.ops.nms(b, 0.3), many
    scores = RNG.uniform(0, 1, (1, 3, 12)).astype(np.float32)
    yield (
        "matrix_nms",
        lambda b, s: paddle.vision.ops.matrix_nms(b, s, 0.2, 0.1, 8, 6, return_index=True),
        many[None],
        scores,
    )
    yield (
        "matrix_nms gaussian",
        lambda b, s: paddle.vision.ops.matrix_nms(b, s, 0.2, 0.1, 8, 6, True, 2.0, -1, False),
        many[None],
        scores,
    )  # noqa: E501
    yield (
        "distribute_fpn_proposals",
        lambda b, n: paddle.vision.ops.distribute_fpn_proposals(b, 2, 4, 3, 4, rois_num=n),
        many,
        np.int32([12]),
    )
    sides = np.array([[[[0, 0, 8, 8], [0, 0, 4, 12]]]], np.float32).repeat(3, 0).repeat(3, 1)
    sides = np.ascontiguousarray(sides[:, 0] if sides.ndim == 5 else sides) + np.arange(3, dtype=np.float32).reshape(
        3, 1, 1, 1
    )
    yield (
        "generate_proposals",
        lambda s, d, i, a, v: paddle.vision.ops.generate_proposals(
            s, d, i, a, v, 12, 5, 0.6, 1.0, return_rois_num=True
        ),
        RNG.uniform(0, 1, (1, 2, 3, 3)).astype(np.float32),
        real(1, 8, 3, 3, low=-0.5, high=0.5),
        np.float32([[20, 20]]),
        sides,
        np.ones_like(sides),
    )  # noqa: E501


# Paddle translates the control flow of a layer's own `forward`.
class Loop(nn.Layer):
    def forward(self, x, n):
        i = paddle.zeros([1], "int64")
        s = x
        while i < n:
            s = s * 2 + x
            i = i + 1
        return s


class Branch(nn.Layer):
    def forward(self, x):
        if x.sum() > 0:
            y, z = x + 1, x * 2
        else:
            y, z = x - 1, x * 3
        return y, z


class OneSided(nn.Layer):
    def forward(self, x):
        y = x * 2
        if x.mean() > 0:
            y = y + 1
        return y


class Nested(nn.Layer):
    def forward(self, x, n):
        i = paddle.zeros([1], "int64")
        while i < n:
            if x.sum() > 10:
                x = x / 2
            else:
                x = x + 3
            i = i + 1
        return x


class Listed(nn.Layer):
    def forward(self, x, n):
        i, parts = paddle.zeros([1], "int64"), []
        y = x
        while i < n:
            y = y + 1
            parts.append(y)
            i = i + 1
        return paddle.stack(parts)


class Filled(nn.Layer):
    def forward(self, x, n):
        i, made = paddle.zeros([1], "int64"), paddle.zeros([5, 3])
        while i < n:
            made[i] = x * i.astype("float32")
            i = i + 1
        return made


def _control():
    n = np.int64([4])
    yield "while", Loop(), real(2, 3), n
    yield "if", Branch(), real(2, 3, low=0.1)
    yield "if not", Branch(), real(2, 3, high=-0.1)
    yield "if alone", OneSided(), real(2, 3, low=0.1)
    yield "if alone not", OneSided(), real(2, 3, high=-0.1)
    yield "while if", Nested(), real(2, 3), n
    yield "while list", Listed(), real(2, 3), n
    yield "while set_value", Filled(), real(3), n


def cases():
    """Yields (name, function, arrays)."""
    for part in (_elements, _products, _norms, _reductions, _shapes, _choice, _images, _control):
        for name, function, *arrays in part():
            yield name, function, arrays
