"""Convolutions and pools: plain, depthwise, transposed, dilated; over two or three axes."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import GIVE_SHAPES, dtype_of, shape_of
from ..shared.known import Known, constant
from ..shared.problems import Refused
from ..shared.windows import CONVOLUTIONS, POOLS, SPACE, TRANSPOSED, layout, same_padding, spatial
from .conversion import Conversion
from .values import number


def is_channels_first(c: Conversion) -> bool:
    found = c.text("data_format", "NHWC")
    if found not in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
        raise Refused(f"its data format is {found}", "use NHWC or NCHW")
    return found.startswith("NC")


def _numbers(c: Conversion, name: str, rank: int, otherwise=1) -> list[int]:
    """Returns the numbers of an attribute for the axes of space. Those of batch and channels must be 1."""
    found = c.list(name, [otherwise] * (rank + 2))
    if len(found) != rank + 2 or not all(isinstance(one, int) and one >= 1 for one in found):
        raise Refused(f"`{name}` is {found}, not {rank + 2} numbers above 0")
    first = is_channels_first(c)
    own = spatial(found, first)
    if math.prod(found) != math.prod(own):
        raise Refused(f"`{name}` is {found}: a window over the batch or the channels")
    return own


def padding_of(c: Conversion, sizes: list, window: list[int], strides: list[int], dilation: list[int]) -> list[int]:
    """Returns the padding, before all axes and after all axes."""
    kind = c.text("padding", "VALID")
    if kind == "VALID":
        return [0] * (2 * len(window))
    if kind == "SAME":
        return same_padding(sizes, window, strides, dilation)
    if kind == "EXPLICIT":
        given = c.list("explicit_paddings")
        if len(given) != 2 * (len(window) + 2):
            raise Refused(f"`explicit_paddings` has {len(given)} numbers")
        pairs = spatial([given[at : at + 2] for at in range(0, len(given), 2)], is_channels_first(c))
        return [one[0] for one in pairs] + [one[1] for one in pairs]
    raise Refused(f"the padding {kind!r} is not one of TensorFlow")


def _channels(c: Conversion, channels_first: bool, place: int = 0) -> int:
    return c.size(1 if channels_first else c.rank(place) - 1, place)


def convolution(rank: int):
    """Returns the converter of a convolution of images with a kernel (.., in / groups, out)."""

    def convert(c: Conversion):
        return convolved(c, rank, c.x, c.expr(1))

    return convert


def convolved(c: Conversion, rank: int, x: Expr, kernel: Expr, padding: list[int] | None = None) -> Expr:
    first = is_channels_first(c)
    sizes, weights = shape_of(x), shape_of(kernel)
    if len(sizes) != rank + 2 or len(weights) != rank + 2:
        raise Refused(f"its input has {len(sizes)} axes and its kernel {len(weights)}, not {rank + 2}")
    if any(isinstance(one, Dim) for one in weights):
        raise Refused("the sizes of its kernel are known only at run time", GIVE_SHAPES)
    strides, dilation = _numbers(c, "strides", rank), _numbers(c, "dilations", rank)
    channels = sizes[1 if first else -1]
    if isinstance(channels, Dim):
        raise Refused("the number of channels is known only at run time", GIVE_SHAPES)
    if weights[-2] == 0 or channels % weights[-2] or weights[-1] % max(channels // weights[-2], 1):
        raise Refused(f"its image has {channels} channels, and its kernel takes {weights[-2]} and makes {weights[-1]}")
    if padding is None:
        padding = padding_of(c, spatial(sizes, first), weights[:-2], strides, dilation)
    return CONVOLUTIONS[rank](
        x, kernel, strides=strides, padding=padding, dilation=dilation, groups=channels // weights[-2],
        channels=weights[-1], kernel_size=weights[:-2], data_layout=layout(rank, first),
        kernel_layout=f"{SPACE[rank]}IO",
    )  # fmt: skip


def depthwise(c: Conversion):
    """DepthwiseConv2dNative: the kernel is (height, width, channels, multiplier)."""
    first, weights = is_channels_first(c), c.shape(1)
    if c.rank(0) != 4 or len(weights) != 4 or any(isinstance(one, Dim) for one in weights):
        raise Refused("its input or its kernel does not have four axes")
    channels = _channels(c, first)
    if weights[2] != channels:
        raise Refused(f"its image has {channels} channels, and its kernel {weights[2]}")
    strides, dilation = _numbers(c, "strides", 2), _numbers(c, "dilations", 2)
    kernel = _reshaped(c.value(1), [*weights[:2], 1, channels * weights[3]])
    return op.nn.conv2d(
        c.x, kernel, strides=strides,
        padding=padding_of(c, spatial(c.shape(0), first), weights[:2], strides, dilation), dilation=dilation,
        groups=channels, channels=channels * weights[3], kernel_size=weights[:2], data_layout=layout(2, first),
        kernel_layout="HWIO",
    )  # fmt: skip


def _reshaped(value, shape: list) -> Expr:
    """Returns a tensor in another shape; a constant stays one."""
    if isinstance(value, Known) and not value.is_symbolic:
        return constant(value.array.reshape(shape))
    return op.reshape(value.expr() if isinstance(value, Known) else value, newshape=shape)


def transposed(rank: int):
    """Returns the converter of a convolution's gradient with respect to its image: (sizes of the result, kernel, x)."""

    def convert(c: Conversion):
        first = is_channels_first(c)
        x, kernel, weights = c.expr(2), c.expr(1), c.shape(1)
        if c.rank(2) != rank + 2 or len(weights) != rank + 2 or any(isinstance(one, Dim) for one in weights):
            raise Refused(f"its input or its kernel does not have {rank + 2} axes")
        strides, dilation = _numbers(c, "strides", rank), _numbers(c, "dilations", rank)
        sizes = spatial(c.shape(2), first)
        wanted = c.known(0)
        wanted = None if wanted is None else list(wanted.reshape(-1))
        if wanted is not None and len(wanted) == rank:  # without batch and channels
            wanted = [0, 0, *wanted] if first else [0, *wanted, 0]
        filters = weights[-2]
        channels = _channels(c, first, 2)
        if channels != weights[-1]:
            raise Refused(f"its image has {channels} channels, and its kernel {weights[-1]}")
        cut, extra = _crop(c, sizes, spatial(wanted, first) if wanted else None, weights[:-2], strides, dilation)
        return TRANSPOSED[rank](
            x, kernel, strides=strides, padding=cut, dilation=dilation, output_padding=extra, channels=filters,
            kernel_size=weights[:-2], data_layout=layout(rank, first), kernel_layout=f"{SPACE[rank]}OI",
        )  # fmt: skip

    return convert


def _crop(c: Conversion, sizes: list, wanted, window: list, strides: list, dilation: list):
    """Returns the elements cut off before and after all axes, and those added after each axis.

    The whole result has (n - 1) * stride + reach elements. The forward convolution's padding is cut off before, and the
    rest after it.
    """
    kind = c.text("padding", "VALID")
    if kind not in ("SAME", "VALID", "EXPLICIT"):
        raise Refused(f"the padding {kind!r} is not one of TensorFlow")
    explicit = padding_of(c, sizes, window, strides, dilation) if kind == "EXPLICIT" else None
    before, after, extra = [], [], []
    for axis, (n, k, s, d) in enumerate(zip(sizes, window, strides, dilation, strict=True)):
        reach = (k - 1) * d + 1
        out = None if wanted is None else wanted[axis]
        if isinstance(n, int) and isinstance(out, (int, np.integer)):
            cut = (n - 1) * s + reach - int(out)
        else:  # the size that Keras's layers ask for
            cut = {"SAME": reach - s, "VALID": min(reach - s, 0)}.get(kind)
            if cut is None:
                raise Refused("its explicit padding needs the size of the image", GIVE_SHAPES)
        if explicit is not None:
            begin = explicit[axis]
        elif kind == "SAME" and isinstance(out, (int, np.integer)):
            begin = max((math.ceil(int(out) / s) - 1) * s + reach - int(out), 0) // 2
        else:
            begin = max(cut, 0) // 2 if kind == "SAME" else 0
        before.append(begin)
        after.append(max(cut - begin, 0))
        extra.append(max(-(cut - begin), 0))
    return before + after, extra


def pool(kind: str, rank: int):
    """Returns the converter of maxima or means of windows. Padding does not count."""

    def convert(c: Conversion):
        window, strides = _numbers(c, "ksize", rank), _numbers(c, "strides", rank)
        return pooled(c, kind, rank, window, strides)

    return convert


def pooled(c: Conversion, kind: str, rank: int, window: list[int], strides: list[int]) -> Expr:
    if c.rank(0) != rank + 2:
        raise Refused(f"its input has {c.rank(0)} axes, not {rank + 2}")
    first = is_channels_first(c)
    padding = padding_of(c, spatial(c.shape(0), first), window, strides, [1] * rank)
    return POOLS[kind][rank](c.x, pool_size=window, strides=strides, padding=padding, layout=layout(rank, first))


def max_pool_v2(c: Conversion):
    """MaxPoolV2: the sizes of windows and steps are inputs."""
    window, strides = c.ints(1, "its window"), c.ints(2, "its strides")
    first = is_channels_first(c)
    if len(window) != 4 or len(strides) != 4:
        raise Refused("its window does not have four sizes")
    return pooled(c, "max", 2, spatial(window, first), spatial(strides, first))


def max_pool_with_argmax(c: Conversion):
    """The maxima, and their positions in the flat image: from the positions in each window."""
    if is_channels_first(c):
        raise Refused("its images are NCHW", "use NHWC")
    window, strides = _numbers(c, "ksize", 2), _numbers(c, "strides", 2)
    batch, height, width, channels = (c.size(axis) for axis in range(4))
    around = padding_of(c, [height, width], window, strides, [1, 1])
    lowest = float(np.finfo(np.float32).min) if c.dtype(0).startswith("float") else np.iinfo(c.dtype(0)).min
    pad = [[0, 0], [around[0], around[2]], [around[1], around[3]], [0, 0]]
    flat = np.arange(height * width * channels, dtype=np.int64).reshape(1, height, width, channels)
    places = np.pad(flat, pad, constant_values=-1)
    data = op.nn.pad(c.x, pad_width=pad, pad_value=lowest)
    rows = (height + around[0] + around[2] - window[0]) // strides[0] + 1
    columns = (width + around[1] + around[3] - window[1]) // strides[1] + 1
    parts, indices = [], []
    for y in range(window[0]):
        for x in range(window[1]):
            ends = [y + (rows - 1) * strides[0] + 1, x + (columns - 1) * strides[1] + 1]
            part = op.strided_slice(data, begin=[y, x], end=ends, strides=strides, axes=[1, 2])
            parts.append(part)
            indices.append(places[:, y : ends[0] : strides[0], x : ends[1] : strides[1]])
    stack = op.stack(parts, axis=0)
    best = op.argmax(stack, axis=[0])
    maxima = op.max(stack, axis=[0])
    chosen = constant(indices[0])
    for place, own in enumerate(indices[1:], 1):
        chosen = op.where(op.equal(best, number(place, dtype_of(best))), constant(own), chosen)
    if c("include_batch_in_index", False) and batch > 1:
        step = height * width * channels
        chosen = op.add(chosen, constant((np.arange(batch, dtype=np.int64) * step).reshape(-1, 1, 1, 1)))
    else:
        chosen = op.broadcast_to(chosen, shape=[batch, rows, columns, channels])
    return [maxima, op.cast(chosen, c("Targmax", "int64"))]


def dilation2d(c: Conversion):
    """Dilation2D: the greatest sum of a pixel and the filter (height, width, channels)."""
    strides, rates = _numbers(c, "strides", 2), _numbers(c, "rates", 2)
    window = c.shape(1)[:2]
    around = padding_of(c, c.shape(0)[1:3], window, strides, rates)
    return op.image.dilation2d(
        c.x, c.expr(1), strides=strides, padding=around, dilations=rates, data_layout="NHWC", kernel_layout="HWI"
    )


def fused_convolution(c: Conversion):
    """_FusedConv2D: a convolution, then the operators that `fused_ops` names (grappler makes it)."""
    depth = c.node.op == "_FusedDepthwiseConv2dNative"
    made = depthwise(c) if depth else convolved(c, 2, c.x, c.expr(1))
    return fused(c, made, c.exprs(2), 1 if is_channels_first(c) else -1)


def fused(c: Conversion, made: Expr, more: list[Expr], axis: int) -> Expr:
    """Applies the operators that `fused_ops` names, with further inputs."""
    from .elementwise import ACTIVATIONS

    for name in c.list("fused_ops"):
        if name == "BiasAdd":
            made = op.nn.bias_add(made, more.pop(0), axis=axis)
        elif name == "Add":
            made = op.add(made, more.pop(0))
        elif name == "FusedBatchNorm":
            scale, offset, mean, variance = (more.pop(0) for _ in range(4))
            made = op.nn.batch_norm(made, scale, offset, mean, variance, axis=axis, epsilon=c("epsilon", 1e-4))[0]
        elif name in ACTIVATIONS:
            made = ACTIVATIONS[name](c, made)
        else:
            raise Refused(f"it is fused with {name}", "save the graph before grappler changes it")
    return made
