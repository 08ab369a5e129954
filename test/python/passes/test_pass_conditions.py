"""Conditions in the rows of passes: levels, arguments, functions that are left unchanged."""

import numpy as np
import pytest

import relay
from relay import transform

nn = relay.nn


def draw(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def groups(mod):
    return sum(line.count("Primitive=1") for line in str(mod).splitlines())


def chain():
    x = relay.var("x", shape=(2, 3))
    return relay.module(relay.exp(relay.sqrt(nn.relu(x))))


def test_the_level_of_fusion():
    mod = chain()
    assert groups(transform.FuseOps()(mod)) == 1 and groups(transform.FuseOps(0)(mod)) == 3
    with transform.PassContext(opt_level=0):
        assert groups(transform.FuseOps()(mod)) == 3  # -1 is the level of the context
        assert groups(transform.FuseOps(2)(mod)) == 1
    with transform.PassContext(config={"relay.FuseOps.max_depth": 2}):
        assert groups(transform.FuseOps()(mod)) == 2


def test_common_subexpressions_that_are_kept():
    x = relay.var("x", shape=(2, 3))
    mod = relay.module(relay.Tuple([relay.exp(x) + relay.exp(x), nn.relu(x) * nn.relu(x)]))
    seen = []

    def skip(call):
        seen.append(call.op.name)
        return call.op.name == "exp"

    kept = transform.EliminateCommonSubexpr(skip)(mod)
    assert relay.analysis.list_op_freqs(kept) == {"exp": 2, "add": 1, "nn.relu": 1, "multiply": 1}
    assert {"exp", "nn.relu"} <= set(seen)
    assert relay.analysis.list_op_freqs(transform.EliminateCommonSubexpr()(mod))["exp"] == 1


def optimised_and_not():
    text = """#[version = "0.0.5"]
    def @kept(%x: Tensor[(2), float32], SkipOptimization=1) -> Tensor[(2), float32] {
      add(multiply(exp(%x), 1f), divide(exp(%x), 4f))
    }
    def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { add(multiply(exp(%x), 1f), @kept(%x)) }"""
    return relay.parse(text)


@pytest.mark.parametrize("name", ["SimplifyExpr", "EliminateCommonSubexpr", "DivToMul", "FastMath"])
def test_functions_that_skip_optimisation(name):
    mod = transform.InferType()(optimised_and_not())
    after = getattr(transform, name)()(mod)
    assert after["kept"] == mod["kept"]
    if name in ("SimplifyExpr", "FastMath"):
        assert after["main"] != mod["main"]


def test_functions_that_skip_optimisation_run():
    """Passes that are needed to run a program are applied to them all the same."""
    np.testing.assert_allclose(relay.compile(optimised_and_not())(draw(2)), np.exp(draw(2)) * 2.25, rtol=1e-5)
    changed = transform.function_pass(lambda f, mod, ctx: relay.Function(f.params, f.params[0]), opt_level=0)
    after = changed(optimised_and_not())
    assert isinstance(after["main"].body, relay.Var) and not isinstance(after["kept"].body, relay.Var)


def test_entry_functions():
    text = '#[version = "0.0.5"]\ndef @f(%x: int32) -> int32 { @g(%x) } def @g(%x: int32) -> int32 { %x }'
    mod = relay.parse(text + " def @h(%x: int32) -> int32 { %x } def @main(%x: int32) -> int32 { @h(%x) }")
    left = lambda *names: {v.name_hint for v in transform.RemoveUnusedFunctions(*names)(mod).functions}  # noqa: E731
    assert left() == {"main", "h"} and left(["f"]) == {"f", "g"} and left(["f", "main"]) == {"f", "g", "h", "main"}


def test_required_passes_come_first():
    seen = []

    @relay.transform.pass_instrument
    class Watch:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    x = relay.var("x", shape=(2,))
    with transform.PassContext(opt_level=3, instruments=[Watch()]):
        transform.Sequential([transform.FakeQuantizationToInteger()])(relay.module(x / relay.const(4.0)))
    assert seen == ["sequential", "DivToMul", "FakeQuantizationToInteger"]


def test_labels_of_groups():
    fused = transform.FuseOps()(chain())
    label = lambda mod: mod["main"].body.op.attrs.get("hash")  # noqa: E731
    assert label(fused) is None and label(transform.LabelOps()(fused)) == label(transform.LabelOps()(fused))


def test_buckets_of_some_parameters():
    """Only the parameters of input_indices have the axis; a sum over it is right with the padding's value."""
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(3,))
    mod = relay.IRModule.from_expr(relay.Function([x, w], relay.max(x * w, axis=[0])))
    many = transform.FlexibleShapeDispatch(
        [2, 4], auto_pad=True, pad_value=-100.0, input_indices=[0], affects_output=False
    )(mod)
    assert [str(p.checked_type) for p in many["main"].params] == ["Tensor[(?, 3), float32]", "Tensor[(3), float32]"]
    for n in (2, 3, 4):
        a, b = draw(n, 3), np.abs(draw(3))
        np.testing.assert_allclose(relay.evaluate(many, [a, b]), (a * b).max(axis=0), rtol=1e-6)


def test_names_of_partitions():
    x = relay.var("x", shape=(2,))
    begin, end = relay.op.annotation.compiler_begin, relay.op.annotation.compiler_end
    mod = relay.module(end(relay.exp(begin(x, "other")), "other"))
    names = [v.name_hint for v in transform.PartitionGraph(mod_name="mine")(mod).functions]
    assert "tvmgen_mine_other_main_0" in names
