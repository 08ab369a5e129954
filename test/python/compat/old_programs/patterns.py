"""The pattern language: matching, rewriting and partitioning."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import (
    DFPatternCallback,
    TupleGetItemPattern,
    TuplePattern,
    WildcardPattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    partition,
    rewrite,
    wildcard,
)
from tvm.relay.testing import run_opt_pass

BATCH_NORM = 5


def test_leaves():
    x, y = relay.var("x"), relay.var("y")
    assert is_var("x").match(x) and not is_var("x").match(y) and is_var().match(y)
    assert is_constant().match(relay.const(1)) and not is_constant().match(x)
    assert wildcard().match(x) and isinstance(wildcard(), WildcardPattern)
    assert is_expr(x).match(x) and not is_expr(x).match(y)
    assert is_expr(relay.const(2.0)).match(relay.const(2.0))
    assert is_op("add").match(relay.op.get("add")) and not is_op("add").match(relay.op.get("multiply"))


def test_calls():
    x, y = relay.var("x"), relay.var("y")
    add = is_op("add")(is_var("x"), is_var("y"))
    assert add.match(x + y) and add.match(y + x)  # the operands of a sum in any order
    assert not add.match(x + x) and not add.match(x * y)
    minus = is_op("subtract")(is_var("x"), is_var("y"))
    assert minus.match(x - y) and not minus.match(y - x)
    assert is_op("add")(wildcard(), wildcard()).match(x + y)
    assert not is_op("nn.relu")(wildcard(), wildcard()).match(relay.nn.relu(x))
    assert (is_var("x") + is_var("y")).match(x + y) and (is_var("x") / is_var("y")).match(x / y)
    assert (is_var("x") * is_var("y")).match(y * x) and not (is_var("x") - is_var("y")).match(y - x)


def test_products_and_quotients_associate():
    x, y, z = (relay.var(name) for name in "xyz")
    pattern = is_op("multiply")(wildcard(), is_op("divide")(wildcard(), is_var("z")))
    assert pattern.match(x * (y / z)) and pattern.match((x * y) / z)


def test_alternatives_and_optional_parts():
    x, y = relay.var("x"), relay.var("y")
    either = is_op("add")(wildcard(), wildcard()) | is_op("subtract")(wildcard(), wildcard())
    assert either.match(x + y) and either.match(x - y) and not either.match(x * y)
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    pattern = conv.optional(lambda e: is_op("nn.bias_add")(e, wildcard())).optional(lambda e: is_op("nn.relu")(e))
    w, b = relay.var("w"), relay.var("b")
    plain = relay.nn.conv2d(x, w)
    for found in (plain, relay.nn.bias_add(plain, b), relay.nn.relu(relay.nn.bias_add(plain, b)), relay.nn.relu(plain)):
        assert pattern.match(found)
    assert not pattern.match(relay.nn.relu(relay.tanh(plain)))


def test_tuples():
    x, y, z = (relay.var(name) for name in "xyz")
    pair = is_tuple((is_var("x"), wildcard()))
    assert isinstance(pair, TuplePattern)
    assert pair.match(relay.Tuple((x, y))) and not pair.match(relay.Tuple((y, x)))
    assert not pair.match(relay.Tuple((x, y, z)))
    assert is_tuple(None).match(relay.Tuple((x, y, z))) and is_tuple(None).match(relay.Tuple([]))
    first = is_tuple_get_item(is_tuple(None), 0)
    assert isinstance(first, TupleGetItemPattern)
    assert first.match(relay.TupleGetItem(relay.Tuple((x, y)), 0))
    assert not first.match(relay.TupleGetItem(relay.Tuple((x, y)), 1))
    assert is_tuple_get_item(wildcard()).match(relay.TupleGetItem(relay.Tuple((x, y)), 1))


def test_branches_and_bindings():
    x, y = relay.var("x"), relay.var("y")
    chosen = is_if(is_op("less")(is_var("x"), is_var("y")), is_var("x"), is_var("y"))
    assert chosen.match(relay.If(x < y, x, y)) and not chosen.match(relay.If(x > y, x, y))
    a = relay.Var("a")
    bound = is_let(is_var("a"), is_op("exp")(wildcard()), wildcard())
    assert bound.match(relay.Let(a, relay.exp(x), a)) and not bound.match(relay.Let(a, relay.tanh(x), a))


def test_types_shapes_and_elements():
    x = relay.var("x", shape=(10, 10), dtype="float32")
    assert has_type(relay.TensorType((10, 10), "float32")).match(x)
    assert not has_type(relay.TensorType((10, 10), "float16")).match(x)
    assert has_dtype("float32").match(x) and not has_dtype("int8").match(x)
    assert has_shape((10, 10)).match(x) and not has_shape((10, 1)).match(x)
    y = relay.nn.relu(x)
    assert (
        is_op("nn.relu")(has_shape((10, 10))).has_dtype("float32").match(run_opt_pass(y, relay.transform.InferType()))
    )


def test_attributes():
    x, w = relay.var("x"), relay.var("w")
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    found = relay.nn.conv2d(x, w, strides=(2, 2), data_layout="NHWC")
    assert conv.has_attr({"data_layout": "NHWC"}).match(found) and not conv.has_attr({"data_layout": "NCHW"}).match(
        found
    )
    assert conv.has_attr({"strides": [2, 2]}).match(found)
    assert not conv.has_attr({"no_such": 1}).match(found)
    assert has_attr({"TOpPattern": 0}).match(relay.op.get("nn.relu"))
    f = relay.Function([x], x).with_attr("Composite", "a.b")
    assert wildcard().has_attr({"Composite": "a.b"}).match(f) and not wildcard().has_attr({"Composite": "c"}).match(f)


def test_a_pattern_that_is_used_twice_is_one_value():
    x, y = relay.var("x"), relay.var("y")
    one = wildcard()
    assert (one + one).match(x + x) and not (one + one).match(x + y)
    assert is_op("add")(wildcard(), wildcard()).match(x + y)


def test_dominators():
    x, w = relay.var("x"), relay.var("w")
    conv = relay.nn.conv2d(x, w)
    diamond = relay.nn.relu(conv) + relay.nn.leaky_relu(conv, alpha=0.1)
    parent = is_op("nn.conv2d")(wildcard(), wildcard())
    path = is_op("nn.relu")(wildcard()) | is_op("nn.leaky_relu")(wildcard())
    child = is_op("add")(wildcard(), wildcard())
    assert dominates(parent, path, child).match(diamond)
    assert child.dominates(parent, path).match(diamond)
    assert not dominates(parent, is_op("nn.relu")(wildcard()), child).match(diamond)
    outside = relay.nn.relu(conv) + relay.nn.leaky_relu(x, alpha=0.1)  # a way that does not lead to it
    assert not dominates(parent, path, child).match(outside)


class AddToMinus(DFPatternCallback):
    def __init__(self, **settings):
        super().__init__(**settings)
        self.x, self.y = wildcard(), wildcard()
        self.pattern = is_op("add")(self.x, self.y)

    def callback(self, pre, post, node_map):
        return node_map[self.x][0] - node_map[self.y][0]


def test_rewriting():
    x, y = relay.var("x"), relay.var("y")
    tvm.ir.assert_structural_equal(rewrite(AddToMinus(), relay.exp(x + y)), relay.exp(x - y))
    tvm.ir.assert_structural_equal(rewrite(AddToMinus(), x * y), x * y)
    f = relay.Function([x, y], (x + y) * (y + x))
    tvm.ir.assert_structural_equal(rewrite(AddToMinus(), f), relay.Function([x, y], (x - y) * (y - x)))


def test_rewriting_to_a_fixed_point_or_once():
    class TwoToOne(DFPatternCallback):
        def __init__(self, **settings):
            super().__init__(**settings)
            self.inner = wildcard()
            self.pattern = is_op("abs")(is_op("abs")(self.inner))

        def callback(self, pre, post, node_map):
            return relay.abs(node_map[self.inner][0])

    x = relay.var("x")
    tall = x
    for _ in range(5):
        tall = relay.abs(tall)
    tvm.ir.assert_structural_equal(rewrite(TwoToOne(), tall), relay.abs(x))

    class Wrap(DFPatternCallback):
        def __init__(self, **settings):
            super().__init__(**settings)
            self.pattern = is_op("exp")(wildcard())

        def callback(self, pre, post, node_map):
            return relay.tanh(post)

    once = rewrite(Wrap(rewrite_once=True), relay.exp(x))
    tvm.ir.assert_structural_equal(once, relay.tanh(relay.exp(x)))


def test_several_rewrites_at_once():
    class MinusToTimes(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x, self.y = wildcard(), wildcard()
            self.pattern = is_op("subtract")(self.x, self.y)

        def callback(self, pre, post, node_map):
            return node_map[self.x][0] * node_map[self.y][0]

    x, y = relay.var("x"), relay.var("y")
    tvm.ir.assert_structural_equal(rewrite([AddToMinus(), MinusToTimes()], x + y), x * y)


def test_rewrites_that_ask_for_types():
    seen = []

    class Shapes(DFPatternCallback):
        def __init__(self):
            super().__init__(require_type=True)
            self.pattern = is_op("nn.relu")(wildcard())

        def callback(self, pre, post, node_map):
            seen.append(tuple(int(d) for d in pre.checked_type.shape))
            return post

    x = relay.var("x", shape=(2, 3))
    rewrite(Shapes(), relay.nn.relu(relay.transpose(x)))
    assert seen and set(seen) == {(3, 2)}


def test_a_batch_norm_that_is_written_out():
    """gamma * (x - mean) / sqrt(var + eps) + beta, whatever side its factors are on."""
    x, var, mean, beta, gamma = (relay.var(n, shape=(4,)) for n in ("x", "var", "mean", "beta", "gamma"))
    p = [wildcard() for _ in range(BATCH_NORM)]
    eps = is_constant()
    pattern = p[4] * (p[0] - p[2]) / is_op("sqrt")(p[1] + eps) + p[3]
    written = gamma * (x - mean) / relay.sqrt(var + relay.const(1e-5)) + beta
    assert pattern.match(written)
    assert not pattern.match(gamma * (x + mean) / relay.sqrt(var + relay.const(1e-5)) + beta)

    class Whole(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.pattern = pattern

        def callback(self, pre, post, node_map):
            parts = [node_map[one][0] for one in p]
            step = node_map[eps][0].data.numpy().item()
            return relay.op.nn.batch_norm(parts[0], parts[4], parts[3], parts[2], parts[1], epsilon=step)[0]

    found = rewrite(Whole(), written)
    expected = relay.op.nn.batch_norm(x, gamma, beta, mean, var, epsilon=np.float32(1e-5).item())[0]
    tvm.ir.assert_structural_equal(found, expected)


def test_partitions():
    x, w, b = (relay.var(name) for name in "xwb")
    pattern = is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard()))
    found = pattern.partition(relay.exp(relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w), b))))
    function = found.args[0].op
    assert isinstance(function, relay.Function) and len(found.args[0].args) == 3
    assert function.attrs["PartitionedFromPattern"] == "nn.conv2d_nn.bias_add_nn.relu_"
    named = partition(pattern, relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w), b)), {"Composite": "one"})
    assert named.op.attrs["Composite"] == "one"
    refused = pattern.partition(relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w), b)), check=lambda expr: False)
    assert isinstance(refused.op, tvm.ir.Op)


def test_partitions_do_not_overlap():
    x = relay.var("x")
    two = is_op("exp")(is_op("exp")(wildcard()))
    tall = relay.exp(relay.exp(relay.exp(relay.exp(x))))
    found = two.partition(tall)
    assert isinstance(found.op, relay.Function) and isinstance(found.args[0].op, relay.Function)
    shared = relay.exp(x)  # read outside of the match: it stays apart
    kept = two.partition(relay.Tuple([relay.exp(shared), shared]))
    assert isinstance(kept.fields[0].op, tvm.ir.Op)


def test_patterns_of_another_kind_are_refused():
    with pytest.raises((TypeError, ValueError, tvm.TVMError)):
        is_op("no.such.operator")
