"""Writes models of Core ML without coremltools: networks (.mlmodel) and programs (.mlpackage)."""

import json
import struct

import numpy as np
from protobuf_writer import message
from relay.frontend.coreml.network_schema import LAYERS

NUMBERS = {name: number for number, (name, _) in LAYERS.items()}
TYPES = {"bool": 1, "string": 2, "float16": 10, "float32": 11, "int8": 21, "int32": 23, "uint8": 31, "uint4": 35,
         "uint1": 37}  # fmt: skip
IN_FILE = {"float16": 1, "float32": 2, "uint8": 3, "int8": 4, "uint4": 11, "uint1": 9, "int32": 14}


# --- descriptions -----------------------------------------------------------------------------------------------------
def array(name, *shape, dtype=65568):
    return [(1, name), (3, [(5, [(1, np.array(shape, np.int64)), (2, dtype)] if shape else [(2, dtype)])])]


def image(name, width, height, colour=20):
    return [(1, name), (3, [(4, [(1, width), (2, height), (3, colour)])])]


def labelled(name):
    """An output with probabilities by label."""
    return [(1, name), (3, [(6, [])])]


def label(name):
    return [(1, name), (3, [(3, [])])]


def model(kind, content, inputs, outputs, version=4, states=(), more=()):
    """The bytes of a model. kind: the number of its field."""
    description = [(1, one) for one in inputs] + [(10, one) for one in outputs] + [(13, one) for one in states]
    return message([(1, version), (2, [*description, *more]), (kind, content)])


# --- neural networks --------------------------------------------------------------------------------------------------
def weights(elements):
    return [(1, np.asarray(elements, np.float32).reshape(-1))]


def layer(kind, name, inputs, outputs, fields=()):
    reads, writes = ([one] if isinstance(one, str) else one for one in (inputs, outputs))
    made = [(1, name), *((2, one) for one in reads), *((3, one) for one in writes)]
    return (1, [*made, (NUMBERS[kind], list(fields))])


def network(*layers, exact=True, more=()):
    return [*layers, *([(5, 1), (6, 1)] if exact else []), *more]


# --- ML programs ------------------------------------------------------------------------------------------------------
def tensor_type(dtype, shape):
    sizes = [(3, [(2, [])] if one is None else [(1, [(1, one)])]) for one in shape]
    return [(1, [(1, TYPES[dtype]), (2, len(shape)), *sizes])]


def value(given, dtype=None):
    """An immediate value."""
    if isinstance(given, str):
        return [(2, tensor_type("string", [])), (3, [(1, [(4, [(1, given)])])])]
    found = np.asarray(given)
    dtype = dtype or {"f": "float32", "i": "int32", "b": "bool"}[found.dtype.kind]
    flat = found.reshape(-1)
    if dtype in ("float16", "int8", "uint8"):
        held = (7, [(1, flat.astype(dtype).tobytes())])
    elif dtype == "float32":
        held = (1, [(1, flat.astype(np.float32))])
    else:
        held = (3 if dtype == "bool" else 2, [(1, flat.astype(np.int64))])
    return [(2, tensor_type(dtype, found.shape)), (3, [(1, [held])])]


def in_file(offset, dtype, shape, name="@model_path/weights/weight.bin"):
    return [(2, tensor_type(dtype, shape)), (5, [(1, name), (2, offset)])]


def operation(kind, outputs, inputs=None, blocks=(), attributes=None):
    """outputs: (name, dtype, shape) of each. inputs: a name, a list of names, or a value (a list of fields) by
    parameter."""
    made = [(1, kind)]
    for name, one in (inputs or {}).items():
        if isinstance(one, str):
            bound = [(1, [(1, one)])]
        elif one and isinstance(one[0], str):
            bound = [(1, [(1, name_)]) for name_ in one]
        else:
            bound = [(1, [(2, one)])]
        made.append((2, [(1, name), (2, bound)]))
    made += [(3, [(1, name), (2, tensor_type(dtype, shape))]) for name, dtype, shape in outputs]
    made += [(4, one) for one in blocks]
    made += [(5, [(1, name), (2, one)]) for name, one in (attributes or {}).items()]
    return made


def block(operations, outputs, inputs=()):
    return [*((1, [(1, name), (2, tensor_type(dtype, shape))]) for name, dtype, shape in inputs),
            *((2, one) for one in outputs), *((3, one) for one in operations)]  # fmt: skip


def program(operations, inputs, outputs, states=()):
    """A program with @main. inputs, outputs: (name, dtype, shape) and names."""
    params = [(1, [(1, name), (2, tensor_type(dtype, shape))]) for name, dtype, shape in inputs]
    params += [(1, [(1, name), (2, [(5, [(1, tensor_type(dtype, shape))])])]) for name, dtype, shape in states]
    made = [*params, (2, "CoreML7"), (3, [(1, "CoreML7"), (2, block(operations, outputs))])]
    return [(1, 1), (2, [(1, "main"), (2, made)])]


def program_model(operations, inputs, outputs, states=(), version=8):
    """The bytes of a model with a program."""
    described = [array(name, *[one or 1 for one in shape]) for name, _, shape in inputs]
    held = [[(1, name), (3, [(8, [(1, [(1, np.array(shape, np.int64)), (2, 65568)])])])]
            for name, _, shape in states]  # fmt: skip
    content = program(operations, inputs, outputs, states)
    return model(502, content, described, [array(one) for one in outputs], version, held)


def weight_file(*arrays):
    """A file of weights, and the offset of each entry. arrays: (dtype, bytes)."""
    made, offsets = bytearray(struct.pack("<II", len(arrays), 2) + bytes(56)), []
    for dtype, content in arrays:
        offsets.append(len(made))
        made += struct.pack("<IIQQ", 0xDEADBEEF, IN_FILE[dtype], len(content), len(made) + 64) + bytes(40)
        made += content + bytes(-len(content) % 64)
    return bytes(made), offsets


def package(folder, content, weight=None):
    """Writes an .mlpackage; returns its path."""
    inside = folder / "Data" / "com.apple.CoreML"
    (inside / "weights").mkdir(parents=True)
    (inside / "model.mlmodel").write_bytes(content)
    if weight is not None:
        (inside / "weights" / "weight.bin").write_bytes(weight)
    entries = {"a": {"path": "com.apple.CoreML/weights"}, "b": {"path": "com.apple.CoreML/model.mlmodel"}}
    manifest = {"fileFormatVersion": "1.0.0", "itemInfoEntries": entries, "rootModelIdentifier": "b"}
    (folder / "Manifest.json").write_text(json.dumps(manifest))
    return folder
