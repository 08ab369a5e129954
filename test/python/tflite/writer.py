"""Writes TFLite files for tests: a model of tensors and operators, without TensorFlow.

    m = Model()
    x, w = m.input("x", [1, 4], "float32"), m.constant("w", array)
    y = m.op("FULLY_CONNECTED", [x, w], [m.tensor("y", [1, 3], "float32")])
    m.outputs(y)
    data = m.bytes()

Names and numbers of operators and of their options are those of the importer (operators.def, options.def), which
test-frontends checks against LiteRT: a wrong number is a file that LiteRT reads otherwise.
"""

import pathlib
import re
import struct

import numpy as np

LISTS = pathlib.Path(__file__).resolve().parents[3] / "src" / "relay" / "frontend" / "tflite"
TYPES = ["float32", "float16", "int32", "uint8", "int64", "string", "bool", "int16", "complex64", "int8", "float64",
         "complex128", "uint64", "resource", "variant", "uint32", "uint16"]  # fmt: skip
ACTIVATIONS = {None: 0, "relu": 1, "relu_n1_to_1": 2, "relu6": 3, "tanh": 4, "sign_bit": 5}
SAME, VALID = 0, 1


def _lists():
    text = (LISTS / "operators.def").read_text()
    numbers, options_of = {}, {}
    for kind, inside in re.findall(r"^RELAY_TFLITE(|_NAME)\(([^)]*)\)", text, re.MULTILINE):
        parts = [part.strip() for part in inside.split(",")]
        numbers[parts[0]] = int(parts[1])
        if not kind and parts[2] != "None":
            options_of[parts[0]] = parts[2]
    tables = {}
    text = re.sub(r'"\s*\n\s*"', "", (LISTS / "options.def").read_text())
    for number, name, fields in re.findall(r'^RELAY_TFLITE_OPTIONS\((\d+),\s*(\w+),\s*"([^"]*)"\)', text, re.MULTILINE):
        pairs = [field.partition("=")[0].split(":") for field in fields.split()]
        tables[name] = (int(number), {field: (place, kind) for place, (field, kind) in enumerate(pairs)})
    return numbers, options_of, tables


OPERATORS, OPTIONS_OF, TABLES = _lists()
FORMATS = {"byte": "<b", "ubyte": "<B", "bool": "<?", "int": "<i", "uint": "<I", "float": "<f", "long": "<q",
           "ulong": "<Q"}  # fmt: skip
VECTORS = {"ints": "<i4", "floats": "<f4", "longs": "<i8", "bytes": "<u1", "ushorts": "<u2"}


class Table(dict):
    """A table: {number of a field: (type, value)}."""


class Flat:
    """A FlatBuffer that is written front to back: a table, then those that it points to."""

    def __init__(self):
        self.out = bytearray()

    def align(self, to, after=0):
        self.out += bytes(-(len(self.out) + after) % to)

    def table(self, fields):
        """Writes a table and all below it; returns its place."""
        self.align(8)
        size = 4
        places = {}
        for number, (kind, _) in sorted(fields.items()):
            width = struct.calcsize(FORMATS.get(kind, "<I"))
            size += -size % width
            places[number] = size
            size += width
        count = max(fields, default=-1) + 1
        vtable = [4 + 2 * count, size] + [places.get(i, 0) for i in range(count)]
        start = len(self.out)
        self.out += struct.pack(f"<{len(vtable)}H", *vtable)
        self.align(8)
        at = len(self.out)
        self.out += struct.pack("<i", at - start) + bytes(size - 4)
        later = []
        for number, (kind, value) in sorted(fields.items()):
            if kind in FORMATS:
                struct.pack_into(FORMATS[kind], self.out, at + places[number], value)
            else:
                later.append((at + places[number], kind, value))
        for place, kind, value in later:
            struct.pack_into("<I", self.out, place, self.child(kind, value) - place)
        return at

    def child(self, kind, value):
        if kind == "table":
            return self.table(value)
        if kind == "string":
            value = value.encode() if isinstance(value, str) else value
            self.align(4)
            at = len(self.out)
            self.out += struct.pack("<I", len(value)) + value + b"\0"
            return at
        if kind == "tables":
            self.align(4)
            at = len(self.out)
            self.out += struct.pack("<I", len(value)) + bytes(4 * len(value))
            for i, one in enumerate(value):
                place = at + 4 + 4 * i
                struct.pack_into("<I", self.out, place, self.table(one) - place)
            return at
        data = value if isinstance(value, bytes) else np.asarray(value, VECTORS[kind]).tobytes()
        width = np.dtype(VECTORS[kind]).itemsize
        self.align(16 if kind == "bytes" else max(width, 4), 4)
        at = len(self.out)
        self.out += struct.pack("<I", len(data) // width) + data
        return at

    def finish(self, root):
        self.out += bytes(4) + b"TFL3"
        at = self.table(root)
        struct.pack_into("<I", self.out, 0, at)
        return bytes(self.out)


def flexible(options):
    """The bytes of a map of FlexBuffers with these integers, floats and booleans, each of 32 bits."""
    kinds = {bool: (26, "<I"), int: (1, "<i"), float: (3, "<f")}
    out, places = bytearray(), {}
    for key in sorted(options):
        places[key] = len(out)
        out += key.encode() + b"\0"
    out += bytes(-len(out) % 4) + struct.pack("<I", len(options))
    keys = len(out)
    for key in sorted(options):
        out += struct.pack("<I", len(out) - places[key])
    out += struct.pack("<III", len(out) - keys, 4, len(options))
    values = len(out)
    for key in sorted(options):
        out += struct.pack(kinds[type(options[key])][1], options[key])
    out += bytes(kinds[type(options[key])][0] << 2 | 2 for key in sorted(options))
    out += bytes(-len(out) % 4)
    return bytes(out + struct.pack("<IBB", len(out) - values, 9 << 2 | 2, 4))


def texts(*words):
    """The bytes of a tensor of texts."""
    letters = [word.encode() for word in words]
    begins = np.cumsum([4 * (len(words) + 2), *map(len, letters)])
    return struct.pack(f"<{len(words) + 2}i", len(words), *begins) + b"".join(letters)


class Model:
    """A model; a subgraph beside the main one is another Model that `subgraph` adds."""

    def __init__(self, main=None):
        self.main = main or self
        if main is None:
            self.subgraphs, self.codes, self.buffers, self.signatures = [self], [], [b""], []
        self.tensors, self.nodes, self.ins, self.outs = [], [], [], []

    def subgraph(self):
        """Returns the number and the model of a new subgraph."""
        self.subgraphs.append(Model(self))
        return len(self.subgraphs) - 1, self.subgraphs[-1]

    def tensor(self, name, shape, dtype="float32", *, scale=None, zero=0, axis=0, data=None, signature=None,
               variable=False, sparsity=None):  # fmt: skip
        fields = Table({0: ("ints", shape), 1: ("byte", TYPES.index(dtype)), 3: ("string", name)})
        if data is not None:
            self.main.buffers.append(data)
            fields[2] = ("uint", len(self.main.buffers) - 1)
        if scale is not None:
            scales, zeros = np.atleast_1d(np.float32(scale)), np.atleast_1d(np.int64(zero))
            zeros = np.broadcast_to(zeros, scales.shape)
            fields[4] = ("table", Table({2: ("floats", scales), 3: ("longs", zeros), 6: ("int", axis)}))
        if variable:
            fields[5] = ("bool", True)
        if sparsity is not None:
            fields[6] = ("table", sparsity)
        if signature is not None:
            fields[7] = ("ints", signature)
        self.tensors.append(fields)
        return len(self.tensors) - 1

    def input(self, name, shape, dtype="float32", **more):
        self.ins.append(self.tensor(name, shape, dtype, **more))
        return self.ins[-1]

    def constant(self, name, array, **more):
        array = np.asarray(array)
        return self.tensor(name, array.shape, str(array.dtype), data=np.ascontiguousarray(array).tobytes(), **more)

    def op(
        self, name, inputs, outputs, /, *, custom=None, custom_options=b"", options=True, version=1, intermediates=None,
        **values,
    ):  # fmt: skip
        """Adds an operator. `values`: its options; `options=False` leaves the table of options out. `custom`: the name
        of a custom one, `custom_options` its bytes. `intermediates`: tensors with the ranges of its own arrays."""
        code = (32 if custom else OPERATORS[name], custom, version)
        if code not in self.main.codes:
            self.main.codes.append(code)
        fields = Table({0: ("uint", self.main.codes.index(code)), 1: ("ints", inputs), 2: ("ints", outputs)})
        if options and not custom and name in OPTIONS_OF:
            number, known = TABLES[OPTIONS_OF[name]]
            table = Table()
            for field, value in values.items():
                place, kind = known[field]
                table[place] = (kind, value)
            at, number = (11, number - 256) if number > 255 else (3, number)  # the second union of the schema
            fields[at], fields[at + 1] = ("ubyte", number), ("table", table)
        if custom_options:
            fields[5] = ("bytes", custom_options)
        if intermediates:
            fields[8] = ("ints", intermediates)
        self.nodes.append(fields)
        return outputs[0] if len(outputs) == 1 else outputs

    def outputs(self, *tensors):
        self.outs.extend(tensors)

    def _table(self):
        return Table({0: ("tables", self.tensors), 1: ("ints", self.ins), 2: ("ints", self.outs),
                      3: ("tables", self.nodes), 4: ("string", "main")})  # fmt: skip

    def root(self):
        codes = []
        for number, custom, version in self.codes:
            code = Table({0: ("byte", min(number, 127)), 2: ("int", version), 3: ("int", number)})
            if custom:
                code[1] = ("string", custom)
            codes.append(code)
        buffers = [Table({0: ("bytes", data)}) if data else Table() for data in self.buffers]
        return Table({0: ("uint", 3), 1: ("tables", codes), 2: ("tables", [one._table() for one in self.subgraphs]),
                      3: ("string", "made by a test"), 4: ("tables", buffers)})  # fmt: skip

    def bytes(self):
        return Flat().finish(self.root())
