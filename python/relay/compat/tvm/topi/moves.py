"""NumPy references of operators that move and select elements, for tvm.topi.testing."""

from __future__ import annotations

import itertools

import numpy as np

from .windows import _list


def gather_python(data, axis, indices):
    """Returns data at the indices along an axis, one index for each element."""
    return np.take_along_axis(data, indices, axis)


def strided_slice_python(data, begin, end, strides, slice_mode="end", axes=None):
    """Returns a slice. begin, end and strides are those of the first axes, or of `axes`. With slice_mode "size", end is
    a count, or -1 for the rest."""
    if axes is not None:
        whole = [slice(None)] * data.ndim
        for place, axis in enumerate(axes):
            whole[axis] = slice(begin[place], end[place], strides[place] if strides else None)
        return data[tuple(whole)]
    strides = [] if strides is None else strides
    out = []
    for i in range(len(begin)):
        first = begin[i]
        if slice_mode == "size":
            last = data.shape[i] if end[i] == -1 else first + end[i]
            out.append(slice(first, last))
        else:
            step = strides[i] if i < len(strides) else 1
            last = end[i] if i < len(end) else None
            out.append(slice(first, None if step < 0 and last is not None and last < -data.shape[i] else last, step))
    return data[tuple(out)]


def strided_set_python(data, v, begin, end, strides):
    """Returns data with a slice replaced by v."""
    out = data.copy()
    step = [1] * len(begin) if strides is None or len(strides) == 0 else strides
    ends = [None if s < 0 and e < -data.shape[i] else e for i, (e, s) in enumerate(zip(end, step, strict=True))]
    out[tuple(slice(b, e, s) for b, e, s in zip(begin, ends, step, strict=True))] = v
    return out


def space_to_depth_python(data, block_size):
    """Moves blocks of pixels to channels."""
    n, c, h, w = data.shape
    b = block_size
    parts = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(n, c * b * b, h // b, w // b)


def depth_to_space_python(data, block_size, mode="DCR"):
    """Moves channels to blocks of pixels."""
    n, c, h, w = data.shape
    b = block_size
    if mode == "DCR":
        parts = data.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = data.reshape(n, c // b**2, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // b**2, h * b, w * b)


def space_to_batch_nd_python(data, block_shape, pad_before, pad_after, pad_value=0):
    """Moves blocks along the axes after the batch to batches."""
    m = len(block_shape)
    pads = [(0, 0), *zip(pad_before, pad_after, strict=True)] + [(0, 0)] * (data.ndim - 1 - m)
    data = np.pad(data, pads, constant_values=pad_value)
    n, rest = data.shape[0], data.shape[1 + m :]
    split = [n]
    for size, block in zip(data.shape[1 : 1 + m], block_shape, strict=True):
        split += [size // block, block]
    order = [2 * i + 2 for i in range(m)] + [0] + [2 * i + 1 for i in range(m)]
    order += list(range(1 + 2 * m, 1 + 2 * m + len(rest)))
    out = data.reshape(*split, *rest).transpose(order)
    return out.reshape(n * int(np.prod(block_shape)), *split[1::2], *rest)


def batch_to_space_nd_python(data, block_shape, crop_begin_list, crop_end_list):
    """Moves batches to blocks along the axes after the batch, and crops these axes."""
    m = len(block_shape)
    n, rest = data.shape[0] // int(np.prod(block_shape)), data.shape[1 + m :]
    split = data.reshape(*block_shape, n, *data.shape[1:])
    order = [m]
    for i in range(m):
        order += [m + 1 + i, i]
    order += list(range(2 * m + 1, split.ndim))
    sizes = [size * block for size, block in zip(data.shape[1 : 1 + m], block_shape, strict=True)]
    out = split.transpose(order).reshape(n, *sizes, *rest)
    kept = tuple(slice(b, s - e) for b, s, e in zip(crop_begin_list, sizes, crop_end_list, strict=True))
    return out[(slice(None), *kept)]


def reorg_python(a_np, stride):
    """Reorganises (n, c, h, w) as YOLO does: to (n, c * stride^2, h / stride, w / stride), in an order of its own."""
    n, c, h, w = a_np.shape
    s, flat = stride, a_np.reshape(-1)
    out = np.zeros(a_np.size, a_np.dtype)
    depth = c // s**2
    for b, k, j, i in itertools.product(range(n), range(c), range(h), range(w)):
        offset, channel = divmod(k, depth)
        row, column = j * s + offset // s, i * s + offset % s
        target = column + w * s * (row + h * s * (channel + depth * b))
        out[i + w * (j + h * (k + c * b))] = flat[target]
    return out.reshape(n, c * s * s, h // s, w // s)


def sequence_mask(data, valid_length, mask_value, axis):
    """Writes mask_value after the length of each sequence. axis 0 is (time, batch, ..), 1 is (batch, time, ..)."""
    steps = np.arange(data.shape[axis])
    inside = steps[:, None] < valid_length[None, :] if axis == 0 else steps[None, :] < valid_length[:, None]
    return np.where(inside.reshape(inside.shape + (1,) * (data.ndim - 2)), data, mask_value).astype(data.dtype)


def matrix_set_diag(input_np, diagonal, k=0, align="RIGHT_LEFT"):
    """Replaces diagonals of the last two axes, from k[0] to k[1]."""
    low, high = (k, k) if isinstance(k, int) else (k[0], k[-1])
    out = input_np.copy()
    rows, columns = out.shape[-2:]
    longest = max(min(rows + min(d, 0), columns - max(d, 0)) for d in range(low, high + 1))
    above, _, below = align.partition("_")
    for d in range(low, high + 1):
        length = min(rows + min(d, 0), columns - max(d, 0))
        right = (above if d > 0 else below if d < 0 else "LEFT") == "RIGHT" and longest != length
        first = longest - length if right else 0
        for i in range(length):
            value = diagonal[..., first + i] if low == high else diagonal[..., high - d, first + i]
            out[..., i - min(d, 0), i + max(d, 0)] = value
    return out


def nll_loss(predictions, targets, weights, reduction="mean", ignore_index=-100):
    """Returns the negated log-probabilities of the targets, times their weights."""
    kept = targets != ignore_index
    safe = np.where(kept, targets, 0)
    picked = np.take_along_axis(predictions, np.expand_dims(safe, 1), 1).squeeze(1)
    weight = np.where(kept, weights[safe], 0)
    loss = np.where(kept, -picked * weight, 0).astype(predictions.dtype)
    if reduction == "none":
        return loss
    return loss.sum() / weight.sum() if reduction == "mean" else loss.sum()


def l2_normalize_python(a_np, eps, axis=None):
    """Computes a / sqrt(max(sum(a^2), eps))."""
    axes = None if axis is None else tuple(_list(axis, 1))
    return a_np / np.sqrt(np.maximum(np.square(a_np).sum(axes, keepdims=True), eps))


def searchsorted_ref(sorted_sequence, values, right, out_dtype):
    """Returns the positions of values in the last axis of a sorted sequence."""
    side = "right" if right else "left"
    if sorted_sequence.ndim == 1:
        return np.searchsorted(sorted_sequence, values, side).astype(out_dtype)
    width = sorted_sequence.shape[-1]
    rows = [
        np.searchsorted(s, v, side)
        for s, v in zip(sorted_sequence.reshape(-1, width), values.reshape(-1, values.shape[-1]), strict=True)
    ]
    return np.array(rows).reshape(values.shape).astype(out_dtype)


def _unnormalised(x, size, align_corners):
    return (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2


def _reflected(x, size, align_corners):
    low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
    if high == low:
        return 0.0
    x = abs(x - low) % (2 * (high - low))
    return min(max(low + (x if x <= high - low else 2 * (high - low) - x), 0.0), size - 1.0)


def grid_sample_python(data, grid, method="bilinear", layout="NCHW", padding_mode="zeros", align_corners=True):
    """Reads data at the positions (x, y[, z]) of a grid, numbers from -1 to 1: (n, 2, h, w) or (n, 3, d, h, w)."""
    rank = len(layout) - 2
    sizes = data.shape[2:]
    out = np.zeros([*data.shape[:2], *grid.shape[2:]], data.dtype)

    def value(image, place):
        if padding_mode == "zeros":
            inside = all(0 <= p < n for p, n in zip(place, sizes, strict=True))
            return image[(slice(None), *place)] if inside else 0.0
        return image[(slice(None), *(min(max(p, 0), n - 1) for p, n in zip(place, sizes, strict=True)))]

    def reflected_tap(p, n):
        return int(round(_reflected(p, n, align_corners))) if padding_mode == "reflection" else p

    def taps(x, n):
        low = int(np.floor(x))
        t = x - low
        if method == "bilinear":
            return [(low, 1 - t), (low + 1, t)]
        if method == "nearest":
            return [(int(np.rint(x)), 1.0)]
        a = -0.75
        near = lambda d: (a + 2) * d**3 - (a + 3) * d**2 + 1  # noqa: E731
        far = lambda d: a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a  # noqa: E731
        found = [(low - 1, far(1 + t)), (low, near(t)), (low + 1, near(1 - t)), (low + 2, far(2 - t))]
        return [(reflected_tap(p, n), weight) for p, weight in found]

    for at in itertools.product(range(data.shape[0]), *map(range, grid.shape[2:])):
        image = data[at[0]]
        place = [_unnormalised(grid[(at[0], rank - 1 - i, *at[1:])], sizes[i], align_corners) for i in range(rank)]
        if method != "bicubic":
            if padding_mode == "border":
                place = [min(max(p, 0.0), n - 1.0) for p, n in zip(place, sizes, strict=True)]
            elif padding_mode == "reflection":
                place = [_reflected(p, n, align_corners) for p, n in zip(place, sizes, strict=True)]
        total = 0.0
        for combination in itertools.product(*(taps(p, n) for p, n in zip(place, sizes, strict=True))):
            weight = float(np.prod([one for _, one in combination]))
            if weight:
                total = total + weight * value(image, [p for p, _ in combination])
        out[(at[0], slice(None), *at[1:])] = total
    return out
