"""Exports to StableHLO: programs that go out and come in again give the same results (XLA runs them in make
test-stablehlo); the text of a small one; problems."""

import math
import pathlib

import numpy as np
import pytest

import relay
from relay import op
from relay.frontend import from_stablehlo

RECORDED = pathlib.Path(__file__).parent / "recorded"
NETWORKS = sorted(path.stem for path in RECORDED.glob("*.mlir"))


def run(module, *args) -> list[np.ndarray]:
    found = relay.compile(module)(*args)
    return [np.asarray(one) for one in (found if isinstance(found, (tuple, list)) else [found])]


def test_text_of_a_program():
    x = relay.var("x", shape=(2, 3))
    text = relay.to_stablehlo(relay.Function([x], op.nn.relu(x)))
    assert (
        text
        == """module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = "stablehlo.constant"() <{value = dense<0x00000000> : tensor<f32>}> : () -> (tensor<f32>)
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> (tensor<2x3xf32>)
    %2 = "stablehlo.maximum"(%arg0, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>)
    "func.return"(%2) : (tensor<2x3xf32>) -> ()
  }
}
"""
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_go_out_and_come_in(name):
    held = np.load(RECORDED / f"{name}.npz")
    args = [held[one] for one in held if one.startswith("in")]
    module = from_stablehlo(RECORDED / f"{name}.mlir")
    again = from_stablehlo(relay.to_stablehlo(module))
    for a, b in zip(run(again, *args), [held[one] for one in held if one.startswith("out")], strict=True):
        # Relative to the largest value: float32 sums in another order.
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * np.abs(b).max())


def test_functions_keep_their_digits():
    x, y = relay.var("x", shape=[8]), relay.var("y", shape=[8])
    module = from_stablehlo(relay.to_stablehlo(relay.Function([x, y], op.floor_divide(x, y))))
    a, b = np.array([[1, 0.1], [-1, 0.1], [6, 0.6], [7, -2], [-7, 0], [5, np.inf], [-5, np.inf], [0, 3]], "float32").T
    wanted = [9, -10, 9, -4, -np.inf, 0, -1, 0]  # float32(0.1) is a little above 0.1, float32(0.6) too
    np.testing.assert_array_equal(run(module, a.copy(), b.copy())[0], wanted)
    module = from_stablehlo(relay.to_stablehlo(relay.Function([x], op.nn.gelu(x))))
    a = np.array([-12, -8, -6, -5, -1, 0, 1, 9], "float32")
    exact = [v / 2 * math.erfc(-v / math.sqrt(2)) for v in a.tolist()]
    np.testing.assert_allclose(run(module, a)[0], exact, rtol=2e-5)


def test_halves_are_rounded_at_the_end():
    x, weight = relay.var("x", shape=(2, 8), dtype="float16"), relay.var("w", shape=[8], dtype="float16")
    data = np.array([[300] * 8, [-6000, 6000] * 4], "float16")
    for body, wanted in (
        (op.nn.rms_norm(x, weight), np.sign(data)),
        (op.mean(op.multiply(x, relay.const(np.float16(100))), axis=[1]), [30000, np.nan]),
        (op.variance(op.multiply(x, relay.const(np.float16(0.03125))), axis=[1]), [0, 187.5**2]),
    ):
        module = from_stablehlo(relay.to_stablehlo(relay.Function([x, weight], body)))
        np.testing.assert_allclose(run(module, data, np.ones(8, "float16"))[0], wanted, rtol=1e-3)


def test_a_loop_becomes_while():
    n, x = relay.var("n", shape=[], dtype="int32"), relay.var("x", shape=[3])
    loop = relay.while_loop(lambda i, s: i < relay.const(4), [n, x], lambda i, s: [i + relay.const(1), s + s])
    text = relay.to_stablehlo(relay.Function([n, x], relay.TupleGetItem(loop(n, x), 1)))
    assert text.count('"stablehlo.while"') == 1
    given = np.array([1, 2, 3], "float32")
    np.testing.assert_array_equal(run(from_stablehlo(text), np.int32(1), given)[0], given * 8)


def test_a_branch_becomes_if():
    p, x = relay.var("p", shape=[], dtype="bool"), relay.var("x", shape=[3])
    text = relay.to_stablehlo(relay.Function([p, x], relay.If(p, op.exp(x), op.negative(x))))
    assert text.count('"stablehlo.if"') == 1
    given = np.array([1, 2, 3], "float32")
    np.testing.assert_array_equal(run(from_stablehlo(text), np.array(False), given)[0], -given)


def test_recursion_that_is_no_loop_is_refused():
    text = """#[version = "0.0.5"]
def @f(%n: int32) -> int32 { if (less(%n, 1)) { 1 } else { multiply(%n, @f(subtract(%n, 1))) } }
def @main(%n: int32) { @f(%n) }"""
    with pytest.raises(relay.CompileError, match="is not a loop"):
        relay.to_stablehlo(relay.parse(text))


def test_operators_without_a_form_are_named():
    x = relay.var("x", shape=(1, 2, 4, 4))
    with pytest.raises(relay.CompileError, match=r"without a form in StableHLO: nn.lrn \(2 times\)"):
        relay.to_stablehlo(relay.Function([x], op.nn.lrn(op.nn.lrn(x))))


def test_open_sizes_are_refused():
    x = relay.var("x", shape=("n", 2))
    with pytest.raises(relay.CompileError, match="a size is open"):
        relay.to_stablehlo(relay.Function([x], op.exp(x)))
