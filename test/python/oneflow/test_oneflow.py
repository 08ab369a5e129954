"""Folders of OneFlow that are written by hand; expected values are computed with NumPy beside them.

OneFlow's last version is for Python 3.10 and needs libraries of CUDA, so that none of its programs run here."""

import numpy as np
import pytest
from relay.frontend.oneflow.table import OPERATORS

import relay

RNG = np.random.default_rng(0)
X = RNG.uniform(0.2, 2, (2, 3, 4)).astype(np.float32)
D = X.astype(np.float64)
CLOSE = 2e-6  # float32 against float64, relative to the largest value
NUMBERS = {"float32": 2, "int32": 5, "int64": 6}
NAMES = {"float32": "f32", "int32": "si32", "int64": "si64", "bool": "i1"}


def tensor(shape, dtype="float32"):
    return f"tensor<{''.join(f'{one}x' for one in shape)}{NAMES[dtype]}>"


def attributes(given):
    def written(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, list):
            return f"[{', '.join(map(written, value))}]"
        if isinstance(value, str):
            return f'"{value}"'
        return f"{value} : si32" if isinstance(value, int) else f"{value:e} : f32"

    plain = {"device_name": ["@0:0"], "device_tag": "cpu", "scope_symbol_id": 12}
    return ", ".join(f"{name} = {written(value)}" for name, value in {**plain, **given}.items())


def job(kind, inputs, results=1, stored=(), **given):
    """The text of a program with one operation on inputs and then on variables; arrays give their shapes."""
    lines, operands, types = [], [], []
    for place, one in enumerate(inputs):
        kind_ = tensor(one.shape, str(one.dtype))
        how = attributes({"op_name": f"input_{place}", "is_dynamic": False, "nd_sbp": ["B"]})
        lines.append(f'%i{place} = "oneflow.input"(%arg{place}) {{{how}}} : ({kind_}) -> {kind_}')
        operands.append(f"%i{place}")
        types.append(kind_)
    for name, one in dict(stored).items():
        kind_ = tensor(one.shape, str(one.dtype))
        lines.append(f'%{name} = "oneflow.variable"() {{{attributes({"op_name": name})}}} : () -> {kind_}')
        operands.append(f"%{name}")
        types.append(kind_)
    names = ", ".join(f"%r{place}" for place in range(results))
    how = attributes({"op_name": "it", **given})
    lines.append(f'{names} = "oneflow.{kind}"({", ".join(operands)}) {{{how}}} : ({", ".join(types)}) -> '
                 f"({', '.join(['tensor<1xf32>'] * results)})")  # fmt: skip
    lines.append(f'%o = "oneflow.output"(%r0) {{{attributes({"op_name": "out"})}}} : (tensor<1xf32>) -> tensor<1xf32>')
    lines.append("oneflow.return %o : tensor<1xf32>")
    arguments = ", ".join(f"%arg{place}: {one}" for place, one in enumerate(types[: len(inputs)]))
    body = "\n    ".join(lines)
    return f"module {{\n  oneflow.job @Graph_0({arguments}) -> tensor<1xf32> {{\n    {body}\n  }}\n}}\n"


def write(folder, text, stored=()):
    (folder / "model.mlir").write_text(text)
    for name, one in dict(stored).items():
        place = folder / name
        place.mkdir()
        dims = " ".join(f"dim: {size}" for size in one.shape)
        (place / "meta").write_text(f"shape {{ {dims} }}\ndata_type: {NUMBERS[str(one.dtype)]}\n")
        (place / "out").write_bytes(one.tobytes())
    return folder


def run(folder, kind, *inputs, results=1, stored=(), **given):
    write(folder, job(kind, inputs, results, stored, **given), stored)
    module, held = relay.frontend.from_oneflow(None, folder)
    assert held == {}
    return relay.compile(module)(*inputs)


def check(got, wanted):
    got = np.asarray(got)
    assert got.shape == np.shape(wanted), (got.shape, np.shape(wanted))
    assert np.abs(got.astype(float) - wanted).max(initial=0) <= CLOSE * max(np.abs(wanted).max(initial=0), 1e-30)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


ONE = {
    "abs": D, "exp": np.exp(D), "log": np.log(D), "rsqrt": D**-0.5, "sigmoid_v2": 1 / (1 + np.exp(-D)),
    "silu": D / (1 + np.exp(-D)), "softsign": D / (1 + D), "square": D * D, "reciprocal": 1 / D, "relu": D,
    "hardsigmoid": np.clip(D / 6 + 0.5, 0, 1), "mish": D * np.tanh(np.log1p(np.exp(D))), "softmax": softmax(D),
    "log_softmax": np.log(softmax(D)), "identity": D, "negative": -D,
}  # fmt: skip
WITH = {
    ("scalar_add", "float_operand=1.5;has_float_operand=True;has_int_operand=False;int_operand=0"): D + 1.5,
    ("scalar_mul", "int_operand=3;has_int_operand=True;has_float_operand=False;float_operand=0.0"): D * 3,
    ("scalar_pow", "float_operand=2.5;has_float_operand=True;has_int_operand=False"): D**2.5,
    ("scalar_logical_greater", "float_operand=1.0;has_float_operand=True"): D > 1,
    ("leaky_relu", "alpha=0.1"): D, ("elu", "alpha=1.0"): D, ("hardtanh", "min_val=0.5;max_val=1.0"): np.clip(D, 0.5, 1),  # noqa: E501
    ("threshold", "threshold_val=1.0;value=0.25"): np.where(D > 1, D, 0.25),
    ("softplus", "beta=2.0;threshold=20.0"): np.log1p(np.exp(2 * D)) / 2,
    ("clip_by_scalar", "floating_min=0.5;floating_max=1.0;integral_min=0;integral_max=0"): np.clip(D, 0.5, 1),
    ("reduce_mean", "axis=[1];keepdims=True"): D.mean(1, keepdims=True), ("reduce_sum", "axis=[0,2]"): D.sum((0, 2)),
    ("var", "dim=[1];unbiased=True;keepdim=False"): D.var(1, ddof=1), ("reshape", "shape=[2,-1]"): D.reshape(2, 12),
    ("flatten", "start_dim=1;end_dim=-1"): D.reshape(2, 12), ("transpose", "perm=[2,0,1]"): D.transpose(2, 0, 1),
    ("expand_dims", "axis=1"): D[:, None], ("slice", "start=[0,1,0];stop=[2,3,4];step=[1,1,2]"): D[:, 1:3, ::2],
    ("pad", "padding_before=[0,1,0];padding_after=[0,0,2];floating_constant_value=1.5"):
        np.pad(D, [(0, 0), (1, 0), (0, 2)], constant_values=1.5),
    ("cast", "dtype=3"): D, ("expand", "expand_shape=[5,2,3,4]"): np.broadcast_to(D, (5, 2, 3, 4)),
}  # fmt: skip
Y = RNG.uniform(0.2, 2, (2, 1, 4)).astype(np.float32)
TWO = {
    "broadcast_add": D + Y, "broadcast_sub": D - Y, "broadcast_mul": D * Y, "broadcast_div": D / Y,
    "broadcast_maximum": np.maximum(D, Y), "broadcast_greater": D > Y,
}  # fmt: skip


def told(text):
    return {name: eval(value) for name, value in (one.split("=") for one in text.split(";"))}


@pytest.mark.parametrize("kind", ONE)
def test_functions(tmp_path, kind):
    check(run(tmp_path, kind, X), ONE[kind])


@pytest.mark.parametrize(("kind", "given"), WITH)
def test_attributes(tmp_path, kind, given):
    check(run(tmp_path, kind, X, **told(given)), WITH[kind, given])


@pytest.mark.parametrize("kind", TWO)
def test_two_operands(tmp_path, kind):
    check(run(tmp_path, kind, X, Y), TWO[kind])


def test_convolution(tmp_path):
    x, w = RNG.normal(size=(1, 4, 5, 6)).astype(np.float32), RNG.normal(size=(6, 2, 3, 3)).astype(np.float32)
    got = run(
        tmp_path,
        "conv2d",
        x,
        stored={"w": w},
        filters=6,
        kernel_size=[3, 3],
        strides=[2, 1],
        groups=2,
        padding_before=[1, 1],
        dilation_rate=[1, 1],
        data_format="channels_first",
        operand_segment_sizes=[1, 1, 0, 0],
    )  # noqa: E501
    padded = np.pad(x.astype(float), [(0, 0), (0, 0), (1, 1), (1, 1)])
    wanted = np.zeros((1, 6, 3, 6))
    for filter_ in range(6):
        first = filter_ // 3 * 2
        for row in range(3):
            for column in range(6):
                part = padded[0, first : first + 2, 2 * row : 2 * row + 3, column : column + 3]
                wanted[0, filter_, row, column] = (part * w[filter_]).sum()
    check(got, wanted)


def test_normalization(tmp_path):
    x = RNG.normal(size=(2, 3, 4, 5)).astype(np.float32)
    stored = {name: RNG.uniform(0.5, 1.5, 3).astype(np.float32) for name in ("mean", "var", "gamma", "beta")}
    got = run(
        tmp_path, "normalization", x, results=3, stored=stored, axis=1, epsilon=1e-5, momentum=0.9, training=False
    )
    mean, var, gamma, beta = (one.astype(float).reshape(1, 3, 1, 1) for one in stored.values())
    check(got, (x - mean) / np.sqrt(var + 1e-5) * gamma + beta)


@pytest.mark.parametrize("kind", ["avg", "max"])
def test_pools(tmp_path, kind):
    x = RNG.normal(size=(1, 2, 6, 6)).astype(np.float32)
    got = run(tmp_path, f"{kind}_pool_2d", x, kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], ceil_mode=False,
              data_format="channels_first")  # fmt: skip
    blocks = x.astype(float).reshape(1, 2, 3, 2, 3, 2)
    check(got, blocks.mean((3, 5)) if kind == "avg" else blocks.max((3, 5)))


def test_products(tmp_path):
    w = RNG.normal(size=(5, 4)).astype(np.float32)
    got = run(tmp_path, "broadcast_matmul", X, stored={"w": w}, transpose_a=False, transpose_b=True, alpha=2.0)
    check(got, 2 * (D @ w.T.astype(float)))


def test_what_the_file_names(tmp_path):
    module, _ = relay.frontend.from_oneflow(None, write(tmp_path, job("relu", [X])))
    assert [one.name_hint for one in module["main"].params] == ["x"]
    for path in (tmp_path, tmp_path / "model.mlir"):
        _, files = relay.frontend.oneflow.import_file(str(path))
        assert files == [str(tmp_path / "model.mlir")]


def test_custom_operators(tmp_path):
    write(tmp_path, job("mine", [X], by=3))
    module, _ = relay.frontend.from_oneflow(None, tmp_path, custom_operators={
        "mine": lambda inputs, given: relay.multiply(inputs[0], relay.const(float(given["by"])))})  # fmt: skip
    check(relay.compile(module)(X), D * 3)


# --- problems ---------------------------------------------------------------------------------------------------------
def refused(said, folder):
    with pytest.raises(relay.CompileError) as raised:
        relay.frontend.from_oneflow(None, folder)
    text = str(raised.value)
    assert "help:" in text and "bug in Relay" not in text, text
    assert all(one in text for one in said), text


W = {"w": np.ones((5, 4), np.float32)}
PROBLEMS = {
    "unknown": (job("mine", [X]), ["operator mine", "`mine 'it'`", "custom_operators"]),
    "attribute": (job("relu", [X], sharp=1), ["`sharp` is not known"]),
    "wrong attribute": (job("leaky_relu", [X], alpha="steep"), ["`alpha` is 'steep'"]),
    "no job": ("module {}", ["no oneflow.job", "oneflow.save"]),
    "cut": (job("relu", [X])[:300], ["model.mlir:"]),
    "number": (job("relu", [X]).replace("= 12", "= 06", 1), ["`06` is not a number"]),
    "not MLIR": ("oneflow.job @g(%a: tensor<1xf32>) -> tensor<1xf32> { ; }", ["begins no word"]),
    "operand": (job("relu", [X]).replace("(%i0)", "(%never)"), ["no node before computes", "%never"]),
    "deep": ("oneflow.job @g() -> () {\n" + '"a"() ({' * 200, ["levels of nesting"]),
    "huge constant": (job("constant", [], shape=[1 << 20, 1 << 20], dtype=2), ["not allowed"]),
    "variable": (job("broadcast_matmul", [X], stored=W), ["is missing"]),
    "escape": (job("broadcast_matmul", [X], stored=W).replace('op_name = "w"', 'op_name = "../w"'), ["not the name"]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems(tmp_path, name):
    refused(PROBLEMS[name][1], write(tmp_path, PROBLEMS[name][0]))


def test_damaged_variables(tmp_path):
    write(tmp_path, job("broadcast_matmul", [X], stored=W, transpose_b=True), W)
    (tmp_path / "w" / "out").write_bytes(b"123")
    refused(["has 3 bytes", "needs 80"], tmp_path)
    (tmp_path / "w" / "meta").write_text("shape { dim: 5 dim: -4 } data_type: 2")
    refused(["no shape"], tmp_path)
    (tmp_path / "w" / "meta").write_text("shape { dim: 5 dim: 4 } data_type: 77")
    refused(["no known element type (77)"], tmp_path)
    (tmp_path / "w" / "meta").write_text("shape { dim: 10 dim: 2 } data_type: kFloat")
    (tmp_path / "w" / "out").write_bytes(bytes(80))
    refused(["`w` has the shape [10, 2], and the program declares [5, 4]"], tmp_path)


def test_other_objects():
    for wrong in (3, None, ["graph"]):
        with pytest.raises(relay.CompileError, match="is given as a model of OneFlow"):
            relay.frontend.from_oneflow(wrong)


@pytest.mark.parametrize("seed", range(25))
def test_changed_bytes(tmp_path, seed):
    rng = np.random.default_rng(seed)
    write(tmp_path, "", W)
    content = bytearray(job("broadcast_matmul", [X], stored=W, transpose_b=True).encode())
    for _ in range(int(rng.integers(1, 4))):
        content[rng.integers(len(content))] = rng.integers(256)
    (tmp_path / "model.mlir").write_bytes(bytes(content))
    try:
        relay.frontend.from_oneflow(None, tmp_path)
    except relay.CompileError as error:
        assert "help:" in str(error) and "bug in Relay" not in str(error), str(error)


def test_the_old_list():
    assert len(OPERATORS) > 87
