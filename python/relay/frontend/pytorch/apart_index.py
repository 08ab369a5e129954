"""Operators along an axis and by positions, most of them in place in the user's program, as functions that are traced
in their place."""

from __future__ import annotations

import math

import torch

aten = torch.ops.aten


def _put(data, index, source, accumulate=False):
    """Returns the tensor with elements put at row-major positions."""
    flat = data.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(data.shape)


def _index_reduce(data, dim, index, source, reduce, *, include_self=True):
    shape = [1] * source.dim()
    shape[dim] = -1
    index = index.reshape(shape).expand(source.shape)
    return data.scatter_reduce(dim, index, source, reduce, include_self=include_self)


def _masked_scatter_backward(grad, mask, sizes):
    """Returns the gradient of the source, whose element i went to the i-th position of the mask."""
    mask = mask.expand(grad.shape).reshape(-1)
    place = mask.to(torch.int64).cumsum(0) - 1
    count = 1
    for size in sizes:
        count = count * size
    flat = grad.new_zeros([count]).scatter_add(0, torch.where(mask, place, 0), torch.where(mask, grad.reshape(-1), 0))
    return flat.reshape(sizes)


# Blocks of an axis of variable size that are scanned; there is a step for each of their binary digits.
MOST_BLOCKS = 2**31
# Positions in a block of such an axis, which are scanned separately: six steps with 1 / 64 of the work of the others.
BLOCK = 64


def _scanned_to_the_end(values: tuple, dim: int, combine):
    """Scans along an axis whose size is known at run time only. The axis is cut into blocks of a known size, the last
    of which repeats the last element. Then the last elements of the blocks are scanned; steps that are longer than the
    axis change nothing."""
    count, device = values[0].shape[dim], values[0].device
    blocks = (count + BLOCK - 1) // BLOCK
    source = torch.arange(blocks * BLOCK, device=device).clamp(max=count - 1)
    values = tuple(one.movedim(dim, -1).index_select(-1, source).unflatten(-1, (blocks, BLOCK)) for one in values)
    inner = _scanned(values, -1, combine)
    ends, place, step = tuple(one.select(-1, BLOCK - 1) for one in inner), torch.arange(blocks, device=device), 1
    while step < MOST_BLOCKS // BLOCK:
        ends = _joined(ends, ends, place, step, combine)
        step *= 2
    ends = tuple(one.unsqueeze(-1) for one in ends)
    whole = _joined(ends, inner, place[:, None], 1, combine)
    return tuple(one.flatten(-2).narrow(-1, 0, count).movedim(-1, dim) for one in whole)


def _joined(before: tuple, here: tuple, place, step: int, combine):
    """Returns combine(element `step` positions before, this element), or this element if there is none."""
    source = (place.reshape(-1) - step).clamp(min=0)
    joined = combine(tuple(one.index_select(here[0].dim() - place.dim(), source) for one in before), here)
    return tuple(torch.where(place < step, old, new) for old, new in zip(here, joined, strict=True))


def _scanned(values: tuple, dim: int, combine):
    """Scans along an axis with combine(result so far, this element). Step s combines with the element 2^s positions
    before."""
    count, step = values[0].shape[dim], 1
    if not isinstance(count, int):
        return _scanned_to_the_end(values, dim, combine)
    while step < count:
        before = tuple(one.narrow(dim, 0, count - step) for one in values)
        here = tuple(one.narrow(dim, step, count - step) for one in values)
        joined = combine(before, here)
        values = tuple(torch.cat([one.narrow(dim, 0, step), new], dim) for one, new in zip(values, joined, strict=True))
        step *= 2
    return values


def _running_extreme(exceeds):
    """Returns cummax or cummin. Of equal elements the last one counts, and NaN stays."""

    def function(data, dim):
        if data.dim() == 0:
            return NotImplemented

        def combine(before, here):
            is_here = exceeds(here[0], before[0])
            if data.is_floating_point():
                is_here = here[0].isnan() | (is_here & before[0].isnan().logical_not())
            return tuple(torch.where(is_here, new, old) for old, new in zip(before, here, strict=True))

        shape = [1] * data.dim()
        shape[dim] = -1
        place = torch.arange(data.shape[dim], device=data.device).reshape(shape).expand(data.shape)
        return _scanned((data, place), dim, combine)

    return function


def _running_logsumexp(data, dim):
    if data.dim() == 0:
        return NotImplemented
    return _scanned((data,), dim, lambda before, here: (torch.logaddexp(before[0], here[0]),))[0]


def _kth_value(data, k, dim=-1, keepdim=False):
    if data.dim() == 0:
        return NotImplemented
    values, places = data.sort(dim)
    found = values.narrow(dim, k - 1, 1), places.narrow(dim, k - 1, 1)
    return found if keepdim else tuple(one.squeeze(dim) for one in found)


def _median(data, dim, keepdim=False):
    """Returns the lower of the two middle elements, or NaN if there is a NaN, which sorting puts last."""
    if data.dim() == 0:
        return NotImplemented
    middle = (data.shape[dim] - 1) // 2
    values, places = data.sort(dim)
    value, place = values.select(dim, middle), places.select(dim, middle)
    if data.is_floating_point():
        greatest = values.select(dim, -1)
        place = torch.where(greatest.isnan(), places.select(dim, -1), place)
        value = torch.where(greatest.isnan(), greatest, value)
    return (value.unsqueeze(dim), place.unsqueeze(dim)) if keepdim else (value, place)


def _median_of_all(data):
    if data.numel() == 0 and data.is_floating_point():
        return data.new_full((), math.nan)
    return _median(data.reshape(-1), 0)[0]


def _mode(data, dim=-1, keepdim=False):
    """Returns the least of the most frequent elements, and its last position. A NaN occurs once."""
    if data.dim() == 0 or data.dtype == torch.bool:
        return NotImplemented
    values, places = data.movedim(dim, -1).sort(stable=True, dim=-1)
    ends = torch.searchsorted(values, values, right=True)
    first = (ends - torch.searchsorted(values, values)).argmax(-1, keepdim=True)
    value = values.gather(-1, first)
    place = places.gather(-1, (ends.gather(-1, first) - 1).clamp(min=0))
    return (value.movedim(-1, dim), place.movedim(-1, dim)) if keepdim else (value.squeeze(-1), place.squeeze(-1))


def _triangle(is_lower: bool):
    """Returns (row, column) of each position on one side of a diagonal, row by row (tril_indices and triu_indices)."""

    def function(rows, columns, offset=0, *, dtype=torch.int64, layout=None, device=None, pin_memory=None):
        row = torch.arange(rows, device=device)
        begin = torch.zeros_like(row) if is_lower else (row + offset).clamp(0, columns)
        end = (row + offset + 1).clamp(0, columns) if is_lower else torch.full_like(row, columns)
        count = sum(min(max(i + offset + 1, 0), columns) for i in range(rows))
        count = count if is_lower else sum(columns - min(max(i + offset, 0), columns) for i in range(rows))
        behind = (end - begin).cumsum(0)
        place = torch.arange(count, device=device)
        row = (place[:, None] >= behind).sum(1)
        return torch.stack([row, place - behind[row] + end[row]]).to(dtype or torch.int64)

    return function


DECOMPOSITIONS = {
    aten.tril_indices.default: _triangle(True),
    aten.triu_indices.default: _triangle(False),
    aten.put.default: _put,
    aten.index_reduce.default: _index_reduce,
    aten.masked_scatter_backward.default: _masked_scatter_backward,
    aten.cummax.default: _running_extreme(torch.ge),
    aten.cummin.default: _running_extreme(torch.le),
    aten.logcumsumexp.default: _running_logsumexp,
    aten.kthvalue.default: _kth_value,
    aten.median.dim: _median,
    aten.mode.default: _mode,
    aten.median.default: _median_of_all,
}
