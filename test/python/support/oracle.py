"""Helpers of the operators' oracles (OpDef::oracle): what torch and numpy say only in other words.

An oracle is a Python expression over the operator's inputs and attributes; evaluate() gives its value.
"""

import bisect
import itertools
import math

import ml_dtypes
import numpy as np
import oracle_arrays
import oracle_images
import quantized
import recurrent  # noqa: F401  named by oracles of operators
import scipy
import threefry
import torch
import torch.nn.functional as F  # noqa: N812
from oracle_arrays import order, pair, sides


def searchsorted(sequence, values, right):
    """By bisection, which has one result for each sequence, sorted or not: examples draw their elements at random."""
    find = bisect.bisect_right if right else bisect.bisect_left
    sequence, values = np.asarray(sequence), np.asarray(values)
    if sequence.ndim == 1:
        places = [find(sequence, v) for v in values.reshape(-1)]
    else:
        rows = zip(sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1]), strict=True)
        places = [find(row, v) for row, own in rows for v in own]
    return np.array(places).reshape(values.shape)


def cast(data, dtype, saturate=True, power="up"):
    """The values in another type: torch's, or one of ml_dtypes, whose values float64 holds."""
    if hasattr(torch, dtype) and not dtype.startswith(
        ("float8", "float6_", "float4", "int2", "int4", "uint2", "uint4")
    ):
        return data.to(getattr(torch, dtype))
    kind, x = getattr(ml_dtypes, dtype), np.asarray(data)
    if dtype.startswith(("int", "uint")):
        low, high = ml_dtypes.iinfo(kind).min, ml_dtypes.iinfo(kind).max
        whole = (
            np.clip(np.trunc(x), low, high) if x.dtype.kind == "f" else low + (x.astype(int) - low) % (high - low + 1)
        )
        return whole.astype(np.float64)
    if dtype == "float8_e8m0fnu":
        if power == "nearest":
            return np.exp2(np.floor(np.log2(x)) + (x >= 1.5 * np.exp2(np.floor(np.log2(x)))))
        return np.exp2({"up": np.ceil, "down": np.floor}[power](np.log2(x)))
    most = float(ml_dtypes.finfo(kind).max)
    return (np.clip(x, -most, most) if saturate else x).astype(kind).astype(np.float64)


def packed(data, axis, dtype):
    """Elements of 4 or 2 bits in bytes, the first in the lowest bits."""
    kind = getattr(ml_dtypes, dtype)
    bits = np.moveaxis(np.asarray(data).astype(kind).view(np.uint8), axis, -1)
    width = 2 if dtype in ("int2", "uint2") else 4
    per, n = 8 // width, bits.shape[-1]
    padded = np.zeros((*bits.shape[:-1], -(-n // per) * per), np.uint8)
    padded[..., :n] = bits & (2**width - 1)
    groups = padded.reshape(*bits.shape[:-1], -1, per)
    return np.moveaxis(sum(groups[..., k] << (k * width) for k in range(per)).astype(np.uint8), -1, axis)


def unpacked(data, axis, dtype, size):
    """The other way."""
    kind = getattr(ml_dtypes, dtype)
    width = 2 if dtype in ("int2", "uint2") else 4
    data = np.moveaxis(np.asarray(data), axis, -1)
    parts = np.stack([data >> (k * width) & (2**width - 1) for k in range(8 // width)], -1).astype(np.uint8)
    flat = parts.reshape(*data.shape[:-1], -1)[..., :size]
    return np.moveaxis(np.ascontiguousarray(flat).view(kind).astype(np.float64), -1, axis)


def rotary_embedding(data, cos, sin, interleaved):
    half = cos.shape[-1]
    front, rest = data[..., : 2 * half], data[..., 2 * half :]
    x, y = (front[..., 0::2], front[..., 1::2]) if interleaved else (front[..., :half], front[..., half:])
    first, second = x * cos - y * sin, y * cos + x * sin
    front = torch.stack([first, second], -1).flatten(-2) if interleaved else torch.cat([first, second], -1)
    return torch.cat([front, rest], -1)


def attention(inputs, masked, cached, is_causal, scale):
    """By torch's attention; keys and values of earlier calls stand in front, and a causal query sees them all."""
    query, key, value, *rest = inputs
    mask = rest.pop(0) if masked else None
    if cached:
        key, value = torch.cat([rest[0], key], -2), torch.cat([rest[1], value], -2)
    if is_causal:
        rows, keys = query.shape[-2], key.shape[-2]
        before = torch.tril(torch.ones(rows, keys, dtype=torch.bool), rest[0].shape[-2] if cached else 0)
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.masked_fill(~before, -torch.inf)
        else:
            mask = before if mask is None else mask & before
    if query.ndim == 4 and key.shape[1] != query.shape[1]:
        times = query.shape[1] // key.shape[1]
        keys, values = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    else:
        keys, values = key, value
    out = F.scaled_dot_product_attention(query, keys, values, mask, scale=scale)
    return (out, key, value) if cached else out


def im2col(data, block, strides, padding, dilation):
    """By taking a slice for each tap."""
    axes = len(block)
    data = F.pad(data, sides(padding, axes))
    strides, dilation = pair(strides, axes), pair(dilation, axes)
    columns = []
    for tap in np.ndindex(*block):
        at = tuple(
            slice(t * d, n - (b - 1 - t) * d, s)
            for t, d, n, b, s in zip(tap, dilation, data.shape[2:], block, strides, strict=True)
        )
        columns.append(data[(..., *at)].flatten(2))
    return torch.stack(columns, 2).flatten(1, 2)


def col2im(data, image, block, strides, padding, dilation):
    """The adjoint of im2col."""
    x = torch.zeros(len(data), data.shape[1] // math.prod(block), *image, dtype=torch.float64, requires_grad=True)
    im2col(x, block, strides, padding, dilation).backward(data.double())
    return x.grad


def max_unpool(data, indices, size):
    """Places in row-major order; the last of those that are one and the same is kept."""
    out = np.zeros((*data.shape[:2], math.prod(size)))
    for at in np.ndindex(*data.shape):
        out[(*at[:2], int(indices[at]))] = data[at]
    return out.reshape(*data.shape[:2], *size)


def mel_weight_matrix(bands, length, rate, low, high):
    """The formula of ONNX's description."""
    mel = 2595 * np.log10(1 + np.array([low, high]) / 700)
    steps = mel[0] + (mel[1] - mel[0]) / (bands + 2) * np.arange(bands + 2)
    edges = np.floor((length + 1) * 700 * (10 ** (steps / 2595) - 1) / rate).astype(int)
    out = np.zeros((length // 2 + 1, bands))
    for m in range(bands):
        lower, middle, upper = edges[m : m + 3]
        for k in range(lower, middle):
            out[k, m] = (k - lower) / (middle - lower)
        for k in range(middle, upper):
            out[k, m] = (upper - k) / (upper - middle)
        if middle == upper or lower == middle:
            out[middle, m] = 1
    return out


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


def pool(data, kind, size, strides, dilation, padding, ceil_mode, count_include_pad=False, skip_nan=False):
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
            window = window.nan_to_num(-math.inf, math.inf, -math.inf) if skip_nan else window
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
    more = {"constant_values": value.item()} if mode == "constant" else {}
    wide = np.pad(data.numpy(), np.maximum(pad_width, 0), mode, **more)
    cut = tuple(slice(max(-b, 0), n - max(-a, 0)) for (b, a), n in zip(pad_width, wide.shape, strict=True))
    return torch.as_tensor(wide[cut].copy())


def depth_to_space(data, b, mode):
    n, c, h, w = data.shape
    if mode in ("CRD", "CDR"):
        return F.pixel_shuffle(data, b)
    return data.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * b, w * b)


def space_to_depth(data, b):
    n, c, h, w = data.shape
    return data.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


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


def dilated(x, strides, value):
    out = torch.full([(n - 1) * s + 1 for n, s in zip(x.shape, strides, strict=True)], value, dtype=x.dtype)
    out[tuple(slice(None, None, s) for s in strides)] = x
    return out


def space_to_batch(data, block, paddings, value):
    """Slices with steps, one for each place of a block."""
    rest = [(0, 0)] * (data.ndim - 1 - len(block))
    wide = np.pad(data.numpy(), [(0, 0), *map(tuple, paddings), *rest], constant_values=value)
    offsets = itertools.product(*map(range, block))
    parts = [wide[(slice(None), *(slice(o, None, b) for o, b in zip(k, block, strict=True)))] for k in offsets]
    return torch.as_tensor(np.concatenate(parts))


def batch_to_space(data, block, crops):
    batch = len(data) // math.prod(block)
    spatial = [n * b for n, b in zip(data.shape[1:], block, strict=False)]
    out = torch.empty(batch, *spatial, *data.shape[1 + len(block) :], dtype=data.dtype)
    for k, offset in enumerate(itertools.product(*map(range, block))):
        places = (slice(None), *(slice(o, None, b) for o, b in zip(offset, block, strict=True)))
        out[places] = data[k * batch : (k + 1) * batch]
    return out[(slice(None), *(slice(c[0], n - c[1]) for c, n in zip(crops, spatial, strict=True)))]


def pool_gradient(pool, grad, data, layout, out_layout):
    x = order(data.double(), layout, "NCHW").detach().requires_grad_()
    pool(x).backward(order(grad.double(), out_layout or layout, "NCHW"))
    return order(x.grad, "NCHW", layout)


def conv2d_weight_gradient(grad, data, size, strides, padding, dilation, groups, layout):
    weight = torch.zeros(grad.shape[1], data.shape[1] // groups, *pair(size), dtype=torch.float64, requires_grad=True)
    wide = F.pad(data.double(), sides(padding))
    F.conv2d(wide, weight, None, pair(strides), 0, pair(dilation), groups).backward(grad.double())
    return order(weight.grad, "OIHW", layout)


def reverse_sequence(data, lengths, axis, batch):
    out = data.clone()
    for n, length in enumerate(lengths.tolist()):
        part = out.movedim((batch, axis), (0, 1))[n, : max(length, 0)]
        part.copy_(data.movedim((batch, axis), (0, 1))[n, : max(length, 0)].flip(0))
    return out


def matrix_set_diag(data, diagonal, k1, k2, right_above, right_below):
    """Diagonal by diagonal."""
    out = data.clone()
    rows, columns = data.shape[-2:]
    lines = diagonal if k1 != k2 else diagonal.unsqueeze(-2)
    for k in range(k1, k2 + 1):
        view = out.diagonal(k, -2, -1)
        n, most = view.shape[-1], lines.shape[-1]
        right = right_above if k > 0 else right_below if k < 0 else right_above or right_below
        view.copy_(lines[..., k2 - k, most - n :] if right else lines[..., k2 - k, :n])
    return out


def strided_set(data, v, begin, end, strides):
    out = data.clone().numpy()
    index = [
        range(*slice(int(b), int(e), int(s)).indices(n))
        for b, e, s, n in zip(begin, end, strides, data.shape, strict=False)
    ]
    index = [list(r)[: v.shape[d]] for d, r in enumerate(index)]
    out[np.ix_(*index)] = v[tuple(slice(len(r)) for r in index)]
    return torch.as_tensor(out)


def unique(data, ordered, counted):
    values, first, inverse, counts = (
        torch.as_tensor(a) for a in np.unique(data.numpy(), return_index=True, return_inverse=True, return_counts=True)
    )
    if not ordered:
        by_place = torch.argsort(first)
        values, first, counts = values[by_place], first[by_place], counts[by_place]
        inverse = torch.argsort(by_place)[inverse]
    filled = [F.pad(t, (0, len(data) - len(t))) for t in (values, first, counts)]
    results = [filled[0], filled[1], inverse, torch.tensor([len(values)])]
    return results + filled[2:] if counted else results


def sparse_to_dense(indices, values, default, shape):
    out = torch.full(tuple(shape), default.item(), dtype=values.dtype)
    places = indices.reshape(-1, len(shape)).tolist()
    for place, value in zip(places, values.expand(len(places)), strict=True):
        if all(0 <= k < n for k, n in zip(place, shape, strict=True)):
            out[tuple(place)] = value
    return out


def compiled(oracle, inputs, attrs, output_shape):
    """A function of no arguments that evaluates an oracle."""
    modules = {"np": np, "quantized": quantized, "scipy": scipy, "threefry": threefry, "torch": torch, "F": F}
    names = vars(oracle_arrays) | vars(oracle_images) | globals() | modules | {"output_shape": output_shape}
    names.update(attrs)
    names.update(inputs)
    code = compile(" ".join(oracle.split()), "oracle", "eval")
    return lambda: eval(code, names)


def evaluate(oracle, inputs, attrs, output_shape):
    """The value of an oracle."""
    return compiled(oracle, inputs, attrs, output_shape)()


def problem(case, tensors):
    """The error in the evaluator's results of a case of relay_op_cases, or ""."""

    def read(names):
        if isinstance(names, list):
            return [read(name) for name in names]
        tensor = torch.from_numpy(tensors[names])
        # Integers are multiplied in the type of the result, where that is wider.
        result = getattr(torch, case["attrs"].get("out_dtype") or "bool")
        wider = not result.is_floating_point and result.itemsize > tensor.dtype.itemsize
        return tensor.to(result) if wider and not tensor.dtype.is_floating_point else tensor

    if case["problem"]:
        return f"the evaluator says: {case['problem']}"
    inputs = {name: read(names) for name, names in case["inputs"].items()}
    expected = evaluate(case["oracle"], inputs, case["attrs"] | {"dtypes": case["dtypes"]}, case["output_shape"])
    expected = expected if case["is_tuple"] else (expected,)
    if len(expected) != len(case["outputs"]):
        return f"{len(case['outputs'])} results, not {len(expected)}"
    for want, name in zip(expected, case["outputs"], strict=True):
        got, want = tensors[name], np.asarray(want)
        if got.shape != want.shape:
            return f"{name} is {got.shape}, not {want.shape}"
        # Given floats, an oracle may also compute with integers, or return integral values.
        if got.dtype.kind in "iub":
            if not np.array_equal(got, want):
                return f"{name} is {got.tolist()}, not {want.tolist()}"
            continue
        finite = np.abs(want[np.isfinite(want)]) if want.dtype.kind == "f" else np.abs(want)
        scale = max(1e-30, float(finite.max(initial=0)))
        if not np.allclose(got, want, rtol=1e-6, atol=1e-6 * scale, equal_nan=True):
            return f"{name} is {got.tolist()}, not {want.tolist()}"
    return ""
