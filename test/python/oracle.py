"""Helpers of the operators' oracles (OpDef::oracle): what torch and numpy say only in other words.

An oracle is a Python expression over the operator's inputs and attributes; evaluate() gives its value.
"""

import itertools
import math

import numpy as np
import scipy
import torch
import torch.nn.functional as F  # noqa: N812


def order(x, old, new):
    """x with its axes in another order: order(x, "NHWC", "NCHW")."""
    return x.permute([old.index(letter) for letter in new])


def pair(v, n=2):
    """One value for each axis."""
    return list(v) * n if len(v) == 1 else list(v)


def sides(padding, n=2):
    """Relay's padding (befores, then afters) as F.pad wants it: from the last axis, (before, after)."""
    full = {1: list(padding) * 2 * n, n: list(padding) * 2, 2 * n: list(padding)}[len(padding)]
    return [full[d + s * n] for d in reversed(range(n)) for s in range(2)]


def along(values, axis, rank):
    """A vector as a tensor of `rank` axes that runs along one of them."""
    shape = [1] * rank
    shape[axis] = -1
    return values.reshape(shape)


def axes_of(axis, exclude, rank):
    named = sorted(a % rank for a in axis or [])
    if not named and not exclude:
        return list(range(rank))
    return [d for d in range(rank) if (d in named) != exclude]


def reduced(function, data, axis, keepdims, exclude):
    """function(data, axes, keepdims), one axis after the other where it takes one only."""
    axes = axes_of(axis, exclude, data.ndim)
    if function in (torch.all, torch.any):
        for a in reversed(axes):
            data = function(data, a, keepdims)
        return data
    result = function(data, axes, keepdims)
    return torch.as_tensor(result)


def place(function, data, axis, keepdims, exclude, last):
    """argmax or argmin over several axes together."""
    axes = axes_of(axis, exclude, data.ndim)
    rest = [d for d in range(data.ndim) if d not in axes]
    flat = data.permute(rest + axes).flatten(len(rest))
    extreme = flat.gather(-1, function(flat, -1, True))
    equal = (flat == extreme).numpy()
    found = equal.shape[-1] - 1 - equal[..., ::-1].argmax(-1) if last else equal.argmax(-1)
    shape = [1 if d in axes else data.shape[d] for d in range(data.ndim)]
    return torch.as_tensor(found).reshape(shape if keepdims else [data.shape[d] for d in rest])


def pool(data, kind, size, strides, dilation, padding, ceil_mode, count_include_pad=False):
    """Pooling of data (N, C, ...), window by window."""
    axes = range(data.ndim - 2)
    size, strides, dilation = (pair(v, len(axes)) for v in (size, strides, dilation))
    full = sides(padding, len(axes))
    before, after = full[-2::-2], full[::-2]
    extents = []
    for d in axes:
        n = data.shape[2 + d]
        span = n + before[d] + after[d] - dilation[d] * (size[d] - 1) - 1
        count = (-(-span // strides[d]) if ceil_mode else span // strides[d]) + 1
        if ceil_mode and (count - 1) * strides[d] >= n + before[d]:
            count -= 1
        extents.append(count)
    out = torch.zeros(*data.shape[:2], *extents, dtype=data.dtype)
    for place in itertools.product(*map(range, extents)):
        starts = [place[d] * strides[d] - before[d] for d in axes]
        taps = [[s + k * dilation[d] for k in range(size[d])] for d, s in enumerate(starts)]
        inside = [[t for t in taps[d] if 0 <= t < data.shape[2 + d]] for d in axes]
        window = data
        for d in axes:
            window = window.index_select(2 + d, torch.tensor(inside[d]))
        window = window.flatten(2)
        if kind == "max":
            out[:, :, *place] = window.amax(2)
        else:
            counted = [[t for t in taps[d] if -before[d] <= t < data.shape[2 + d] + after[d]] for d in axes]
            chosen = counted if count_include_pad else inside
            out[:, :, *place] = window.sum(2) / math.prod(len(chosen[d]) for d in axes)
    return out


def sliced(data, begin, end, strides, slice_mode, axes):
    """strided_slice by numpy's slices."""
    index = [slice(None)] * data.ndim
    for k, axis in enumerate(axes if axes is not None else range(len(begin))):
        step = 1 if slice_mode == "size" or not strides else strides[0] if len(strides) == 1 else strides[k]
        n = data.shape[axis]
        stop = end[k]
        if slice_mode == "size":
            stop = n if stop < 0 else begin[k] + stop
        elif stop <= -(2**31):
            stop = None
        index[axis] = slice(begin[k], stop, step)
    return torch.as_tensor(data.numpy()[tuple(index)].copy())


def take(data, indices, batch_dims, axis, mode):
    def at(values, where, axis):
        n = values.size if axis is None else values.shape[axis]
        if mode == "checked":
            return np.take(values, np.where(where < 0, where.astype(np.int64) + n, where), axis)
        return np.take(values, where % n if mode == "wrap" else np.clip(where, 0, n - 1), axis)

    d, i = data.numpy(), indices.numpy()
    if batch_dims == 0:
        return torch.as_tensor(np.asarray(at(d, i, axis)))
    assert batch_dims == 1
    return torch.as_tensor(np.stack([at(d[b], i[b], axis - 1) for b in range(len(d))]))


def gather_nd(data, indices, batch_dims):
    places = indices.shape[1:]
    out = []
    for y in np.ndindex(*places):
        index = tuple(y[:batch_dims]) + tuple(int(k) for k in indices[(slice(None), *y)])
        out.append(data[index])
    return torch.stack(out).reshape(*places, *out[0].shape)


def one_hot(indices, on_value, off_value, depth, axis):
    hit = indices.unsqueeze(-1) == torch.arange(depth)
    return torch.where(hit, on_value, off_value).movedim(-1, axis)


def topk(data, k, axis, ret_type, is_ascend):
    n = k if k and k >= 1 else data.shape[axis]
    values, places = (t.narrow(axis, 0, n) for t in torch.sort(data, dim=axis, descending=not is_ascend, stable=True))
    return {"both": (values, places), "values": values, "indices": places}[ret_type]


def pad(data, pad_width, mode, value):
    if mode == "constant":
        return torch.as_tensor(np.pad(data.numpy(), pad_width, mode, constant_values=value.item()))
    return torch.as_tensor(np.pad(data.numpy(), pad_width, mode))


def depth_to_space(data, b, mode):
    n, c, h, w = data.shape
    if mode == "CRD":
        return F.pixel_shuffle(data, b)
    return data.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * b, w * b)


def space_to_depth(data, b):
    n, c, h, w = data.shape
    return data.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


def place_in_image(mode, x, n, out, begin, end):
    """Where pixel x of `out` lies among n pixels."""
    return {
        "half_pixel": lambda: (x + 0.5) * n / out - 0.5,
        "align_corners": lambda: x * (n - 1) / max(out - 1, 1),
        "asymmetric": lambda: x * n / out,
        "pytorch_half_pixel": lambda: (x + 0.5) * n / out - 0.5 if out > 1 else 0.0,
        "tf_half_pixel_for_nn": lambda: (x + 0.5) * n / out,
        "tf_crop_and_resize": lambda: begin * (n - 1) + x * (end - begin) * (n - 1) / (out - 1),
    }[mode]()


def resize(data, size, method, mode, rounding, alpha=-0.5, exclude=0, roi=(), extrapolation=0.0):
    """Resizing of NCHW data: a matrix along each axis. Rounded places are shifted by 1e-9 against rounding errors."""
    matrices, inside = [], []
    for d, out in enumerate(pair(size)):
        n = data.shape[2 + d]
        m = np.zeros((out, n))
        ok = np.ones(out, bool)
        for x in range(out):
            begin, end = (roi[d], roi[d + 2]) if roi else (0.0, 1.0)
            at = place_in_image(mode, x, n, out, begin, end)
            if mode == "tf_crop_and_resize":
                ok[x] = -1e-6 <= at <= n - 1 + 1e-6
            if method == "nearest_neighbor":
                round_to = {
                    "round": lambda v: math.floor(v + 0.5 + 1e-9),
                    "floor": lambda v: math.floor(v + 1e-9),
                    "ceil": lambda v: math.ceil(v - 1e-9),
                    "round_prefer_floor": lambda v: math.ceil(v - 0.5 - 1e-9),
                    "round_prefer_ceil": lambda v: math.floor(v + 0.5 + 1e-9),
                }[rounding]
                taps = {round_to(at): 1.0}
            else:
                first = math.floor(at + 1e-9)
                t = at - first
                if method == "linear":
                    taps = {first: 1 - t, first + 1: t}
                else:
                    near = lambda s: (alpha + 2) * s**3 - (alpha + 3) * s**2 + 1  # noqa: E731
                    far = lambda s: alpha * s**3 - 5 * alpha * s**2 + 8 * alpha * s - 4 * alpha  # noqa: E731
                    taps = {first - 1: far(1 + t), first: near(t), first + 1: near(1 - t), first + 2: far(2 - t)}
                    if exclude:
                        taps = {k: w for k, w in taps.items() if 0 <= k < n}
                        taps = {k: w / sum(taps.values()) for k, w in taps.items()}
            for k, w in taps.items():
                m[x, min(max(k, 0), n - 1)] += w
        matrices.append(torch.as_tensor(m))
        inside.append(torch.as_tensor(ok))
    result = torch.einsum("nchw,yh,xw->ncyx", data.double(), *matrices)
    return torch.where(inside[0][:, None] & inside[1], result, extrapolation)


def scattered(data, places, values, mode):
    """Data with values put at, or combined with, what is at places: pairs of an index and a value, in order."""
    combine = {
        "update": lambda a, b: b,
        "add": lambda a, b: a + b,
        "mean": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "min": torch.minimum,
        "max": torch.maximum,
    }[mode]
    out, count = data.clone(), torch.ones_like(data)
    for place, value in zip(places, values, strict=True):
        out[place] = combine(out[place], value)
        count[place] += 1
    return out / count if mode == "mean" else out


def scatter_elements(data, indices, updates, axis, reduction):
    places = []
    for place in np.ndindex(*indices.shape):
        index = int(indices[place])
        places.append((*place[: axis % data.ndim], index, *place[axis % data.ndim + 1 :]))
    return scattered(data, places, [updates[place] for place in np.ndindex(*indices.shape)], reduction)


def scatter_nd(data, indices, updates, mode):
    at = list(np.ndindex(*indices.shape[1:]))
    return scattered(
        data, [tuple(int(i) for i in indices[(slice(None), *y)]) for y in at], [updates[y] for y in at], mode
    )


def roi_align(data, rois, pooled_size, spatial_scale, sample_ratio, mode, aligned):
    """Each sample by itself."""
    height, width = data.shape[2:]
    out = torch.zeros(len(rois), data.shape[1], *pooled_size, dtype=torch.float64)
    shift = 0.5 if aligned else 0.0

    def sample(image, y, x):
        if not (-1 <= y <= height and -1 <= x <= width):
            return [torch.zeros(image.shape[0], dtype=torch.float64)]
        y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
        top, left = int(y), int(x)
        weights = {(0, 0): (1 - y + top) * (1 - x + left), (0, 1): (1 - y + top) * (x - left)}
        weights |= {(1, 0): (y - top) * (1 - x + left), (1, 1): (y - top) * (x - left)}
        return [
            image[:, min(top + j, height - 1), min(left + k, width - 1)].double() * w for (j, k), w in weights.items()
        ]

    for n, (batch, *corners) in enumerate(rois.tolist()):
        x1, y1, x2, y2 = (c * spatial_scale - shift for c in corners)
        cell_h = (y2 - y1 if aligned else max(y2 - y1, 1.0)) / pooled_size[0]
        cell_w = (x2 - x1 if aligned else max(x2 - x1, 1.0)) / pooled_size[1]
        image = data[min(max(int(batch), 0), len(data) - 1)]
        for i, j in np.ndindex(*pooled_size):
            points = [
                sample(
                    image, y1 + (i + (k + 0.5) / sample_ratio) * cell_h, x1 + (j + (m + 0.5) / sample_ratio) * cell_w
                )
                for k, m in np.ndindex(sample_ratio, sample_ratio)
            ]
            if mode == "avg":
                out[n, :, i, j] = sum(sum(p) for p in points) / sample_ratio**2
            else:
                out[n, :, i, j] = torch.stack([torch.stack(p).amax(0) for p in points]).amax(0)
    return out


def evaluate(oracle, inputs, attrs, output_shape):
    """The value of an oracle."""
    names = dict(globals(), np=np, scipy=scipy, torch=torch, F=F, output_shape=output_shape)
    names.update(attrs)
    names.update(inputs)
    return eval(" ".join(oracle.split()), names)
