"""Decompositions, written in PyTorch, of operators that PyTorch keeps whole and that Relay lacks. Most of them are
gradients.

AOTAutograd traces these functions in place of the operators. A function that returns NotImplemented leaves its operator
whole.
"""

from __future__ import annotations

import math

import torch

from . import apart_attention, apart_grid, apart_index, apart_linalg, apart_resize
from .conversion import each

aten = torch.ops.aten
MOST_GROUPS = 16  # of a convolution over three axes; each group becomes a convolution


def _numbers(count, like: torch.Tensor):
    return torch.arange(count, device=like.device)


def _windows(begin, end, extent, shares, like: torch.Tensor) -> torch.Tensor:
    """Returns a matrix (windows, extent): at the positions that a window covers, 1 over the size of the window."""
    places = _numbers(extent, like)
    covers = (places >= begin[:, None]) & (places < end[:, None])
    return covers.to(like.dtype) / shares[:, None].to(like.dtype)


def _adaptive_average(axes: int):
    def function(grad, data):
        """Returns the gradient. Window i of n over an axis of size m is from floor(i m / n) to ceil((i + 1) m / n)."""
        for axis in range(-axes, 0):
            windows, extent = grad.shape[axis], data.shape[axis]
            i = _numbers(windows, grad)
            begin, end = (i * extent) // windows, ((i + 1) * extent + windows - 1) // windows
            grad = apart_resize.along(grad, axis, _windows(begin, end, extent, end - begin, grad))
        return grad

    return function


def _average(axes: int):
    def function(grad, data, size, stride, padding, ceil_mode, count_include_pad, divisor):
        if axes == 2 and not ceil_mode and divisor is None:
            return NotImplemented
        size, stride, padding = (each(one, axes) for one in (size, stride or size, padding))
        for place, axis in enumerate(range(-axes, 0)):
            windows, extent = grad.shape[axis], data.shape[axis]
            begin = _numbers(windows, grad) * stride[place] - padding[place]
            end = (begin + size[place]).clamp(max=extent + padding[place])
            inner, last = begin.clamp(min=0), end.clamp(max=extent)
            counts = end - begin if count_include_pad else last - inner
            shares = torch.ones_like(begin) if divisor is not None else counts
            grad = apart_resize.along(grad, axis, _windows(inner, last, extent, shares, grad))
        return grad if divisor is None else grad / divisor

    return function


def _of_maxima(axes: int):
    def function(grad, data, *how):
        """Sends the gradient to the positions of the maxima, the last argument."""
        indices, batch = how[-1], list(data.shape[: data.dim() - axes])
        flat = grad.new_zeros([*batch, math.prod(data.shape[-axes:])])
        sums = flat.scatter_add(-1, indices.reshape([*batch, -1]), grad.reshape([*batch, -1]))
        return sums.reshape(data.shape)

    return function


def _adaptive_places(windows, extent, like):
    """Returns a matrix (windows, largest window): the positions of each window, with the last one repeated."""
    i = _numbers(windows, like)
    begin, end = (i * extent) // windows, ((i + 1) * extent + windows - 1) // windows
    return torch.minimum(begin[:, None] + _numbers(-(-extent // windows) + 1, like), end[:, None] - 1)


def _adaptive_maximum(axes: int, pool):
    def function(data, sizes):
        """Returns values and their positions in the image. Windows of one size are those of max_pool, without a guard
        on a size."""
        extents, outer = data.shape[-axes:], list(data.shape[:-axes])
        if all(size == 1 for size in sizes) and not all(isinstance(extent, int) for extent in extents):
            values, index = data.reshape([*outer, -1]).max(-1)
            return tuple(one.reshape([*outer, *sizes]) for one in (values, index))
        if all(isinstance(extent, int) for extent in extents) and all(
            extent % size == 0 for extent, size in zip(extents, sizes, strict=True)
        ):
            return pool(data, [extent // size for extent, size in zip(extents, sizes, strict=True)])
        found = [_adaptive_places(size, extent, data) for size, extent in zip(sizes, extents, strict=True)]
        for axis, places in enumerate(found, -axes):
            data = data.index_select(axis, places.reshape(-1))
        data = data.reshape([*outer, *(extent for places in found for extent in places.shape)])
        counts, taps = ([places.shape[one] for places in found] for one in (0, 1))
        first = len(outer)
        order = [*range(first), *range(first, first + 2 * axes, 2), *range(first + 1, first + 2 * axes, 2)]
        values, tap = data.permute(order).reshape([*outer, *counts, math.prod(taps)]).max(-1)
        index = 0
        for axis, (places, extent) in enumerate(zip(found, extents, strict=True)):
            window = _numbers(counts[axis], data).reshape([-1, *[1] * (axes - 1 - axis)])
            place = (tap // math.prod(taps[axis + 1 :])) % taps[axis]
            index = index * extent + places.reshape(-1)[window * taps[axis] + place]
        return values, index

    return function


def _replicated(grad, data, padding):
    """Returns the gradient of replication padding: the gradients of repeated elements are added to those of the first
    and the last position."""
    for place in range(len(padding) // 2):
        axis, before, after = -1 - place, *padding[2 * place : 2 * place + 2]
        extent = data.shape[axis]
        if before < 0 or after < 0 or extent < 2:
            return NotImplemented
        parts = [before + 1, extent - 2, after + 1]
        first, middle, last = grad.split(parts, axis)
        grad = torch.cat([first.sum(axis, keepdim=True), middle, last.sum(axis, keepdim=True)], axis)
    return grad


def _weight_norm(grad, v, g, norms, axis: int):
    """Returns w = g v / |v|, with the norms along all axes except one."""
    others = [one for one in range(v.dim()) if one != axis]
    norms = norms.to(v.dtype)
    share = (grad * v).sum(others, keepdim=True)
    return g / norms * (grad - v * share / (norms * norms)), share / norms


def _trilinear(a, b, c, expand1, expand2, expand3, summed, unroll=1):
    for axes, which in ((expand1, 0), (expand2, 1), (expand3, 2)):
        for axis in axes:
            a, b, c = (one.unsqueeze(axis) if place == which else one for place, one in enumerate((a, b, c)))
    product = a * b * c
    return product.sum(summed) if summed else product


def _distances(grad, a, b, p: float, distances):
    """Returns the gradient: d|a - b|_p / da = sign(a - b) (|a - b| / |a - b|_p)^(p - 1)."""
    if math.isinf(p) or p == 0:
        return NotImplemented
    apart = a.unsqueeze(-2) - b.unsqueeze(-3)
    grad, distances = grad.unsqueeze(-1), distances.unsqueeze(-1)
    if p == 1:
        return (grad * apart.sign()).sum(-2)
    share = apart if p == 2 else apart.sign() * apart.abs() ** (p - 1)
    scaled = grad / torch.where(distances == 0, 1, distances) ** (p - 1)
    return torch.where(distances == 0, 0, scaled * share).sum(-2)


def _pairs(data, p: float = 2.0):
    """Returns the distance of each row to each later row (pdist)."""
    if not isinstance(data.shape[0], int):
        return NotImplemented
    one, other = torch.triu_indices(data.shape[0], data.shape[0], 1, device=data.device)
    return torch.linalg.vector_norm(data.index_select(0, one) - data.index_select(0, other), p, -1)


def _bags(indices, offsets, include_last: bool):
    """Returns the bag of each index, and the number of bags."""
    starts = offsets[:-1] if include_last else offsets
    inside = _numbers(indices.shape[0], indices)[:, None] >= starts[None, :]
    return inside.sum(1) - 1, starts.shape[0]


def _shares_of_bags(weight, indices, shares, padding: int):
    """Returns the weight of each row. Rows that are padding have weight 0 and do not count as elements of the bag."""
    counts = weight.new_ones(indices.shape[0]) if padding < 0 else (indices != padding).to(weight.dtype)
    return counts, counts if shares is None else counts * shares


def _bag(
    weight, indices, offsets, by_frequency=False, mode=0, sparse=False, shares=None, include_last=False, padding=-1
):
    """Returns sums (mode 0) or means (mode 1) of rows. The operator's other results are only for its own gradient."""
    if mode > 1 or by_frequency or sparse:
        return NotImplemented
    bags, count = _bags(indices, offsets, include_last)
    counts, shares = _shares_of_bags(weight, indices, shares, padding)
    rows = weight.index_select(0, indices) * shares[:, None]
    sums = weight.new_zeros(count, weight.shape[1]).index_add(0, bags, rows)
    counts = weight.new_zeros(count).index_add(0, bags, counts)
    result = sums if mode == 0 else sums / counts.clamp(min=1)[:, None]
    return result, bags, counts.to(indices.dtype), torch.zeros_like(offsets)


def _bag_backward(grad, indices, offsets, bags, sizes, maxima, rows, by_frequency, mode, sparse, shares, padding=-1):
    if mode > 1 or by_frequency or sparse:
        return NotImplemented
    grad = grad if mode == 0 else grad / sizes.clamp(min=1)[:, None].to(grad.dtype)
    shares = _shares_of_bags(grad, indices, shares, padding)[1]
    of_rows = grad.index_select(0, bags) * shares[:, None]
    return grad.new_zeros(rows, grad.shape[1]).index_add(0, indices, of_rows)


def _convolution_of_volumes(grad, data, weight, bias, stride, padding, dilation, transposed, more, groups, wanted):
    """Returns the gradients of a convolution over three axes. The weight's gradient is a convolution of the data with
    the gradient, in which batch and channels, and strides and dilation, change places. It may reach more positions than
    there are taps."""
    if weight.dim() != 5 or groups > MOST_GROUPS:
        return NotImplemented
    how = (stride, padding, dilation, transposed, more)
    if groups > 1:
        parts = zip(*(one.chunk(groups, axis) for one, axis in ((grad, 1), (data, 1), (weight, 0))), strict=True)
        found = [_convolution_of_volumes(*part, bias, *how, 1, wanted) for part in parts]
        axes = (1, 0, 0)
        return tuple(torch.cat(one, axis) if is_wanted else None
                     for one, axis, is_wanted in zip(zip(*found, strict=True), axes, wanted, strict=True))  # fmt: skip
    results, none = [None, None, None], [0, 0, 0]
    if transposed:  # the data and the gradient change places
        made = _convolution_of_volumes(data, grad, weight, bias, stride, padding, dilation, False, more, 1, (0, 1, 0))
        back = aten.convolution(grad, weight, None, stride, padding, dilation, False, none, 1)
        return (back if wanted[0] else None, made[1] if wanted[1] else None,
                grad.sum([0, 2, 3, 4]) if wanted[2] else None)  # fmt: skip
    if wanted[0]:
        rows = zip(data.shape[2:], padding, dilation, weight.shape[2:], grad.shape[2:], stride, strict=True)
        left = [n + 2 * p - d * (k - 1) - 1 - (out - 1) * s for n, p, d, k, out, s in rows]
        results[0] = aten.convolution(grad, weight, None, stride, padding, dilation, True, left, 1)
    if wanted[1]:
        pair = data.transpose(0, 1), grad.transpose(0, 1)
        whole = aten.convolution(*pair, None, dilation, padding, stride, False, none, 1).transpose(0, 1)
        results[1] = whole[:, :, : weight.shape[2], : weight.shape[3], : weight.shape[4]]
    if wanted[2]:
        results[2] = grad.sum([0, 2, 3, 4])
    return tuple(results)


def _renormalised(weight, indices, max_norm: float, norm_type: float):
    """Limits the norms of the rows that are read to max_norm (embedding_renorm)."""
    norms = torch.linalg.vector_norm(weight, norm_type, 1, keepdim=True)
    shorter = torch.where(norms > max_norm, weight * (max_norm / (norms + 1e-7)), weight)
    is_read = torch.zeros_like(weight[:, 0], dtype=torch.bool).index_fill(0, indices.reshape(-1), True)
    return torch.where(is_read[:, None], shorter, weight)


def _leaky(data, noise, lower=1 / 8, upper=1 / 3, training=False, generator=None):
    """Returns rrelu as in inference. In training it draws a number for each element below zero, which only PyTorch can
    do."""
    return NotImplemented if training else (torch.nn.functional.leaky_relu(data, (lower + upper) / 2), noise)


def _strided(data, part, sizes, strides, offset=None):
    """Replaces elements of data that is stored row by row, by their positions in memory."""
    if not data.is_contiguous() or data.storage_offset() != 0:
        return NotImplemented
    places = torch.zeros([], dtype=torch.int64, device=data.device) + (offset or 0)
    for size, stride in zip(sizes, strides, strict=True):
        places = places[..., None] + _numbers(size, data) * stride
    return data.reshape(-1).scatter(0, places.reshape(-1), part.reshape(-1)).reshape(data.shape)


DECOMPOSITIONS = {
    **apart_attention.DECOMPOSITIONS,
    **apart_index.DECOMPOSITIONS,
    **apart_linalg.DECOMPOSITIONS,
    **apart_resize.DECOMPOSITIONS,
    aten.as_strided_scatter.default: _strided,
    aten.convolution_backward.default: _convolution_of_volumes,
    aten._adaptive_avg_pool2d_backward.default: _adaptive_average(2),
    aten._adaptive_avg_pool3d_backward.default: _adaptive_average(3),
    aten.avg_pool2d_backward.default: _average(2),
    aten.avg_pool3d_backward.default: _average(3),
    aten.max_pool3d_with_indices_backward.default: _of_maxima(3),
    aten.adaptive_max_pool2d.default: _adaptive_maximum(2, aten.max_pool2d_with_indices),
    aten.adaptive_max_pool3d.default: _adaptive_maximum(3, aten.max_pool3d_with_indices),
    aten.adaptive_max_pool2d_backward.default: _of_maxima(2),
    aten.adaptive_max_pool3d_backward.default: _of_maxima(3),
    aten.rrelu_with_noise_functional.default: _leaky,
    aten.embedding_renorm.default: _renormalised,
    **{getattr(aten, f"replication_pad{axes}d_backward").default: _replicated for axes in (1, 2, 3)},
    aten.grid_sampler_2d_backward.default: apart_grid.gradients,
    aten.grid_sampler_3d_backward.default: apart_grid.gradients,
    aten._weight_norm_interface_backward.default: _weight_norm,
    aten._trilinear.default: _trilinear,
    aten._cdist_backward.default: _distances,
    aten._pdist_forward.default: _pairs,
    aten._embedding_bag.default: _bag,
    aten._embedding_bag_forward_only.default: _bag,
    aten._embedding_bag_backward.default: _bag_backward,
}
# Decompositions that PyTorch has, but does not apply by itself.
OF_PYTORCH = (
    aten._native_batch_norm_legit_functional, aten._batch_norm_with_update_functional, aten.batch_norm_backward,
    aten.new_empty_strided, aten.rrelu_with_noise_backward,
)  # fmt: skip
