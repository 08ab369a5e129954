"""Writes protobuf messages without generated classes: a message is a list of (number of the field, value).

An int is a varint, a float 32 bits; a text, bytes or a message is length-delimited; an array of float32 or int64 is
packed.
"""

import struct

import numpy as np


def varint(value):
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def message(fields):
    """The bytes of a message."""
    made = bytearray()
    for number, value in fields:
        if isinstance(value, np.ndarray):
            value = (
                value.astype("<f4").tobytes()
                if value.dtype.kind == "f"
                else b"".join(varint(int(one)) for one in value)
            )
        if isinstance(value, bool | int):
            made += varint(number << 3) + varint(int(value))
        elif isinstance(value, float):
            made += varint(number << 3 | 5) + struct.pack("<f", value)
        else:
            value = (
                value.encode()
                if isinstance(value, str)
                else message(value)
                if isinstance(value, list)
                else bytes(value)
            )
            made += varint(number << 3 | 2) + varint(len(value)) + value
    return bytes(made)


def caffemodel(weights):
    """A .caffemodel: blobs by the name of their layer."""
    layers = []
    for name, blobs in weights.items():
        made = [
            (7, [(7, [(1, np.array(one.shape, np.int64))]), (5, one.astype(np.float32).reshape(-1))]) for one in blobs
        ]
        layers.append((100, [(1, name), *made]))
    return message([(1, "weights"), *layers])


def net_def(operators, inputs=(), outputs=(), name="net"):
    """A network of Caffe2: operators as (type, inputs, outputs, arguments by name)."""
    made = [(1, name)]
    for kind, reads, writes, arguments in operators:
        fields = [(1, one) for one in reads] + [(2, one) for one in writes] + [(4, kind)]
        fields += [(5, [(1, key), *_argument(value)]) for key, value in arguments.items()]
        made.append((2, fields))
    return message(made + [(7, one) for one in inputs] + [(8, one) for one in outputs])


def _argument(value):
    if isinstance(value, bool | int):
        return [(3, int(value))]
    if isinstance(value, float):
        return [(2, value)]
    if isinstance(value, str):
        return [(4, value)]
    value = np.asarray(value).reshape(-1)
    return [(5, float(one)) for one in value] if value.dtype.kind == "f" else [(6, int(one)) for one in value]
