"""Scripted functions as objects: calls, programs, methods, layers, gradients."""

import copy
import linecache
import pickle
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

import relay
from relay import nn

X = np.arange(6, dtype="float32").reshape(2, 3)


@relay.script
def scaled(x, *, k=2.0, flag=None, mode="plain"):
    """Scales x."""
    if flag is not None:
        x = x + 1
    return x * k if mode == "plain" else -x * k


@relay.script
def iterated(w, x, n):
    for _ in range(n):
        x = np.tanh(w @ x)
    return (x * x).sum()


class Counter:
    step = 3

    @relay.script
    def after(self, n: int):
        for _ in range(self.step):
            n = n + 1
        return n

    @relay.script
    def down(self, n: int):
        return 0 if n <= 0 else 1 + self.down(n - self.step)


def written(program):
    linecache.cache["<written>"] = len(program), None, program.splitlines(keepends=True), "<written>"
    names = {"relay": relay, "np": np}
    exec(compile(program, "<written>", "exec"), names)
    return names["f"]


class TestCalls:
    def test_compiled_once_for_each_type(self):
        f = copy.copy(scaled)
        f._compiled = {}
        for value in (X, X + 1, X[:1], np.float64(X)):
            f(value)
        assert len(f._compiled) == 3

    def test_arguments_that_no_program_has(self):
        assert np.allclose(scaled(X), 2 * X) and np.allclose(scaled(X, k=3.0), 3 * X)
        assert np.allclose(scaled(X, flag=True), 2 * (X + 1)) and np.allclose(scaled(X, mode="negated"), -2 * X)

    def test_it_stays_a_function(self):
        assert scaled.__name__ == "scaled" and scaled.__doc__ == "Scales x." and "scaled" in repr(scaled)
        assert pickle.loads(pickle.dumps(scaled)) is scaled

    def test_lambda(self):
        square = relay.script(lambda x: x * x)
        assert np.allclose(square(X), X * X) and np.allclose(square.py(X), X * X)

    def test_torch_tensors(self):
        torch = pytest.importorskip("torch")
        assert torch.equal(scaled(torch.from_numpy(X)), torch.from_numpy(2 * X))

    def test_threads(self):
        f = relay.script(lambda x: (x + 1).sum())
        with ThreadPoolExecutor(8) as pool:
            assert len({float(one) for one in pool.map(f, [X] * 64)}) == 1

    def test_breakpoints_in_plain_python(self, capsys):
        f = relay.script(relay_free)
        f.py(X)
        assert "sum 15.0" in capsys.readouterr().out


def relay_free(x):
    if CHECKING:
        print("sum", x.sum())
    return relay.sigmoid(x)


CHECKING = True


class TestMethods:
    def test_the_object_is_known(self):
        counter = Counter()
        assert counter.after(4) == counter.after.py(4) == 7
        assert counter.after is counter.after, "compiled calls are kept"

    def test_recursion(self):
        assert Counter().down(10) == Counter().down.py(10) == 4

    def test_copies(self):
        counter = Counter()
        counter.after(1)
        other = copy.deepcopy(counter)
        other.step = 5
        assert other.after(1) == 6 and counter.after(1) == 4


class TestPrograms:
    def test_types_as_text_and_open_sizes(self):
        program = relay.compile(scaled.module("Tensor[(n, 3), float32]", 2.0, None, "plain"))
        assert np.allclose(program(X, np.float32(2)), 2 * X) and np.allclose(program(X[:1], np.float32(3)), 3 * X[:1])

    def test_annotations_are_types(self):
        assert "def @main(%n: int32) -> int32" in Counter().down.source()

    def test_a_type_is_missing(self):
        with pytest.raises(relay.InputError, match="`iterated` needs the argument `n`"):
            iterated.module(X, X)

    def test_gradient_of_a_loop(self):
        w, x = np.float32([[0.5, -0.3], [0.2, 0.7]]), np.float32([1.0, -2.0])
        slope = relay.compile(relay.value_and_grad(iterated.module(w, x, 3), ["w", "x"]))
        _, (of_w, of_x) = slope(w, x, np.int32(3))

        def central(which, at, h=1e-4):
            parts = []
            for sign in (1, -1):
                values = [w.astype("float64"), x.astype("float64")]
                values[which][at] += sign * h
                parts.append(iterated.py(*values, 3))
            return (parts[0] - parts[1]) / (2 * h)

        # Central differences in float64 beside float32.
        for at in np.ndindex(2, 2):
            assert abs(of_w[at] - central(0, at)) < 1e-4
        for at in np.ndindex(2):
            assert abs(of_x[at] - central(1, at)) < 1e-4

    def test_many_ways_out(self):
        guards = "".join(f"    if x == {i}:\n        return {2 * i}\n" for i in range(300))
        f = written(f"@relay.script\ndef f(x):\n{guards}    return -1\n")
        assert f.evaluate(7) == 14 and f.evaluate(299) == 598 and f.evaluate(300) == -1

    def test_a_long_expression(self):
        f = written("@relay.script\ndef f(x):\n    return " + " + ".join(["x"] * 2000) + "\n")
        assert f(3) == 6000

    def test_problems_that_relay_finds_have_their_line(self):
        f = written(
            "@relay.script\ndef f(x):\n    y = x * 2\n    return relay.nn.dense(y, np.ones((4, 5), 'float32'))\n"
        )
        with pytest.raises(relay.CompileError) as error:
            f(X)
        [problem] = error.value.diagnostics
        assert (problem.code, problem.line, problem.column) == ("R0302", 4, 12)


class TestDataTypes:
    def test_two_modules_may_use_one_name(self):
        made = []
        for number, (field, zero) in enumerate((("int", "0"), ("float", "0.0"))):
            program = (
                "from dataclasses import dataclass\n\n@dataclass\nclass Item:\n"
                f"    value: {field}\n    rest: 'Chain'\n\n@dataclass\nclass End:\n    pass\n\n"
                "Chain = relay.data_type('Chain', Item | End)\n\n"
                "@relay.script\ndef total(chain: 'Chain'):\n    match chain:\n        case Item(value, rest):\n"
                f"            return value + total(rest)\n        case End():\n            return {zero}\n"
            )
            module = types.ModuleType(f"module_of_chains_{number}")
            name = f"<chains {number}>"
            linecache.cache[name] = len(program), None, program.splitlines(keepends=True), name
            sys.modules[module.__name__] = module
            module.relay = relay
            exec(compile(program, name, "exec"), vars(module))
            made.append(module)
        ints, floats = made
        assert ints.total(ints.Item(1, ints.Item(2, ints.End()))) == 3
        assert floats.total(floats.Item(1.5, floats.End())) == 1.5
        assert ints.total(ints.Item(5, ints.End())) == 5

    def test_shared_parts_and_results(self):
        point = Point(1.0, 2.0)
        assert mirrored(Pair(point, point)) == Pair(Point(2.0, 1.0), Point(2.0, 1.0))


@dataclass
class Point:
    x: float
    y: float


@dataclass
class Pair:
    first: Point
    second: Point


relay.data_type(Point)
relay.data_type(Pair)


@relay.script
def mirrored(pair: Pair):
    a, b = pair.first, pair.second
    return Pair(Point(a.y, a.x), Point(b.y, b.x))


class TestLayers:
    def test_parameters_are_inputs_and_sizes_are_inferred(self):
        layer = nn.Linear(None, 4)

        @relay.script
        def error(x, y):
            difference = layer(x) - y
            return (difference * difference).mean()

        y = np.zeros((2, 4), "float32")
        value = error(X, y)
        assert layer.weight.shape == (4, 3)
        assert np.allclose(value, ((X @ layer.weight.data.T + layer.bias.data) ** 2).mean(), rtol=1e-5)
        assert np.allclose(error.py(X, y), value, rtol=1e-5) and np.allclose(error.evaluate(X, y), value, rtol=1e-5)
        names = [param.name_hint for param in error.module(X, y)["main"].params]
        assert names == ["x", "y", "weight", "bias"]
        layer.weight.data[...] = 0
        assert np.allclose(error(X, y), (layer.bias.data**2).mean(), rtol=1e-5), "values are read at each call"

    def test_a_script_on_expressions_outside_of_a_program(self):
        with pytest.raises(relay.InputError, match="outside of a program"):
            scaled(relay.var("x", shape=(2, 3)))

    def test_a_script_in_the_forward_of_a_layer(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(3, 3)

            def forward(self, x):
                return clipped(self.inner(x))

        net = Net()
        assert np.allclose(net(X), np.minimum(net.inner(X), 0.5), atol=1e-6)


@relay.script
def clipped(x):
    if x.sum() < -1e9:
        return x
    return np.minimum(x, 0.5)
