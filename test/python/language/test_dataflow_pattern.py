"""Patterns in Python: matching, rewriting, partitioning, and the same names under relay.compat."""

import pytest
from relay.dataflow_pattern import (
    DFPatternCallback,
    FunctionPattern,
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

import relay

X = relay.var("x", shape=(1, 3, 8, 8))
W = relay.var("w", shape=(3, 3, 3, 3))
CONV = relay.nn.conv2d(X, W, padding=(1, 1))


def test_kinds():
    assert is_var("x").match(X) and not is_var("y").match(X)
    assert is_constant().match(relay.const(1.0)) and not is_constant().match(X)
    assert is_expr(X).match(X) and not is_expr(X).match(W)
    assert is_op("nn.conv2d")(is_var("x"), wildcard()).match(CONV)
    assert not is_op("nn.conv2d")(wildcard()).match(CONV)
    assert is_op("nn.conv2d")(None).match(CONV)
    pair = relay.Tuple([X, W])
    assert is_tuple([is_var("x"), is_var("w")]).match(pair) and is_tuple().match(pair)
    assert is_tuple_get_item(wildcard(), 1).match(relay.TupleGetItem(pair, 1))
    assert not is_tuple_get_item(wildcard(), 0).match(relay.TupleGetItem(pair, 1))
    assert is_if(is_var(), is_var("x"), is_var("w")).match(relay.If(relay.var("c", shape=(), dtype="bool"), X, W))
    a = relay.var("a")
    assert is_let(is_var("a"), is_op("nn.relu")(wildcard()), is_var("a")).match(relay.Let(a, relay.nn.relu(X), a))
    assert FunctionPattern([is_var(), is_var()], wildcard()).match(relay.Function([X, W], CONV))
    assert FunctionPattern(None, wildcard()).match(relay.Function([X, W], CONV))
    assert not FunctionPattern([is_var()], wildcard()).match(relay.Function([X, W], CONV))


def test_operators():
    a, b = is_var("x"), is_constant()
    one = relay.const(1.0)
    assert (a + b).match(X + one) and (a + b).match(one + X)
    assert (a - b).match(X - one) and not (a - b).match(one - X)
    assert (a * b).match(one * X) and (a / b).match(X / one)
    assert (a | b).match(one) and (a | b).match(X) and not (a | b).match(W)


def test_conditions():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    assert conv.has_attr({"padding": [1, 1]}).match(CONV)
    assert not conv.has_attr({"groups": 2}).match(CONV)
    assert not conv.has_attr({"no_such": 2}).match(CONV)
    assert has_dtype("float32").match(CONV) and not has_dtype("int8").match(CONV)
    assert has_shape((1, 3, 8, 8)).match(CONV) and not has_shape((1, 3, 8)).match(CONV)
    assert has_type(relay.TensorType((1, 3, 8, 8), "float32")).match(CONV)
    assert has_attr({"TOpPattern": 0}).match(relay.nn.relu(X).op)
    assert has_attr({"Composite": "c"}).match(relay.Function([X], X).with_attr("Composite", "c"))
    assert conv.where(lambda e: e.args[0] is X).match(CONV)
    assert not conv.where(lambda e: e.args[0] is W).match(CONV)


def test_optional():
    pattern = is_op("nn.conv2d")(wildcard(), wildcard()).optional(lambda c: is_op("nn.relu")(c))
    assert pattern.match(CONV) and pattern.match(relay.nn.relu(CONV))
    assert not pattern.match(relay.exp(CONV))


def test_dominators():
    elementwise = wildcard().has_attr({"TOpPattern": 0})(None)
    pattern = dominates(is_op("nn.conv2d")(wildcard(), wildcard()), elementwise, is_op("add")(wildcard(), wildcard()))
    assert pattern.match(relay.nn.relu(CONV) + relay.exp(relay.nn.relu(CONV)))
    assert not pattern.match(relay.nn.relu(CONV) + X)
    lifted = pattern.partition(relay.nn.relu(CONV) + relay.exp(CONV))
    assert isinstance(lifted.op, relay.Function) and list(lifted.args) == [X, W]


class BatchNorm(DFPatternCallback):
    """gamma * (x - mean) / sqrt(variance + eps) + beta"""

    def __init__(self):
        super().__init__()
        self.x, self.variance, self.mean = wildcard(), wildcard(), wildcard()
        self.gamma, self.beta, self.eps = wildcard(), wildcard(), is_constant()
        root = is_op("sqrt")(self.variance + self.eps)
        self.pattern = self.gamma * (self.x - self.mean) / root + self.beta

    def callback(self, pre, post, node_map):
        get = [node_map[p][0] for p in (self.x, self.gamma, self.beta, self.mean, self.variance)]
        eps = float(node_map[self.eps][0].data.numpy())
        return relay.TupleGetItem(relay.nn.batch_norm(*get, epsilon=eps), 0)


def test_rewrite_of_a_batch_norm():
    x = relay.var("x", shape=(2, 3))
    gamma, beta, mean, variance = (relay.var(n, shape=(3,)) for n in ("gamma", "beta", "mean", "variance"))
    expr = gamma * (x - mean) / relay.sqrt(variance + relay.const(0.5)) + beta
    out = rewrite(BatchNorm(), expr)
    assert out.tuple_value.op.name == "nn.batch_norm"
    assert list(out.tuple_value.args) == [x, gamma, beta, mean, variance]
    assert out.tuple_value.attrs.epsilon == 0.5
    other = gamma * (x - mean) / relay.exp(variance + relay.const(0.5)) + beta
    assert rewrite(BatchNorm(), other) is other


class Count(DFPatternCallback):
    def __init__(self, **named):
        super().__init__(**named)
        self.pattern = is_op("nn.relu")(wildcard())
        self.seen = []

    def callback(self, pre, post, node_map):
        self.seen.append(pre)
        return relay.nn.relu(post)


def test_rewrite_once_and_without_end():
    count = Count(rewrite_once=True)
    out = rewrite(count, relay.nn.relu(X))
    assert relay.analysis.structural_equal(out, relay.nn.relu(relay.nn.relu(X))) and len(count.seen) == 1
    with pytest.raises(relay.CompileError, match="expressions from 3 in"):
        rewrite(Count(), relay.nn.relu(X))

    class Swap(Count):
        def __init__(self):
            super().__init__()
            self.pattern = wildcard() + wildcard()

        def callback(self, pre, post, node_map):
            return post.args[1] + post.args[0]

    with pytest.raises(relay.CompileError, match="after 100 sweeps"):
        rewrite(Swap(), X + W)


def test_types_on_demand():
    class Typed(Count):
        def callback(self, pre, post, node_map):
            assert pre.checked_type == relay.TensorType((1, 3, 8, 8), "float32")
            return node_map[self.pattern][0].args[0]

    assert rewrite(Typed(require_type=True), relay.nn.relu(X)) is X


def test_several_rules():
    class Exp(Count):
        def __init__(self):
            super().__init__()
            self.inside = wildcard()
            self.pattern = is_op("exp")(self.inside)

        def callback(self, pre, post, node_map):
            return relay.tanh(node_map[self.inside][0])

    class Drop(Count):
        def callback(self, pre, post, node_map):
            return post.args[0]

    out = rewrite([Exp(), Drop()], relay.nn.relu(relay.exp(relay.nn.relu(X))))
    assert relay.analysis.structural_equal(out, relay.tanh(X), True)
    with pytest.raises(ValueError, match="has no pattern"):
        rewrite(DFPatternCallback(), X)


def test_partition():
    pattern = is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), wildcard()))
    expr = relay.nn.relu(CONV) + X
    out = partition(pattern, expr, {"Composite": "conv_relu"})
    function = out.args[0].op
    assert dict(function.attrs) == {"Composite": "conv_relu", "PartitionedFromPattern": "nn.conv2d_nn.relu_"}
    module = relay.transform.InferType()(relay.IRModule.from_expr(out))
    assert module["main"].ret_type == relay.TensorType((1, 3, 8, 8), "float32")
    assert pattern.partition(expr, check=lambda e: False) is expr
    used_twice = relay.Tuple([relay.nn.relu(CONV), CONV])
    assert pattern.partition(used_twice) is used_twice


def test_constants_are_embedded_or_passed():
    two = relay.const(2.0)
    embedded = is_op("add")(wildcard(), is_constant()).partition(X + two)
    assert list(embedded.args) == [X]
    passed = is_op("subtract")(wildcard(), wildcard()).partition(X - two)
    assert list(passed.args) == [X, two]


def test_deep_programs():
    expr = X
    for _ in range(100_000):
        expr = relay.nn.relu(expr)

    class Drop(Count):
        def callback(self, pre, post, node_map):
            return post.args[0]

    assert rewrite(Drop(), expr) is X


def test_redirected_wildcards_repeat():
    again, dense = wildcard(), is_op("nn.conv2d")(wildcard(), wildcard())
    chain = is_op("exp")(again)
    again.redirect_to(chain | dense)
    expr = CONV
    for _ in range(5):
        expr = relay.exp(expr)

    class Last(Count):
        def __init__(self):
            super().__init__(rewrite_once=True)
            self.pattern = chain

        def callback(self, pre, post, node_map):
            assert len(node_map[chain]) == 5 and node_map[dense] == [CONV]
            return relay.nn.relu(post)

    assert relay.analysis.structural_equal(rewrite(Last(), expr), relay.nn.relu(expr))
    assert not chain.match(relay.exp(X))
    with pytest.raises(relay.CompileError, match="without end"):
        again.redirect_to(again | chain)


def test_what_a_callback_may_give():
    class Nothing(Count):
        def callback(self, pre, post, node_map):
            return None

    with pytest.raises(TypeError, match="returned NoneType, not an expression"):
        rewrite(Nothing(), relay.nn.relu(X))

    class Foreign(Count):
        def callback(self, pre, post, node_map):
            return node_map[wildcard()][0]

    with pytest.raises(KeyError, match="no such WildcardPattern"):
        rewrite(Foreign(), relay.nn.relu(X))


def test_what_needs_types_and_has_none():
    with pytest.raises(relay.CompileError):
        has_dtype("float32").match(relay.nn.relu(relay.var("untyped")))
    a = relay.var("a")
    let = relay.Let(a, relay.exp(X), relay.nn.relu(a))  # inside, %a has the type of its value
    assert is_op("nn.relu")(wildcard()).has_dtype("float32").partition(let) != let


def test_the_names_of_tvm():
    import relay.compat  # noqa: F401
    from tvm.relay.dataflow_pattern import DFPatternCallback as Callback
    from tvm.relay.dataflow_pattern import is_op as theirs

    assert Callback is DFPatternCallback and theirs("nn.relu")(wildcard()).match(relay.nn.relu(X))
