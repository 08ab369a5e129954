"""Operators with a window: pools, transposed convolutions, and their gradients."""

from __future__ import annotations

from .call import op_call


def _adaptive_pool(kind: str, letters: str):
    """Defines nn.adaptive_max_pool2d and its relatives: output_size may be None."""
    name = f"nn.adaptive_{kind}_pool{len(letters)}d"

    def pool(data, output_size=None, layout="NC" + letters, out_layout=""):
        size = [] if output_size is None else output_size
        return op_call(name, [data], output_size=size, layout=layout, out_layout=out_layout)

    pool.__doc__ = None
    return pool


def _global_pool(kind: str, letters: str):
    name = f"nn.adaptive_{kind}_pool{len(letters)}d"

    def pool(data, layout="NC" + letters, out_layout=""):
        return op_call(name, [data], output_size=[1], layout=layout, out_layout=out_layout)

    pool.__doc__ = f"{name} with one place."
    return pool


def _max_pool2d_grad(
    out_grad,
    data,
    pool_size=(1, 1),
    strides=(1, 1),
    padding=(0, 0),
    layout="NCHW",
    out_layout="",
    ceil_mode=False,
    dilation=(1, 1),
    skip_nan=False,
):
    """The padding comes before the dilation; in the text form the dilation is first."""
    attributes = dict(pool_size=pool_size, strides=strides, padding=padding, layout=layout, out_layout=out_layout)
    attributes |= dict(ceil_mode=ceil_mode, dilation=dilation, skip_nan=skip_nan)
    return op_call("nn.max_pool2d_grad", [out_grad, data], **attributes)


def _avg_pool2d_grad(
    out_grad,
    data,
    pool_size=(1, 1),
    strides=(1, 1),
    padding=(0, 0),
    layout="NCHW",
    out_layout="",
    ceil_mode=False,
    count_include_pad=False,
    dilation=(1, 1),
):
    """The padding comes before the dilation; in the text form the dilation is first."""
    attributes = dict(pool_size=pool_size, strides=strides, padding=padding, layout=layout, out_layout=out_layout)
    attributes |= dict(ceil_mode=ceil_mode, count_include_pad=count_include_pad, dilation=dilation)
    return op_call("nn.avg_pool2d_grad", [out_grad, data], **attributes)


def _conv_transpose(letters: str):
    """Defines nn.conv2d_transpose and its relatives, with the order of arguments of TVM's Python functions."""
    name, ones, zeros = f"nn.conv{len(letters)}d_transpose", (1,) * len(letters), (0,) * len(letters)

    def conv_transpose(
        data,
        weight,
        strides=ones,
        padding=zeros,
        dilation=ones,
        channels=None,
        kernel_size=None,
        groups=1,
        data_layout="NC" + letters,
        kernel_layout="IO" + letters,
        out_layout="",
        output_padding=zeros,
        out_dtype=None,
    ):
        attributes = dict(strides=strides, padding=padding, dilation=dilation, channels=channels)
        attributes |= dict(kernel_size=kernel_size, groups=groups, data_layout=data_layout, kernel_layout=kernel_layout)
        attributes |= dict(out_layout=out_layout, output_padding=output_padding, out_dtype=out_dtype)
        return op_call(name, [data, weight], **attributes)

    conv_transpose.__doc__ = None
    return conv_transpose


def _conv2d_backward_weight(
    grad,
    data,
    strides=(1, 1),
    padding=(0, 0),
    dilation=(1, 1),
    groups=1,
    channels=None,
    kernel_size=None,
    grad_layout="NCHW",
    data_layout="NCHW",
    kernel_layout="OIHW",
    out_dtype=None,
):
    """Each layout is named by its own tensor here. In the text form, data_layout is the gradient's layout,
    kernel_layout the data's, and out_layout the result's."""
    attributes = dict(strides=strides, padding=padding, dilation=dilation, groups=groups, channels=channels)
    attributes |= dict(kernel_size=kernel_size, data_layout=grad_layout, kernel_layout=data_layout)
    return op_call(
        "nn.conv2d_backward_weight", [grad, data], **attributes, out_layout=kernel_layout, out_dtype=out_dtype
    )


FUNCTIONS = {
    "nn.adaptive_avg_pool1d": _adaptive_pool("avg", "W"),
    "nn.adaptive_avg_pool2d": _adaptive_pool("avg", "HW"),
    "nn.adaptive_avg_pool3d": _adaptive_pool("avg", "DHW"),
    "nn.adaptive_max_pool1d": _adaptive_pool("max", "W"),
    "nn.adaptive_max_pool2d": _adaptive_pool("max", "HW"),
    "nn.adaptive_max_pool3d": _adaptive_pool("max", "DHW"),
    "nn.avg_pool2d_grad": _avg_pool2d_grad,
    "nn.conv1d_transpose": _conv_transpose("W"),
    "nn.conv2d_backward_weight": _conv2d_backward_weight,
    "nn.conv2d_transpose": _conv_transpose("HW"),
    "nn.conv3d_transpose": _conv_transpose("DHW"),
    "nn.global_avg_pool1d": _global_pool("avg", "W"),
    "nn.global_avg_pool3d": _global_pool("avg", "DHW"),
    "nn.global_max_pool1d": _global_pool("max", "W"),
    "nn.global_max_pool3d": _global_pool("max", "DHW"),
    "nn.max_pool2d_grad": _max_pool2d_grad,
}
