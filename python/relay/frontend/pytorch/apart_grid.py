"""The gradients of grid_sample, as functions that AOTAutograd traces in its place.

They support images and volumes, with all kinds of padding. A position between pixels has 2^axes neighbours. Its
gradient goes to them by their weights, and to the grid by the derivatives of the weights. The formulas, and the
gradients at edges, are those of PyTorch's GridSampler.h.
"""

from __future__ import annotations

import itertools

import torch

ZEROS, BORDER, REFLECTION = range(3)


def _reflected(x, low: float, high: float):
    """Returns (the position reflected between the edges, the sign of its gradient)."""
    if low == high:
        return torch.zeros_like(x), torch.zeros_like(x)
    span, away = high - low, (x - low).abs()
    flips, extra = torch.floor(away / span), torch.fmod(away, span)
    is_even = torch.remainder(flips, 2) == 0
    sign = torch.where(x < low, -1.0, 1.0).to(x.dtype)
    return torch.where(is_even, low + extra, high - extra), torch.where(is_even, sign, -sign)


def _in_pixels(grid, extent: int, corners: bool):
    """Returns the position in pixels where an axis is read, and the factor from the grid's number in -1 .. 1."""
    scale = (extent - 1) / 2 if corners else extent / 2
    return (grid + 1) * scale if corners else (grid + 1) * scale - 0.5, scale


def _padded(x, extent: int, padding: int, corners: bool):
    """Returns (the position in the image, its gradient) for a position in pixels. Zero padding leaves it outside."""
    factor = torch.ones_like(x)
    if padding == REFLECTION:
        x, factor = _reflected(x, 0.0, extent - 1.0) if corners else _reflected(x, -0.5, extent - 0.5)
    if padding in (BORDER, REFLECTION):
        factor = torch.where((x > 0) & (x < extent - 1), factor, 0)
        x = x.clamp(0, extent - 1)
    return x, factor


def _places(grid, extent: int, padding: int, corners: bool):
    """Returns the position in pixels where an axis is read, and its derivative with respect to the grid's number."""
    x, scale = _in_pixels(grid, extent, corners)
    x, factor = _padded(x, extent, padding, corners)
    return x, factor * scale


def _flat(neighbours: list, extents: list):
    """Returns (the row-major number of each pixel, whether it is in the image), of shape (batch, positions)."""
    inside = torch.ones_like(neighbours[0], dtype=torch.bool)
    number = torch.zeros_like(neighbours[0], dtype=torch.int64)
    for x, extent in zip(neighbours, extents, strict=True):
        inside = inside & (x >= 0) & (x <= extent - 1)
        number = number * extent + x.clamp(0, extent - 1).to(torch.int64)
    return number.flatten(1), inside.flatten(1)


def _cubic(t):
    """Returns the weights of the four pixels around a position, at distance t from the second of them, and their
    derivatives with respect to t: Keys' cubic convolution, with a = -0.75."""
    a = -0.75
    near = [((a + 2) * x - (a + 3)) * x * x + 1 for x in (t, 1 - t)]
    far = [((x - 5) * x + 8) * x * a - 4 * a for x in (1 + t, 2 - t)]
    near_change = [(3 * (a + 2) * x - 2 * (a + 3)) * x for x in (t, 1 - t)]
    far_change = [((3 * x - 10) * x + 8) * a for x in (1 + t, 2 - t)]
    return [far[0], *near, far[1]], [far_change[0], near_change[0], -near_change[1], -far_change[1]]


def _of_cubic(grad, data, grid, padding: int, corners: bool):
    """Each of the 4 x 4 pixels around a position is padded separately, so the gradient does not pass through the
    padding."""
    extents, channels = list(data.shape[2:]), data.shape[1]
    found = [_in_pixels(grid[..., one], extents[axis], corners) for axis, one in ((0, 1), (1, 0))]
    begins = [torch.floor(x) for x, _ in found]
    shares, changes = zip(*(_cubic(x - begin) for (x, _), begin in zip(found, begins, strict=True)), strict=True)
    of_data, flat_data, flat_grad = torch.zeros_like(data).flatten(2), data.flatten(2), grad.flatten(2)
    of_places = [torch.zeros_like(x) for x in begins]
    for row, column in itertools.product(range(4), repeat=2):
        taps = [_padded(begin + step - 1, extent, padding, corners)[0]
                for begin, step, extent in zip(begins, (row, column), extents, strict=True)]  # fmt: skip
        number, inside = _flat(taps, extents)
        index = number[:, None, :].expand(-1, channels, -1)
        share = torch.where(inside, (shares[0][row] * shares[1][column]).flatten(1), 0)
        of_data = of_data.scatter_add(2, index, flat_grad * share[:, None, :])
        along = torch.where(inside, (flat_grad * flat_data.gather(2, index)).sum(1), 0).reshape(begins[0].shape)
        of_places[0] = of_places[0] + along * changes[0][row] * shares[1][column]
        of_places[1] = of_places[1] + along * shares[0][row] * changes[1][column]
    results = torch.stack([of_places[1] * found[1][1], of_places[0] * found[0][1]], -1)
    return of_data.reshape(data.shape), results


def gradients(grad, data, grid, mode: int, padding: int, corners: bool, wanted):
    """Returns the gradients. grad: (N, C, positions..), data: (N, C, extents..), grid: (N, positions.., axes), with the
    number of the last extent first.

    mode: 0 linear, 1 nearest, 2 cubic (for images).
    """
    if mode == 2:
        return _of_cubic(grad, data, grid, padding, corners)
    extents, channels = list(data.shape[2:]), data.shape[1]
    last_first = range(len(extents) - 1, -1, -1)
    found = [_places(grid[..., one], extents[axis], padding, corners) for axis, one in enumerate(last_first)]
    places, factors = [x for x, _ in found], [factor for _, factor in found]
    begins = [torch.floor(x) if mode == 0 else torch.round(x) for x in places]
    of_places, flat_grad = [torch.zeros_like(x) for x in places], grad.flatten(2)
    of_data, flat_data = torch.zeros_like(data).flatten(2), data.flatten(2)
    for corner in itertools.product((0, 1), repeat=len(extents)) if mode == 0 else [[0] * len(extents)]:
        number, inside = _flat([x + step for x, step in zip(begins, corner, strict=True)], extents)
        index = number[:, None, :].expand(-1, channels, -1)
        shares = [(x - at if step else 1 - (x - at)) if mode == 0 else torch.ones_like(x)
                  for x, at, step in zip(places, begins, corner, strict=True)]  # fmt: skip
        share = torch.where(inside, torch.stack(shares).prod(0).flatten(1), 0)
        of_data = of_data.scatter_add(2, index, flat_grad * share[:, None, :])
        if mode == 1 or not wanted[1]:
            continue
        along = torch.where(inside, (flat_grad * flat_data.gather(2, index)).sum(1), 0).reshape(places[0].shape)
        for axis, step in enumerate(corner):
            others = [one for other, one in enumerate(shares) if other != axis]
            change = along * torch.stack(others).prod(0)
            of_places[axis] = of_places[axis] + (change if step else -change)
    results = torch.stack([of_places[axis] * factors[axis] for axis in last_first], -1)
    return of_data.reshape(data.shape), results
