"""Neural-network operators without windows."""

from __future__ import annotations

from ...ir.expr import TupleWrapper
from .call import dtype_of, is_computed, number, op_call, values_of


def _pad(data, pad_width, pad_value=0, pad_mode="constant"):
    """A number as pad_value has the type of data if that is known, otherwise float32. pad_width is a list of pairs, or
    an expression, which gives dyn.nn.pad."""
    value = number(pad_value, dtype_of(data, "float32"))
    if is_computed(pad_width):
        return op_call("dyn.nn.pad", [data, pad_width, value], pad_mode=pad_mode)
    pad_width = values_of(pad_width)
    return op_call("nn.pad", [data, value], pad_width=pad_width, pad_mode=pad_mode)


def _mirror_pad(data, pad_width, mode="SYMMETRIC"):
    return op_call("nn.mirror_pad", [data], pad_width=pad_width, mode=mode)


def _batch_matmul(tensor_a, tensor_b, out_dtype=None, transpose_a=False, transpose_b=True):
    """b is (batch, columns, inner) by default: transpose_b is True here, and False in the text form."""
    attributes = {"out_dtype": out_dtype, "transpose_a": transpose_a, "transpose_b": transpose_b}
    return op_call("nn.batch_matmul", [tensor_a, tensor_b], **attributes)


def _dropout_raw(data, rate=0.5):
    """Returns (data, mask)."""
    return TupleWrapper(op_call("nn.dropout", [data], rate=rate), 2)


def _dropout(data, rate=0.5):
    """Returns the first field of the operator's result."""
    return _dropout_raw(data, rate)[0]


def _batch_norm(data, gamma, beta, moving_mean, moving_var, axis=1, epsilon=1e-5, center=True, scale=True):
    """Returns (data, mean, variance)."""
    operands = [data, gamma, beta, moving_mean, moving_var]
    call = op_call("nn.batch_norm", operands, axis=axis, epsilon=epsilon, center=center, scale=scale)
    return TupleWrapper(call, 3)


def _leaky_relu(data, alpha=0.01):
    """alpha is 0.01 by default here, and 0.25 in the text form."""
    return op_call("nn.leaky_relu", [data], alpha=alpha)


def _lrn(data, size=5, axis=1, bias=2, alpha=0.00001, beta=0.75):
    """alpha is 0.00001 by default here, and 0.0001 in the text form."""
    return op_call("nn.lrn", [data], size=size, axis=axis, bias=bias, alpha=alpha, beta=beta)


def _l2_normalize(data, eps, axis=None):
    return op_call("nn.l2_normalize", [data], eps=eps, axis=axis or [])


def _cross_entropy(predictions, targets):
    return op_call("nn.cross_entropy", [predictions, targets])


def _cross_entropy_with_logits(predictions, targets):
    return op_call("nn.cross_entropy_with_logits", [predictions, targets])


def _space_to_batch_nd(data, block_shape, paddings, pad_value=0):
    return op_call("nn.space_to_batch_nd", [data], block_shape=block_shape, paddings=paddings, pad_value=pad_value)


def _batch_to_space_nd(data, block_shape, crops):
    return op_call("nn.batch_to_space_nd", [data], block_shape=block_shape, crops=crops)


def _conv2d_nchwc(operator: str):
    """The operator under the name that Python's users know."""

    def conv2d(
        data,
        kernel,
        strides=(1, 1),
        padding=(0, 0),
        dilation=(1, 1),
        groups=1,
        channels=None,
        kernel_size=None,
        data_layout="NCHW8c",
        kernel_layout="OIHW",
        out_layout="",
        out_dtype="",
    ):
        attributes = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
        attributes |= {"channels": channels, "kernel_size": kernel_size, "data_layout": data_layout}
        attributes |= {"kernel_layout": kernel_layout, "out_layout": out_layout, "out_dtype": out_dtype}
        return op_call(operator, [data, kernel], **attributes)

    conv2d.__doc__ = f"{operator}, with the name and defaults of TVM's Python function."
    return conv2d


FUNCTIONS = {
    "nn.contrib_conv2d_nchwc": _conv2d_nchwc("nn.contrib_conv2d_NCHWc"),
    "nn.contrib_depthwise_conv2d_nchwc": _conv2d_nchwc("nn.contrib_depthwise_conv2d_NCHWc"),
    "nn.batch_matmul": _batch_matmul,
    "nn.batch_norm": _batch_norm,
    "nn.batch_to_space_nd": _batch_to_space_nd,
    "nn.cross_entropy": _cross_entropy,
    "nn.cross_entropy_with_logits": _cross_entropy_with_logits,
    "nn.dropout": _dropout,
    "nn.dropout_raw": _dropout_raw,
    "nn.l2_normalize": _l2_normalize,
    "nn.leaky_relu": _leaky_relu,
    "nn.lrn": _lrn,
    "nn.mirror_pad": _mirror_pad,
    "nn.pad": _pad,
    "nn.space_to_batch_nd": _space_to_batch_nd,
}
