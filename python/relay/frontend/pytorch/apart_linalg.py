"""Determinants, inverses and solutions of linear systems, as functions that are traced in place of the operators. Their
gradients read the factors too.

A matrix of n rows is eliminated in n steps, which are written one after the other. Each step brings the row with the
largest element of its column up, as LAPACK's getrf does. Factors and pivots are those of PyTorch: P A = L U, with L and
U in one matrix, and pivots counted from 1. The batch may vary, n may not.
"""

from __future__ import annotations

import torch

aten = torch.ops.aten
MOST = 32  # rows; a step is about fifteen operators


def _takes(matrix) -> bool:
    rows, columns = matrix.shape[-2:]
    return isinstance(rows, int) and rows == columns and 0 < rows <= MOST and matrix.dtype in (
        torch.float32, torch.float64)  # fmt: skip


def _exchanged(data, place: int, other):
    """Returns the matrices with the rows `place` and `other`, a number for each matrix, exchanged."""
    rows = torch.arange(data.shape[-2], device=data.device)
    other = other[..., None]
    order = torch.where(rows == place, other, torch.where(rows == other, place, rows))
    return data.gather(-2, order[..., None].expand(data.shape))


def _factors(matrix):
    """Returns (L and U, pivots, the sign of the exchanges, the first step with pivot 0, counted from 1, or 0)."""
    count = matrix.shape[-1]
    places = torch.arange(count, device=matrix.device)
    batch = matrix.shape[:-2]
    pivots, sign, failed = [], matrix.new_ones(batch), matrix.new_zeros(batch, dtype=torch.int32)
    for step in range(count):
        column = matrix[..., :, step]
        pivot = torch.where(places >= step, column.abs(), -1).argmax(-1)
        pivots.append(pivot + 1)
        sign = torch.where(pivot == step, sign, -sign)
        matrix = _exchanged(matrix, step, pivot)
        row, column = matrix[..., step : step + 1, :], matrix[..., :, step : step + 1]
        divisor = row[..., step : step + 1]
        failed = torch.where((failed == 0) & (divisor[..., 0, 0] == 0), step + 1, failed)
        is_below, is_right = places[:, None] > step, places > step
        factor = torch.where(is_below, column / torch.where(divisor == 0, 1, divisor), 0)
        rest = torch.where(is_right, matrix - factor * row, matrix)
        matrix = torch.where(is_below & (places == step), factor, rest)
    return matrix, torch.stack(pivots, -1).to(torch.int32), sign, failed


def _triangular(matrix, data, upper: bool, unit: bool):
    """Solves T X = B row by row. The result of each row is subtracted from all other rows."""
    count, found = matrix.shape[-1], {}
    for step in reversed(range(count)) if upper else range(count):
        row = data[..., step : step + 1, :]
        found[step] = row if unit else row / matrix[..., step : step + 1, step : step + 1]
        data = data - matrix[..., :, step : step + 1] * found[step]
    return torch.cat([found[step] for step in range(count)], -2)


def _exchanged_rows(data, pivots, back: bool):
    count = pivots.shape[-1]
    data = data.expand([*pivots.shape[:-1], *data.shape[-2:]])
    for step in reversed(range(count)) if back else range(count):
        data = _exchanged(data, step, pivots[..., step].to(torch.int64) - 1)
    return data


def _solved(factors, pivots, data, transposed: bool):
    """Solves A X = B, or A' X = B."""
    if not transposed:
        lower = _triangular(factors, _exchanged_rows(data, pivots, False), False, True)
        return _triangular(factors, lower, True, False)
    factors = factors.transpose(-1, -2)
    return _exchanged_rows(_triangular(factors, _triangular(factors, data, False, False), True, True), pivots, True)


def _factors_for_determinant(matrix):
    """Returns determinant and factors. As in PyTorch, whose gradient reads them, the factors are those of the transpose
    if the matrix is stored by columns."""
    return _factors(matrix.transpose(-1, -2) if matrix.is_contiguous() else matrix)


def _determinant(matrix):
    if not _takes(matrix):
        return NotImplemented
    factors, pivots, sign, _ = _factors_for_determinant(matrix)
    return sign * factors.diagonal(dim1=-2, dim2=-1).prod(-1), factors, pivots


def _logarithm_of_determinant(matrix):
    """Returns (the sign, the logarithm of the magnitude, factors, pivots)."""
    if not _takes(matrix):
        return NotImplemented
    factors, pivots, sign, _ = _factors_for_determinant(matrix)
    diagonal = factors.diagonal(dim1=-2, dim2=-1)
    return sign * diagonal.sign().prod(-1), diagonal.abs().log().sum(-1), factors, pivots


def _inverse(matrix, check_errors=False):
    if not _takes(matrix) or check_errors:
        return NotImplemented
    factors, pivots, _, failed = _factors(matrix)
    unit = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device).expand(matrix.shape)
    return _solved(factors, pivots, unit, False), failed


def _solution(matrix, data, *, left=True, check_errors=False):
    """Returns (X, factors, pivots, info) of A X = B. B is a vector if it has one axis less."""
    if not _takes(matrix) or not left or check_errors:
        return NotImplemented
    is_vector = data.dim() == matrix.dim() - 1
    factors, pivots, _, failed = _factors(matrix)
    found = _solved(factors, pivots, data[..., None] if is_vector else data, False)
    return found[..., 0] if is_vector else found, factors, pivots, failed


def _solution_of_factors(factors, pivots, data, *, left=True, adjoint=False):
    """Solves X A = B as A' X' = B'."""
    if not _takes(factors):
        return NotImplemented
    if left:
        return _solved(factors, pivots, data, adjoint)
    return _solved(factors, pivots, data.transpose(-1, -2), not adjoint).transpose(-1, -2)


def _solution_of_triangle(matrix, data, *, upper, left=True, unitriangular=False):
    if not _takes(matrix):
        return NotImplemented
    if left:
        return _triangular(matrix, data, upper, unitriangular)
    pair = matrix.transpose(-1, -2), data.transpose(-1, -2)
    return _triangular(*pair, not upper, unitriangular).transpose(-1, -2)


def _cholesky(matrix, *, upper=False, check_errors=False):
    """Returns (L, the first step without a real root, counted from 1, or 0) of A = L L'. A is its lower half."""
    if not _takes(matrix) or check_errors:
        return NotImplemented
    matrix = matrix.mT if upper else matrix
    count = matrix.shape[-1]
    rows, columns = torch.arange(count, device=matrix.device), []
    failed = matrix.new_zeros(matrix.shape[:-2], dtype=torch.int32)
    for step in range(count):
        pivot = matrix[..., step, step]
        failed = torch.where((failed == 0) & ~(pivot > 0), step + 1, failed)
        column = torch.where(rows >= step, matrix[..., :, step] / pivot[..., None].sqrt(), 0)
        columns.append(column)
        matrix = matrix - column[..., :, None] * column[..., None, :]
    lower = torch.stack(columns, -1)
    return lower.mT if upper else lower, failed


DECOMPOSITIONS = {
    aten.linalg_cholesky_ex.default: _cholesky,
    aten._linalg_det.default: _determinant,
    aten._linalg_slogdet.default: _logarithm_of_determinant,
    aten.linalg_inv_ex.default: _inverse,
    aten._linalg_solve_ex.default: _solution,
    aten.linalg_lu_solve.default: _solution_of_factors,
    aten.linalg_solve_triangular.default: _solution_of_triangle,
}
