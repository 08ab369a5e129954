"""Imports of StableHLO: networks that JAX printed, with its results (recorded/, by test/stablehlo/run.py --record),
forms of the text, problems with their places."""

import pathlib

import numpy as np
import pytest

import relay
from relay.frontend import from_stablehlo

RECORDED = pathlib.Path(__file__).parent / "recorded"
NAMES = sorted(path.stem for path in RECORDED.glob("*.mlir"))
# Relative to the largest value: float32 sums in another order than JAX's, and functions that differ by a few ULP.
CLOSE = 1e-5


def run(module, *args) -> list[np.ndarray]:
    found = relay.compile(module)(*args)
    return [np.asarray(one) for one in (found if isinstance(found, (tuple, list)) else [found])]


def main(body: str, args: str = "%x: tensor<3xf32>", result: str = "tensor<3xf32>") -> str:
    return f"module {{\n  func.func public @main({args}) -> {result} {{\n{body}\n  }}\n}}\n"


@pytest.mark.parametrize("name", NAMES)
def test_networks_of_jax(name):
    held = np.load(RECORDED / f"{name}.npz")
    found = run(from_stablehlo(RECORDED / f"{name}.mlir"), *(held[one] for one in held if one.startswith("in")))
    wanted = [held[one] for one in held if one.startswith("out")]
    assert len(found) == len(wanted) > 0
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=CLOSE, atol=CLOSE * np.abs(b).max())


def test_all_networks_are_recorded():
    assert {"cnn", "attention", "lstm_scan", "decode_step", "gradient"} <= set(NAMES)


def test_generic_form():
    text = """"builtin.module"() <{sym_name = "m"}> ({
      "func.func"() <{function_type = (tensor<2x3xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
      ^bb0(%arg0: tensor<2x3xf32>):
        %0 = "stablehlo.constant"() <{value = dense<1.5> : tensor<f32>}> : () -> tensor<f32>
        %1 = "stablehlo.reduce"(%arg0, %0) <{dimensions = array<i64: 1>}> ({
        ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
          %2 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
          "stablehlo.return"(%2) : (tensor<f32>) -> ()
        }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
        "func.return"(%1) : (tensor<2xf32>) -> ()
      }) : () -> ()
    }) : () -> ()
    """
    x = np.arange(6, dtype="float32").reshape(2, 3)
    [found] = run(from_stablehlo(text), x)
    np.testing.assert_array_equal(found, x.sum(1) + 1.5)


@pytest.mark.parametrize(
    "elements, type_, wanted",
    [
        ("dense<[[1, -2], [3, 4]]>", "tensor<2x2xi32>", [[1, -2], [3, 4]]),
        ('dense<"0x0000803F0000004000004040">', "tensor<3xf32>", [1, 2, 3]),
        ("dense<0x7F800000>", "tensor<2xf32>", [np.inf, np.inf]),
        ("dense<[true, false]>", "tensor<2xi1>", [True, False]),
        ("dense<[1.5, 0xC000]>", "tensor<2xf16>", [1.5, -2]),
        ("dense<>", "tensor<0xf32>", []),
    ],
)
def test_constants(elements, type_, wanted):
    text = main(f"%c = stablehlo.constant {elements} : {type_}\nreturn %c : {type_}", "", type_)
    [found] = run(from_stablehlo(text))
    np.testing.assert_array_equal(found, np.array(wanted, found.dtype))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_the_inverse_of_erf(dtype):
    special = pytest.importorskip("scipy.special")
    type_ = f"tensor<9x{dtype}>"
    body = f'%0 = "chlo.erf_inv"(%x) : ({type_}) -> {type_}\n    return %0 : {type_}'
    x = np.array([0, 1e-20, 1e-4, -0.3, 0.7, 0.99, -0.99999, 1 - 2.0 ** (-24 if dtype == "f32" else -53), -1])
    x = x.astype("float32" if dtype == "f32" else "float64")
    got = run(from_stablehlo(main(body, f"%x: {type_}", type_)), x)[0]
    np.testing.assert_allclose(got, special.erfinv(x.astype("float64")), rtol=1e-6 if dtype == "f32" else 1e-13)


def test_convolution_with_negative_padding():
    text = main(
        """%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
        window = {pad = [[-1, 1], [0, -2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x1x6x7xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x3xf32>
        return %0 : tensor<1x1x4x3xf32>""",
        "%x: tensor<1x1x6x7xf32>, %w: tensor<1x1x3x3xf32>",
        "tensor<1x1x4x3xf32>",
    )
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((1, 1, 6, 7), "float32"), rng.standard_normal((1, 1, 3, 3), "float32")
    [found] = run(from_stablehlo(text), x, w)
    held = np.pad(x[0, 0, 1:, :-2], [(0, 1), (0, 0)]).astype("float64")
    wanted = [[(held[i : i + 3, j : j + 3] * w[0, 0]).sum() for j in range(3)] for i in range(4)]
    np.testing.assert_allclose(found[0, 0], wanted, rtol=CLOSE, atol=CLOSE)


def test_reduction_with_a_function_of_its_own():
    """The last nonzero element along an axis: neither a sum nor a maximum."""
    text = main(
        """%zero = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %zero) across dimensions = [1] : (tensor<2x5xf32>, tensor<f32>) -> tensor<2xf32>
        reducer(%a: tensor<f32>, %b: tensor<f32>) {
          %nought = stablehlo.constant dense<0.0> : tensor<f32>
          %is = stablehlo.compare EQ, %b, %nought : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %1 = stablehlo.select %is, %a, %b : tensor<i1>, tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }
        return %0 : tensor<2xf32>""",
        "%x: tensor<2x5xf32>",
        "tensor<2xf32>",
    )
    with_last = np.array([[1, 0, 3, 0, 0], [0, 2, 0, 0, 5]], "float32")
    [found] = run(from_stablehlo(text), with_last)
    np.testing.assert_array_equal(found, [3, 5])  # the function is not commutative: the order must be kept


def test_loop_that_uses_values_from_around_it():
    text = main(
        """%n = stablehlo.constant dense<3> : tensor<i32>
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %y = stablehlo.add %x, %x : tensor<3xf32>
        %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<3xf32>
        cond {
          %0 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %0 : tensor<i1>
        } do {
          %one = stablehlo.constant dense<1> : tensor<i32>
          %0 = stablehlo.add %i, %one : tensor<i32>
          %1 = stablehlo.add %s, %y : tensor<3xf32>
          stablehlo.return %0, %1 : tensor<i32>, tensor<3xf32>
        }
        return %r#1 : tensor<3xf32>"""
    )
    [found] = run(from_stablehlo(text), np.array([1, 2, 3], "float32"))
    np.testing.assert_array_equal(found, [7, 14, 21])


def test_open_sizes():
    """The form in which JAX exports them: sizes are read from an input, computed, and given to dynamic operations."""
    text = main(
        """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
        %three = stablehlo.constant dense<3> : tensor<i32>
        %m = stablehlo.multiply %n, %three : tensor<i32>
        %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
        %y = stablehlo.dynamic_reshape %x, %s : (tensor<?x3xf32>, tensor<1xi32>) -> tensor<?xf32>
        %one = stablehlo.constant dense<1.0> : tensor<f32>
        %z = stablehlo.dynamic_broadcast_in_dim %one, %s, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
        %0 = stablehlo.add %y, %z : tensor<?xf32>
        return %0 : tensor<?xf32>""",
        "%x: tensor<?x3xf32>",
        "tensor<?xf32>",
    )
    model = relay.compile(from_stablehlo(text))
    for n in (1, 5):
        x = np.arange(3 * n, dtype="float32").reshape(n, 3)
        np.testing.assert_array_equal(model(x), x.reshape(-1) + 1)


PROBLEMS = {
    "a word that is missing": (main("%0 = stablehlo.add %x, %x tensor<3xf32>"), "R0402", 3, 33),
    "an unknown value": (main("%0 = stablehlo.add %x, %y : tensor<3xf32>\nreturn %0 : tensor<3xf32>"), "R0404", 3, 6),
    "an unknown operation": (main("%0 = stablehlo.fft %x : tensor<3xf32>\nreturn %0 : tensor<3xf32>"), "R0403", 3, 6),
    "a wrong type": (main("%0 = stablehlo.abs %x : tensor<4xf32>\nreturn %0 : tensor<4xf32>"), "R0403", 3, 6),
    "a missing attribute": (
        main("%0 = stablehlo.transpose %x : (tensor<3xf32>) -> tensor<3xf32>\nreturn %0 : tensor<3xf32>"), "R0403", 3, 6
    ),
    "a function that calls itself": (
        main("%0 = call @main(%x) : (tensor<3xf32>) -> tensor<3xf32>\nreturn %0 : tensor<3xf32>"), "R0404", 3, 6
    ),
    "a character": (main("%0 = `"), "R0402", 3, 6),
    "elements": (main('%c = stablehlo.constant dense<"0x00"> : tensor<3xf32>'), "R0402", 3, 25),
    "complex numbers": (main("return %x : tensor<3xf32>", "%x: tensor<3xcomplex<f32>>"), "R0403", 2, 3),
    "no end": (main("return %x : tensor<3xf32>")[:-5], "R0402", 4, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_have_places(name):
    text, code, line, column = PROBLEMS[name]
    with pytest.raises(relay.CompileError) as caught:
        from_stablehlo(text)
    [found] = caught.value.diagnostics
    assert (found.code, found.line, found.column) == (code, line, column), str(caught.value)
    assert found.help and f"<text>:{line}:{column}" in str(caught.value)


def test_every_missing_operation_is_named():
    text = main("""%0 = stablehlo.fft %x : tensor<3xf32>
    %1 = stablehlo.fft %0 : tensor<3xf32>
    %2 = stablehlo.custom_call @f(%1) : (tensor<3xf32>) -> tensor<3xf32>
    return %2 : tensor<3xf32>""")
    wanted = r"stablehlo.fft \(2 times, first in line 3\), .*custom_call @f \(line 5\)"
    with pytest.raises(relay.CompileError, match=wanted):
        from_stablehlo(text)


def test_deep_nesting_is_refused():
    with pytest.raises(relay.CompileError, match="100 levels of nesting"):
        from_stablehlo(main(f"%c = stablehlo.constant dense<{'[' * 200}1{']' * 200}> : tensor<1xf32>"))


def test_text_cut_anywhere():
    text = (RECORDED / "decode_step.mlir").read_text()
    for end in range(0, len(text) - 2, 97):
        with pytest.raises(relay.CompileError):
            from_stablehlo(text[:end] if "\n" in text[:end] else text[:end] + "\n")


def test_text_with_a_token_changed():
    """Drops, doubles or replaces a character anywhere: a module or a diagnostic, and never another exception."""
    text, rng = (RECORDED / "gradient.mlir").read_text(), np.random.default_rng(5)
    outcomes = set()
    for _ in range(60):
        at = int(rng.integers(0, len(text)))
        changed = text[:at] + str(rng.choice(list('%()<>[]{}x0,:#-"a '))) * int(rng.integers(0, 3)) + text[at + 1 :]
        try:
            from_stablehlo(changed)
            outcomes.add("module")
        except relay.CompileError:
            outcomes.add("diagnostic")
    assert outcomes == {"module", "diagnostic"}
