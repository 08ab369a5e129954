"""Random ONNX models. Each node is run by ONNX Runtime as soon as it is drawn: what it refuses is drawn again, and the
values tell shapes, types and magnitudes for the nodes that follow.

A value is exact when every engine must give the same bits: it comes from small numbers by movement, comparison, sums of
few. Only exact values go where a small error would become a large one (Floor, ArgMax, Equal, QuantizeLinear, ..).
"""

import dataclasses

import numpy as np
import onnxruntime
from onnx import helper, numpy_helper

OPSET = 21
LARGEST = 1e4  # magnitude of a value
MOST = 20_000  # elements of a value


@dataclasses.dataclass
class Value:
    name: str
    array: np.ndarray
    exact: bool
    constant: bool = False


@dataclasses.dataclass
class Model:
    nodes: list  # NodeProto
    values: dict  # by name: Value; inputs, constants, results
    inputs: list  # names
    named: dict  # by input: names of its dimensions, None where the number stands

    def outputs(self):
        """The values that no node reads."""
        read = {name for node in self.nodes for name in node.input}
        return [name for node in self.nodes for name in node.output if name and name not in read]

    def proto(self, outputs=None):
        needed = {name for node in self.nodes for name in node.input}
        made = [helper.make_empty_tensor_value_info(name) for name in outputs or self.outputs()]
        constants = [
            numpy_helper.from_array(v.array, v.name) for v in self.values.values() if v.constant and v.name in needed
        ]
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(v.dtype), self.named.get(name) or v.shape
            )
            for name, v in ((name, self.values[name].array) for name in self.inputs)
            if name in needed
        ]
        graph = helper.make_graph(self.nodes, "random", inputs, made, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def arguments(self):
        needed = {name for node in self.nodes for name in node.input}
        return {name: self.values[name].array for name in self.inputs if name in needed}


def session(proto):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Without optimisations, which may have faults of their own.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Draw:
    """A model, as it is drawn."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.model = Model([], {}, [], {})

    # --- numbers ------------------------------------------------------------------------------------------------------
    def integer(self, low, high):
        """Both ends are in."""
        return int(self.rng.integers(low, high + 1))

    def one_of(self, *things):
        return things[self.integer(0, len(things) - 1)]

    def chance(self, share):
        return self.rng.random() < share

    def real(self, low, high):
        return float(self.rng.integers(int(low * 8), int(high * 8) + 1)) / 8

    # --- values -------------------------------------------------------------------------------------------------------
    def add(self, array, exact=True, constant=False):
        name = f"{'c' if constant else 'v'}{len(self.model.values)}"
        self.model.values[name] = Value(name, array, exact, constant)
        return self.model.values[name]

    def input(self, shape, dtype=np.float32):
        value = self.add(self.array(shape, dtype))
        self.model.inputs.append(value.name)
        return value

    def array(self, shape, dtype=np.float32):
        """Multiples of 1/8 between -4 and 4; small integers; truth values."""
        if dtype == np.bool_:
            return np.asarray(self.rng.random(shape) < 0.5)
        if np.issubdtype(dtype, np.integer):
            return np.asarray(self.rng.integers(0 if np.issubdtype(dtype, np.unsignedinteger) else -6, 7, shape), dtype)
        return np.asarray(self.rng.integers(-32, 33, shape) / 8, dtype)

    def weight(self, *shape, dtype=np.float32):
        """A constant, mostly; else an input."""
        if self.chance(0.2):
            return self.input(shape, np.dtype(dtype).type)
        return self.add(self.array(shape, dtype), constant=True)

    def ints(self, *values):
        return self.add(np.array(values, np.int64), constant=True)

    def pick(self, kinds="f", rank=None, exact=False, most=MOST):
        """A value of a kind of dtype and a rank (a number, or the least and the most), late ones more often; None."""
        low, high = rank if isinstance(rank, tuple) else (rank, rank) if rank is not None else (0, 6)
        fitting = [
            v
            for v in self.model.values.values()
            if v.array.dtype.kind in kinds and low <= v.array.ndim <= high and v.array.size <= most
            and (v.exact or not exact) and not v.constant and v.array.size > 0
        ]  # fmt: skip
        return fitting[int(len(fitting) * self.rng.random() ** 0.5)] if fitting else None

    # --- nodes --------------------------------------------------------------------------------------------------------
    def node(self, op, inputs, outputs=1, exact=False, **attributes):
        """Appends a node, if ONNX Runtime runs it and its values are tame; None: not."""
        if any(v is None for v in inputs[:1]):
            return None
        count = len(self.model.values)
        names = [f"v{count + i}" for i in range(outputs)]
        node = helper.make_node(op, [v.name if v else "" for v in inputs], names, **attributes)
        given = {v.name: v for v in inputs if v}
        alone = Model([node], given, [v.name for v in given.values() if not v.constant], {})
        try:
            results = session(alone.proto(names)).run(None, alone.arguments())
        except Exception as error:
            if "onnxruntime" not in type(error).__module__ and not isinstance(error, (RuntimeError, ValueError)):
                raise
            return None
        for array in results:
            if not isinstance(array, np.ndarray) or not 0 < array.size <= MOST or array.ndim > 6:
                return None
            if array.dtype.kind == "f" and array.size and not np.abs(array.astype(np.float64)).max() <= LARGEST:
                return None
        exact = exact and all(v.exact for v in given.values())
        for name, array in zip(names, results, strict=True):
            small = array.dtype.kind != "f" or not array.size or np.abs(array).max() <= 1024
            self.model.values[name] = Value(name, array, exact and small)
        self.model.nodes.append(node)
        return self.model.values[names[0]]


def generate(seed, nodes=12):
    """A model of some nodes, of families that random_operators.py lists. A third of the models have named
    dimensions."""
    from random_operators import FAMILIES

    draw = Draw(seed)
    for _ in range(draw.integer(1, 3)):
        rank = draw.integer(1, 4)
        shape = tuple(draw.integer(1, 7) for _ in range(rank))
        draw.input(shape, draw.one_of(np.float32, np.float32, np.float32, np.int64, np.int32, np.bool_))
    draw.input((draw.integer(1, 3), draw.integer(1, 8), draw.integer(4, 12), draw.integer(4, 12)))
    wanted = draw.integer(1, nodes)
    for _ in range(20 * nodes):
        if len(draw.model.nodes) >= wanted:
            break
        draw.one_of(*FAMILIES)(draw)
    if draw.chance(0.33):
        for name in draw.model.inputs:
            shape = draw.model.values[name].array.shape
            draw.model.named[name] = [f"{name}_{i}" if draw.chance(0.4) else d for i, d in enumerate(shape)]
    return draw.model
