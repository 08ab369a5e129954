"""Reductions, and functions made of several."""

from __future__ import annotations

from ... import _core
from ...ir.expr import TupleWrapper
from .call import op_call


def _argmax(data, axis=None, keepdims=False, exclude=False, select_last_index=False):
    attributes = {"keepdims": keepdims, "exclude": exclude, "select_last_index": select_last_index}
    return op_call("argmax", [data], axis=axis, **attributes)


def _argmin(data, axis=None, keepdims=False, exclude=False, select_last_index=False):
    attributes = {"keepdims": keepdims, "exclude": exclude, "select_last_index": select_last_index}
    return op_call("argmin", [data], axis=axis, **attributes)


def _mean(data, axis=None, keepdims=False, exclude=False):
    return op_call("mean", [data], axis=axis, keepdims=keepdims, exclude=exclude)


def _variance(data, axis=None, keepdims=False, exclude=False, unbiased=False, with_mean=None):
    mean = _mean(data, axis, True, exclude) if with_mean is None else with_mean
    return op_call("variance", [data, mean], axis=axis, keepdims=keepdims, exclude=exclude, unbiased=unbiased)


def _std(data, axis=None, keepdims=False, exclude=False, unbiased=False):
    """Returns the square root of the variance."""
    return op_call("sqrt", [_variance(data, axis, keepdims, exclude, unbiased)])


def _mean_variance(data, axis=None, keepdims=False, exclude=False, unbiased=False):
    """Returns (mean, variance)."""
    kept = _mean(data, axis, True, exclude)
    variance = _variance(data, axis, keepdims, exclude, unbiased, with_mean=kept)
    mean = kept if keepdims else _mean(data, axis, False, exclude)
    return TupleWrapper(_core.Tuple([mean, variance]), 2)


def _mean_std(data, axis=None, keepdims=False, exclude=False):
    """Returns (mean, standard deviation)."""
    mean, variance = _mean_variance(data, axis, keepdims, exclude)
    return TupleWrapper(_core.Tuple([mean, op_call("sqrt", [variance])]), 2)


def _logsumexp(data, axis=None, keepdims=False):
    """Returns log(sum(exp(data))), with the largest value subtracted first, if it is finite."""
    largest = op_call("max", [data], axis=axis, keepdims=True)
    largest = op_call("where", [op_call("isfinite", [largest]), largest, op_call("zeros_like", [largest])])
    total = op_call("sum", [op_call("exp", [op_call("subtract", [data, largest])])], axis=axis, keepdims=True)
    out = op_call("add", [op_call("log", [total]), largest])
    return out if keepdims else op_call("squeeze", [out], axis=axis)


FUNCTIONS = {
    "argmax": _argmax,
    "argmin": _argmin,
    "logsumexp": _logsumexp,
    "mean_std": _mean_std,
    "mean_variance": _mean_variance,
    "std": _std,
    "variance": _variance,
}
