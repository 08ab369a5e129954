"""Resizing of images that resize2d does not support, as functions that are traced in place of the operators."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def along(data: torch.Tensor, axis: int, matrix: torch.Tensor) -> torch.Tensor:
    """Returns the product of the data with a matrix (extent, result) along an axis."""
    return torch.movedim(torch.movedim(data, axis, -1) @ matrix, -1, axis)


def _resized(operator):
    """Calls PyTorch's own decomposition, for factors without a whole number of pixels, and for sizes that are known at
    run time only."""

    def function(data, size, *how):
        extents, factors = data.shape[2:], how[-1]
        known = all(isinstance(extent, int) for extent in extents)
        is_whole = not factors or all(float(factor).is_integer() for factor in factors)
        if known and (is_whole or all(int(e * f) == e * f for e, f in zip(extents, factors, strict=True))):
            return NotImplemented
        if factors and is_whole:  # a size without the rounding of a float
            size, how = [e * int(f) for e, f in zip(extents, factors, strict=True)], (*how[:-1], None)
        return torch._decomp.decomposition_table[operator](data, size, *how)

    return function


def _triangle(x):
    return (1 - x.abs()).clamp(min=0)


def _cubic(x):
    """Returns Keys' cubic filter with a = -0.5, as PIL defines it."""
    a, x = -0.5, x.abs()
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return torch.where(x < 1, near, torch.where(x < 2, far, 0))


def _shares(extent: int, count: int, corners: bool, factor, reach: float, weight, like):
    """Returns a matrix (extent, count): the weight of each pixel in each pixel of the result. A picture that shrinks is
    read by a filter that is wider by the scale. Weights outside the picture are left out, and the others sum to 1."""
    if corners:
        scale = (extent - 1) / (count - 1) if count > 1 else 0.0
    else:
        scale = 1 / factor if factor else extent / count
    wide = torch.sym_max(scale, 1.0)
    centre = scale * (torch.arange(count, dtype=like.dtype, device=like.device) + 0.5)
    first = (centre - reach * wide + 0.5).to(torch.int64).clamp(min=0)
    last = (centre + reach * wide + 0.5).to(torch.int64).clamp(max=extent)
    pixel = torch.arange(extent, device=like.device)[:, None]
    found = weight((pixel.to(like.dtype) - centre + 0.5) / wide)
    found = torch.where((pixel >= first) & (pixel < last), found, 0)
    return found / found.sum(0)


def _smoothed(reach: float, weight):
    """Resizes with antialiasing, by a matrix product along each axis."""

    def shares(extents, size, corners, factors, like):
        factors = [one or None for one in factors]
        rows = zip(extents, size, factors, strict=True)
        return [_shares(extent, count, corners, factor, reach, weight, like) for extent, count, factor in rows]

    def forward(data, size, corners, height=None, width=None):
        if not data.is_floating_point():
            return NotImplemented
        down, across = shares(data.shape[2:], size, corners, (height, width), data)
        return along(along(data, -1, across), -2, down)

    def backward(grad, size, sizes, corners, height=None, width=None):
        down, across = shares(sizes[2:], size, corners, (height, width), grad)
        return along(along(grad, -2, down.mT), -1, across.mT)

    return forward, backward


_LINEAR, _CUBIC = _smoothed(1.0, _triangle), _smoothed(2.0, _cubic)
DECOMPOSITIONS = {
    **{
        one.vec: _resized(one.vec)
        for one in (aten.upsample_nearest2d, aten.upsample_bilinear2d, aten.upsample_bicubic2d)
    },
    aten._upsample_bilinear2d_aa.default: _LINEAR[0],
    aten._upsample_bilinear2d_aa_backward.default: _LINEAR[1],
    aten._upsample_bicubic2d_aa.default: _CUBIC[0],
    aten._upsample_bicubic2d_aa_backward.default: _CUBIC[1],
}
