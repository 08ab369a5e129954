"""Files of Keras that are cut, contradictory or made to do harm: a diagnostic each, without a crash or a huge
allocation."""

import copy
import io
import json
import zipfile

import h5py
import numpy as np
import pytest
from forms import each_nth
from keras_files import (
    archive,
    called,
    called_2,
    dense,
    functional,
    hdf5,
    input_layer,
    layer,
    old_file,
    sequential,
    stored,
    tensor,
)

import relay

W, B = np.ones((4, 3), np.float32), np.ones(3, np.float32)
CONFIG = sequential(input_layer("x", 4), dense("d", 3))
GOOD = archive(CONFIG, {"layers/dense": [W, B]})
WEIGHTS = [("kernel", W), ("bias", B)]


def refused(content, *said):
    with pytest.raises(relay.CompileError) as raised:
        relay.load(content)
    text = str(raised.value)
    assert "help:" in text and "Traceback" not in text and "bug in Relay" not in text, text
    for one in said:
        assert one in text, text


@pytest.mark.parametrize("part", range(1, 40, 4))
def test_a_cut_archive(part):
    refused(GOOD[: len(GOOD) * part // 40])


@pytest.mark.parametrize("part", range(1, 40, 4))
def test_a_cut_hdf5_file(part):
    content = old_file(CONFIG, {"d": WEIGHTS})
    cut = content[: len(content) * part // 40]
    try:
        relay.load(cut)
    except relay.CompileError as error:
        assert "help:" in str(error)


@pytest.mark.parametrize("seed", range(24))
def test_changed_bytes(seed):
    """A byte that is changed gives a diagnostic, or a model if the byte is not read or is a weight."""
    rng = np.random.default_rng(seed)
    content = bytearray(GOOD if seed % 2 else old_file(CONFIG, {"d": WEIGHTS}))
    for place in rng.integers(8, len(content), 1 + seed % 7):
        content[place] = rng.integers(256)
    try:
        relay.load(bytes(content))
    except relay.CompileError as error:
        assert "help:" in str(error)


@pytest.mark.slow
def test_a_file_that_hdf5_does_not_finish_reading(monkeypatch):
    """The first text of the heap is said to have -16 bytes, so that the next one is itself: HDF5 2.0 never ends."""
    monkeypatch.setattr("relay.frontend.keras.file._SECONDS", 4)
    content = bytearray(old_file(CONFIG, {"d": WEIGHTS}))
    at = content.index(b"GCOL")
    content[at + 24 : at + 32] = (2**64 - 16).to_bytes(8, "little")
    refused(bytes(content), "HDF5 does not finish reading it")


def test_members_that_are_missing():
    refused(archive(CONFIG, {"layers/dense": [W]}), "the weight `bias` is not in the file, first in `d`")
    refused(archive(CONFIG, {}), "the weight `kernel` is not in the file")
    refused(archive(CONFIG, {}, model_h5=b""), "HDF5 part")
    refused(archive(CONFIG, {}, config_json="{"), "config.json in <bytes> is not JSON")
    refused(archive(CONFIG, {}, config_json="[1]"), "is not a JSON object")


def test_a_weight_of_another_shape():
    refused(archive(CONFIG, {"layers/dense": [W.T, B]}), "`kernel` has the shape (3, 4), not (4, 3), first in `d`")
    refused(archive(CONFIG, {"layers/dense": [W, W]}), "`bias` has the shape (4, 3), not (3)")
    refused(old_file(CONFIG, {"d": [("kernel", W)]}), "the weight `bias` is not in the file")
    refused(archive(CONFIG, {"layers/dense": [np.array([b"text"] * 12).reshape(4, 3), B]}), "not numbers")


def test_weights_without_layers():
    refused(stored({"layers/dense": [W, B]}), "contains weights but no layers", "model.load_weights()")
    refused(hdf5(lambda file: file.create_dataset("x", data=W)), "HDF5 file without `model_config`")


@pytest.mark.slow
def test_a_zip_bomb():
    bomb = archive(CONFIG, bytes(300 << 20), method=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 20
    refused(bomb, "model.weights.h5 in <bytes> has 314572800 bytes, compressed to")
    refused(archive(CONFIG, {}, method=zipfile.ZIP_DEFLATED, config_json=" " * (40 << 20)), "config.json", "more than")


def test_a_dataset_without_elements_of_a_huge_size():
    def fill(file):
        file.create_dataset("layers/dense/vars/0", shape=(4, 1 << 40), dtype="f4", chunks=(4, 1024))

    refused(archive(CONFIG, hdf5(fill)), "has the shape (4, 1099511627776), and 0 bytes in the file")


def test_elements_in_other_files(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(48))

    def external(file):
        file.create_dataset("layers/dense/vars/0", shape=(4, 3), dtype="f4", external=[(tmp_path / "secret", 0, 48)])

    def linked(file):
        file["layers/dense/vars/0"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "x")

    def soft(file):
        file["layers/dense/vars/0"] = h5py.SoftLink("/layers")

    refused(archive(CONFIG, hdf5(external)), "lie in another file")
    refused(archive(CONFIG, hdf5(linked)), "is a link to another place")
    refused(archive(CONFIG, hdf5(soft)), "is a link to another place")


def test_deep_and_huge_configurations():
    refused(archive(CONFIG, {}, config_json="[" * 100_000), "nested more than 200 levels deep")
    inner = CONFIG
    for place in range(40):
        inner = sequential(inner, name=f"n{place}")
    refused(archive(inner, {}), "nested more than 24 deep")


def graph(*layers, inputs=("x",), outputs=("d",)):
    return archive(functional([input_layer("x", 4), *layers], list(inputs), list(outputs)), {"layers/dense": [W, B]})


@pytest.mark.slow
def test_graphs_that_are_none():
    add = layer("Add", "a")
    of_itself = called(add, [[tensor("x"), tensor("d")]])
    refused(graph(of_itself, called(dense("d", 3), tensor("a"))), "needs its own result")
    refused(graph(called(dense("d", 3), tensor("d"))), "the layer `d` needs its own result")
    refused(graph(called(dense("d", 3), tensor("nothing"))), "no call 0 of a layer `nothing`")
    refused(graph(called(dense("d", 3), tensor("x", 7))), "no call 7 of a layer `x`")
    refused(graph(called(dense("d", 3), tensor("x")), outputs=["y"]), "no call 0 of a layer `y`")
    refused(graph(called(dense("d", 3), tensor("x")), inputs=["d"]), "the input `d` is not an input layer")
    refused(graph(called(dense("x", 3), tensor("x"))), "two layers have the same name")
    refused(graph(called_2(dense("d", 3), 5)), "neither the form of Keras 2 nor that of Keras 3")
    refused(graph(called_2(dense("d", 3), [["x", 0, 0, {}], 3])), "an input of a call names no layer")


@pytest.mark.parametrize(
    ("key", "value"),
    [("units", "many"), ("units", -3), ("units", 2**70), ("units", None), ("activation", "explode"),
     ("activation", 3), ("activation", {"class_name": "Lambda", "config": {}}), ("dtype", "string"), ("dtype", [1]),
     ("use_bias", {"a": 1}), ("dtype", {"class_name": "QuantizedDTypePolicy", "config": {}})],
)  # fmt: skip
def test_configurations_that_are_wrong(key, value):
    try:
        relay.load(archive(sequential(input_layer("x", 4), dense("d", **{key: value})), {"layers/dense": [W, B]}))
    except relay.CompileError as error:
        assert "help:" in str(error) and ("in `d`" in str(error) or "malformed" in str(error))


SHAPES = [[None, -4], ["x", 4], 4, [], [None, 1.5], [None] * 30, [None, 2**40], None]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_that_are_wrong(shape):
    made = copy.deepcopy(CONFIG)
    made["config"]["layers"][0]["config"]["batch_shape"] = shape
    refused(archive(made, {"layers/dense": [W, B]}))


@pytest.mark.parametrize("seed", each_nth(4, range(40)))
def test_values_of_a_configuration_that_are_changed(seed):
    """Values anywhere in the configuration of a network are replaced by others of any type."""
    rng = np.random.default_rng(seed)
    config = functional(
        [input_layer("x", 8, 7, 4),
         called(layer("Conv2D", "c", filters=3, kernel_size=[3, 3], strides=[1, 1], padding="same"), tensor("x")),
         called(layer("BatchNormalization", "n", axis=-1), tensor("c")),
         called(layer("MaxPooling2D", "p", pool_size=[2, 2], padding="same"), tensor("n")),
         called(layer("Reshape", "r", target_shape=[16, 3]), tensor("p")),
         called(layer("LSTM", "l", units=2), tensor("r"))], ["x"], ["l"],
    )  # fmt: skip
    weights = {"layers/conv2d": [np.ones((3, 3, 4, 3), np.float32), B], "layers/batch_normalization": [B] * 4,
               "layers/lstm/cell": [np.ones((3, 8)), np.ones((2, 8)), np.ones(8)]}  # fmt: skip
    places = []

    def visit(value):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            places.append((value, key))
            if isinstance(one, (dict, list)):
                visit(one)

    visit(config)
    others = [None, -1, 0, 2**40, 1.5, "x", "same", [], {}, [[1]], True, {"class_name": "Dense"}, ["x", 0, 0]]
    for _ in range(1 + seed % 3):
        holder, key = places[rng.integers(len(places))]
        holder[key] = others[rng.integers(len(others))]
    try:
        relay.load(archive(json.loads(json.dumps(config)), weights))
    except relay.CompileError as error:
        assert "help:" in str(error)


def test_another_format_under_the_name(tmp_path):
    for name in ("net.keras", "net.h5"):
        (tmp_path / name).write_text("not a model")
        refused(tmp_path / name, "named as a Keras model, but neither a zip archive nor an HDF5 file")
    with zipfile.ZipFile(tmp_path / "net.keras", "w") as file:
        file.writestr("metadata.json", "{}")
    refused(tmp_path / "net.keras", "its archive lacks config.json or model.weights.h5")
    (tmp_path / "net.keras").write_bytes(old_file(CONFIG, {"d": WEIGHTS}))
    assert relay.load(tmp_path / "net.keras")
    assert relay.load(io.BytesIO(GOOD))
