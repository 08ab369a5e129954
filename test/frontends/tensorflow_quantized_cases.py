"""Small graphs of TensorFlow for tensorflow_run.py: quantised tensors, texts and tables."""

from __future__ import annotations

import tensorflow as tf
from tensorflow_cases import case, f

raw = tf.raw_ops
# Integers as numbers: a difference of one in 255 is a rounding to the other side.
STEP = 0.006
_PLAIN = {tf.quint8: tf.uint8, tf.qint8: tf.int8, tf.qint32: tf.int32}


def quantised(x, low=-2.0, high=2.0, kind=tf.quint8, mode="MIN_FIRST"):
    return raw.QuantizeV2(input=x, min_range=low, max_range=high, T=kind, mode=mode)


def plain(found):
    """Integers as TensorFlow's usual types, and the range."""
    q, low, high = found
    return [tf.cast(tf.bitcast(q, _PLAIN[q.dtype]), tf.float32), low, high]


for _mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
    for _kind in (tf.quint8, tf.qint8):
        _name = f"{_mode} {_kind.name}"
        case(f"QuantizeV2 {_name}", [f(3, 7, low=-3, high=3)], tolerance=STEP)(
            lambda x, m=_mode, k=_kind: plain(quantised(x, -2.5, 2.0, k, m))
        )

        def _back(x, m=_mode, k=_kind):
            q, low, high = quantised(x, -2.5, 2.0, k, m)
            return raw.Dequantize(input=q, min_range=low, max_range=high, mode=m)

        case(f"Dequantize {_name}", [f(3, 7)], tolerance=STEP)(_back)


def _two(x, y, low=-1.0):
    a, a_low, a_high = quantised(x)
    b, b_low, b_high = quantised(y, low, 1.5)
    return (a, b), (a_low, a_high, b_low, b_high)


@case("QuantizedConv2D", [f(1, 6, 5, 3), f(3, 3, 3, 4, low=-1, high=1)], tolerance=1e-6)
def _convolution(x, y):
    (a, b), (a_low, a_high, b_low, b_high) = _two(x, y)
    return plain(raw.QuantizedConv2D(input=a, filter=b, min_input=a_low, max_input=a_high, min_filter=b_low,
                                     max_filter=b_high, strides=[1, 2, 2, 1], padding="SAME"))  # fmt: skip


@case("QuantizedConv2D shrunk", [f(1, 6, 5, 3), f(3, 3, 3, 4, low=-1, high=1)], tolerance=STEP)
def _shrunk(x, y):
    (a, b), (a_low, a_high, b_low, b_high) = _two(x, y)
    made = raw.QuantizedConv2D(input=a, filter=b, min_input=a_low, max_input=a_high, min_filter=b_low,
                               max_filter=b_high, strides=[1, 1, 1, 1], padding="VALID")  # fmt: skip
    return plain(raw.QuantizeDownAndShrinkRange(input=made[0], input_min=made[1], input_max=made[2],
                                                out_type=tf.quint8))  # fmt: skip


@case("QuantizedMatMul", [f(3, 5), f(4, 5, low=-1, high=1)], tolerance=1e-6)
def _matmul(x, y):
    (a, b), (a_low, a_high, b_low, b_high) = _two(x, y)
    return plain(raw.QuantizedMatMul(a=a, b=b, min_a=a_low, max_a=a_high, min_b=b_low, max_b=b_high,
                                     transpose_b=True))  # fmt: skip


@case("Requantize", [f(3, 5), f(4, 5, low=-1, high=1)], tolerance=STEP)
def _requantised(x, y):
    (a, b), (a_low, a_high, b_low, b_high) = _two(x, y)
    made = raw.QuantizedMatMul(a=a, b=b, min_a=a_low, max_a=a_high, min_b=b_low, max_b=b_high, transpose_b=True)
    used = raw.RequantizationRange(input=made[0], input_min=made[1], input_max=made[2])
    found = raw.Requantize(input=made[0], input_min=made[1], input_max=made[2], requested_output_min=used[0],
                           requested_output_max=used[1], out_type=tf.quint8)  # fmt: skip
    return plain(found)


# An element that QuantizeV2 rounds to the other side shows in sums, whose range has no smaller scale.
for _op in ("QuantizedMul", "QuantizedAdd"):

    @case(_op, [f(3, 5), f(5, low=-1, high=1)], tolerance=1e-2 if _op == "QuantizedAdd" else 1e-4)
    def _elements(x, y, op=_op):
        (a, b), (a_low, a_high, b_low, b_high) = _two(x, y)
        return plain(getattr(raw, op)(x=a, y=b, min_x=a_low, max_x=a_high, min_y=b_low, max_y=b_high))


@case("QuantizedBiasAdd", [f(3, 5), f(5, low=-1, high=1)], tolerance=1e-2)
def _bias(x, y):
    (a, b), (a_low, a_high, b_low, b_high) = _two(x, y)
    return plain(raw.QuantizedBiasAdd(input=a, bias=b, min_input=a_low, max_input=a_high, min_bias=b_low,
                                      max_bias=b_high, out_type=tf.qint32))  # fmt: skip


for _op in ("QuantizedRelu", "QuantizedRelu6"):

    @case(_op, [f(3, 9, low=-9, high=9)], tolerance=STEP)
    def _relu(x, op=_op):
        q, low, high = quantised(x, -9.0, 9.0)
        return plain(getattr(raw, op)(features=q, min_features=low, max_features=high))


for _op in ("QuantizedMaxPool", "QuantizedAvgPool"):

    @case(_op, [f(1, 6, 5, 3)], tolerance=STEP)
    def _pool(x, op=_op):
        q, low, high = quantised(x)
        return plain(getattr(raw, op)(input=q, min_input=low, max_input=high, ksize=[1, 2, 2, 1],
                                      strides=[1, 2, 2, 1], padding="VALID"))  # fmt: skip


@case("QuantizedReshape", [f(3, 4)], tolerance=STEP)
def _reshape(x):
    q, low, high = quantised(x)
    return plain(raw.QuantizedReshape(tensor=q, shape=[2, 6], input_min=low, input_max=high))


@case("QuantizedConcat", [f(3, 4), f(3, 2, low=-1, high=1)], tolerance=STEP)
def _concat(x, y):
    (a, b), (a_low, a_high, b_low, b_high) = _two(x, y)
    return plain(raw.QuantizedConcat(concat_dim=1, values=[a, b], input_mins=[a_low, b_low],
                                     input_maxes=[a_high, b_high]))  # fmt: skip
