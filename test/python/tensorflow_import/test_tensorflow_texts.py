"""Texts, tables and quantised tensors of TensorFlow's models, and pictures given as pixels."""

import numpy as np
import pytest
import tensorflow_files as files
from tensorflow_files import Func, Type, const, function, graph, node, placeholder

import relay

TEXT, LONG, FLOAT, BYTE, WHOLE = (Type(one) for one in ("string", "int64", "float32", "quint8", "qint32"))


@pytest.fixture(autouse=True)
def quantised_types(monkeypatch):
    monkeypatch.setitem(files.TYPES, "quint8", 12)
    monkeypatch.setitem(files.TYPES, "qint32", 13)


def words(*texts):
    return np.array([one.encode() for one in texts], object)


def run(nodes, *inputs, outputs=None, functions=()):
    module, _ = relay.frontend.from_tensorflow(graph(nodes, functions), outputs=outputs)
    return relay.compile(module, opt_level=1)(*inputs)


def table(key=TEXT, value=LONG):
    return node("t", "HashTableV2", key_dtype=key, value_dtype=value, shared_name="t")


def found(keys="x", key=TEXT, value=LONG):
    return node("y", "LookupTableFindV2", "t", keys, "other", Tin=key, Tout=value)


NUMBERS = [const("k", words("cat", "dog")), const("v", np.array([7, 9])), const("other", np.array(-1))]
FILL = node("fill", "InitializeTableV2", "t", "k", "v", Tkey=TEXT, Tval=LONG)


def test_a_table_of_texts():
    nodes = [placeholder("x", 2, 2, dtype="string"), table(), *NUMBERS, FILL, found()]
    got = run(nodes, np.array([["dog", "cow"], ["", "cat"]], object), outputs=["y"])
    np.testing.assert_array_equal(got, [[9, -1], [-1, 7]])


def test_a_table_that_gives_texts():
    nodes = [placeholder("x", 3, dtype="int64"), table(LONG, TEXT), const("k", np.array([5, -2])),
             const("v", words("five", "less")), const("other", words("?").reshape(())),
             node("fill", "LookupTableImportV2", "t", "k", "v", Tin=LONG, Tout=TEXT),
             found("x", LONG, TEXT)]  # fmt: skip
    got = run(nodes, np.array([-2, 0, 5]), outputs=["y"])
    assert got.tolist() == ["less", "?", "five"]


def test_a_table_that_a_function_fills():
    """A function takes the table and its contents, as TensorFlow 2 saves it."""
    inner = node("in", "LookupTableImportV2", "table", "keys", "values", Tin=TEXT, Tout=LONG)
    body = function("start", {"table": "resource", "keys": "string", "values": "int64"}, {"one": "int64"},
                    [inner, const("c", np.array(1))], {"one": "c:output:0"})  # fmt: skip
    call = node("call", "StatefulPartitionedCall", "t", "k", "v", f=Func("start"))
    nodes = [placeholder("x", 2, dtype="string"), table(), *NUMBERS, call, found()]
    np.testing.assert_array_equal(run(nodes, words("cat", "z"), outputs=["y"], functions=[body]), [7, -1])


def test_a_table_in_a_file(tmp_path):
    """A vocabulary in the folder `assets`: keys are lines, values their numbers."""
    fill = node("fill", "InitializeTableFromTextFileV2", "t", "path", key_index=-2, value_index=-1, vocab_size=-1,
                delimiter="\t")  # fmt: skip
    nodes = [placeholder("x", 3, dtype="string"), table(), const("path", words("p").reshape(())),
             const("other", np.array(-1)), fill, found()]  # fmt: skip
    field = files.field
    asset = field(1, field(1, "path:0")) + field(2, "words.txt")
    signature = field(1, field(1, "x") + field(2, files.info("x:0", "string", [3])))
    signature += field(2, field(1, "y") + field(2, files.info("y:0", "int64", [3])))
    meta = field(1, field(4, "serve")) + field(2, graph(nodes)) + field(6, asset)
    meta += field(5, field(1, "serving_default") + field(2, signature))
    (tmp_path / "saved_model.pb").write_bytes(field(1, 1) + field(2, meta))
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "words.txt").write_text("one\ntwo\nthree\n")
    got = relay.compile(relay.load(tmp_path))(words("three", "one", "four"))
    np.testing.assert_array_equal(got, [2, 0, -1])
    _, read = relay.frontend.tensorflow.import_file(str(tmp_path))
    assert str(tmp_path / "assets" / "words.txt") in read
    (tmp_path / "saved_model.pb").write_bytes(field(1, 1) + field(2, meta.replace(b"words.txt", b"../ds.txt")))
    with pytest.raises(relay.CompileError, match="not the name of a file"):
        relay.load(tmp_path)


def test_texts_are_moved_and_compared():
    nodes = [placeholder("x", 3, dtype="string"), const("w", words("a", "b", "b")),
             const("axis", np.array(0, np.int32)), node("same", "Equal", "x", "w", T=TEXT),
             node("z", "Select", "same", "x", "w", T=TEXT),
             node("y", "ConcatV2", "z", "x", "axis", N=2, T=TEXT, Tidx=Type("int32"))]  # fmt: skip
    same, joined = run(nodes, words("a", "q", "b"), outputs=["same", "y"])
    np.testing.assert_array_equal(same, [True, False, True])
    assert joined.tolist() == ["a", "b", "b", "a", "q", "b"]


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([node("y", "StringJoin", "x", "x", N=2)], "StringJoin: it works on texts"),
        ([node("y", "AddV2", "x", "x", T=TEXT)], "AddV2: it makes texts or reads their letters"),
        ([table(), *NUMBERS, found()], "nothing in the file fills the table `t`"),
        ([table(), *NUMBERS[:1], const("v", np.array([7])), *NUMBERS[2:], FILL, found()], "2 keys and 1 values"),
    ],
)
def test_problems(nodes, said):
    with pytest.raises(relay.CompileError) as raised:
        run([placeholder("x", 2, dtype="string"), *nodes], words("a", "b"), outputs=["y"])
    assert said in str(raised.value) and "help:" in str(raised.value)


def test_a_picture_as_pixels():
    """As in old scripts: the bytes of a picture are replaced by its pixels."""
    nodes = [placeholder("bytes", dtype="string"), node("picture", "DecodeJpeg", "bytes", channels=3),
             node("y", "Cast", "picture", SrcT=Type("uint8"), DstT=FLOAT)]  # fmt: skip
    module, _ = relay.frontend.from_tensorflow(graph(nodes), shape={"bytes": (4, 5, 3)}, outputs=["y"])
    x = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    np.testing.assert_array_equal(relay.compile(module)(x), x.astype(np.float32))
    with pytest.raises(relay.CompileError, match="the bytes of a picture"):
        relay.frontend.from_tensorflow(graph(nodes), outputs=["y"])


def quantised(name, source):
    return node(name, "QuantizeV2", source, "low", "high", T=BYTE, mode="MIN_FIRST")


def dequantised(source, kind):
    return node("y", "Dequantize", source, f"{source}:1", f"{source}:2", T=kind, mode="MIN_FIRST")


def test_quantised_products():
    """Integers are those of the definition; the numbers that they stand for are near the product."""
    rng = np.random.default_rng(0)
    x, w = (rng.uniform(-2, 2, shape).astype(np.float32) for shape in ((3, 5), (5, 4)))
    nodes = [placeholder("x", 3, 5), placeholder("w", 5, 4), const("low", np.array(-2, np.float32)),
             const("high", np.array(2, np.float32)), quantised("a", "x"), quantised("b", "w"),
             node("m", "QuantizedMatMul", "a", "b", "a:1", "a:2", "b:1", "b:2", T1=BYTE, T2=BYTE, Toutput=WHOLE),
             dequantised("m", WHOLE)]  # fmt: skip
    made, numbers = run(nodes, x, w, outputs=["m", "y"])
    step = 4 / 255

    def integers(array):
        return np.floor(array.astype(np.float64) / step + 0.5) + 128

    np.testing.assert_array_equal(made, (integers(x) - 128) @ (integers(w) - 128))
    np.testing.assert_allclose(numbers, x @ w, atol=5 * 2 * step)


def test_quantised_relu_in_a_narrower_range():
    x = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 12)
    nodes = [placeholder("x", 2, 12), const("low", np.array(-2, np.float32)), const("high", np.array(2, np.float32)),
             quantised("a", "x"), node("m", "QuantizedRelu", "a", "a:1", "a:2", Tinput=BYTE, out_type=BYTE),
             dequantised("m", BYTE)]  # fmt: skip
    np.testing.assert_allclose(run(nodes, x, outputs=["y"]), np.clip(x, 0, 2), atol=4 / 255)
