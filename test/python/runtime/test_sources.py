"""The models that load() and compile() accept, and their messages for everything else."""

import io

import numpy as np
import pytest
from programs import DENSE, onnx_model

import relay


@pytest.fixture
def path(tmp_path):
    onnx = pytest.importorskip("onnx")
    nodes = [onnx.helper.make_node("Relu", ["x"], ["y"])]
    return onnx_model(tmp_path / "relu.onnx", nodes, [("x", ("n", 4))], [("y", ("n", 4))])


def forms(path):
    onnx = pytest.importorskip("onnx")
    data = path.read_bytes()
    return [
        str(path),
        path,
        data,
        bytearray(data),
        memoryview(data),
        io.BytesIO(data),
        open(path, "rb"),
        onnx.load(path),
    ]


def test_every_form_is_one_model(path):
    expected = relay.load(path)
    for form in forms(path):
        assert relay.load(form) == expected, type(form)
    x = [
        np.ones([d if isinstance(d, int) else 2 for d in port.shape], port.dtype) for port in relay.compile(path).inputs
    ]
    wanted = relay.compile(path)(*x)
    for form in forms(path):
        np.testing.assert_array_equal(relay.compile(form)(*x), wanted)


def test_artifacts_and_programs_as_bytes(tmp_path):
    module = relay.parse(DENSE)
    model = relay.compile(module)
    model.save(tmp_path / "dense.rart")
    loaded = relay.load((tmp_path / "dense.rart").read_bytes())
    assert isinstance(loaded, relay.Compiled) and str(loaded) == str(model)
    text = module.astext().encode()
    assert isinstance(relay.load(text), relay.IRModule)
    assert relay.load(io.BytesIO(text)) == relay.load(text)


def wrong(given, *words):
    for function in (relay.load, relay.compile):
        with pytest.raises(relay.CompileError) as caught:
            function(given)
        one = caught.value.diagnostics[0]
        assert one.help or one.notes, one
        assert "/proc/" not in str(caught.value)
        for word in words:
            assert word in str(caught.value)


@pytest.mark.parametrize(
    "given, words",
    [
        (None, ["None is given", "a path"]),
        (3.5, ["a float is given"]),
        ({}, ["a dict is given"]),
        (np.zeros(3), ["a numpy.ndarray is given"]),
        (b"garbage", ["the kind of model of <bytes> is unknown (7 bytes)"]),
        (b"PK\3\4 and more", ["zip file"]),
        (b"\x80\x02}", ["pickle"]),
        (b"\x89RELAY\r\n and nothing more", ["<bytes>"]),
        (DENSE, ["relay.parse"]),
        pytest.param(io.StringIO("x"), ["open as text"], id="a text stream"),
        (relay.var("x"), ["relay.IRModule"]),
    ],
    ids=str,
)
def test_what_is_no_model_is_named(given, words):
    wrong(given, *words)


def test_a_file_read_to_its_end(path):
    with open(path, "rb") as file:
        file.read()
        wrong(file, "seek(0)")


def test_modules_of_torch():
    torch = pytest.importorskip("torch")
    wrong(torch.nn.Linear(2, 2), "relay.from_pytorch", "Linear")
