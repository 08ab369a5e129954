"""Symbols of MXNet, written by hand: other names of operators, operators that MXNet 1.9.1 lacks, files, and problems.
test/frontends/mxnet_run.py compares operators with MXNet."""

import json
import pathlib
import struct

import numpy as np
import pytest
from relay.frontend.mxnet.table import OPERATORS

import relay

RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 2, (2, 3, 4)).astype(np.float32)
Y = RNG.uniform(0.5, 2, (2, 3, 4)).astype(np.float32)
D, E = X.astype(np.float64), Y.astype(np.float64)
# Float32 against float64, relative to the largest value.
CLOSE = 2e-6


def symbol(*nodes, inputs=("x",), heads=None, key="attrs"):
    """A symbol: nodes as (operator, attributes, names of inputs), the results of which are called n0, n1, .."""
    names, made = {}, []
    for name in inputs:
        names[name] = [len(made), 0, 0]
        made.append({"op": "null", "name": name, "inputs": []})
    for number, (kind, attributes, reads) in enumerate(nodes):
        names[f"n{number}"] = [len(made), 0, 0]
        made.append({"op": kind, "name": f"n{number}", key: attributes, "inputs": [names[one] for one in reads]})
    heads = heads or [[len(made) - 1, 0, 0]]
    return json.dumps({"nodes": made, "arg_nodes": [names[one][0] for one in inputs], "heads": heads})


def params(arrays, magic=0xF993FAC9):
    """A .params file."""
    types = {"float32": 0, "float64": 1, "int32": 4, "int8": 5, "int64": 6}
    made = struct.pack("<QQQ", 0x112, 0, len(arrays))
    for one in arrays.values():
        made += struct.pack("<IiI", magic, 0, one.ndim) + struct.pack(f"<{one.ndim}q", *one.shape)
        made += struct.pack("<iii", 1, 0, types[str(one.dtype)]) + one.tobytes()
    made += struct.pack("<Q", len(arrays))
    return made + b"".join(struct.pack("<Q", len(name)) + name.encode() for name in arrays)


def run(text, *arrays, names="xyz", **how):
    given = dict(zip(names, arrays, strict=False))
    module, held = relay.frontend.from_mxnet(text, {name: one.shape for name, one in given.items()}, **how)
    assert held == {}
    return relay.compile(module)(*(given[one.name_hint] for one in module["main"].params))


def check(got, wanted):
    got = np.asarray(got)
    assert got.shape == np.shape(wanted), (got.shape, np.shape(wanted))
    assert np.abs(got.astype(float) - wanted).max(initial=0) <= CLOSE * max(np.abs(wanted).max(initial=0), 1e-30)


# Names that MXNet's own files have no more: of versions before 1.0, and of the interface like NumPy's.
TWO = {
    "broadcast_plus": D + E, "broadcast_minus": D - E, "_plus": D + E, "_minus": D - E, "_mul": D * E, "_div": D / E,
    "_maximum": np.maximum(D, E), "elemwise_add": D + E, "_npi_less": (D < E).astype(int), "_npi_power": D**E,
}  # fmt: skip
SCALAR = {
    "__add_scalar__": D + 1.5, "__sub_scalar__": D - 1.5, "__rsub_scalar__": 1.5 - D, "__mul_scalar__": D * 1.5,
    "__div_scalar__": D / 1.5, "__rdiv_scalar__": 1.5 / D, "__pow_scalar__": D**1.5, "__rpow_scalar__": 1.5**D,
    "_npi_rsubtract_scalar": 1.5 - D, "_npi_true_divide_scalar": D / 1.5,
}  # fmt: skip
ONE = {
    ("sum_axis", "axis=1"): D.sum(1), ("max_axis", "axis=1"): D.max(1), ("min_axis", "axis=(0,2)"): D.min((0, 2)),
    ("identity", ""): D, ("_npi_copy", ""): D, ("flatten", ""): D.reshape(2, 12), ("reshape",
        "shape=(0,-1)"): D.reshape(2, 12),
    ("_np_reshape", "newshape=(-5,-2)"): D.reshape(6, 4), ("_npi_transpose", "axes=(2,0,1)"): D.transpose(2, 0, 1),
    ("swapaxes", "dim1=0;dim2=1"): D.swapaxes(0, 1), ("cast", "dtype=float32"): D, ("amp_cast", "dtype=float32"): D,
    ("split", "num_outputs=2;axis=2"): D[:, :, :2], ("cumsum", "axis=1"): D.cumsum(1), ("hard_sigmoid",
        ""): np.clip(0.2 * D + 0.5, 0, 1),
    ("broadcast_axes", "axis=();size=()"): D, ("MAERegressionOutput", ""): D, ("SVMOutput", ""): D,
}  # fmt: skip


@pytest.mark.parametrize("kind", TWO)
def test_two_operands(kind):
    check(run(symbol((kind, {}, ["x", "y"]), inputs="xy"), X, Y), TWO[kind])


@pytest.mark.parametrize("kind", SCALAR)
def test_numbers(kind):
    check(run(symbol((kind, {"scalar": "1.5"}, ["x"])), X), SCALAR[kind])


@pytest.mark.parametrize(("kind", "attributes"), ONE)
def test_other_names(kind, attributes):
    given = dict(one.split("=") for one in attributes.split(";") if one)
    check(run(symbol((kind, given, ["x"])), X), ONE[kind, attributes])


def test_other_names_are_the_same_converters():
    for one, other in (("concat", "Concat"), ("pad", "Pad"), ("reshape", "Reshape"), ("flatten", "Flatten"), ("cast",
        "Cast"),
                       ("Softmax", "SoftmaxOutput"), ("BatchNorm_v1", "BatchNorm"), ("swapaxes",
                           "SwapAxis")):  # fmt: skip
        assert OPERATORS[one] is OPERATORS[other] or OPERATORS[one].__qualname__ == OPERATORS[other].__qualname__


def test_softmax_without_its_label():
    text = symbol(("Softmax", {"grad_scale": "1"}, ["x", "label"]), inputs=("x", "label"))
    e = np.exp(D[:, 0] - D[:, 0].max(1, keepdims=True))
    check(run(text, X[:, 0]), e / e.sum(1, keepdims=True))


def test_where_with_a_number():
    condition = np.array([[1, 0], [0, 1]], np.float32)
    got = run(symbol(("_npi_where_rscalar", {"scalar": "7"}, ["x", "y"]), inputs="xy"), condition, X[:, :2, 0])
    check(got, np.where(condition, D[:, :2, 0], 7))


@pytest.mark.parametrize("target", [(9, 7), (8, 6)])
def test_deconvolution_to_a_size(target):
    """MXNet 1.9.1 refuses it in its kernels for processors: a part of the whole result."""
    x, weights = (
        RNG.uniform(size=(1, 2, 5, 4)).astype(np.float32),
        {"w": RNG.uniform(size=(2, 3, 3, 3)).astype(np.float32)},
    )
    how = {"kernel": "(3, 3)", "stride": "(2, 2)", "num_filter": "3"}
    made = [
        np.asarray(run(symbol(("Deconvolution", one, ["x", "w"]), inputs="xw"), x, arg_params=weights))
        for one in (how, {**how, "target_shape": str(target)})
    ]
    begins = [(whole - part + 1) // 2 for whole, part in zip(made[0].shape[2:], target, strict=True)]
    ends = [begin + part for begin, part in zip(begins, target, strict=True)]
    check(made[1], made[0][:, :, begins[0] : ends[0], begins[1] : ends[1]])


def test_ring_buffers():
    text = symbol(("ring_buffer", {"axis": "1"}, ["x", "y"]), inputs="xy")
    check(run(text, X[:, :1], Y), np.concatenate([E, D[:, :1]], axis=1)[:, 1:])
    data, buffer = (RNG.integers(-9, 9, shape).astype(np.int8) for shape in ((2, 1), (2, 3)))
    heads = [[4, 0, 0]]
    text = symbol(("_contrib_quantized_ring_buffer", {"axis": "1"}, ["x", "y", "a", "b"]), inputs="xyab", heads=heads)
    got = run(
        text, data, buffer, dtype={"x": "int8", "y": "int8"}, arg_params={"a": np.float32([-1]), "b": np.float32([1])}
    )
    assert np.array_equal(np.asarray(got), np.concatenate([buffer, data], axis=1)[:, 1:])


def test_conversion_to_integers_and_back():
    ends = {"min_calib_range": "-2", "max_calib_range": "1"}
    nodes = [("_contrib_quantize_v2", {"out_type": "auto", **ends}, ["x"])]
    x = np.array([-3, -2, -0.7, 0, 0.4, 1.9], np.float32)
    got = run(symbol(*nodes, heads=[[1, 0, 0], [1, 1, 0], [1, 2, 0]]), x)
    assert np.asarray(got[0]).tolist() == np.clip(np.rint(x * 127.5 / 2), -128, 127).tolist()
    assert [float(np.asarray(one)[0]) for one in got[1:]] == [-2, 1]


# --- files ------------------------------------------------------------------------------------------------------------
DENSE = symbol(("FullyConnected", {"num_hidden": "2"}, ["data", "w", "b"]), inputs=("data", "w", "b"))
W, B = RNG.uniform(size=(2, 3)).astype(np.float32), RNG.uniform(size=2).astype(np.float32)
V = RNG.uniform(size=(4, 3)).astype(np.float32)
WANTED = V.astype(np.float64) @ W.T.astype(np.float64) + B


def test_files_by_name(tmp_path):
    (tmp_path / "net-symbol.json").write_text(DENSE)
    (tmp_path / "net-0001.params").write_bytes(params({"arg:w": W * 0, "arg:b": B}))
    (tmp_path / "net-0002.params").write_bytes(params({"arg:w": W, "aux:b": B}))
    for name in ("net-symbol.json", "net-0002.params"):
        module, files = relay.frontend.files.import_file(str(tmp_path / name), {"data": [4, 3]})
        check(relay.compile(module)(V), WANTED)
        assert sorted(files) == [str(tmp_path / "net-0002.params"), str(tmp_path / "net-symbol.json")]


@pytest.mark.parametrize("key", ["attrs", "attr", "param"])
def test_attributes_of_all_versions(key):
    text = symbol(
        ("FullyConnected", {"num_hidden": "2", "weight_lr_mult": "3"}, ["data", "w", "b"]),
        inputs=("data", "w", "b"),
        key=key,
    )
    check(run(text, V, names=["data"], arg_params={"w": W}, aux_params={"b": B}), WANTED)


def test_arrays_of_old_versions():
    old = (
        struct.pack("<QQQ", 0x112, 0, 1) + struct.pack("<I2I", 2, *W.shape) + struct.pack("<iii", 1, 0, 0) + W.tobytes()
    )
    old += struct.pack("<QQ", 1, 1) + b"w"
    check(run(DENSE, V, names=["data"], arg_params=old, aux_params={"b": B}), WANTED)


def test_shapes_and_types_in_the_file():
    made = json.loads(symbol(("_plus_scalar", {"scalar": "1"}, ["x"])))
    made["nodes"][0]["attrs"] = {"__shape__": "(2, 3)", "__dtype__": "4", "__init__": "zeros"}
    module, _ = relay.frontend.from_mxnet(json.dumps(made))
    assert str(module["main"].params[0].type_annotation) == "Tensor[(2, 3), int32]"


class Held:
    """An array as MXNet holds it."""

    def __init__(self, array):
        self.array = array

    def asnumpy(self):
        return self.array


class LiveSymbol:
    def tojson(self):
        return DENSE


class LiveBlock:
    """A HybridBlock of Gluon."""

    def collect_params(self):
        return {}

    def export(self, path):
        pathlib.Path(f"{path}-symbol.json").write_text(DENSE)
        pathlib.Path(f"{path}-0000.params").write_bytes(params({"arg:w": W, "arg:b": B}))


def test_objects_of_the_framework():
    check(run(LiveSymbol(), V, names=["data"], arg_params={"w": Held(W)}, aux_params={"b": Held(B)}), WANTED)
    check(run(LiveBlock(), V, names=["data"]), WANTED)
    for wrong in (3, None, ["symbol"]):
        with pytest.raises(relay.CompileError, match="is given as the symbol"):
            relay.frontend.from_mxnet(wrong)


def test_custom_operators():
    text = symbol(("mine", {"by": "3"}, ["x"]))
    got = run(text, X, custom_operators={"mine": lambda inputs, attributes: relay.multiply(
        inputs[0], relay.const(float(attributes["by"])))})  # fmt: skip
    check(got, 3.0 * X)


# --- problems ---------------------------------------------------------------------------------------------------------
CYCLE = json.dumps({"nodes": [{"op": "relu", "name": "a", "inputs": [[1, 0, 0]]}, {"op": "relu", "name": "b",
    "inputs": [[0, 0, 0]]}],
                    "heads": [[1, 0, 0]]})  # fmt: skip


def refused(said, text, shapes, arrays):
    with pytest.raises(relay.CompileError) as raised:
        relay.frontend.from_mxnet(text, shapes, arg_params=arrays)
    told = str(raised.value)
    assert "help:" in told and "bug in Relay" not in told, told
    for one in said:
        assert one in told, told


@pytest.mark.parametrize(
    ("text", "shapes", "arrays", "said"),
    [
        (symbol(("mine", {}, ["x"]), ("yours", {}, ["n0"])), {"x": (1,)}, {},
         ["operator mine", "operator yours", "`mine 'n0'`", "custom_operators"]),
        (DENSE, {}, {"w": W, "b": B}, ["`data` has no array in the parameters, and no shape", "shape={'NAME'"]),
        (DENSE, {"data": (4, 3)}, {"w": W}, ["`b` has no array"]),
        (DENSE, {"data": (4, 5)}, {"w": W, "b": B}, ["the matrix has the shape (2, 3), not (2, 5)",
            "FullyConnected 'n0'"]),
        (DENSE, {"date": (4, 3)}, {"w": W, "b": B}, ["no input `date`", "data"]),
        (symbol(("relu", {"sharp": "1"}, ["x"])), {"x": (1,)}, {}, ["`sharp` is not known", "newer version"]),
        (symbol(("Pooling", {"kernel": "(2, two)"}, ["x"])), {"x": (1, 1, 4, 4)}, {}, ["`kernel` is '(2, two)'"]),
        (symbol(("Convolution", {"kernel": "(3, 3)", "num_filter": "2"}, ["x", "w", "b"]), inputs="xwb"), {"x": (1, 1,
            4, 4)},
         {"w": np.ones((2, 1, 3, 2), np.float32), "b": B}, ["the kernel has the shape [2, 1, 3, 2], not [2, 1, 3, 3]"]),
        (symbol(("Reshape", {"shape": "(7, -1)"}, ["x"])), {"x": (2, 3)}, {}, ["does not fit"]),
        (CYCLE, {}, {}, ["node 0 ('a')", "cycle"]),
        ("{", {}, {}, ["not JSON", "byte 1"]),
        ("{}", {}, {}, ["no list `nodes`"]),
        ('{"nodes": [3]}', {}, {}, ["node 0 has no `op` and `name`"]),
        (symbol(heads=[[9, 0, 0]]), {}, {}, ["`heads`"]),
        (symbol(heads=[[0, 1 << 40, 0]]), {}, {}, ["`heads`"]),
        (symbol(("_zeros", {"shape": "(100000, 100000)"}, [])), {}, {}, ["the shape (100000, 100000) is not allowed"]),
        (symbol(("_foreach", {"in_data_locs": "[0]", "num_out_data": "1"}, ["x"])), {"x": (2, 3)}, {}, ["0 graphs"]),
        (symbol(("_contrib_quantize_v2", {}, ["x"])), {"x": (2,)}, {}, ["its range is computed at run time",
            "calib_mode"]),
        (DENSE, {"data": (4, 3)}, b"\x12\x01", ["damaged at byte 0", "needs 8 bytes"]),
        (DENSE, {"data": (4, 3)}, b"not a list of arrays", ["begins with other bytes"]),
        (DENSE, {"data": (4, 3)}, params({"w": W, "b": B})[:70], ["array 0", "are left"]),
        (DENSE, {"data": (4, 3)}, params({"w": W, "b": B})[:-1], ["a name"]),
        (DENSE, {"data": (4, 3)}, struct.pack("<QQQ", 0x112, 0, 1 << 60), ["do not fit"]),
        (DENSE, {"data": (4, 3)}, struct.pack("<QQQIiI3q3i", 0x112, 0, 1, 0xF993FAC9, 0, 3, 1 << 40, 1 << 40, 1, 1, 0,
            0), ["array 0 needs"]),
    ],
)  # fmt: skip
def test_problems(text, shapes, arrays, said):
    refused(said, text, shapes, arrays)


def test_a_deep_file():
    refused(["JSON"], b"[" * 100_000, {}, {})


def test_a_file_alone(tmp_path):
    (tmp_path / "net-0000.params").write_bytes(params({"w": W}))
    with pytest.raises(relay.CompileError, match="no -symbol.json file is beside it"):
        relay.frontend.files.import_file(str(tmp_path / "net-0000.params"), {})


@pytest.mark.parametrize("seed", range(60))
def test_changed_bytes(seed):
    rng = np.random.default_rng(seed)
    text, arrays = bytearray(DENSE.encode()), bytearray(params({"w": W, "b": B}))
    for content in (text, arrays):
        for _ in range(int(rng.integers(1, 4))):
            content[rng.integers(len(content))] = rng.integers(256)
    try:
        relay.frontend.from_mxnet(bytes(text), {"data": (4, 3)}, arg_params=bytes(arrays))
    except relay.CompileError as error:
        assert "help:" in str(error) and "bug in Relay" not in str(error), str(error)
