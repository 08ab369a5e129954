"""Functions of one byte as tables, and the constants of quantised tensors that are refused."""

import numpy as np
import pytest
from programs import cli, fails

import relay

FUNCTIONS = {
    "tanh": "tanh(%r)",
    "sigmoid": "sigmoid(%r)",
    "silu": "multiply(%r, sigmoid(%r))",
    "gelu": "multiply(multiply(%r, 0.5f), add(erf(multiply(%r, 0.70710677f)), 1f))",
    "hard-swish": "divide(multiply(%r, clip(add(%r, 3f), a_min=0, a_max=6)), 6f)",
    "a dequantised constant": "erf(add(%r, qnn.dequantize(meta[relay.Constant][0], 0.5f, 1)))",
    "two steps": "qnn.dequantize(qnn.quantize(exp(%r), 0.05f, -128, round_first=True), 0.05f, -128)",
}


def optimised(module):
    """The text of the module after all passes, without its constants."""
    return relay.build_module.optimize(module)[0].astext().split("#[metadata]")[0]


def text_of(function, dtype, shape):
    zero = 3 if dtype == "int8" else 131
    return f"""#[version = "0.0.5"]
def @main(%x: Tensor[{shape}, {dtype}]) {{
  let %r = qnn.dequantize(%x, 0.04f, {zero});
  qnn.quantize({function}, 0.03f, {zero}, out_dtype="{dtype}", round_first=True)
}}

#[metadata]
{{"relay.Constant": [{{"shape": [1], "dtype": "uint8", "values": [2]}}]}}
"""


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_a_byte_is_a_table(name, dtype):
    """No float operator is left, and all 256 values are those of the operators themselves."""
    module = relay.parse(text_of(FUNCTIONS[name], dtype, (2, 1, 128)))
    x = np.arange(256).astype("uint8").view(dtype).reshape(2, 1, 128)
    expected = relay.evaluate(module, [x])
    assert len(np.unique(expected)) > 30
    model = relay.compile(module, strict=True)
    np.testing.assert_array_equal(model(x), expected)
    after = optimised(module)
    assert "take(" in after and "float32" not in after, after


@pytest.mark.parametrize("target", ["native", "native,-avx512f", "x86-64-v2"])
def test_lengths(target):
    """Rows of any length: whole vectors, a rest, one element, and an unknown length."""
    rng = np.random.default_rng(0)
    for shape in [(1,), (31,), (64,), (65,), (3, 21), (2, 5, 33), "(n, 7)"]:
        module = relay.parse(text_of(FUNCTIONS["silu"], "uint8", shape))
        x = rng.integers(0, 256, (9, 7) if isinstance(shape, str) else shape).astype("uint8")
        np.testing.assert_array_equal(relay.compile(module, target=target)(x), relay.evaluate(module, [x]))


def test_tables_are_read_by_permutations(tmp_path):
    """x86 permutes bytes in registers: a vector of bytes takes 16 permutations, and no conversion to floats."""
    path = tmp_path / "gelu.relay"
    path.write_text(text_of(FUNCTIONS["gelu"], "uint8", (64, 1024)))
    for target, register in [("zen3", "ymm"), ("zen4", "zmm"), ("x86-64-v2", "xmm")]:
        assembly = cli("opt", path, "--emit", "asm", "--target", target).stdout
        lines = [line for line in assembly.splitlines() if "pshufb" in line and register in line]
        assert len(lines) >= 16 and "cvtdq2ps" not in assembly, (target, assembly)


def test_only_one_byte_has_a_table():
    """A sum of two tensors, a scale for each channel, and a reduction stay in floats. The report names them."""
    module = relay.parse("""#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), int8], %y: Tensor[(2, 3), int8], %s: Tensor[(3), float32]) {
  %0 = tanh(add(qnn.dequantize(%x, 0.1f, 0), qnn.dequantize(%y, 0.1f, 0)));
  %1 = tanh(qnn.dequantize(%x, %s, 0, axis=1));
  %2 = nn.softmax(qnn.dequantize(%x, 0.1f, 0));
  (qnn.quantize(%0, 0.1f, 0), qnn.quantize(%1, 0.1f, 0), qnn.quantize(%2, 0.1f, 0))
}
""")
    assert "take(" not in optimised(module)
    (note,) = [note for note in relay.compile(module).report["notes"] if "in floats" in note]
    assert note == (
        "computed in floats between integers: add (1 call, integers would be rounded twice); nn.softmax (1 call, "
        "integers would be rounded twice); tanh (2 calls, integers would be rounded twice)"
    )


BAD = {
    "qnn.quantize(%f, 0f, 0)": "output_scale of qnn.quantize is 0, but must be a finite number other than 0",
    "qnn.quantize(%f, nanf, 0)": "output_scale of qnn.quantize is nan",
    "qnn.quantize(%f, 0.1f, 128)": "output_zero_point of qnn.quantize is 128, but must be from -128 to 127",
    'qnn.quantize(%f, 0.1f, -1, out_dtype="uint8")': "must be from 0 to 255, as the integers of uint8",
    "qnn.dequantize(%x, inff, 0)": "input_scale of qnn.dequantize is inf",
    "qnn.dequantize(%x, 0.1f, -129)": "input_zero_point of qnn.dequantize is -129, but must be from -128 to 127",
    "qnn.requantize(%x, 0.1f, 0, 0f, 0)": "output_scale of qnn.requantize is 0",
    "qnn.requantize(%x, 0.1f, 200, 0.1f, 0)": "input_zero_point of qnn.requantize is 200",
    "qnn.dense(%x, %w, 0.1f, 0, 0.1f, 300, units=4)": "weight_zero_point of qnn.dense is 300",
    "qnn.add(%x, %x, 0.1f, 0, 0.1f, 500, 0.1f, 0)": "rhs_zero_point of qnn.add is 500",
    "qnn.tanh(%x, 0.1f, 0, nanf, 0)": "output_scale of qnn.tanh is nan",
}


@pytest.mark.parametrize("call", BAD)
def test_constants_that_represent_nothing(call, tmp_path):
    """The place of the constant, both sides, and a way out."""
    text = f"""#[version = "0.0.5"]
def @main(%f: Tensor[(2, 3), float32], %x: Tensor[(2, 3), int8], %w: Tensor[(4, 3), int8]) {{
  {call}
}}
"""
    (tmp_path / "bad.relay").write_text(text)
    said = fails("R0302", "compile", tmp_path / "bad.relay", "-o", tmp_path / "out.rart")
    assert BAD[call] in said and ":3:" in said and "help:" in said, said


def test_constants_that_represent_something():
    """A weight whose scale is 0 is all 0; zero points at the ends of the range; integers of 32 bits have any."""
    module = relay.parse("""#[version = "0.0.5"]
def @main(%f: Tensor[(2, 3), float32], %x: Tensor[(2, 3), int8], %i: Tensor[(2, 3), int32]) {
  (qnn.dequantize(%x, 0f, 0), qnn.quantize(%f, -0.5f, 127), qnn.quantize(%f, 0.1f, 255, out_dtype="uint8"),
   qnn.dequantize(%i, 0.5f, 100000))
}
""")
    f, x = np.ones((2, 3), "float32"), np.ones((2, 3), "int8")
    results = relay.compile(module)(f, x, x.astype("int32"))
    assert [float(r[0, 0]) for r in results] == [0, 125, 255, -49999.5]
