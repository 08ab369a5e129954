"""Layers of DarkNet over images and vectors. Defaults of options are those of DarkNet's parser.c."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import MOST_ELEMENTS, bounded, shape_of
from ..shared.problems import Refused
from .activations import activate
from .conversion import Layer

OTHER_SHAPE = "check the layers before it: DarkNet's own program prints the size of each"


def _scaled(c: Layer, x: Expr, bias: np.ndarray, scale: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Expr:
    """Returns (x - mean) / (sqrt(variance) + 1e-6) * scale + bias; the constant is outside of the root."""
    with np.errstate(all="ignore"):  # of a damaged file: NaN, as DarkNet computes
        factor = scale / (np.sqrt(variance) + np.float32(1e-6))
        shift = bias - mean * factor
    around = [-1, 1, 1] if len(shape_of(x)) == 4 else [-1]
    return op.add(op.multiply(x, c.constant(factor.reshape(around))), c.constant(shift.reshape(around)))


def _normal(c: Layer, count: int) -> list[np.ndarray]:
    return [c.weight([count], name) for name in ("the scales", "the means", "the variances")]


def binarized(weights: np.ndarray) -> np.ndarray:
    """Returns the mean size of each filter's weights, with the sign of each weight; zero counts as negative."""
    mean = np.abs(weights).mean(axis=(1, 2, 3), keepdims=True, dtype=np.float32)
    return np.where(weights > 0, mean, -mean)


def convolution(c: Layer, x: Expr, filters: int, size: int, strides: list[int], padding: int, act: str) -> Expr:
    """Returns a convolution, its normalisation, bias and activation, with the next weights of the file."""
    channels, groups = c.image_sizes(x)[0], c.count("groups", 1)
    if channels % groups or filters % groups:
        raise Refused(f"{channels} channels and {filters} filters are not divisible by {groups} groups", OTHER_SHAPE)
    bounded(filters * channels * size * size, MOST_ELEMENTS, "the number of its weights")
    bias = c.weight([filters], "the biases")
    normal = None
    if c.flag("batch_normalize") and not c.flag("dontloadscales"):
        normal = _normal(c, filters)
    if c.flag("flipped"):
        weights = c.weight([channels // groups * size * size, filters], "the weights").T
        weights = weights.reshape(filters, channels // groups, size, size)
    else:
        weights = c.weight([filters, channels // groups, size, size], "the weights")
    if c.flag("binary"):
        raise Refused("`binary` has an effect on GPUs only", "train with xnor=1, or without it")
    if c.flag("xnor"):
        weights = binarized(weights)
        x = op.where(op.greater(x, c.number(0.0)), c.number(1.0), c.number(-1.0))
    made = op.nn.conv2d(
        x, c.constant(weights), strides=strides, padding=[padding] * 4, dilation=[c.window("dilation", 1)] * 2,
        groups=groups, channels=filters, kernel_size=[size, size],
    )  # fmt: skip
    if normal:
        made = _scaled(c, made, bias, *normal)
    else:
        made = op.nn.bias_add(made, c.constant(bias))
    return activate(act, made)


def _padding(c: Layer, size: int) -> int:
    given = c.window("padding", 0, 0)
    return size // 2 if c.flag("pad") else given


def convolutional(c: Layer):
    size, stride = c.window("size", 1), c.window("stride", 1)
    strides = [c.window("stride_y", stride), c.window("stride_x", stride)]
    act = c.text("activation", "logistic")
    return convolution(c, c.image(), c.count("filters", 1), size, strides, _padding(c, size), act)


def deconvolutional(c: Layer):
    x, filters, size = c.image(), c.count("filters", 1), c.window("size", 1)
    channels = c.image_sizes()[0]
    bounded(filters * channels * size * size, MOST_ELEMENTS, "the number of its weights")
    bias = c.weight([filters], "the biases")
    normal = _normal(c, filters) if c.flag("batch_normalize") else None
    weights = c.weight([channels, filters, size, size], "the weights")
    made = op.nn.conv2d_transpose(
        x, c.constant(weights), strides=[c.window("stride", 1)] * 2, padding=[_padding(c, size)] * 4, channels=filters,
        kernel_size=[size, size],
    )  # fmt: skip
    made = _scaled(c, made, bias, *normal) if normal else op.nn.bias_add(made, c.constant(bias))
    return activate(c.text("activation", "logistic"), made)


def dense(c: Layer, x: Expr, outputs: int, act: str) -> Expr:
    """Returns a product with a matrix, its normalisation, bias and activation, with the next weights of the file."""
    inputs = shape_of(x)[1]
    if not isinstance(inputs, int):
        raise Refused("the size of its input is open", "give the sizes of the input: --shape data=1,3,224,224")
    bounded(inputs * outputs, MOST_ELEMENTS, "the number of its weights")
    bias = c.weight([outputs], "the biases")
    if c.importer.weights.is_transposed:
        weights = c.weight([inputs, outputs], "the weights").T
    else:
        weights = c.weight([outputs, inputs], "the weights")
    made = op.nn.dense(x, c.constant(weights), units=outputs)
    if c.flag("batch_normalize") and not c.flag("dontloadscales"):
        made = _scaled(c, made, bias, *_normal(c, outputs))
    else:
        made = op.nn.bias_add(made, c.constant(bias))
    return activate(act, made)


def connected(c: Layer):
    return dense(c, c.flat(), c.count("output", 1), c.text("activation", "logistic"))


def local(c: Layer):
    """A convolution with filters of its own at each position: weights (positions, filters, channels * size * size)."""
    x, (channels, height, width) = c.image(), c.image_sizes()
    filters, size, stride, pad = (
        c.count("filters", 1),
        c.window("size", 1),
        c.window("stride", 1),
        c.window("pad", 0, 0),
    )
    across = [(one - (1 if pad else size)) // stride + 1 for one in (height, width)]
    if [(one + 2 * pad - size) // stride + 1 for one in (height, width)] != across or min(across) < 1:
        raise Refused(f"DarkNet reads beside its image with pad={pad} and size={size}", "use size=3 with pad=1")
    places, reach = across[0] * across[1], channels * size * size
    bounded(places * filters * reach, MOST_ELEMENTS, "the number of its weights")
    bias = c.weight([filters, *across], "the biases")
    weights = c.weight([places, filters, reach], "the weights")
    columns = op.nn.im2col(x, block_shape=[size, size], strides=[stride, stride], padding=[pad] * 4)
    columns = op.transpose(columns, axes=[2, 0, 1])  # (places, N, reach)
    made = op.transpose(op.nn.batch_matmul(columns, c.constant(weights)), axes=[1, 2, 0])
    made = op.reshape(made, [shape_of(x)[0], filters, *across])
    return activate(c.text("activation", "logistic"), op.add(made, c.constant(bias)))


def batchnorm(c: Layer):
    x = c.image()
    channels = c.image_sizes()[0]
    return _scaled(c, x, np.zeros(channels, np.float32), *_normal(c, channels))


def maxpool(c: Layer):
    stride = c.window("stride", 1)
    size = c.window("size", stride)
    padding = c.window("padding", size - 1, 0)  # before and after together
    before = padding // 2
    around = [before, before, padding - before, padding - before]
    return op.nn.max_pool2d(c.image(), pool_size=[size, size], strides=[stride, stride], padding=around)


def avgpool(c: Layer):
    return op.nn.global_avg_pool2d(c.image())


def softmax(c: Layer):
    groups, temperature = c.count("groups", 1), c.real("temperature", 1.0)
    if c.has("tree"):
        raise Refused("softmax over a tree of classes is not imported", "remove tree= to get plain softmax")
    if c.flag("spatial"):
        return op.nn.softmax(c.image(), axis=1)
    x = c.flat()
    inputs = shape_of(x)[1]
    if inputs % groups:
        raise Refused(f"its {inputs} inputs are not divisible by {groups} groups", OTHER_SHAPE)
    if temperature != 1:
        x = op.divide(x, c.number(temperature))
    if groups == 1:
        return op.nn.softmax(x, axis=1)
    made = op.nn.softmax(op.reshape(x, [shape_of(x)[0], groups, inputs // groups]), axis=2)
    return op.reshape(made, [shape_of(x)[0], inputs])


def normalization(c: Layer):
    """x * (kappa + alpha * sums of squares of near channels)^-beta. DarkNet's sums leave out some of the channels."""
    x, (channels, _, _) = c.image(), c.image_sizes()
    size, alpha, beta, kappa = c.count("size", 5), c.real("alpha", 0.0001), c.real("beta", 0.75), c.real("kappa", 1)
    counts = np.zeros((channels, channels), np.float32)
    counts[0, : size // 2] = 1
    for row in range(1, channels):
        counts[row] = counts[row - 1]
        left, entered = row - (size - 1) // 2 - 1, row + size // 2
        if left >= 0:
            counts[row, left] -= 1
        if entered < channels:
            counts[row, entered] += 1
    kernel = c.constant((counts * np.float32(alpha)).reshape(channels, channels, 1, 1))
    sums = op.nn.conv2d(op.multiply(x, x), kernel, channels=channels, kernel_size=[1, 1])
    return op.multiply(x, op.power(op.add(sums, c.number(kappa)), c.number(-beta)))


def l2norm(c: Layer):
    x = c.image()
    return op.divide(x, op.sqrt(op.sum(op.multiply(x, x), axis=[1], keepdims=True)))


def activation(c: Layer):
    return activate(c.text("activation", "linear"), c.x)


def logistic(c: Layer):
    return op.sigmoid(c.x)


def identity(c: Layer):
    """Dropouts; a cost, which has a result in training only."""
    return c.x


def crop(c: Layer):
    """The middle of an image, from [0, 1] to [-1, 1] unless noadjust is set. Flips and colours change in training."""
    c.ignore("flip", "angle", "saturation", "exposure")
    x, (_, height, width) = c.image(), c.image_sizes()
    high, wide = c.count("crop_height", 1), c.count("crop_width", 1)
    if high > height or wide > width:
        raise Refused(f"it cuts {wide}x{high} from an image of {width}x{height}", OTHER_SHAPE)
    top, left = (height - high) // 2, (width - wide) // 2
    made = op.strided_slice(x, begin=[top, left], end=[top + high, left + wide], axes=[2, 3])
    if c.flag("noadjust"):
        return made
    return op.subtract(op.multiply(made, c.number(2.0)), c.number(1.0))


# --- results of several layers ----------------------------------------------------------------------------------------
def route(c: Layer):
    """The channels of several layers. The fork of A. Bochkovskiy takes one of several groups of them."""
    c.ignore("layers")
    parts = [c.image(one) for one in c.inputs]
    sizes = [c.image_sizes(one) for one in c.inputs]
    if any(one[1:] != sizes[0][1:] for one in sizes):
        raise Refused(f"its layers have images of the sizes {[tuple(one[1:]) for one in sizes]}", OTHER_SHAPE)
    groups, group = c.count("groups", 1), c.count("group_id", 0, 0)
    if groups > 1:
        if group >= groups or any(one[0] % groups for one in sizes):
            raise Refused(
                f"group {group} of {groups} is not a part of {[one[0] for one in sizes]} channels", OTHER_SHAPE
            )
        parts = [
            op.strided_slice(part, begin=[group * (one[0] // groups)], end=[(group + 1) * (one[0] // groups)], axes=[1])
            for part, one in zip(parts, sizes, strict=True)
        ]
    return parts[0] if len(parts) == 1 else op.concatenate(parts, axis=1)


def shortcut(c: Layer):
    """Sums with an earlier layer. Of images of other sizes, the smaller one is laid over every k-th pixel."""
    c.ignore("from")
    made = c.image()
    alpha, beta = c.real("alpha", 1.0), c.real("beta", 1.0)
    made = op.multiply(made, c.number(beta)) if beta != 1 else made
    for other in c.inputs[1:]:
        added = _fitted(c.image(other), c.image_sizes(other), c.image_sizes())
        made = op.add(made, op.multiply(added, c.number(alpha)) if alpha != 1 else added)
    return activate(c.text("activation", "linear"), made)


def _fitted(x: Expr, have: list[int], want: list[int]) -> Expr:
    """Returns an image with sizes (channels, height, width), as shortcut_cpu of DarkNet picks and places pixels."""
    if have == want:
        return x
    (channels, height, width), (channels_, height_, width_) = have, want
    stride, sample = max(width // width_, 1), max(width_ // width, 1)
    if stride != max(height // height_, 1) or sample != max(height_ // height, 1):
        raise Refused(f"images of {width}x{height} and {width_}x{height_} differ in their form", OTHER_SHAPE)
    high, wide, deep = min(height, height_), min(width, width_), min(channels, channels_)
    made = op.strided_slice(
        x, begin=[0, 0, 0], end=[deep, (high - 1) * stride + 1, (wide - 1) * stride + 1], strides=[1, stride, stride],
        axes=[1, 2, 3],
    )  # fmt: skip
    if sample > 1:
        made = op.nn.dilate(made, strides=[1, 1, sample, sample])
    after = [channels_ - deep, height_ - ((high - 1) * sample + 1), width_ - ((wide - 1) * sample + 1)]
    return op.nn.pad(made, pad_width=[[0, 0], *([0, one] for one in after)])


# --- other places of pixels -------------------------------------------------------------------------------------------
def upsample(c: Layer):
    x, stride, scale = c.image(), c.int("stride", 2), c.real("scale", 1.0)
    if stride < 0:
        raise Refused(
            "a negative stride sums pixels, which is not imported", "use avgpool or a convolution with strides"
        )
    made = op.nn.upsampling(x, scale_h=float(bounded(stride, 64, "its stride")), scale_w=float(stride))
    return op.multiply(made, c.number(scale)) if scale != 1 else made


def reorg(c: Layer):
    """Blocks of pixels as channels. DarkNet reads its input as an image with fewer, larger channels."""
    x, (channels, height, width), stride = c.image(), c.image_sizes(), c.window("stride", 1)
    batch, reverse = shape_of(x)[0], c.flag("reverse")
    if c.has("extra") and c.int("extra"):
        raise Refused("`extra` is not imported", "remove it")
    if c.flag("flatten"):
        axes = [[0, 2, 1], [batch, channels, height * width]]
        axes = [[0, 2, 1], [batch, height * width, channels]] if reverse else axes
        made = op.transpose(op.reshape(x, axes[1]), axes=axes[0])
        shape = [channels // stride**2, height * stride, width * stride] if reverse else None
        return op.reshape(made, [batch, *(shape or [channels * stride**2, height // stride, width // stride])])
    if channels % stride**2 or (not reverse and (height % stride or width % stride)):
        raise Refused(f"an image of {channels}x{height}x{width} has no blocks of {stride}x{stride}", OTHER_SHAPE)
    few = channels // stride**2
    if reverse:
        made = op.transpose(op.reshape(x, [batch, stride, stride, few, height, width]), axes=[0, 3, 4, 1, 5, 2])
        return op.reshape(made, [batch, few, height * stride, width * stride])
    made = op.transpose(op.reshape(x, [batch, few, height, stride, width, stride]), axes=[0, 3, 5, 1, 2, 4])
    return op.reshape(made, [batch, channels * stride**2, height // stride, width // stride])


def scale_channels(c: Layer):
    """Each channel of an earlier layer, multiplied by a number (the fork of A. Bochkovskiy)."""
    c.ignore("from")
    if c.flag("scale_wh"):
        raise Refused("`scale_wh` is not imported", "remove it")
    return activate(c.text("activation", "linear"), op.multiply(c.image(c.input(1)), c.image()))


def sam(c: Layer):
    """The products with the elements of an earlier layer (the fork of A. Bochkovskiy)."""
    c.ignore("from")
    if c.image_sizes(c.input(1)) != c.image_sizes():
        raise Refused("its layers have images of other sizes", OTHER_SHAPE)
    return activate(c.text("activation", "linear"), op.multiply(c.image(c.input(1)), c.image()))
