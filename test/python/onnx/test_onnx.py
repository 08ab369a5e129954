"""ONNX's own examples of each operator that can be imported: one node, inputs, and what it must give.

They come with the onnx package, so a new line in operators.def is tested as it stands. An example may be refused
(R0403: a type, a form of the operator); what is imported must be right, and each operator needs one example that is.
"""

import collections
import functools
import re
import sys
import warnings

import numpy as np
import pytest
from forms import each_nth
from programs import ROOT

onnx = pytest.importorskip("onnx")
import relay  # noqa: E402

sys.path.insert(0, str(ROOT / "test/onnx"))
import cases  # noqa: E402

OPERATORS = re.findall(
    r"^RELAY_ONNX\((\w+),", (ROOT / "src/relay/frontend/onnx/operators.def").read_text(), re.MULTILINE
)

# Operators that may lack an example that holds, and why.
DRAWS = "ONNX has no examples of it; test_onnx_random.py has some"
SEQUENCES = "its examples have sequences for inputs or outputs; test_onnx_sequences.py has others"
NONE = {
    "SimplifiedLayerNormalization": "ONNX does not have it; test_onnx_microsoft.py has one",
    "GlobalLpPool": "ONNX has no examples of it; test_onnx_sequences.py has one",
    "MaxRoiPool": "ONNX has no examples of it; test_maxima_of_regions has one",
    **dict.fromkeys(("Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"), DRAWS),
    "ConcatFromSequence": SEQUENCES,
    "Optional": SEQUENCES,
    "SequenceAt": SEQUENCES,
    "SequenceConstruct": SEQUENCES,
    "SequenceEmpty": SEQUENCES,
    "SequenceErase": SEQUENCES,
    "SequenceInsert": SEQUENCES,
    "SequenceLength": SEQUENCES,
    "SequenceMap": SEQUENCES,
    "SplitToSequence": SEQUENCES,
}


@functools.cache
def examples():
    from onnx.backend.test.case.node import collect_testcases

    found = collections.defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # they divide by zero on purpose
        for case in collect_testcases(None):
            if len(case.model.graph.node) == 1 and case.model.graph.node[0].domain == "":
                found[case.model.graph.node[0].op_type].append(case)
    return found


def array(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def imported(model, inputs, path):
    """The compiled model and its inputs, or None when it is refused; inputs that are sizes and axes become
    constants."""
    for keep in (len(inputs), 1, 0):
        now = onnx.ModelProto()
        now.CopyFrom(model)
        for port, value in list(zip(now.graph.input, inputs, strict=True))[keep:]:
            now.graph.initializer.append(onnx.numpy_helper.from_array(value, port.name))
        onnx.save(now, path)
        try:
            return relay.compile(str(path)), inputs[:keep]
        except relay.CompileError as error:
            assert set(re.findall(r"error\[(R\d+)\]", str(error))) <= {"R0403", "R0304"}, f"{error}"
    return None


@pytest.mark.parametrize("name", each_nth(3, OPERATORS))
def test_operator(name, tmp_path):
    held = 0
    for case in examples()[name]:
        ports = [*case.model.graph.input, *case.model.graph.output]
        tensors = all(port.type.WhichOneof("value") == "tensor_type" for port in ports)
        for given, expected in case.data_sets if tensors else []:
            given, expected = [array(v) for v in given], [array(v) for v in expected]
            made = imported(case.model, given, tmp_path / "model.onnx")
            if made is None:
                continue
            model, inputs = made
            got = model(*inputs)
            got = got if isinstance(got, tuple | list) else [got]
            same = len(got) == len(expected) and all(
                equal(np.asarray(g), e, case) for g, e in zip(got, expected, strict=True)
            )
            assert same, f"{case.name}:\n{got}\nwhere ONNX has\n{expected}"
            held += same
    assert held > 0 or name in NONE, f"none of {len(examples()[name])} examples holds"


def equal(got, expected, case):
    if re.fullmatch(r"float[48]_.*|u?int[24]", expected.dtype.name):
        return cases.equal([got], [expected], case) is None
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if cases.is_random(case):
        return True
    if got.dtype.kind in "iub":
        return np.array_equal(got, expected)
    bfloat16 = got.dtype.itemsize == 2 and got.dtype.kind != "f"
    rtol = max(case.rtol, 2**-7) if bfloat16 else case.rtol
    got, wanted = got.astype(float), expected.astype(float)
    # Sums that come close to zero carry the rounding of their terms, which are as large as other elements.
    unit = 2**-8 if bfloat16 else np.finfo(expected.dtype).eps
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
    return np.allclose(got, wanted, rtol=rtol, atol=max(case.atol, 4 * unit * largest), equal_nan=True)


def test_ranges_of_sizes(tmp_path):
    """Range up to a size that is known at run time only: how exporters write the positions of a sentence."""
    make = onnx.helper
    ends = {"zero": 0, "one": 1, "two": 2, "minus": -3}
    nodes = [
        make.make_node("Shape", ["x"], ["shape"]),
        make.make_node("Gather", ["shape", "one"], ["length"]),
        make.make_node("Range", ["zero", "length", "one"], ["up"]),
        make.make_node("Range", ["two", "length", "two"], ["even"]),
        make.make_node("Range", ["length", "zero", "minus"], ["down"]),
    ]
    graph = make.make_graph(
        nodes,
        "ranges",
        [make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", "l"])],
        [make.make_tensor_value_info(name, onnx.TensorProto.INT64, [None]) for name in ("up", "even", "down")],
        [onnx.numpy_helper.from_array(np.array(value, np.int64), name) for name, value in ends.items()],
    )
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]), tmp_path / "ranges.onnx")
    compiled = relay.compile(str(tmp_path / "ranges.onnx"))
    for length in (1, 2, 3, 7, 40):
        up, even, down = compiled(np.zeros((2, length), np.float32))
        np.testing.assert_array_equal(up, np.arange(length))
        np.testing.assert_array_equal(even, np.arange(2, length, 2))
        np.testing.assert_array_equal(down, np.arange(length, 0, -3))


def test_repeats_that_are_sizes_of_inputs(tmp_path):
    """A token for each picture of the batch, as transformers prepend it."""
    from onnx import numpy_helper

    make = onnx.helper
    token = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    graph = make.make_graph(
        [
            make.make_node("Shape", ["x"], ["batch"], start=0, end=1),
            make.make_node("Concat", ["batch", "ones"], ["repeats"], axis=0),
            make.make_node("Tile", ["token", "repeats"], ["y"]),
        ],
        "g",
        [make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4])],
        [make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 4, 3])],
        [numpy_helper.from_array(token, "token"), numpy_helper.from_array(np.array([2, 1]), "ones")],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    compiled = relay.compile(model)
    for n in (1, 3):
        np.testing.assert_array_equal(compiled(np.zeros((n, 4), np.float32)), np.tile(token, (n, 2, 1)))


def test_what_is_left_over_of_sizes_that_depend_on_elements():
    """The form in which torch's exporter writes index_put with a mask: xmod's adapters by language."""
    from onnx import numpy_helper

    make = onnx.helper
    graph = make.make_graph(
        [
            make.make_node("ReduceSum", ["counted"], ["count"], keepdims=1),
            make.make_node("Concat", ["count", "two"], ["shape"], axis=0),
            make.make_node("Expand", ["row", "shape"], ["rows"]),
            make.make_node("Reshape", ["rows", "rest"], ["y"]),
        ],
        "g",
        [make.make_tensor_value_info("counted", onnx.TensorProto.INT64, [3])],
        [make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.float32([[1, 2]]), "row"),
            numpy_helper.from_array(np.array([2]), "two"),
            numpy_helper.from_array(np.array([-1]), "rest"),
        ],
    )
    compiled = relay.compile(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9))
    for counted in ([1, 0, 1], [2, 2, 1]):
        np.testing.assert_array_equal(compiled(np.array(counted)), np.float32([1, 2] * sum(counted)))


def test_pads_that_are_computed_from_lists(tmp_path):
    """torch's exporter writes F.pad's list, last axis first, as rows that are transposed and transposed."""
    make = onnx.helper
    lists = {
        "given": [1, 2, 3, 4],
        "none": [0, 0, 0, 0],
        "rows": [-1, 2],
        "flat": [-1],
        "last": [-1],
        "least": [-(2**63) + 1],
        "zero": [0],
        "back": [-1],
    }
    nodes = [
        make.make_node("Concat", ["given", "none"], ["all"], axis=0),
        make.make_node("Reshape", ["all", "rows"], ["pairs"]),
        make.make_node("Slice", ["pairs", "last", "least", "zero", "back"], ["turned"]),
        make.make_node("Transpose", ["turned"], ["columns"], perm=[1, 0]),
        make.make_node("Reshape", ["columns", "flat"], ["pads"]),
        make.make_node("Pad", ["x", "pads"], ["y"], mode="reflect"),
    ]
    shapes = {"x": (1, 2, 5, 6), "y": (1, 2, 12, 9)}
    x, y = (make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items())
    constants = [onnx.numpy_helper.from_array(np.array(value, np.int64), name) for name, value in lists.items()]
    graph = make.make_graph(nodes, "pads", [x], [y], constants)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]), tmp_path / "pads.onnx")
    data = np.arange(60, dtype=np.float32).reshape(shapes["x"])
    got = relay.compile(str(tmp_path / "pads.onnx"))(data)
    np.testing.assert_array_equal(got, np.pad(data, ((0, 0), (0, 0), (3, 4), (1, 2)), mode="reflect"))


@pytest.mark.parametrize("index", [-1, -3, [-2], [[-1]]])
def test_last_of_an_axis_of_any_size(tmp_path, index):
    make = onnx.helper
    x = make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, "t", 3])
    y = make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    constant = onnx.numpy_helper.from_array(np.array(index, np.int64), "index")
    graph = make.make_graph([make.make_node("Gather", ["x", "index"], ["y"], axis=1)], "last", [x], [y], [constant])
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]), tmp_path / "last.onnx")
    compiled = relay.compile(str(tmp_path / "last.onnx"))
    for length in (3, 4, 9):
        data = np.random.default_rng(length).standard_normal((2, length, 3)).astype(np.float32)
        np.testing.assert_array_equal(compiled(data), data.take(index, axis=1))


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize(("start", "end", "step"), [(-1, -(2**63), -1), (-2, 0, -2), (2**31, -4, -1), (5, 1, -3)])
def test_backward_slices_of_an_axis_of_any_size(start, end, step, computed):
    """Also of none; the size is one of the input's, not an unknown one, where the bounds are known at import."""
    import onnxruntime

    bounds = dict(zip("setk", ([start], [end], [step], [0]), strict=True))
    node = onnx.helper.make_node("Slice", ["x", "s", "e", "k", "t"], ["y"])
    ports = [onnx.helper.make_tensor_value_info("x", 1, ["n", 3])]
    weights = [onnx.numpy_helper.from_array(np.array(v), name) for name, v in bounds.items()]
    if computed:
        ports.append(onnx.helper.make_tensor_value_info("s", 7, [1]))
        weights = weights[1:]
    graph = onnx.helper.make_graph([node], "graph", ports, [onnx.ValueInfoProto(name="y")], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    module = relay.load(model)
    assert computed or "?" not in str(module["main"].ret_type)
    compiled = relay.compile(module)
    for n in (0, 1, 2, 7):
        given = {"x": np.arange(3 * n, dtype=np.float32).reshape(n, 3)} | ({"s": np.array([start])} if computed else {})
        [want] = session.run(None, given)
        np.testing.assert_array_equal(np.asarray(compiled(**given)), want)


@pytest.mark.parametrize(
    ("op", "mode", "kernel", "stride"),
    [
        *(("Conv", mode, 3, 2) for mode in ("SAME_UPPER", "SAME_LOWER")),
        ("Conv", "SAME_UPPER", 1, 3),
        ("Conv", "SAME_LOWER", 4, 3),
        ("MaxPool", "SAME_UPPER", 3, 2),
        ("MaxPool", "SAME_LOWER", 2, 2),
        ("AveragePool", "SAME_UPPER", 3, 2),
    ],
)
def test_padding_that_depends_on_sizes(op, mode, kernel, stride):
    import onnxruntime

    draw = np.random.default_rng(kernel)
    make = onnx.helper
    more = {"count_include_pad": 1} if op == "AveragePool" else {}
    weight = draw.standard_normal((4, 3, kernel, kernel)).astype(np.float32)
    weights = [onnx.numpy_helper.from_array(weight, "w")] if op == "Conv" else []
    node = make.make_node(
        op,
        ["x", "w"][: 1 + len(weights)],
        ["y"],
        auto_pad=mode,
        strides=[stride] * 2,
        kernel_shape=[kernel] * 2,
        **more,
    )
    port = make.make_tensor_value_info("x", 1, ["n", 3, "height", "width"])
    graph = make.make_graph([node], "graph", [port], [onnx.ValueInfoProto(name="y")], weights)
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    module = relay.load(model)
    assert "?" not in str(module["main"].ret_type)
    compiled = relay.compile(module)
    for height, width in ((8, 9), (7, 10), (5, 5), (12, 11)):
        x = draw.standard_normal((2, 3, height, width)).astype(np.float32)
        [want] = session.run(None, {"x": x})
        got = np.asarray(compiled(x))
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("outside", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_filters_against_aliasing_of_any_size(mode, outside):
    """Their extent is known only at run time: fewer pixels from many, and more from few."""
    import onnxruntime

    make = onnx.helper
    node = make.make_node("Resize", ["x", "", "", "to"], ["y"], mode=mode, antialias=1, exclude_outside=outside)
    port = make.make_tensor_value_info("x", 1, [1, 3, "height", "width"])
    sizes = onnx.numpy_helper.from_array(np.array([1, 3, 4, 9]), "to")
    graph = make.make_graph([node], "graph", [port], [onnx.ValueInfoProto(name="y")], [sizes])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 19)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    compiled = relay.compile(model)
    for height, width in ((17, 30), (9, 5), (4, 9)):
        x = np.random.default_rng(height).random((1, 3, height, width), np.float32)
        [want] = session.run(None, {"x": x})
        got = np.asarray(compiled(x))
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_three_dimensional_network(tmp_path):
    """Convolutions, pools and a transposed convolution along three axes, with a batch of any size, beside PyTorch."""
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv3d(3, 16, 3, 1, 1), nn.BatchNorm3d(16), nn.ReLU(), nn.MaxPool3d(3, 2, 1),
        nn.Conv3d(16, 24, (1, 3, 3), (1, 2, 2), (0, 1, 1)), nn.BatchNorm3d(24), nn.ReLU(),
        nn.Conv3d(24, 24, 3, 1, 1, groups=24), nn.AvgPool3d(2, 1, 1, count_include_pad=False),
        nn.ConvTranspose3d(24, 8, 2, 2), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(8, 5),
    )  # fmt: skip
    network(torch.randn(4, 3, 6, 13, 14) * 2 + 1)
    network.eval()
    x = torch.randn(2, 3, 6, 13, 14)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network, (x,), tmp_path / "net.onnx", input_names=["x"], dynamic_axes={"x": {0: "n"}}, dynamo=False
        )
        expected = network.double()(x.double()).numpy()
    compiled = relay.compile(str(tmp_path / "net.onnx"))
    np.testing.assert_allclose(compiled(x.numpy()), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(compiled(x[:1].numpy()), expected[:1], rtol=1e-4, atol=1e-5)


def test_an_even_window_of_lrn_reaches_further_behind(tmp_path):
    make = onnx.helper
    x, y = (make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 5, 1, 1]) for name in "xy")
    node = make.make_node("LRN", ["x"], ["y"], size=2, alpha=2.0, beta=1.0, bias=1.0)
    graph = make.make_graph([node], "lrn", [x], [y])
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 13)]), tmp_path / "lrn.onnx")
    value = np.arange(1, 6, dtype=np.float32).reshape(1, 5, 1, 1)
    behind = np.append(value.ravel()[1:], 0)
    want = value.ravel() / (1 + value.ravel() ** 2 + behind**2)
    np.testing.assert_allclose(relay.compile(str(tmp_path / "lrn.onnx"))(value).ravel(), want, rtol=1e-5)


def test_maxima_of_regions(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    make = onnx.helper
    inputs = {
        "x": np.random.default_rng(0).standard_normal((2, 3, 12, 10)).astype(np.float32),
        "rois": np.array([[0, 0, 0, 8, 8], [1, 4, 2, 16, 20], [1, 2, 2, 3, 3]], np.float32),
    }
    node = make.make_node("MaxRoiPool", ["x", "rois"], ["y"], pooled_shape=[3, 2], spatial_scale=0.5)
    ports = [make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, value.shape) for name, value in inputs.items()]
    graph = make.make_graph([node], "regions", ports, [make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)])
    path = str(tmp_path / "regions.onnx")
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=10), path)
    expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    np.testing.assert_allclose(relay.compile(path)(**inputs), expected, rtol=1e-6)


@pytest.mark.parametrize("mode", ["half_pixel", "output_half_pixel"])
def test_as_many_samples_as_a_region_has_pixels(tmp_path, mode):
    """The default of RoiAlign; one of the boxes is larger than the image, one smaller than a pixel."""
    onnxruntime = pytest.importorskip("onnxruntime")
    make = onnx.helper
    boxes = [[0, 0, 8, 8], [4, 2, 16, 20], [2, 2, 2.5, 3], [-90, -70, 60, 99]]
    inputs = {
        "x": np.random.default_rng(0).standard_normal((2, 3, 12, 10)).astype(np.float32),
        "rois": np.array(boxes, np.float32),
        "batch": np.array([0, 1, 1, 0]),
    }
    how = {"output_height": 3, "output_width": 2, "spatial_scale": 0.75, "coordinate_transformation_mode": mode}
    node = make.make_node("RoiAlign", list(inputs), ["y"], **how)
    ports = [
        make.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in inputs.items()
    ]
    graph = make.make_graph([node], "regions", ports, [make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)])
    path = str(tmp_path / "regions.onnx")
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=10), path)
    expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    np.testing.assert_allclose(relay.compile(path)(**inputs), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("indices", ["of the flat tensor", "of each axis"])
def test_sparse_initialisers_and_constants(tmp_path, indices):
    onnxruntime = pytest.importorskip("onnxruntime")
    make = onnx.helper

    def sparse(name, array):
        flat = np.flatnonzero(array)
        at = flat if indices == "of the flat tensor" else np.argwhere(array)
        values = onnx.numpy_helper.from_array(array.ravel()[flat], name)
        return make.make_sparse_tensor(values, onnx.numpy_helper.from_array(at.astype(np.int64), ""), array.shape)

    draw = np.random.default_rng(3)
    weights = [
        np.where(draw.random((5, 4)) < 0.3, draw.standard_normal((5, 4)), 0).astype(np.float32) for _ in range(2)
    ]
    x = draw.standard_normal((3, 5)).astype(np.float32)
    nodes = [
        make.make_node("MatMul", ["x", "w"], ["a"]),
        make.make_node("Constant", [], ["c"], sparse_value=sparse("", weights[1])),
        make.make_node("MatMul", ["x", "c"], ["b"]),
        make.make_node("Sub", ["a", "b"], ["y"]),
    ]
    ports = [make.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in (("x", [3, 5]), ("y", [3, 4]))]
    graph = make.make_graph(nodes, "sparse", ports[:1], ports[1:], sparse_initializer=[sparse("w", weights[0])])
    path = str(tmp_path / "sparse.onnx")
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=10), path)
    got = relay.compile(path)(x)
    np.testing.assert_allclose(got, x @ weights[0] - x @ weights[1], rtol=1e-4, atol=1e-5)
    if indices == "of the flat tensor":  # the form that ONNX Runtime takes of constants
        expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
