"""Writes models of PaddlePaddle without the framework: programs in both forms, and parameters."""

import json
import struct

import numpy as np
from protobuf_writer import message

TYPES = {"bool": 0, "int32": 2, "int64": 3, "float16": 4, "float32": 5, "float64": 6, "uint8": 20, "int8": 21}
_SHORT = {"float32": "f32", "int64": "i64", "int32": "i32", "bool": "bool"}
# The number of the field, and the number of the type, of an attribute.
_FIELDS = {bool: (10, 6), int: (3, 0), float: (4, 1), str: (5, 2)}
_LISTS = {bool: (11, 7), int: (6, 3), float: (7, 4), str: (8, 5)}


def tensor(array_or_sizes, dtype="float32"):
    """A TensorDesc."""
    if isinstance(array_or_sizes, np.ndarray):
        array_or_sizes, dtype = array_or_sizes.shape, str(array_or_sizes.dtype)
    return [(1, TYPES[dtype]), *((2, int(one)) for one in array_or_sizes)]


def attribute(name, value):
    if isinstance(value, list):
        number, kind = _LISTS[type(value[0]) if value else int]
        return [(1, name), (2, kind), *((number, one) for one in value)]
    if isinstance(value, Block):
        return [(1, name), (2, 8), (12, value.number)]
    number, kind = _FIELDS[type(value)]
    return [(1, name), (2, kind), (number, value)]


class Block:
    """The number of a block, as the value of an attribute."""

    def __init__(self, number):
        self.number = number


def operator(kind, inputs, outputs, attributes=None):
    slots = [
        [(field, [(1, slot), *((2, one) for one in names)]) for slot, names in part.items()]
        for field, part in ((1, inputs), (2, outputs))
    ]
    return [*slots[0], *slots[1], (3, kind), *((4, attribute(*one)) for one in (attributes or {}).items())]


def program(operators, inputs, results, stored=None, blocks=()):
    """A program in the protobuf form. operators: (kind, inputs by slot, outputs by slot, attributes). inputs: sizes by
    name. stored: arrays by name. blocks: lists of operators, of blocks from 1 on."""
    variables = [(3, [(1, name), (2, [(1, 7), (3, [(1, tensor(sizes))])])]) for name, sizes in inputs.items()]
    variables += [
        (3, [(1, name), (2, [(1, 7), (3, [(1, tensor(one))])]), (3, True)]) for name, one in (stored or {}).items()
    ]
    feeds = [operator("feed", {"X": ["feed"]}, {"Out": [name]}, {"col": at}) for at, name in enumerate(inputs)]
    fetches = [operator("fetch", {"X": [name]}, {"Out": ["fetch"]}, {"col": at}) for at, name in enumerate(results)]
    every = [*feeds, *(operator(*one) for one in operators), *fetches]
    made = [(1, [(1, 0), (2, -1), *variables, *((4, one) for one in every)])]
    for number, inner in enumerate(blocks, 1):
        made.append((1, [(1, number), (2, 0), *((4, operator(*one)) for one in inner)]))
    return message([*made, (4, [(1, 3_003_001)])])


def parameters(arrays):
    """A .pdiparams file: the arrays in the order of their sorted names."""
    made = b""
    for name in sorted(arrays):
        about = message(tensor(arrays[name]))
        made += struct.pack("<IQIi", 0, 0, 0, len(about)) + about + np.ascontiguousarray(arrays[name]).tobytes()
    return made


def _typed(number, sizes, dtype="float32"):
    return {"%": number, "TT": {"#": "0.t_dtensor", "D": [{"#": f"0.t_{_SHORT[dtype]}"}, list(sizes), "NCHW", [], 0]}}


def _held(value):
    kinds = {bool: "0.a_bool", int: "0.a_i32", float: "0.a_f32", str: "0.a_str"}
    if isinstance(value, list):
        return {"#": "0.a_array", "D": [_held(one) for one in value]}
    return {"#": kinds[type(value)], "D": value}


def pir(operators, inputs, results, stored=None, version=4):
    """A program in the JSON form. operators: (kind, numbers of operands, numbers of results, attributes). inputs and
    stored: (number, name, sizes) and (number, name, array)."""
    made = [
        {"#": "p", "A": [0, 1, 1, name], "I": [], "O": _typed(number, one.shape)} for number, name, one in stored or ()
    ]
    for number, name, sizes in inputs:
        named = [{"N": "name", "AT": _held(name)}]
        made.append({"#": "1.data", "A": named, "I": [], "O": [_typed(number, sizes)]})
    for kind, operands, numbers, attributes in operators:
        held = [{"N": key, "AT": _held(value)} for key, value in attributes.items()]
        outputs = [_typed(one, [-1]) for one in numbers]
        made.append({"#": f"1.{kind}", "A": held, "I": [{"%": one} for one in operands], "O": outputs})
    for at, number in enumerate(results):
        held = [{"N": "col", "AT": _held(at)}]
        made.append({"#": "1.fetch", "A": held, "I": [{"%": number}], "O": [_typed(1000 + at, [-1])]})
    region = {"#": "region_0", "blocks": [{"#": "block_0", "args": [], "ops": made}]}
    code = {"magic": "pir", "trainable": False, "version": version}
    return json.dumps({"base_code": code, "program": {"regions": [region]}}).encode()
