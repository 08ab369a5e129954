"""Convolutions, pools, products of matrices, images in another size."""

import numpy as np
from lite_cases import case, floats, i32, one, with_constants
from writer import SAME, VALID

# --- products and windows ---------------------------------------------------------------------------------------------


def windows(x, kernel, strides, padding, dilation=(1, 1), fill=0.0):
    """Windows of an image: (N, H', W', kernel height, kernel width, C), and how many of their elements are in it."""
    widths = [(0, 0)]
    for axis in (0, 1):
        taps, size = (kernel[axis] - 1) * dilation[axis] + 1, x.shape[axis + 1]
        total = max((-(-size // strides[axis]) - 1) * strides[axis] + taps - size, 0) if padding == SAME else 0
        widths.append((total // 2, total - total // 2))
    padded = np.pad(x.astype(np.float64), [*widths, (0, 0)], constant_values=fill)
    inside = np.pad(np.ones_like(x, np.float64), [*widths, (0, 0)])
    taps = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]

    def view(a):
        all = np.lib.stride_tricks.sliding_window_view(a, taps, (1, 2))
        return all[:, :: strides[0], :: strides[1], :, :: dilation[0], :: dilation[1]].transpose(0, 1, 2, 4, 5, 3)

    return view(padded), view(inside)


def convolution(
    op, shape, filter_shape, result, *, strides=(1, 1), padding=SAME, dilation=(1, 1), activation=0, name=None
):
    w = np.random.default_rng(3).normal(size=filter_shape).astype(np.float32)
    b = np.linspace(-1, 1, result[-1]).astype(np.float32)

    def build(model, rng):
        x = model.input("x", shape)
        model.outputs(
            model.op(
                op,
                [x, model.constant("w", w), model.constant("b", b)],
                [model.tensor("y", result)],
                padding=padding,
                stride_h=strides[0],
                stride_w=strides[1],
                dilation_h_factor=dilation[0],
                dilation_w_factor=dilation[1],
                fused_activation_function=activation,
            )
        )
        return [floats(rng, shape)]

    def expect(x):
        all, _ = windows(x, filter_shape[1:3], strides, padding, dilation)
        if op == "DEPTHWISE_CONV_2D":
            times = filter_shape[3] // shape[3]
            sums = np.einsum("nyxhwc,hwcm->nyxcm", all, w[0].reshape(*filter_shape[1:3], shape[3], times))
            sums = sums.reshape(result)
        else:
            groups = shape[3] // filter_shape[3]
            parts = [
                np.einsum("nyxhwc,ohwc->nyxo", a, f)
                for a, f in zip(np.split(all, groups, 5), np.split(w, groups), strict=True)
            ]
            sums = np.concatenate(parts, 3)
        sums = sums + b
        return np.clip(sums, 0, 6) if activation == 3 else np.maximum(sums, 0) if activation == 1 else sums

    case(name or op, build, expect)


convolution("CONV_2D", [1, 8, 9, 3], [4, 3, 3, 3], [1, 8, 9, 4], activation=1)
convolution("CONV_2D", [2, 9, 10, 3], [5, 3, 2, 3], [2, 4, 5, 5], strides=(2, 2), padding=VALID, name="CONV_2D stride")
convolution("CONV_2D", [1, 9, 12, 2], [3, 3, 3, 2], [1, 5, 4, 3], strides=(2, 3), name="CONV_2D same stride")
convolution("CONV_2D", [1, 11, 11, 2], [3, 3, 3, 2], [1, 11, 11, 3], dilation=(2, 3), name="CONV_2D dilation")
convolution("CONV_2D", [1, 5, 5, 6], [4, 3, 3, 3], [1, 5, 5, 4], name="CONV_2D groups")
convolution("CONV_2D", [1, 5, 5, 6], [4, 1, 1, 6], [1, 5, 5, 4], activation=3, name="CONV_2D pointwise")
convolution("DEPTHWISE_CONV_2D", [1, 9, 8, 6], [1, 3, 3, 6], [1, 9, 8, 6], activation=3)
convolution("DEPTHWISE_CONV_2D", [1, 9, 8, 3], [1, 3, 3, 6], [1, 5, 4, 6], strides=(2, 2), name="DEPTHWISE multiplier")
convolution(
    "DEPTHWISE_CONV_2D", [1, 9, 8, 1], [1, 3, 3, 4], [1, 7, 6, 4], padding=VALID, name="DEPTHWISE of one channel"
)


def pool(op, f, shape, kernel, strides, padding, result):
    def expect(x):
        all, inside = windows(x, kernel, strides, padding, fill=-np.inf if op == "MAX_POOL_2D" else 0)
        return f(all, inside)

    one(
        op,
        [shape],
        result,
        expect,
        padding=padding,
        filter_height=kernel[0],
        filter_width=kernel[1],
        stride_h=strides[0],
        stride_w=strides[1],
        name=f"{op} {'VALID' if padding else 'SAME'} {kernel}",
    )


def average(all, inside):
    return all.sum((3, 4)) / inside.sum((3, 4))


POOLS = {
    "MAX_POOL_2D": lambda all, _: all.max((3, 4)),
    "AVERAGE_POOL_2D": average,
    "L2_POOL_2D": lambda all, inside: np.sqrt(average(all**2, inside)),
}
for op, f in POOLS.items():
    pool(op, f, [1, 8, 9, 3], (2, 2), (2, 2), VALID, [1, 4, 4, 3])
    pool(op, f, [2, 8, 9, 3], (3, 3), (2, 2), SAME, [2, 4, 5, 3])


def transposed(name, shape, filter_shape, result, strides, padding):
    w = np.random.default_rng(5).normal(size=filter_shape).astype(np.float32)

    def build(model, rng):
        x = model.input("x", shape)
        inputs = [model.constant("s", i32(*result)), model.constant("w", w), x]
        model.outputs(
            model.op(
                "TRANSPOSE_CONV",
                inputs,
                [model.tensor("y", result)],
                padding=padding,
                stride_h=strides[0],
                stride_w=strides[1],
            )
        )
        return [floats(rng, shape)]

    case(f"TRANSPOSE_CONV {name}", build)


transposed("same", [1, 4, 5, 3], [2, 3, 3, 3], [1, 8, 10, 2], (2, 2), SAME)
transposed("valid", [1, 4, 5, 3], [2, 3, 2, 3], [1, 9, 10, 2], (2, 2), VALID)
transposed("stride 1", [1, 4, 5, 3], [2, 3, 3, 3], [1, 4, 5, 2], (1, 1), SAME)


def _open_batch(model, rng):
    """The shape of the result has the batch of the data, which is open."""
    x = model.input("x", [1, 4, 5, 3], signature=[-1, 4, 5, 3])
    shape = model.op("SHAPE", [x], [model.tensor("shape", [4], "int32")], out_type=2)
    bounds = [model.constant(key, i32(value)) for key, value in (("b", 0), ("e", 1), ("s", 1))]
    batch = model.op("STRIDED_SLICE", [shape, *bounds], [model.tensor("n", [], "int32")], shrink_axis_mask=1)
    sizes = [model.constant(f"size{i}", np.int32(size)) for i, size in enumerate((8, 10, 2))]
    to = model.op("PACK", [batch, *sizes], [model.tensor("to", [4], "int32")], values_count=4, axis=0)
    w = model.constant("w", np.ones((2, 2, 2, 3), np.float32))
    y = model.tensor("y", [1, 8, 10, 2], signature=[-1, 8, 10, 2])
    model.outputs(model.op("TRANSPOSE_CONV", [to, w, x], [y], padding=SAME, stride_h=2, stride_w=2))
    return [floats(rng, [1, 4, 5, 3])]


case("TRANSPOSE_CONV of an open batch", _open_batch,
     lambda x: np.repeat(x.sum(-1).repeat(2, 1).repeat(2, 2)[..., None], 2, -1))  # fmt: skip

W = np.random.default_rng(9).normal(size=(4, 6)).astype(np.float32)
with_constants(
    "FULLY_CONNECTED",
    [3, 6],
    [W, np.float32([1, 2, 3, 4])],
    [[3, 4]],
    lambda x: x @ W.T + np.float32([1, 2, 3, 4]),
    exact=False,
)
with_constants(
    "FULLY_CONNECTED",
    [2, 3, 6],
    [W],
    [[6, 4]],
    lambda x: x.reshape(-1, 6) @ W.T,
    exact=False,
    name="FULLY_CONNECTED flat",
)
with_constants(
    "FULLY_CONNECTED",
    [2, 3, 6],
    [W],
    [[2, 3, 4]],
    lambda x: np.maximum(x @ W.T, 0),
    exact=False,
    keep_num_dims=True,
    fused_activation_function=1,
    name="FULLY_CONNECTED keep",
)
one("BATCH_MATMUL", [[2, 3, 4], [2, 4, 5]], [2, 3, 5], np.matmul, adj_x=False, adj_y=False)
one(
    "BATCH_MATMUL",
    [[2, 4, 3], [5, 4]],
    [2, 3, 5],
    lambda a, b: a.transpose(0, 2, 1) @ b.T,
    adj_x=True,
    adj_y=True,
    name="BATCH_MATMUL adjoint",
)

for op in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
    for corners, centres in ((False, False), (True, False), (False, True)):
        for size in ((7, 9), (3, 2)):
            with_constants(
                op,
                [1, 5, 4, 2],
                [i32(*size)],
                [[1, *size, 2]],
                None,
                exact=False,
                align_corners=corners,
                half_pixel_centers=centres,
                name=f"{op} {size} {corners} {centres}",
            )


def _half_weights(model, rng):
    x, w = model.input("x", [2, 6]), model.constant("w", W.astype(np.float16))
    wide = model.op("DEQUANTIZE", [w], [model.tensor("wide", [4, 6])])
    model.outputs(model.op("FULLY_CONNECTED", [x, wide], [model.tensor("y", [2, 4])]))
    return [floats(rng, [2, 6])]


case("DEQUANTIZE half weights", _half_weights, lambda x: x @ W.astype(np.float16).astype(np.float32).T)


def _fourier(op, lengths, f):
    def build(model, rng):
        x = model.input("x", [2, 6, 8])
        shape = [2, lengths[0], lengths[1] // 2 + 1]
        complex = model.op(
            "RFFT2D", [x, model.constant("lengths", i32(*lengths))], [model.tensor("c", shape, "complex64")]
        )
        model.outputs(model.op(op, [complex], [model.tensor("y", shape)]))
        return [floats(rng, [2, 6, 8])]

    case(f"{op} of RFFT2D {lengths}", build, lambda x: f(np.fft.rfft2(x, lengths)))


_fourier("COMPLEX_ABS", (8, 8), np.abs)
_fourier("COMPLEX_ABS", (8, 4), np.abs)
_fourier("REAL", (4, 16), np.real)
_fourier("IMAG", (1, 128), np.imag)  # in two stages: 8 by 16
_fourier("REAL", (2, 64), np.real)  # 8 by 8
_fourier("IMAG", (4, 8), np.imag)
