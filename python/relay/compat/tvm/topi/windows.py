"""NumPy references of operators over windows and images, for tvm.topi.testing: convolutions in any number of
dimensions, pooling, resizing, sampling, regions."""

from __future__ import annotations

import itertools

import numpy as np


def _list(value, rank: int) -> list[int]:
    return [value] * rank if isinstance(value, (int, np.integer)) else [int(one) for one in value]


def _pads(padding, rank: int, sizes=(), kernel=(), strides=()) -> list[tuple[int, int]]:
    """Returns (before, after) for each axis, from a number, one number for each axis, both ends, "SAME" or "VALID"."""
    if padding == "VALID":
        return [(0, 0)] * rank
    if padding == "SAME":
        totals = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(sizes, kernel, strides, strict=True)]
        return [(total // 2, total - total // 2) for total in totals]
    values = _list(padding, rank)
    return list(zip(values[:rank], values[-rank:], strict=True))


def conv_channels_first(a, w, strides, padding, dilation=1, groups: int = 1):
    """Convolves (n, c, ..) with (out, c / groups, ..) over all later axes."""
    rank = a.ndim - 2
    strides, dilation = _list(strides, rank), _list(dilation, rank)
    extents = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    a = np.pad(a, [(0, 0), (0, 0), *_pads(padding, rank, a.shape[2:], extents, strides)])
    axes = tuple(range(2, 2 + rank))
    windows = np.lib.stride_tricks.sliding_window_view(a, extents, axes)
    steps = tuple(slice(None, None, s) for s in strides)
    taps = tuple(slice(None, None, d) for d in dilation)
    windows = windows[(slice(None), slice(None), *steps, *taps)]
    letters = "abcdefg"[:rank], "hijklmn"[:rank]
    rule = f"yz{letters[0]}{letters[1]},xz{letters[1]}->yx{letters[0]}"
    parts = [
        np.einsum(rule, data, weight, optimize=True)
        for data, weight in zip(np.split(windows, groups, 1), np.split(w, groups, 0), strict=True)
    ]
    return np.concatenate(parts, 1)


def transposed_channels_first(a, w, strides, padding, output_padding=0):
    """Computes the transposed convolution of (n, c, ..) with (c, out, ..)."""
    rank = a.ndim - 2
    strides, extra, kernel = _list(strides, rank), _list(output_padding, rank), w.shape[2:]
    spread = np.zeros([*a.shape[:2], *((n - 1) * s + 1 for n, s in zip(a.shape[2:], strides, strict=True))], a.dtype)
    spread[(slice(None), slice(None), *(slice(None, None, s) for s in strides))] = a
    pads = _pads(padding, rank, spread.shape[2:], kernel, [1] * rank)
    around = [
        (k - 1 - before, k - 1 - after + more) for k, (before, after), more in zip(kernel, pads, extra, strict=True)
    ]
    spread = np.pad(spread, [(0, 0), (0, 0), *around])
    flipped = np.swapaxes(w, 0, 1)[(slice(None), slice(None), *(slice(None, None, -1),) * rank)]
    return conv_channels_first(spread, flipped, 1, 0)


def conv1d_ncw_python(a_np, w_np, stride, padding, dilation):
    """Convolves (n, c, w) with (out, c, w)."""
    return conv_channels_first(a_np, w_np, stride, padding, dilation)


def group_conv1d_ncw_python(a_np, w_np, stride, padding, dilation, groups):
    """Convolves in groups of channels."""
    return conv_channels_first(a_np, w_np, stride, padding, dilation, groups)


def conv1d_transpose_ncw_python(a_np, w_np, stride, padding, output_padding):
    """Computes the transposed convolution of (n, c, w) with (c, out, w)."""
    return transposed_channels_first(a_np, w_np, stride, padding, output_padding)


def conv2d_transpose_nhwc_python(a_nhwc, weight, weight_format, stride, padding, output_padding=(0, 0)):
    """Convolves (n, h, w, c). weight_format is the order of the weight's axes: "HWIO", "HWOI", "OIHW" or "IOHW"."""
    order = [weight_format.index(letter) for letter in "IOHW"]
    out = transposed_channels_first(
        a_nhwc.transpose(0, 3, 1, 2), weight.transpose(order), stride, padding, output_padding
    )
    return out.transpose(0, 2, 3, 1)


def conv3d_ncdhw_python(a_np, w_np, stride, padding, groups: int = 1):
    """Convolves (n, c, d, h, w) with (out, c / groups, d, h, w)."""
    return conv_channels_first(a_np, w_np, stride, padding, 1, groups)


def conv3d_ndhwc_python(a_np, w_np, stride, padding, groups: int = 1):
    """Convolves (n, d, h, w, c) with (d, h, w, c / groups, out)."""
    out = conv_channels_first(a_np.transpose(0, 4, 1, 2, 3), w_np.transpose(4, 3, 0, 1, 2), stride, padding, 1, groups)
    return out.transpose(0, 2, 3, 4, 1)


def conv3d_transpose_ncdhw_python(a_np, w_np, stride, padding, output_padding=0):
    """Computes the transposed convolution of (n, c, d, h, w) with (c, out, d, h, w)."""
    return transposed_channels_first(a_np, w_np, stride, padding, output_padding)


def conv2d_backward_weight_python(dy_np, x_np, kernel_size, stride, padding, groups=1, channels=None, layout="NCHW"):
    """Computes the gradient of the weight, (out, c / groups, kh, kw), of a convolution of x. dy is the gradient of the
    result."""
    if layout == "NHWC":
        dy_np, x_np = dy_np.transpose(0, 3, 1, 2), x_np.transpose(0, 3, 1, 2)
    (kh, kw), (sh, sw) = kernel_size, _list(stride, 2)
    x = np.pad(x_np, [(0, 0), (0, 0), *_pads(padding, 2)])
    oh, ow = dy_np.shape[2:]
    out = []
    for dy, xs in zip(np.split(dy_np, groups, 1), np.split(x, groups, 1), strict=True):
        w = np.zeros((dy.shape[1], xs.shape[1], kh, kw), x_np.dtype)
        for i, j in itertools.product(range(kh), range(kw)):
            seen = xs[:, :, i : i + sh * (oh - 1) + 1 : sh, j : j + sw * (ow - 1) + 1 : sw]
            w[:, :, i, j] = np.einsum("nohw,nchw->oc", dy, seen)
        out.append(w)
    weight = np.concatenate(out)
    return weight.transpose(0, 2, 3, 1) if layout == "NHWC" else weight


# --- pooling ----------------------------------------------------------------------------------------------------------
def _window_places(size, out, kernel, stride, dilation, before):
    for o in range(out):
        first = o * stride - before
        yield [p for p in range(first, first + kernel * dilation, dilation) if 0 <= p < size], first


def poolnd_python(
    np_data,
    kernel,
    strides,
    dilation,
    padding_before,
    padding_after,
    pool_type,
    count_include_pad=True,
    ceil_mode=False,
    dtype="float32",
    layout="NCHW",
):
    """Computes maxima or means of windows over the axes after the channels, or before them for "NHWC" and the like."""
    rank = np_data.ndim - 2
    last = layout[-1] == "C"
    data = np.moveaxis(np_data, -1, 1) if last else np_data
    outs = []
    for i in range(rank):
        span = data.shape[2 + i] + padding_before[i] + padding_after[i] - ((kernel[i] - 1) * dilation[i] + 1)
        outs.append((-(-span // strides[i]) if ceil_mode else span // strides[i]) + 1)
    places = [
        list(_window_places(data.shape[2 + i], outs[i], kernel[i], strides[i], dilation[i], padding_before[i]))
        for i in range(rank)
    ]
    out = np.zeros([*data.shape[:2], *outs], dtype)
    for at in itertools.product(*map(range, outs)):
        chosen = [places[i][at[i]] for i in range(rank)]
        window = data[np.ix_(range(data.shape[0]), range(data.shape[1]), *(one for one, _ in chosen))]
        axes = tuple(range(2, 2 + rank))
        if pool_type == "max":
            out[(slice(None), slice(None), *at)] = window.max(axes)
            continue
        counted = 1
        for i, (inside, first) in enumerate(chosen):
            end = data.shape[2 + i] + padding_after[i]
            padded = [p for p in range(first, first + kernel[i] * dilation[i], dilation[i]) if p < end]
            counted *= len(padded if count_include_pad else inside)
        out[(slice(None), slice(None), *at)] = window.sum(axes) / max(counted, 1)
    return np.moveaxis(out, 1, -1) if last else out


def pool_grad_nchw(a_np, out_grad_np, pool_size, strides, padding, pool_type, ceil_mode, count_include_pad=True):
    """Computes the gradient of poolnd_python. The gradient of a maximum goes to its first position."""
    n, c, h, w = a_np.shape
    (kh, kw), (sh, sw), (top, left, _, _) = pool_size, strides, _list(padding, 4)
    out = np.zeros((n, c, h, w), a_np.dtype)
    for i, j in itertools.product(*map(range, out_grad_np.shape[2:])):
        rows = [r for r in range(i * sh - top, i * sh - top + kh) if 0 <= r < h]
        columns = [k for k in range(j * sw - left, j * sw - left + kw) if 0 <= k < w]
        part = np.ix_(range(n), range(c), rows, columns)
        grad = out_grad_np[:, :, i, j]
        if pool_type == "avg":
            out[part] += (grad / (kh * kw if count_include_pad else len(rows) * len(columns)))[:, :, None, None]
            continue
        flat = a_np[part].reshape(n, c, -1)
        hit = np.arange(flat.shape[2]) == flat.argmax(2)[..., None]
        out[part] += (hit * grad[..., None]).reshape(n, c, len(rows), len(columns))
    return out


def adaptive_pool(np_data, out_size, pool_type, layout: str = "NCHW"):
    """Pools out_size windows of nearly equal size."""
    last = layout[-1] == "C"
    data = np.moveaxis(np_data, -1, 1) if last else np_data
    rank = data.ndim - 2
    sizes = _list(out_size, rank)
    out = np.zeros([*data.shape[:2], *sizes], data.dtype)
    for at in itertools.product(*map(range, sizes)):
        window = tuple(
            slice(i * n // k, -(-(i + 1) * n // k)) for i, n, k in zip(at, data.shape[2:], sizes, strict=True)
        )
        part = data[(slice(None), slice(None), *window)]
        axes = tuple(range(2, 2 + rank))
        out[(slice(None), slice(None), *at)] = part.max(axes) if pool_type == "max" else part.mean(axes)
    return np.moveaxis(out, 1, -1) if last else out


def lrn_python(a_np, size: int, axis: int, bias, alpha, beta):
    """Computes a / (bias + alpha / size * the sum of squares of the neighbours along the axis) ** beta."""
    squares, n = np.moveaxis(np.square(a_np), axis, 0), a_np.shape[axis]
    sums = np.stack([squares[max(0, i - size // 2) : min(n, i + size // 2 + 1)].sum(0) for i in range(n)])
    return a_np / np.power(bias + alpha * np.moveaxis(sums, 0, axis) / size, beta)


# --- images -----------------------------------------------------------------------------------------------------------
def _source(x: int, mode: str, scale: float, size: int, out: int) -> float:
    """Returns the position in the image that a position of the result is read from."""
    if mode == "half_pixel":
        return (x + 0.5) * scale - 0.5
    if mode == "align_corners":
        return x * ((size - 1) / (out - 1) if out > 1 else 0.0)
    if mode == "asymmetric":
        return x * scale
    if mode == "pytorch_half_pixel":
        return (x + 0.5) * scale - 0.5 if out > 1 else 0.0
    raise ValueError(f"there is no coordinate_transformation_mode {mode}")


def _round(x: float, rounding: str) -> int:
    if rounding in ("round", "round_prefer_floor"):
        return int(np.ceil(x - 0.5)) if rounding == "round_prefer_floor" else int(np.floor(x + 0.5))
    if rounding == "round_prefer_ceil":
        return int(np.floor(x + 0.5))
    return int(np.floor(x)) if rounding == "floor" else int(np.ceil(x))


def _weights(size: int, out: int, method: str, mode: str, rounding: str, scale=None, alpha=-0.5) -> np.ndarray:
    """Returns a matrix (out, size): the weight of each element in each result."""
    scale = size / out if scale is None else 1 / scale
    matrix = np.zeros((out, size))
    for o in range(out):
        x = _source(o, mode, scale, size, out)
        if method == "nearest_neighbor":
            epsilon = 1e-5 if mode in ("asymmetric", "align_corners") and rounding in ("", "floor") else 0
            rule = rounding or ("round" if mode == "align_corners" else "floor")
            matrix[o, int(np.clip(_round(x + epsilon, rule), 0, size - 1))] += 1
            continue
        low = int(np.floor(x))
        t = x - low
        taps = {0: 1 - t, 1: t}
        if method == "cubic":

            def near(d, a=alpha):
                return (a + 2) * d**3 - (a + 3) * d**2 + 1

            def far(d, a=alpha):
                return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a

            taps = {-1: far(1 + t), 0: near(t), 1: near(1 - t), 2: far(2 - t)}
        for tap, weight in taps.items():
            matrix[o, int(np.clip(low + tap, 0, size - 1))] += weight
    return matrix


def _resized(data, scales, layout, method, mode, rounding, letters, alpha=-0.5):
    out = data.astype("float64")
    for letter, scale in zip(letters, scales, strict=True):
        axis = layout.index(letter)
        size = int(round(data.shape[axis] * scale))
        matrix = _weights(data.shape[axis], size, method, mode, rounding, alpha=alpha)
        out = np.moveaxis(np.tensordot(matrix, out, (1, axis)), 0, axis)
    return out.astype(data.dtype)


def resize1d_python(
    data,
    scale,
    layout="NCW",
    method="nearest_neighbor",
    coordinate_transformation_mode="align_corners",
    rounding_method="",
):
    """Resizes along w."""
    return _resized(
        data,
        [scale] if not isinstance(scale, (list, tuple)) else scale,
        layout,
        method,
        coordinate_transformation_mode,
        rounding_method,
        "W",
    )


def resize2d_python(
    data,
    scale,
    layout="NCHW",
    method="nearest_neighbor",
    coordinate_transformation_mode="align_corners",
    rounding_method="",
):
    """Resizes along h and w."""
    return _resized(data, scale, layout, method, coordinate_transformation_mode, rounding_method, "HW")


def resize3d_python(
    data,
    scale,
    layout="NCDHW",
    method="nearest_neighbor",
    coordinate_transformation_mode="align_corners",
    rounding_method="",
):
    """Resizes along d, h and w."""
    return _resized(data, scale, layout, method, coordinate_transformation_mode, rounding_method, "DHW")


def _bilinear(image, y, x, outside=0.0):
    """Reads image[.., y, x] between pixels, or `outside` at a distance of one pixel or more."""
    h, w = image.shape[-2:]
    low_y, low_x = int(np.floor(y)), int(np.floor(x))
    total = 0.0
    for i, j in itertools.product((0, 1), (0, 1)):
        at_y, at_x = low_y + i, low_x + j
        weight = (1 - abs(y - at_y)) * (1 - abs(x - at_x))
        inside = 0 <= at_y < h and 0 <= at_x < w
        total = total + weight * (image[..., at_y, at_x] if inside else outside)
    return total


def crop_and_resize_python(image, boxes, box_indices, crop_size, layout, method="bilinear", extrapolation_value=0.0):
    """Returns a resized part of an image for each box (y1, x1, y2, x2), of numbers from 0 to 1."""
    data = image.transpose(0, 3, 1, 2) if layout == "NHWC" else image
    h, w = data.shape[2:]
    ch, cw = crop_size
    out = np.zeros((len(boxes), data.shape[1], ch, cw), image.dtype)
    for b, (y1, x1, y2, x2) in enumerate(boxes):
        for i, j in itertools.product(range(ch), range(cw)):
            y = y1 * (h - 1) + i * ((y2 - y1) * (h - 1) / (ch - 1)) if ch > 1 else 0.5 * (y1 + y2) * (h - 1)
            x = x1 * (w - 1) + j * ((x2 - x1) * (w - 1) / (cw - 1)) if cw > 1 else 0.5 * (x1 + x2) * (w - 1)
            if not (0 <= y <= h - 1 and 0 <= x <= w - 1):
                out[b, :, i, j] = extrapolation_value
            elif method == "bilinear":
                out[b, :, i, j] = _bilinear(data[box_indices[b]], y, x)
            else:
                out[b, :, i, j] = data[box_indices[b]][:, int(np.floor(y + 0.5)), int(np.floor(x + 0.5))]
    return out.transpose(0, 2, 3, 1) if layout == "NHWC" else out


def affine_grid_python(data, target_shape):
    """Returns (x, y) for each pixel of an image, after the affine map (n, 2, 3), as numbers from -1 to 1."""
    h, w = target_shape
    y, x = np.meshgrid(np.linspace(-1, 1, h), np.linspace(-1, 1, w), indexing="ij")
    grid = np.stack([x.ravel(), y.ravel(), np.ones(h * w)])
    return (data @ grid).reshape(data.shape[0], 2, h, w).astype(data.dtype)


def deformable_conv2d_nchw_python(a_np, offset_np, w_np, stride, padding, dilation, deformable_groups, groups):
    """Convolves with taps that are moved by offsets (n, 2 * deformable_groups * kh * kw, h, w)."""
    n, c = a_np.shape[:2]
    kh, kw = w_np.shape[2:]
    (sh, sw), (dh, dw) = _list(stride, 2), _list(dilation, 2)
    (top, _), (left, _) = _pads(padding, 2, a_np.shape[2:], ((kh - 1) * dh + 1, (kw - 1) * dw + 1), (sh, sw))
    oh, ow = offset_np.shape[2:]
    offsets = offset_np.reshape(n, deformable_groups, kh, kw, 2, oh, ow)
    seen = np.zeros((n, c, oh, ow, kh, kw), "float64")
    per = c // deformable_groups
    for b, g, i, j, y, x in itertools.product(*map(range, (n, deformable_groups, kh, kw, oh, ow))):
        at_y = y * sh - top + i * dh + offsets[b, g, i, j, 0, y, x]
        at_x = x * sw - left + j * dw + offsets[b, g, i, j, 1, y, x]
        seen[b, g * per : (g + 1) * per, y, x, i, j] = _bilinear(a_np[b, g * per : (g + 1) * per], at_y, at_x)
    parts = [
        np.einsum("nchwij,ocij->nohw", data, weight, optimize=True)
        for data, weight in zip(np.split(seen, groups, 1), np.split(w_np, groups, 0), strict=True)
    ]
    return np.concatenate(parts, 1).astype(a_np.dtype)


def deformable_conv2d_nhwc_python(a_np, offset_np, w_np, stride, padding, dilation, deformable_groups, groups):
    """Convolves (n, h, w, c) in the same way, with offsets (n, h, w, ..) and weights (kh, kw, c / groups, out)."""
    out = deformable_conv2d_nchw_python(
        a_np.transpose(0, 3, 1, 2), offset_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1), stride, padding,
        dilation, deformable_groups, groups,
    )  # fmt: skip
    return out.transpose(0, 2, 3, 1)


def correlation_nchw_python(data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply):
    """Computes the correlation of the windows of two images, at each displacement."""
    n, c, h, w = data1.shape
    pads = [(0, 0), (0, 0), *_pads(padding, 2)]
    a, b = np.pad(data1, pads), np.pad(data2, pads)
    radius = (kernel_size - 1) // 2
    border = max_displacement + radius
    oh, ow = (-(-(size - 2 * border) // stride1) for size in a.shape[2:])
    steps = range(-(max_displacement // stride2), max_displacement // stride2 + 1)
    out = np.zeros((n, len(steps) ** 2, oh, ow), data1.dtype)
    for q, (dy, dx) in enumerate(itertools.product(steps, steps)):
        for y, x in itertools.product(range(oh), range(ow)):
            y1, x1 = y * stride1 + max_displacement, x * stride1 + max_displacement
            y2, x2 = y1 + dy * stride2, x1 + dx * stride2
            first = a[:, :, y1 : y1 + kernel_size, x1 : x1 + kernel_size]
            second = b[:, :, y2 : y2 + kernel_size, x2 : x2 + kernel_size]
            values = first * second if is_multiply else np.abs(first - second)
            out[:, q, y, x] = values.sum((1, 2, 3)) / (kernel_size**2 * c)
    return out


# --- regions ----------------------------------------------------------------------------------------------------------
def roi_align_nchw_python(a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode="avg"):
    """Computes means, or maxima, of samples in each part of a region (image, x1, y1, x2, y2)."""
    h, w = a_np.shape[2:]
    ph, pw = _list(pooled_size, 2)
    out = np.zeros((len(rois_np), a_np.shape[1], ph, pw), a_np.dtype)

    def sample(image, y, x):
        if y < -1 or x < -1 or y > h or x > w:
            return np.zeros(image.shape[0])
        return _bilinear(image, min(max(y, 0.0), h - 1.0), min(max(x, 0.0), w - 1.0))

    for r, roi in enumerate(rois_np):
        image = a_np[int(roi[0])]
        x1, y1, x2, y2 = roi[1:] * spatial_scale
        height, width = max(y2 - y1, 1.0) / ph, max(x2 - x1, 1.0) / pw
        rows = sample_ratio if sample_ratio > 0 else int(np.ceil(max(y2 - y1, 1.0) / ph))
        columns = sample_ratio if sample_ratio > 0 else int(np.ceil(max(x2 - x1, 1.0) / pw))
        for i, j in itertools.product(range(ph), range(pw)):
            samples = [
                sample(image, y1 + i * height + (u + 0.5) * height / rows, x1 + j * width + (v + 0.5) * width / columns)
                for u, v in itertools.product(range(rows), range(columns))
            ]
            out[r, :, i, j] = np.mean(samples, 0) if mode in ("avg", b"avg") else np.max(samples, 0)
    return out


def roi_align_nhwc_python(a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode="avg"):
    """Computes the same for (n, h, w, c)."""
    out = roi_align_nchw_python(a_np.transpose(0, 3, 1, 2), rois_np, pooled_size, spatial_scale, sample_ratio, mode)
    return out.transpose(0, 2, 3, 1)


def roi_pool_nchw_python(a_np, rois_np, pooled_size, spatial_scale):
    """Computes maxima of the pixels in each part of a region."""
    h, w = a_np.shape[2:]
    ph, pw = _list(pooled_size, 2)
    out = np.zeros((len(rois_np), a_np.shape[1], ph, pw), a_np.dtype)
    for r, roi in enumerate(rois_np):
        x1, y1, x2, y2 = (int(np.floor(value * spatial_scale + 0.5)) for value in roi[1:])
        height, width = max(y2 - y1 + 1, 1) / ph, max(x2 - x1 + 1, 1) / pw
        for i, j in itertools.product(range(ph), range(pw)):
            rows = slice(*np.clip([int(np.floor(i * height)) + y1, int(np.ceil((i + 1) * height)) + y1], 0, h))
            columns = slice(*np.clip([int(np.floor(j * width)) + x1, int(np.ceil((j + 1) * width)) + x1], 0, w))
            part = a_np[int(roi[0]), :, rows, columns]
            out[r, :, i, j] = part.max((1, 2)) if part.size else 0
    return out
