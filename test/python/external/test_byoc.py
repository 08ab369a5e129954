"""Partitioning for external compilers: tables, marks, regions, functions."""

import random

import numpy as np
import pytest
from relay.dataflow_pattern import is_constant, is_op, wildcard

import relay
from relay import transform

X = relay.var("x", shape=(4, 8))
W = relay.var("w", shape=(8, 8))
TABLE = [("test.dense_relu", is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())))]


@relay.byoc.supports("test", "exp")
def takes_exp(call):
    return call.checked_type.dtype == "float32"


relay.byoc.register_pattern_table("test", lambda: TABLE)


def module_of(expr):
    return transform.InferType()(relay.IRModule.from_expr(expr))


def functions_of(mod, compiler):
    return [f for f in mod.functions.values() if f.attrs.get("Compiler") == compiler]


def test_the_four_passes():
    mod = module_of(relay.tanh(relay.exp(relay.nn.relu(relay.nn.dense(X, W)))))
    out = relay.byoc.partition(mod, "test")
    (function,) = functions_of(out, "test")
    assert function.attrs["global_symbol"] == "tvmgen_default_test_main_0" and function.attrs["Primitive"] == 1
    assert function.body.op.name == "exp" and function.body.args[0].op.attrs["Composite"] == "test.dense_relu"
    assert [p.name_hint for p in function.params] == ["test_0_i0", "test_0_i1"]
    args = [np.random.default_rng(i).random(s, "float32") for i, s in enumerate([(4, 8), (8, 8)])]
    for one in (out, transform.Inline()(out)):
        np.testing.assert_array_equal(relay.evaluate(one, args), relay.evaluate(mod, args))
    got = relay.compile(transform.Inline()(out))(*args)
    with pytest.raises(relay.CompileError, match="compiler 'test'"):
        relay.compile(out)
    np.testing.assert_allclose(got, relay.evaluate(mod, args), rtol=1e-5)


def test_checks_refuse():
    mod = module_of(relay.nn.relu(relay.nn.dense(X, W)))
    name, pattern = TABLE[0]
    seen = []
    out = transform.MergeComposite([(name, pattern, lambda e: seen.append(e))])(mod)
    assert out == mod and seen[0].op.name == "nn.relu"
    assert transform.MergeComposite([(name, pattern, lambda e: True)])(mod) != mod
    with pytest.raises(ValueError, match="a row of a pattern table"):
        transform.MergeComposite([(name,)])


def test_what_no_compiler_takes():
    mod = module_of(relay.tanh(relay.exp(relay.cast(X, "float64"))))
    assert relay.byoc.partition(mod, "test") == mod
    with pytest.raises(KeyError, match="no pattern table for nobody"):
        relay.byoc.get_pattern_table("nobody")
    with pytest.raises(relay.CompileError, match="no_such_op"):
        relay.byoc.supports("test", "no_such_op", lambda call: True)


def test_constants_and_names():
    mod = module_of(relay.exp(X) + relay.const(2.0))
    table = [("test.add", is_op("add")(wildcard(), is_constant()))]
    marked = transform.AnnotateTarget("test")(transform.MergeComposite(table)(mod))
    marked = transform.MergeCompilerRegions()(marked)
    (bound,) = functions_of(transform.PartitionGraph("net")(marked), "test")
    assert bound.attrs["global_symbol"] == "tvmgen_net_test_main_0" and len(bound.params) == 1
    plain = transform.MergeCompilerRegions()(transform.AnnotateTarget(["test"])(mod))
    (free,) = functions_of(transform.PartitionGraph(bind_constants=False)(plain), "test")
    assert len(free.params) == 1  # add is not taken: the constant stays outside


def test_a_region_that_needs_its_own_result():
    begin, end = relay.op.annotation.compiler_begin, relay.op.annotation.compiler_end
    x = begin(X, "test")
    inside = relay.exp(x)
    out = end(begin(relay.tanh(end(inside, "test")), "test") + inside, "test")
    with pytest.raises(relay.CompileError, match="depends on its own result"):
        transform.PartitionGraph()(module_of(out))


def random_program(draw):
    x, c = relay.var("x", shape=(2, 4)), relay.var("c", shape=(), dtype="bool")
    values, bound = [x], []
    for i in range(draw.randint(3, 25)):
        a, b = draw.choice(values[-6:]), draw.choice(values)
        made = [
            lambda a, b: relay.tanh(a),
            lambda a, b: relay.nn.relu(relay.exp(a) + b),
            lambda a, b: relay.exp(relay.exp(a) - b),
            lambda a, b: relay.concatenate([relay.TupleGetItem(relay.split(a, 2, axis=1), k) for k in (1, 0)], axis=1),
            lambda a, b: relay.If(c, relay.exp(a), relay.exp(relay.tanh(b)) + a),
        ][draw.randrange(5)](a, b)
        if draw.random() < 0.2:
            bound.append((relay.var(f"v{i}"), made))
            made = bound[-1][0]
        values.append(made)
    body = relay.Tuple(values[-3:])
    for var, value in reversed(bound):
        body = relay.Let(var, value, body)
    return relay.transform.InferType()(relay.IRModule({"main": relay.Function([x, c], body)}))


def test_random_programs():
    for name in ("tanh", "split", "concatenate"):
        relay.byoc.supports("random", name, lambda call: True)
    sums = is_op("nn.relu")(wildcard() + wildcard())
    relay.byoc.register_pattern_table("random", lambda: [("random.sum", sums), ("other.exp", is_op("exp")(wildcard()))])
    for seed in range(40):
        mod = random_program(random.Random(seed))
        out = relay.byoc.partition(mod, "random")
        assert "annotation.compiler" not in out.astext()
        args = [np.random.default_rng(seed).random((2, 4), "float32"), np.array(bool(seed % 2))]
        for got, want in zip(relay.evaluate(out, args), relay.evaluate(mod, args), strict=True):
            np.testing.assert_array_equal(got, want)


def test_large_programs():
    expr = X
    for i in range(20_000):
        expr = relay.exp(expr) if i % 3 else relay.tanh(expr)
    out = relay.byoc.partition(module_of(expr), "test")
    assert len(functions_of(out, "test")) == 6667


def test_the_names_of_tvm():
    import relay.compat  # noqa: F401
    import tvm
    from tvm.relay.op.contrib import get_pattern_table, register_pattern_table
    from tvm.relay.transform import AnnotateTarget, MergeCompilerRegions, MergeComposite, PartitionGraph

    @tvm.ir.register_op_attr("tanh", "target.old")
    def takes_tanh(expr):
        return True

    @register_pattern_table("old")
    def table():
        return []

    mod = module_of(relay.tanh(X))
    passes = [MergeComposite(get_pattern_table("old")), AnnotateTarget("old"), MergeCompilerRegions(), PartitionGraph()]
    assert len(functions_of(tvm.transform.Sequential(passes)(mod), "old")) == 1
    with pytest.raises(NotImplementedError, match="add-an-operator"):
        tvm.ir.register_op_attr("tanh", "FTVMCompute", lambda: None)
