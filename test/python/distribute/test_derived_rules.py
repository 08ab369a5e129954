"""Rules for dividing operators, derived from tensor expressions: every operator's examples, computed in parts."""

import ast
import os
import pathlib

import numpy as np
import pytest
from relay.distribute import rules
from relay.distribute.collectives import COMBINE, tree

import relay
from relay import _core

LIST = pathlib.Path(__file__).parent / "undivided_operators.txt"
OPERATORS = relay.op.make.operators()


def types_of(text):
    """Returns the types of an example's input: "(2, 3)", "(4,) int64", or a list of such for a tuple."""
    if text.startswith("["):
        depth, parts, part = 0, [], ""
        for c in text[1:-1] + ",":
            depth += (c == "(") - (c == ")")
            if c == "," and depth == 0:
                parts.append(part.strip())
                part = ""
            else:
                part += c
        return relay.TupleType([types_of(one) for one in parts if one])
    shape, _, dtype = text.partition(")")
    return relay.TensorType(ast.literal_eval(shape + ")"), dtype.strip() or "float32")


def written(type_):
    if isinstance(type_, relay.TupleType):
        return f"({', '.join(written(one) for one in type_.fields)},)"
    shape = ", ".join(map(str, type_.shape)) + ("," if len(type_.shape) == 1 else "")
    return f"Tensor[({shape}), {type_.dtype}]" if type_.shape else str(type_.dtype)


def call_of(name, inputs, attributes):
    """Returns the typed call of an example, or None if it needs more than types."""
    types = [types_of(one) for one in inputs]
    params = ", ".join(f"%x{i}: {written(type_)}" for i, type_ in enumerate(types))
    words = [*(f"%x{i}" for i in range(len(types))), *([attributes] if attributes else [])]
    module = relay.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {name}({", ".join(words)}) }}')
    body = relay.transform.InferType()(module)["main"].body
    return body if isinstance(body, _core.Call) else None


def values_of(type_, rng):
    dtype, shape = str(type_.dtype), tuple(map(int, type_.shape))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype("bool")
    if "int" in dtype:
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.uniform(0.1, 1, shape).astype(dtype)


def run(name, types, attributes, tensors):
    """Returns the results of a call of these types on tensors."""
    params, given, at = [], [], 0
    for i, type_ in enumerate(types):
        count = len(rules.tensors_of(type_))
        fields = tensors[at : at + count]
        at += count
        params.append(relay.Var(f"x{i}", type_ if isinstance(type_, relay.TupleType) else relay.TensorType(
            fields[0].shape, type_.dtype)))  # fmt: skip
        given.append(fields if isinstance(type_, relay.TupleType) else fields[0])
    flat, arguments = [], []
    for i, value in enumerate(given):
        if isinstance(value, list):
            parts = [relay.Var(f"x{i}_{k}", relay.TensorType(v.shape, str(types[i].fields[k].dtype)))
                     for k, v in enumerate(value)]  # fmt: skip
            flat += list(zip(parts, value, strict=True))
            arguments.append(relay.Tuple(parts))
        else:
            flat.append((params[i], value))
            arguments.append(params[i])
    function = relay.Function([one for one, _ in flat], _core.call(name, arguments, attributes))
    results = relay.evaluate(relay.IRModule.from_expr(function), [value for _, value in flat])
    return [np.asarray(one) for one in (results if isinstance(results, (tuple, list)) else [results])]


def check_way(call, way, ways, tensors, expected):
    """Computes the parts of a call, and compares them with the whole results."""
    types = [argument.checked_type for argument in call.args]
    attributes = (dict(call.attrs) if call.attrs else {}) | (way.attributes or {})
    parts = []
    for r in range(ways):
        local = [
            value if state == -1 else np.ascontiguousarray(np.split(value, ways, axis=state)[r])
            for value, state in zip(tensors, way.inputs, strict=True)
        ]
        parts.append(run(call.op.name, types, attributes, local))
    for i, (state, whole) in enumerate(zip(way.results, expected, strict=True)):
        mine = [part[i] for part in parts]
        if isinstance(state, str):
            if whole.dtype.kind == "f":  # another order of additions
                np.testing.assert_allclose(tree(mine, COMBINE[state]), whole, rtol=1e-5, atol=1e-5)
            else:
                np.testing.assert_array_equal(tree(mine, COMBINE[state]), whole)
        elif state == -1:
            for one in mine:
                np.testing.assert_array_equal(one, whole)
        else:
            np.testing.assert_array_equal(np.concatenate(mine, axis=state), whole)


def check_examples(name):
    """Returns the number of ways that were checked."""
    checked = 0
    for inputs, attributes in OPERATORS[name]["examples"]:
        call = call_of(name, inputs, attributes)
        if call is None or not isinstance(call.op, _core.Op):
            continue
        types = [one for argument in call.args for one in rules.tensors_of(argument.checked_type)]
        tensors = [values_of(one, np.random.default_rng(i)) for i, one in enumerate(types)]
        if name == "unravel_index":  # its data are below the product of the shape
            tensors[1] = np.full_like(tensors[1], 5)
        expected = None
        for ways in (2, 3):
            for way in rules.derived_ways(call, ways):
                if expected is None:
                    expected = run(name, [a.checked_type for a in call.args], dict(call.attrs or {}), tensors)
                check_way(call, way, ways, tensors, expected)
                checked += 1
    return checked


@pytest.mark.slow
def test_every_operator_in_parts():
    undivided, checked = [], 0
    for name in sorted(OPERATORS):
        if name.startswith(("comm.", "distribute.")):
            continue
        count = check_examples(name)
        checked += count
        undivided += [name] if not count else []
    text = (
        "# Operators of whose examples no part can be computed from parts of the inputs.\n"
        + "\n".join(undivided)
        + "\n"
    )
    if os.environ.get("RELAY_BLESS"):
        LIST.write_text(text)
    assert text == LIST.read_text(), "RELAY_BLESS=1 writes the list anew"
    assert checked > 1000


def ways(expression, *params, n=2):
    module = relay.transform.InferType()(relay.IRModule.from_expr(relay.Function(list(params), expression)))
    return [(one.inputs, one.results) for one in rules.derived_ways(module["main"].body, n)]


def test_rules_of_some_operators():
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(6, 8))
    assert ways(relay.nn.dense(x, w), x, w) == [((0, -1), (0,)), ((-1, 0), (1,)), ((1, 1), ("sum",))]
    assert ways(relay.nn.softmax(x), x) == [((0,), (0,))]  # rows only: each row is normalised as a whole
    assert ways(relay.max(x), x) == [((0,), ("max",)), ((1,), ("max",))]
    assert ways(relay.mean(x, axis=[1]), x) == [((0,), (0,))]  # a part does not know the number of terms
    assert ways(relay.reshape(x, newshape=(32,)), x) == [((0,), (0,))]
    assert ways(relay.nn.dense(x, w), x, w, n=3) == [((-1, 0), (1,))]  # 3 divides 6 only


def test_windows_are_divided_where_they_do_not_overlap():
    x = relay.var("x", shape=(1, 2, 8, 8))
    apart = relay.nn.max_pool2d(x, pool_size=[2, 2], strides=[2, 2])
    overlapping = relay.nn.max_pool2d(x, pool_size=[3, 3], padding=[1, 1])
    assert ((2,), (2,)) in ways(apart, x)
    assert ways(overlapping, x) == [((1,), (1,))]
