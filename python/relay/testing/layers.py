"""Operators with their weights: conv2d(data, name="conv1", channels=8, kernel_size=(3, 3)) reads the parameter
conv1_weight.

The types of the weights are inferred.
"""

from __future__ import annotations

from .. import op
from ..ir.expr import Expr, Function, var
from ..op import nn


def _param(given: Expr | None, name: str, what: str) -> Expr:
    return var(f"{name}_{what}") if given is None else given


def function(body: Expr) -> Function:
    """Returns the function of the expression's free variables."""
    from .._core import free_vars

    return Function(free_vars(body), body)


def batch_norm_infer(data, gamma=None, beta=None, moving_mean=None, moving_var=None, *, name="", **attributes) -> Expr:
    """Returns the normalised result of nn.batch_norm."""
    given = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    return nn.batch_norm(data, **{what: _param(e, name, what) for what, e in given.items()}, **attributes)[0]


def conv1d(data, weight=None, *, name="", **attributes) -> Expr:
    """Returns nn.conv1d of the data."""
    return nn.conv1d(data, _param(weight, name, "weight"), **attributes)


def conv2d(data, weight=None, *, name="", **attributes) -> Expr:
    """Returns nn.conv2d of the data."""
    return nn.conv2d(data, _param(weight, name, "weight"), **attributes)


def conv3d(data, weight=None, *, name="", **attributes) -> Expr:
    """Returns nn.conv3d of the data."""
    return nn.conv3d(data, _param(weight, name, "weight"), **attributes)


def conv2d_transpose(data, weight=None, *, name="", **attributes) -> Expr:
    """Returns nn.conv2d_transpose of the data."""
    return nn.conv2d_transpose(data, _param(weight, name, "weight"), **attributes)


def conv2d_bias(data, *, name: str, bias_name: str | None = None, **attributes) -> Expr:
    """Returns nn.conv2d of the data, plus a bias."""
    bias = var(bias_name or f"{name}_bias")
    return nn.bias_add(conv2d(data, name=name, **attributes), bias)


def dense_add_bias(data, weight=None, bias=None, units=None, *, name="", **attributes) -> Expr:
    """Returns nn.dense of the data, plus a bias."""
    out = nn.dense(data, _param(weight, name, "weight"), units, **attributes)
    return nn.bias_add(out, _param(bias, name, "bias"), axis=-1)


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """Returns the customary layout of weights for a layout of the data."""
    layouts = {
        "NCHW": ("OIHW", "OIHW"),
        "NHWC": ("HWIO", "HWOI"),
        "NCDHW": ("OIDHW", "OIDHW"),
        "NDHWC": ("DHWIO", "DHWOI"),
    }
    if data_layout not in layouts:
        raise ValueError(f"there is no layout {data_layout}: {', '.join(layouts)}")
    return layouts[data_layout][is_depthwise]


relu, softmax, concatenate = nn.relu, nn.softmax, op.concatenate
