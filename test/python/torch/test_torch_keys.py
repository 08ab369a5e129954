"""The operators that TVM's PyTorch converter had, by its keys: imported, compiled and equal to PyTorch.

Not here: randn and multinomial, which draw, _shape_as_tensor, which torch.export does not take, and torchvision's nms,
roi_align and deform_conv2d.
"""

import math

import pytest
from forms import each_nth

import relay

torch = pytest.importorskip("torch")
F, nn = torch.nn.functional, torch.nn


def f(*shape):
    """Elements between -1 and 1, always the same, no two alike."""
    count = math.prod(shape)
    return (((torch.arange(count) * 37 + 11) % max(count * 2, 7)).reshape(shape) / max(count, 4) - 1).float()


def n(*shape, below=5):
    return (torch.arange(math.prod(shape)) * 7 % below).reshape(shape)


def b(*shape):
    return f(*shape) > 0


IMAGE, ROW, VOLUME = f(2, 4, 6, 8), f(2, 4, 9), f(2, 3, 4, 6, 8)


def rnn(kind, **how):
    layer = kind(4, 3, 2, batch_first=True, bidirectional=True, **how)
    with torch.no_grad():
        for one in layer.parameters():
            one.copy_(f(*one.shape))
    return layer.eval(), f(2, 5, 4)


def unary(*names):
    return {name: (getattr(torch, name), f(3, 4)) for name in names}


def both(*names):
    return {name: (getattr(torch, name), f(3, 4), f(4)) for name in names}


def pools(axes, data):
    adaptive_avg, adaptive_max = (getattr(F, f"adaptive_{kind}_pool{axes}d") for kind in ("avg", "max"))
    return {
        f"adaptive_avg_pool{axes}d": (lambda x: adaptive_avg(x, 3), data),
        f"adaptive_max_pool{axes}d": (lambda x: adaptive_max(x, 2), data),
        f"avg_pool{axes}d": (lambda x: getattr(F, f"avg_pool{axes}d")(x, 2, 1), data),
        f"max_pool{axes}d": (lambda x: getattr(F, f"max_pool{axes}d")(x, 2, 2), data),
    }


def resized(name, data, **how):
    return lambda x: (F.interpolate(x, scale_factor=2, **how), F.interpolate(x, size=[5] * (x.dim() - 2), **how)), data


ELEMENTWISE = {
    **unary(
        "abs",
        "acos",
        "asin",
        "atan",
        "ceil",
        "cos",
        "cosh",
        "erf",
        "exp",
        "floor",
        "isfinite",
        "isinf",
        "isnan",
        "neg",
        "round",
        "sigmoid",
        "sign",
        "sin",
        "sinh",
        "square",
        "tan",
        "tanh",
        "trunc",
        "logical_not",
    ),
    **{
        name: (lambda x, name=name: getattr(torch, name)(x.abs() + 0.5), f(3, 4))
        for name in ("log", "log10", "log1p", "log2", "rsqrt", "sqrt")
    },
    **both(
        "add",
        "div",
        "eq",
        "ge",
        "gt",
        "le",
        "lt",
        "maximum",
        "minimum",
        "mul",
        "ne",
        "rsub",
        "sub",
        "true_divide",
        "logical_and",
        "logical_or",
        "logical_xor",
    ),
    **{
        name: (getattr(torch, name), n(3, 4), 1 + n(4))
        for name in ("bitwise_and", "bitwise_xor", "__and__", "__or__")
        if hasattr(torch, name)
    },
    "bitwise_not": (torch.bitwise_not, n(3, 4)),
    "floor_divide": (torch.floor_divide, n(3, 4), 1 + n(4)),
    "fmod": (torch.fmod, f(3, 4), f(4) + 2),
    "remainder": (torch.remainder, f(3, 4), f(4) + 2),
    "pow": (lambda x, y: (x.abs() ** y, x**2, 2**x), f(3, 4), f(4)),
    "__and__": (lambda x, y: x & y, n(3, 4), n(4)),
    "__iand__": (lambda x, y: (z := x.clone(), z.__iand__(y))[1], n(3, 4), n(4)),
    "__ior__": (lambda x, y: (z := x.clone(), z.__ior__(y))[1], n(3, 4), n(4)),
    "__ixor__": (lambda x, y: (z := x.clone(), z.__ixor__(y))[1], n(3, 4), n(4)),
    "__lshift__": (lambda x, y: x << y, n(3, 4), n(4)),
    "__rshift__": (lambda x, y: x >> y, 100 + n(3, 4), n(4)),
    "__not__": (lambda x: ~x, b(3, 4)),
    "addcdiv": (lambda x, y, z: torch.addcdiv(x, y, z + 3, value=2), f(3, 4), f(4), f(3, 1)),
    "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=2), f(3, 4), f(4), f(3, 1)),
    "lerp": (lambda x, y, w: (torch.lerp(x, y, 0.3), torch.lerp(x, y, w)), f(3, 4), f(3, 4), f(3, 4)),
    "celu": (lambda x: F.celu(x, 1.5), f(3, 4)),
    "elu": (lambda x: F.elu(x, 1.5), f(3, 4)),
    "selu": (F.selu, f(3, 4)),
    "gelu": (lambda x: (F.gelu(x), F.gelu(x, approximate="tanh")), f(3, 4)),
    "glu": (lambda x: F.glu(x, 1), f(3, 4)),
    "hardsigmoid": (F.hardsigmoid, 4 * f(3, 4)),
    "hardswish": (F.hardswish, 4 * f(3, 4)),
    "hardtanh": (lambda x: F.hardtanh(x, -0.3, 0.4), f(3, 4)),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), f(3, 4)),
    "log_sigmoid": (F.logsigmoid, 9 * f(3, 4)),
    "reciprocal": (torch.reciprocal, 2 + f(3, 4)),
    "prelu": (F.prelu, f(2, 4, 5), f(4)),
    "relu": (F.relu, f(3, 4)),
    "relu6": (F.relu6, 9 * f(3, 4)),
    "silu": (F.silu, f(3, 4)),
    "softplus": (lambda x: F.softplus(x, 2, 0.5), f(3, 4)),
    "threshold": (lambda x: F.threshold(x, 0.1, 7.0), f(3, 4)),
    "clamp": (lambda x: x.clamp(-0.2, 0.3), f(3, 4)),
    "clamp_max": (lambda x: x.clamp_max(0.3), f(3, 4)),
    "clamp_min": (lambda x: x.clamp_min(-0.2), f(3, 4)),
    "where": (lambda c, x, y: torch.where(c, x, y), b(3, 4), f(3, 4), f(4)),
    "masked_fill": (lambda x, m: x.masked_fill(m, 2.0), f(3, 4), b(3, 4)),
    "to": (lambda x: (x.to(torch.int32), x.to(torch.float64)), 9 * f(3, 4)),
    "type_as": (lambda x, y: x.type_as(y), f(3, 4), n(2)),
    "alpha_dropout": (lambda x: F.alpha_dropout(x, 0.5, training=False), f(3, 4)),
    "dropout": (lambda x: F.dropout(x, 0.5, training=False), f(3, 4)),
    "feature_dropout": (lambda x: F.dropout2d(x, 0.5, training=False), IMAGE),
    "clone": (lambda x: x.clone(), f(3, 4)),
    "contiguous": (lambda x: x.t().contiguous(), f(3, 4)),
    "copy_": (lambda x, y: x.clone().copy_(y), f(3, 4), f(4)),
    "detach": (lambda x: x.detach() + 1, f(3, 4)),
}
REDUCTIONS = {
    "all": (lambda x: (x.all(), x.all(1)), b(3, 4)),
    "any": (lambda x: (x.any(), x.any(1)), b(3, 4)),
    "amax": (lambda x: x.amax((0, 2)), f(3, 4, 5)),
    "amin": (lambda x: x.amin(1, keepdim=True), f(3, 4, 5)),
    "argmax": (lambda x: (x.argmax(), x.argmax(1)), f(3, 4)),
    "argmin": (lambda x: (x.argmin(), x.argmin(0, keepdim=True)), f(3, 4)),
    "argsort": (lambda x: (x.argsort(), x.argsort(0, descending=True)), f(3, 4)),
    "bincount": (lambda x: torch.bincount(x, minlength=8), n(9)),
    "cumsum": (lambda x: x.cumsum(1), f(3, 4)),
    "frobenius_norm": (lambda x: torch.norm(x, "fro", dim=(0, 1)), f(3, 4)),
    "linalg_vector_norm": (lambda x: torch.linalg.vector_norm(x, 3, dim=1), f(3, 4)),
    "logsumexp": (lambda x: x.logsumexp(1), f(3, 4)),
    "max": (lambda x, y: (x.max(), *x.max(1), torch.max(x, y)), f(3, 4), f(4)),
    "min": (lambda x, y: (x.min(), *x.min(0), torch.min(x, y)), f(3, 4), f(4)),
    "mean": (lambda x: (x.mean(), x.mean((0, 1)), x.mean(1, keepdim=True)), f(3, 4)),
    "norm": (lambda x: (x.norm(), x.norm(1, dim=1)), f(3, 4)),
    "prod": (lambda x: (x.prod(), x.prod(1)), f(3, 4)),
    "std": (lambda x: (x.std(), x.std(1, unbiased=False)), f(3, 4)),
    "sum": (lambda x: (x.sum(), x.sum((0, 1)), x.sum(1, keepdim=True)), f(3, 4)),
    "var": (lambda x: (x.var(), x.var(1, unbiased=False)), f(3, 4)),
    "var_mean": (lambda x: torch.var_mean(x, 1), f(3, 4)),
    "softmax": (lambda x: x.softmax(1), f(3, 4)),
    "log_softmax": (lambda x: x.log_softmax(1), f(3, 4)),
    "sort": (lambda x: x.sort(1, descending=True), f(3, 4)),
    "topk": (lambda x: x.topk(2), f(3, 4)),
    "_unique2": (lambda x: torch.unique(x, return_inverse=True, return_counts=True), n(9)),
    "bucketize": (lambda x, y: torch.bucketize(x, y), f(3, 4), torch.linspace(-1, 1, 5)),
    "searchsorted": (lambda x, y: torch.searchsorted(x, y), torch.linspace(-1, 1, 5), f(3, 4)),
    "stft": (
        lambda x: torch.view_as_real(torch.stft(x, 8, 4, window=torch.hann_window(8), return_complex=True)),
        f(2, 32),
    ),
}
PRODUCTS = {
    "_convolution": (nn.Conv2d(4, 6, 3, 2, 1), IMAGE),
    "_weight_norm": (nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), f(2, 4)),
    "addmm": (lambda x, y, z: torch.addmm(x, y, z, beta=2, alpha=3), f(5), f(3, 4), f(4, 5)),
    "baddbmm": (lambda x, y, z: torch.baddbmm(x, y, z, beta=2, alpha=3), f(2, 3, 5), f(2, 3, 4), f(2, 4, 5)),
    "bmm": (torch.bmm, f(2, 3, 4), f(2, 4, 5)),
    "dot": (torch.dot, f(4), f(4)),
    "einsum": (lambda x, y: torch.einsum("bij,bjk->bik", x, y), f(2, 3, 4), f(2, 4, 5)),
    "linear": (nn.Linear(4, 3), f(2, 4)),
    "matmul": (torch.matmul, f(2, 3, 4), f(4, 5)),
    "mm": (torch.mm, f(3, 4), f(4, 5)),
    "mv": (torch.mv, f(3, 4), f(4)),
    "scaled_dot_product_attention": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k),
        f(2, 2, 3, 4),
        f(2, 2, 5, 4),
    ),
    "gru": rnn(nn.GRU),
    "lstm": rnn(nn.LSTM),
    "rnn_tanh": rnn(nn.RNN),
    "rnn_relu": rnn(nn.RNN, nonlinearity="relu"),
    "batch_norm": (nn.BatchNorm2d(4).eval(), IMAGE),
    "group_norm": (nn.GroupNorm(2, 4), IMAGE),
    "instance_norm": (nn.InstanceNorm2d(4), IMAGE),
    "layer_norm": (nn.LayerNorm(8), IMAGE),
    "cross_entropy_loss": (F.cross_entropy, f(3, 5), n(3)),
    "l1_loss": (F.l1_loss, f(3, 4), f(4, 3).t()),
    "mse_loss": (F.mse_loss, f(3, 4), f(4, 3).t()),
    "nll_loss": (F.nll_loss, f(3, 5), n(3)),
    "nll_loss2d": (F.nll_loss, f(2, 5, 3, 4), n(2, 3, 4)),
    "nll_loss_nd": (lambda x, y: F.nll_loss(x, y, reduction="none"), f(2, 5, 3), n(2, 3)),
}
IMAGES = {
    **pools(1, ROW),
    **pools(2, IMAGE),
    **pools(3, VOLUME),
    "max_pool2d_with_indices": (lambda x: F.max_pool2d(x, 2, return_indices=True), IMAGE),
    "grid_sampler": (lambda x, g: F.grid_sample(x, g, align_corners=True), IMAGE, f(2, 3, 4, 2)),
    "pad": (lambda x: (F.pad(x, (1, 2, 0, 1), value=3.0), F.pad(x, (1, 2), mode="circular")), ROW),
    "constant_pad_nd": (lambda x: F.pad(x, (1, -2)), ROW),
    "reflection_pad1d": (nn.ReflectionPad1d((1, 2)), ROW),
    "reflection_pad2d": (nn.ReflectionPad2d((1, 2, 0, 3)), IMAGE),
    "replication_pad1d": (nn.ReplicationPad1d((1, 2)), ROW),
    "replication_pad2d": (nn.ReplicationPad2d((1, 2, 0, 3)), IMAGE),
    "replication_pad3d": (nn.ReplicationPad3d((1, 2, 0, 3, 1, 1)), VOLUME),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), IMAGE),
    "__interpolate": resized("nearest", IMAGE, mode="nearest"),
    "upsample_nearest2d": resized("nearest", IMAGE, mode="nearest"),
    "upsample_bilinear2d": resized("bilinear", IMAGE, mode="bilinear"),
    "upsample_bicubic2d": resized("bicubic", IMAGE, mode="bicubic", align_corners=True),
    "upsample_nearest3d": resized("nearest", VOLUME, mode="nearest"),
    "upsample_trilinear3d": resized("trilinear", VOLUME, mode="trilinear"),
}
SHAPES = {
    "arange": (lambda x: x + torch.arange(4) + torch.arange(2, 10, 2), f(3, 4)),
    "broadcast_tensors": (lambda x, y: torch.broadcast_tensors(x, y), f(3, 1), f(4)),
    "broadcast_to": (lambda x: x.broadcast_to(2, 3, 4), f(3, 1)),
    "cat": (lambda x, y: torch.cat([x, y], 1), f(3, 4), f(3, 2)),
    "concat": (lambda x, y: torch.concat([x, y], 1), f(3, 4), f(3, 2)),
    "chunk": (lambda x: x.chunk(3, 1), f(3, 7)),
    "unsafe_chunk": (lambda x: x.unsafe_chunk(3, 1), f(3, 7)),
    "embedding": (nn.Embedding(5, 3), n(2, 4)),
    "empty": (lambda x: torch.empty(3, 4).fill_(2) + x, f(3, 4)),
    "empty_like": (lambda x: torch.empty_like(x).zero_() + x, f(3, 4)),
    "expand": (lambda x: x.expand(2, 3, 4), f(3, 1)),
    "expand_as": (lambda x, y: x.expand_as(y), f(3, 1), f(3, 4)),
    "fill_": (lambda x: x.clone().fill_(3), f(3, 4)),
    "flatten": (lambda x: x.flatten(1), IMAGE),
    "flip": (lambda x: x.flip(0, 1), f(3, 4)),
    "full": (lambda x: torch.full((3, 4), 2.5) + x, f(3, 4)),
    "full_like": (lambda x: torch.full_like(x, 2.5), f(3, 4)),
    "gather": (lambda x, i: x.gather(1, i), f(3, 5), n(3, 2)),
    "index": (lambda x, i: (x[i], x[:, i]), f(5, 5), n(4)),
    "index_put": (lambda x, i, y: x.clone().index_put_((i,), y), f(5, 4), n(3), f(3, 4)),
    "index_select": (lambda x, i: x.index_select(1, i), f(3, 5), n(4)),
    "linspace": (lambda x: x + torch.linspace(0, 1, 4), f(3, 4)),
    "masked_select": (lambda x, m: x.masked_select(m), f(3, 4), b(3, 4)),
    "meshgrid": (lambda x, y: torch.meshgrid(x, y, indexing="ij"), f(3), f(4)),
    "narrow": (lambda x: x.narrow(1, 1, 2), f(3, 4)),
    "new_empty": (lambda x: x.new_empty(2, 3).fill_(1) + x.sum(), f(3, 4)),
    "new_full": (lambda x: x.new_full((2, 3), 2), f(3, 4)),
    "new_ones": (lambda x: x.new_ones(2, 3), f(3, 4)),
    "new_zeros": (lambda x: x.new_zeros(2, 3), f(3, 4)),
    "nonzero": (lambda x: x.nonzero(), b(3, 4)),
    "nonzero_numpy": (lambda x: x.nonzero(as_tuple=True), b(3, 4)),
    "numpy_T": (lambda x: x.T + 1, f(3, 4)),
    "one_hot": (lambda x: F.one_hot(x, 7), n(2, 3)),
    "ones": (lambda x: torch.ones(3, 4) + x, f(3, 4)),
    "ones_like": (lambda x: torch.ones_like(x), f(3, 4)),
    "permute": (lambda x: x.permute(2, 0, 1), f(2, 3, 4)),
    "repeat": (lambda x: x.repeat(2, 1, 3), f(3, 4)),
    "repeat_interleave": (
        lambda x: (x.repeat_interleave(2, 1), x.repeat_interleave(torch.tensor([1, 0, 2]), 0)),
        f(3, 4),
    ),
    "reshape": (lambda x: x.reshape(2, 6), f(3, 4)),
    "reshape_as": (lambda x, y: x.reshape_as(y), f(3, 4), f(2, 6)),
    "roll": (lambda x: (x.roll(1), x.roll((1, -1), (0, 1))), f(3, 4)),
    "scalar_tensor": (lambda x: x + torch.scalar_tensor(3.0), f(3, 4)),
    "scatter": (lambda x, i, y: (x.scatter(1, i, y), x.scatter(1, i, 2.0)), f(3, 5), n(3, 2), f(3, 2)),
    "scatter_add": (lambda x, i, y: x.scatter_add(1, i, y), f(3, 5), n(3, 2), f(3, 2)),
    "scatter_reduce": (lambda x, i, y: x.scatter_reduce(1, i, y, "amax"), f(3, 5), n(3, 2), f(3, 2)),
    "select": (lambda x: x.select(1, -2), f(3, 4)),
    "slice": (lambda x: x[1:, ::2], f(3, 4)),
    "split": (lambda x: x.split(3, 1), f(3, 7)),
    "split_with_sizes": (lambda x: x.split([2, 5], 1), f(3, 7)),
    "squeeze": (lambda x: (x.squeeze(), x.squeeze(1)), f(3, 1, 1)),
    "stack": (lambda x, y: torch.stack([x, y], 1), f(3, 4), f(3, 4)),
    "swapaxes": (lambda x: x.swapaxes(0, 2), f(2, 3, 4)),
    "t": (lambda x: x.t() + 1, f(3, 4)),
    "take": (lambda x, i: torch.take(x, i), f(3, 4), n(2, 3)),
    "tensor": (lambda x: x + torch.tensor([1.0, 2, 3, 4]), f(3, 4)),
    "tensor_split": (lambda x: (*x.tensor_split(3, 1), *x.tensor_split((1, 4), 1)), f(3, 7)),
    "tile": (lambda x: x.tile(2, 3), f(3, 4)),
    "transpose": (lambda x: x.transpose(0, 2), f(2, 3, 4)),
    "tril": (lambda x: x.tril(1), f(3, 4)),
    "triu": (lambda x: x.triu(-1), f(3, 4)),
    "unbind": (lambda x: x.unbind(1), f(3, 4)),
    "unflatten": (lambda x: x.unflatten(1, (2, -1)), f(3, 4)),
    "unsqueeze": (lambda x: x.unsqueeze(1), f(3, 4)),
    "view": (lambda x: x.view(2, 6), f(3, 4)),
    "view_as": (lambda x, y: x.view_as(y), f(3, 4), f(2, 6)),
    "zero_": (lambda x: x.clone().zero_(), f(3, 4)),
    "zeros": (lambda x: torch.zeros(3, 4) + x, f(3, 4)),
    "zeros_like": (lambda x: torch.zeros_like(x), f(3, 4)),
}
# Keys of numbers in TorchScript, which torch.export computes itself.
NUMBERS = {
    "Bool": (lambda x: x if bool(x.shape[0]) else -x, f(3, 4)),
    "Float": (lambda x: x * float(x.shape[0]), f(3, 4)),
    "Int": (lambda x: x[: int(x.shape[0]) // 2], f(5, 4)),
    "__getitem__": (lambda x: x.view(x.shape[1], x.shape[0]), f(3, 4)),
    "device": (lambda x: x + torch.ones(4, device=x.device), f(3, 4)),
    "is_floating_point": (lambda x: x + 1 if x.is_floating_point() else -x, f(3, 4)),
    "len": (lambda x: x + len(x), f(3, 4)),
    "numel": (lambda x: x / x.numel(), f(3, 4)),
    "size": (lambda x: x.view(x.size(0), -1), f(3, 4, 2)),
}
KEYS = {**ELEMENTWISE, **REDUCTIONS, **PRODUCTS, **IMAGES, **SHAPES, **NUMBERS}


class Called(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


def same(got, wanted):
    got, wanted = (torch.utils._pytree.tree_leaves(one) for one in (got, wanted))
    torch.testing.assert_close(got, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("key", each_nth(3, KEYS))
def test_key(key):
    function, *inputs = KEYS[key]
    module = function if isinstance(function, nn.Module) else Called(function)
    with torch.no_grad():
        got = relay.compile(relay.from_pytorch(module, tuple(inputs)), threads=1)(*inputs)
        same(list(got) if isinstance(got, tuple) else got, module(*inputs))


def test_numbers_of_traced_models():
    """prim::NumToTensor, prim::ImplicitTensorToNum, prim::device, aten::Int, IntImplicit, ScalarImplicit."""

    def function(x):
        return x.view(x.shape[0] * 2, -1).to(x.device) * (x.shape[1] + 1)

    x = f(3, 4)
    traced = torch.jit.trace(Called(function), x)
    assert "prim::NumToTensor" in str(traced.graph) and "aten::Int" in str(traced.graph)
    same(relay.compile(relay.from_pytorch(traced, (x,)))(x), function(x))
