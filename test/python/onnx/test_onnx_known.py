"""An ONNX graph computes the same results from constants at import as from the same values as inputs."""

import numpy as np
import pytest
from onnx import ValueInfoProto, helper, numpy_helper

import relay

INTEGERS = [f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("u", "")]
TYPES = [*INTEGERS, "float16", "float32", "float64", "bool"]
COMPARISONS = ["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"]


class Chain:
    """A random graph of a few nodes over small arrays near the ends of their types."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.values, self.types = [], {}, {}
        self.last = self.given(self.one(TYPES[:-1]))
        for _ in range(self.random.integers(2, 7)):
            self.last = self.step()

    def one(self, of):
        return of[self.random.integers(len(of))]

    def given(self, dtype):
        shape = self.one([(), (1,), (4,)])
        if dtype == "bool":
            data = self.random.integers(0, 2, shape).astype(bool)
        elif "int" in dtype:
            ends = np.iinfo(dtype)
            corners = [0, 1, ends.max, ends.min, ends.max // 2, int(self.random.integers(0, 100))]
            data = np.array([self.one(corners) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)
            data = data + self.random.integers(0, 3, shape).astype(dtype)
        else:
            corners = [0.0, -0.0, 0.1, 300, -70000, 1e-8, 3e38, np.inf, np.nan, 2049.5]
            with np.errstate(over="ignore"):
                data = np.array([self.one(corners) for _ in range(int(np.prod(shape)))]).astype(dtype).reshape(shape)
        name = f"x{len(self.values)}"
        self.values[name], self.types[name] = np.asarray(data, dtype), dtype
        return name

    def other(self, dtype):
        known = [name for name, t in self.types.items() if t == dtype]
        return self.one(known) if known and self.random.random() < 0.6 else self.given(dtype)

    def add(self, op, inputs, dtype, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.types[name] = dtype
        return name

    def step(self):
        x, t = self.last, self.types[self.last]
        kind = self.random.integers(0, 10)
        if kind < 3 or t == "bool":
            to = self.one(TYPES)
            return self.add("Cast", [x], to, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
        if kind == 3 and t not in ("uint8", "uint16", "uint32", "uint64"):
            return self.add("Neg", [x], t)
        if kind == 4:
            return self.add(self.one(COMPARISONS), [x, self.other(t)], "bool")
        if kind == 5:
            return self.add(self.one(["Min", "Max"]), [x, self.other(t)], t)
        if kind == 6 and "float" in t:
            return self.add(self.one(["Floor", "Ceil", "Sqrt", "Abs"]), [x], t)
        if kind == 6:
            return self.add("Abs", [x], t)
        if kind == 7 and "int" in t:
            return self.add("Mod", [x, self.other(t)], t)
        if kind == 8:
            return self.add("Where", [self.other("bool"), x, self.other(t)], t)
        return self.add(self.one(["Add", "Sub", "Div", "Mul"]), [x, self.other(t)], t)

    def model(self, constant):
        def info(name, value):
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

        inputs = [] if constant else [info(*one) for one in self.values.items()]
        weights = [numpy_helper.from_array(v, k) for k, v in self.values.items()] if constant else []
        graph = helper.make_graph(self.nodes, "g", inputs, [ValueInfoProto(name=self.last)], weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def check(seed):
    chain, ieee = Chain(seed), {"numerics": "ieee"}  # fp32 turns subnormal numbers to zero in kernels only
    want = np.asarray(relay.compile(chain.model(False), **ieee)(*chain.values.values()))
    got = np.asarray(relay.compile(chain.model(True), **ieee)())
    same = got.dtype == want.dtype and np.array_equal(got, want, equal_nan=want.dtype.kind == "f")
    numbers = ~np.isnan(want) if want.dtype.kind == "f" else np.zeros(want.shape, bool)
    if any(n.op_type in ("Min", "Max") for n in chain.nodes):
        numbers &= want != 0  # of two zeros with different signs, either
    signs = np.array_equal(np.signbit(got[numbers]), np.signbit(want[numbers])) if numbers.any() else True
    nodes = "; ".join(f"{n.output[0]} = {n.op_type}({', '.join(n.input)})" for n in chain.nodes)
    assert same and signs, f"seed {seed}: {got} as constants, {want} as inputs\n{nodes}\n{chain.values}"


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_constants_give_what_inputs_give(first):
    for seed in range(first, first + 50):
        check(seed)


if __name__ == "__main__":  # the long form: test_onnx_known.py FIRST COUNT
    import sys

    for number in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
        check(number)
