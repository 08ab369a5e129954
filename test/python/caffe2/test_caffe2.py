"""Networks of Caffe2: results of Caffe2 itself (golden_cases.py), old names
and arguments, and problems."""

import pathlib

import numpy as np
import pytest
from golden_cases import CASES, CLOSE, NOT_ALONE, largest, operator_of
from protobuf_writer import net_def
from relay.frontend.caffe2.table import OPERATORS

import relay


@pytest.mark.parametrize("name", CASES)
def test_operators(name):
    assert largest(name) <= CLOSE


# --- problems ---------------------------------------------------------------------------------------------------------
W, B = np.ones((3, 4), np.float32), np.ones(3, np.float32)


def init(**weights):
    return net_def(
        [("GivenTensorFill", [], [name], {"shape": list(one.shape), "values": one}) for name, one in weights.items()],
        outputs=weights,
    )


def predict(*operators, inputs=("x",), outputs=("y",)):
    return net_def(operators, inputs, outputs)


FC = ("FC", ["x", "w", "b"], ["y"], {})
GOOD = init(w=W, b=B), predict(FC, inputs=("x", "w", "b"))


def test_files_by_name(tmp_path):
    for name, content in zip(("init_net.pb", "predict_net.pb"), GOOD, strict=True):
        (tmp_path / name).write_bytes(content)
    for name in ("init_net.pb", "predict_net.pb"):
        module, files = relay.frontend.files.import_file(str(tmp_path / name), {"x": [2, 4]})
        assert np.asarray(relay.compile(module)(np.ones((2, 4), np.float32))).tolist() == [[5, 5, 5]] * 2
        assert len(files) == 2
    (tmp_path / "init_net.pb").unlink()
    with pytest.raises(relay.CompileError, match="no init_net.pb is beside it"):
        relay.frontend.files.import_file(str(tmp_path / "predict_net.pb"), {"x": [2, 4]})


def test_custom_operators():
    module, _ = relay.frontend.from_caffe2(
        GOOD[0], predict(("Mine", ["x"], ["y"], {"by": 3.0})), {"x": (2,)},
        custom_operators={"Mine": lambda inputs, arguments: relay.multiply(inputs[0], relay.const(arguments["by"]))},
    )  # fmt: skip
    assert np.asarray(relay.compile(module)(np.ones(2, np.float32))).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("made", "network", "shapes", "said"),
    [
        (GOOD[0], predict(("One", ["x"], ["a"], {}), ("Two", ["a"], ["y"], {})), {"x": (1,)},
         ["operator One", "operator Two", "One #0 that computes 'a'", "custom_operators"]),
        (*GOOD, {}, ["the input `x` has no shape in the model", "shape={'NAME'"]),
        (init(w=W), GOOD[1], {"x": (2, 4)}, ["the input `b` has no shape"]),
        (init(w=W[:, :3], b=B), GOOD[1], {"x": (2, 4)}, ["4 inputs and a matrix for 3 do not fit"]),
        (init(w=W, b=B[:2]), GOOD[1], {"x": (2, 4)}, ["the bias has the shape (2), not (3)"]),
        (net_def([("GivenTensorFill", [], ["w"], {"shape": [3, 4], "values": B})]), GOOD[1], {"x": (2, 4)},
            ["3 values for the shape (3, 4)"]),
        (net_def([("XavierFill", [], ["w"], {"shape": [3, 4]})]), GOOD[1], {"x": (2, 4)}, ["its values are random"]),
        (GOOD[0], predict(("Dropout", ["x"], ["y", "m"], {"ratio": 0.5})), {"x": (2,)}, ["form for training"]),
        (GOOD[0], predict(("Relu", ["x"], ["y"], {"sharp": 1})), {"x": (2,)}, ["`sharp` is not known"]),
        (GOOD[0], predict(("Relu", ["b2"], ["a"], {}), ("Relu", ["a"], ["b2"], {}), outputs=("a",)), {}, ["cycle"]),
        (GOOD[0], predict(FC, outputs=("z",), inputs=("x", "w", "b")), {"x": (2, 4)},
            ["nothing computes the output `z`"]),
        (GOOD[0], GOOD[1][:-2], {"x": (2, 4)}, ["damaged at byte"]),
        (GOOD[0], b"PK\x03\x04 a zip", {"x": (2, 4)}, ["<network>"]),
        (GOOD[0], b"", {"x": (2, 4)}, ["no operators"]),
        (GOOD[0], predict(("MaxPool", ["x"], ["y"], {"kernel": 9})), {"x": (1, 1, 4, 4)}, ["MaxPool"]),
    ],
)  # fmt: skip
def test_problems(made, network, shapes, said):
    with pytest.raises(relay.CompileError) as raised:
        relay.frontend.from_caffe2(made, network, shapes)
    told = str(raised.value)
    assert "help:" in told and "bug in Relay" not in told, told
    for one in said:
        assert one in told, told


@pytest.mark.parametrize("seed", range(60))
def test_changed_bytes(seed):
    rng = np.random.default_rng(seed)
    changed = []
    for content in map(bytearray, GOOD):
        for _ in range(int(rng.integers(1, 4))):
            content[rng.integers(len(content))] = rng.integers(256)
        changed.append(bytes(content))
    try:
        relay.frontend.from_caffe2(*changed, {"x": (2, 4)})
    except relay.CompileError as error:
        assert "help:" in str(error) and "bug in Relay" not in str(error), str(error)


def test_every_operator_was_compared_and_is_listed():
    compared = {operator_of(name) for name in CASES}
    assert compared | NOT_ALONE == set(OPERATORS)
    page = (pathlib.Path(__file__).parents[3] / "docs" / "front-ends.md").read_text()
    listed = page.partition("<!-- Caffe2 operators")[2].partition("<!-- end of Caffe2 operators")[0]
    assert set(listed.partition("imported:")[2].replace(".", "").replace(",", " ").split()) == set(OPERATORS)


@pytest.mark.parametrize(("kind", "arguments", "wanted"), [
    ("GivenTensorBoolFill", {"shape": [2], "values": [1, 0]}, np.array([True, False])),
    ("GivenTensorIntFill", {"shape": [2], "values": [-1, 7]}, np.array([-1, 7], np.int32)),
    ("GivenTensorDoubleFill", {"shape": [1, 2], "values": [0.5, 2.0]}, np.array([[0.5, 2.0]])),
    ("GivenTensorByteStringToUInt8Fill", {"shape": [2], "values": "AB"}, np.array([65, 66], np.uint8)),
    ("ConstantFill", {"shape": [2, 1], "value": 1.5}, np.array([[1.5], [1.5]], np.float32)),
    ("ConstantFill", {"shape": [2], "value": 3, "dtype": 10}, np.array([3, 3], np.int64)),
])  # fmt: skip
def test_constants(kind, arguments, wanted):
    module, _ = relay.frontend.from_caffe2(
        net_def([(kind, [], ["y"], arguments)]), predict(("Copy", ["y"], ["z"], {}), outputs=["z"], inputs=["y"])
    )
    got = np.asarray(relay.compile(module)())
    assert got.dtype == wanted.dtype and np.array_equal(got, wanted)
