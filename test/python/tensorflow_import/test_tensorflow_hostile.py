"""Files of TensorFlow that are cut, contradictory or made to do harm: a diagnostic each, without a crash, a hang or a
huge allocation."""

import numpy as np
import pytest
from tensorflow_files import (
    Func,
    Shape,
    Type,
    block,
    checkpoint,
    const,
    field,
    function,
    graph,
    node,
    placeholder,
    saved_model,
    table,
    varint,
)

import relay

FLOAT = Type("float32")
GOOD = graph(
    [
        placeholder("x", 2, 4, 4, 3),
        const("k", np.ones((3, 3, 3, 2), np.float32)),
        node("c", "Conv2D", "x", "k", T=FLOAT, strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 1, 1, 1]),
        const("axes", np.array([1, 2], np.int32)),
        node("y", "Mean", "c", "axes", T=FLOAT, keep_dims=False),
    ]
)


def refused(content, *said, **how):
    with pytest.raises((relay.CompileError, relay.InputError)) as raised:
        relay.frontend.from_tensorflow(content, **how)
    text = str(raised.value)
    assert "help:" in text and "Traceback" not in text, text
    for one in said:
        assert one in text, text


def either(content):
    """Imports a file, or refuses it with a diagnostic."""
    try:
        relay.frontend.from_tensorflow(content)
    except (relay.CompileError, relay.InputError) as error:
        assert "help:" in str(error) and "Traceback" not in str(error)


def test_a_file_that_ends_early():
    for end in range(0, len(GOOD), 7):
        if GOOD[:end]:
            either(GOOD[:end])
    refused(GOOD[:-3], "cannot be read as a GraphDef of TensorFlow: at byte")


def test_changed_bytes():
    rng = np.random.default_rng(0)
    for _ in range(300):
        content = bytearray(GOOD)
        for at in rng.integers(0, len(content), rng.integers(1, 4)):
            content[at] = rng.integers(0, 256)
        either(bytes(content))


def test_lengths_that_the_file_does_not_have():
    refused(varint(10) + varint(1 << 40) + b"abc", "at byte 0, a field of GraphDef has 1099511627776 bytes")
    refused(b"\x0a" + b"\xff" * 11, "a number has more than 10 bytes")
    refused(b"\x0a\x02\x0b\x00", "wire type 3")


def test_messages_inside_messages():
    inner = b""
    for _ in range(300):
        inner = field(10, field(2, field(1, "a") + field(2, inner)))  # a function in an attribute of a function
    refused(
        graph([field(1, "n") + field(2, "Relu") + field(5, field(1, "f") + field(2, inner))]), "nested more than 64"
    )


def test_tensors_that_contradict_their_shapes():
    x = placeholder("x", 2)
    for value, said in (
        (field(8, field(1, 1) + field(2, field(2, field(1, 1 << 40))) + field(5, 1.0)), "and few bytes"),
        (
            field(8, field(1, 1) + field(2, field(2, field(1, 3))) + field(4, b"1234")),
            "has 4 bytes, and its shape (3,)",
        ),
        (field(8, field(1, 3) + field(7, 1) + field(7, 2)), "has 2 elements, and its shape ()"),
        (field(8, field(1, 99)), "its element type has the number 99"),
    ):
        refused(graph([x, node("k", "Const", dtype=FLOAT, value=value), node("y", "Add", "x", "k", T=FLOAT)]), said)


def test_graphs_with_a_cycle():
    refused(
        graph([node("a", "Relu", "b", T=FLOAT), node("b", "Relu", "a", T=FLOAT), node("y", "Relu", "a", T=FLOAT)]),
        "needs its own result",
        outputs=["y"],
    )
    loop = [
        placeholder("p", dtype="bool"),
        node("y", "Merge", "a", "b", T=FLOAT),
        node("a", "Switch", "y", "p", T=FLOAT),
        node("b", "Switch", "y", "p", T=FLOAT),
    ]
    refused(graph(loop), "cycle", outputs=["y"])


def test_loops_that_are_not_whole():
    refused(graph([placeholder("x", 2), node("y", "Exit", "x", T=FLOAT)]), "does not follow the Switch of a loop")
    refused(graph([placeholder("x", 2), node("y", "Enter", "x", T=FLOAT, frame_name="f")]), "", outputs=["y"])
    merge = [
        placeholder("x", 2),
        node("next", "NextIteration", "x", T=FLOAT),
        node("y", "Merge", "x", "next", T=FLOAT),
    ]
    refused(graph(merge), "belongs to a loop", outputs=["y"])


def test_functions_that_call_themselves():
    own = function(
        "f", {"x": "float32"}, {"y": "float32"}, [node("c", "PartitionedCall", "x", f=Func("f"))], {"y": "c:output:0"}
    )
    refused(graph([placeholder("x", 2), node("y", "PartitionedCall", "x", f=Func("f"))], [own]), "nested more than")


@pytest.mark.slow
def test_functions_that_grow():
    """Each function calls the next one twice."""
    functions = [
        function(
            f"f{place}",
            {"x": "float32"},
            {"y": "float32"},
            [
                node("a", "PartitionedCall", "x", f=Func(f"f{place + 1}")),
                node("b", "PartitionedCall", "a:output:0", f=Func(f"f{place + 1}")),
            ],
            {"y": "b:output:0"},
        )
        for place in range(40)
    ]
    functions.append(
        function("f40", {"x": "float32"}, {"y": "float32"}, [node("r", "Relu", "x", T=FLOAT)], {"y": "r:activations:0"})
    )
    refused(
        graph([placeholder("x", 2), node("y", "PartitionedCall", "x", f=Func("f0"))], functions), "nodes are imported"
    )


def test_names_that_are_missing_or_twice():
    x = placeholder("x", 2)
    refused(graph([x, x]), "two nodes with the name `x`")
    refused(graph([x, node("y", "Relu", "z", T=FLOAT)]), "reads `z`, which is not in the graph")
    refused(graph([x, node("y", "Relu", "x:7", T=FLOAT)]), "reads result 7 of Placeholder 'x', which has 1")
    refused(graph([x, node("y", "Relu", T=FLOAT)]), "it has 0 inputs")
    refused(graph([x, node("y", "PartitionedCall", "x", f=Func("f"))]), "the function `f` is called, and is not in")
    refused(graph([]) + field(4, field(1, 3)), "it has no nodes")


def test_huge_results():
    sizes = const("n", np.array([1 << 20, 1 << 20], np.int32))
    value = const("v", np.array(1, np.float32))
    refused(graph([sizes, value, node("y", "LinSpace", "v", "v", "n", T=FLOAT)]), "LinSpace")
    last = const("last", np.array(1 << 30, np.int32))
    first, step = const("first", np.array(0, np.int32)), const("step", np.array(1, np.int32))
    refused(graph([first, last, step, node("y", "Range", "first", "last", "step")]), "it has 1073741824 elements")


def test_numbers_that_take_long_to_compute():
    """The shape of a result is the sum of 2^40 ones, or the state of a loop without an end."""
    sizes, one = const("n", np.array([1 << 20, 1 << 20], np.int32)), const("v", np.array(1, np.int32))
    nodes = [placeholder("x", 2), sizes, one, node("f", "Fill", "n", "v"), const("axes", np.array([0, 1], np.int32))]
    nodes += [node("s", "Sum", "f", "axes"), node("y", "Tile", "x", "s")]
    either(graph(nodes))
    same = function("f", {"x": "int32"}, {"y": "int32"}, [node("i", "Add", "x", "x")], {"y": "i:z:0"})
    on = function("g", {"x": "int32"}, {"y": "bool"}, [const("t", np.array(True))], {"y": "t:output:0"})
    nodes = [placeholder("x", 2), one, node("w", "While", "v", cond=Func("g"), body=Func("f"))]
    either(graph([*nodes, node("y", "OneHot", "w", "w", "x", "x")], [same, on]))


def test_windows_of_nothing():
    for attrs in (
        {"strides": [1, 0, 0, 1]},
        {"strides": [1, 1]},
        {"strides": [2, 1, 1, 1]},
        {"padding": "NONE"},
        {"data_format": "X"},
    ):
        how = {"strides": [1, 1, 1, 1], "padding": "SAME"} | attrs
        nodes = [
            placeholder("x", 1, 4, 4, 3),
            const("k", np.ones((3, 3, 3, 2), np.float32)),
            node("y", "Conv2D", "x", "k", **how),
        ]
        refused(graph(nodes), "first in `y`")


def index_of(tmp_path, content):
    """The folder of a SavedModel whose index has this content."""
    model = graph(
        [
            node("in", "Placeholder", dtype=FLOAT, shape=Shape((3,))),
            node("v", "VariableV2", dtype=FLOAT, shape=Shape((3,))),
            node("y", "Mul", "in", "v", T=FLOAT),
        ]
    )
    entry = {"x": ("in:0", "float32", (3,))}, {"y": ("y:0", "float32", (3,))}
    path = saved_model(tmp_path / "m", model, *entry, {"v": np.ones(3, np.float32)})
    if content is not None:
        (tmp_path / "m" / "variables" / "variables.index").write_bytes(content)
    return path


def test_the_index_of_a_checkpoint(tmp_path):
    path = index_of(tmp_path, None)
    relay.load(path)
    index = tmp_path / "m" / "variables" / "variables.index"
    good = index.read_bytes()
    rng = np.random.default_rng(1)
    for place in range(200):
        content = bytearray(good)
        if place % 2:
            content = content[: rng.integers(0, len(content))]
        for at in rng.integers(0, max(len(content), 1), 2):
            if at < len(content):
                content[at] = rng.integers(0, 256)
        index.write_bytes(bytes(content))
        try:
            relay.load(path)
        except relay.CompileError as error:
            assert "help:" in str(error)


def test_entries_of_a_checkpoint_that_lie_outside(tmp_path):
    def entry(**about):
        held = {"offset": 0, "size": 12, "shard": 0} | about
        sizes = field(2, field(2, field(1, held.get("count", 3))))
        return field(1, 1) + sizes + field(3, held["shard"]) + field(4, held["offset"]) + field(5, held["size"])

    for about, said in (
        ({"offset": 1 << 40}, "lies at bytes"),
        ({"size": 1 << 40}, "needs 12"),
        ({"count": 1 << 40}, "needs 4398046511104"),
        ({"shard": 5}, "names the shard 5 of 1"),
        ({"offset": -4}, "lies at bytes -4"),
    ):
        path = index_of(tmp_path, table([(b"", field(1, 1)), (b"v", entry(**about))]))
        with pytest.raises(relay.CompileError) as raised:
            relay.load(path)
        assert said in str(raised.value), raised.value


def test_shards_that_are_missing_or_short(tmp_path):
    path = index_of(tmp_path, None)
    shard = tmp_path / "m" / "variables" / "variables.data-00000-of-00001"
    shard.write_bytes(b"1234")
    with pytest.raises(relay.CompileError, match="which has 4"):
        relay.load(path)
    shard.unlink()
    with pytest.raises(relay.CompileError, match="a model needs all files of its folder"):
        relay.load(path)


def test_keys_that_share_more_than_there_is(tmp_path):
    content = varint(0) + varint(0) + varint(2) + b"\x08\x01" + varint(50) + varint(1) + varint(1) + b"vx" + b"\0" * 8
    at = len(content)
    index = block([(b"z", varint(0) + varint(at))])
    whole = content + b"\0" * 5 + index + b"\0" * 5
    footer = (varint(0) + varint(0) + varint(at + 5) + varint(len(index))).ljust(40, b"\0") + bytes.fromhex(
        "57fb808b247547db"
    )
    with pytest.raises(relay.CompileError, match="an entry reaches past its block"):
        relay.load(index_of(tmp_path, whole + footer))


def test_files_of_other_formats_with_this_extension(tmp_path):
    for content in (b"<html></html>", b"PK\3\4rest", b"\x89HDF\r\n\x1a\n", b"", b"node { name: 'x' }"):
        (tmp_path / "net.pb").write_bytes(content)
        with pytest.raises((relay.CompileError, relay.InputError)) as raised:
            relay.load(tmp_path / "net.pb")
        assert "help:" in str(raised.value)


def test_a_checkpoint_alone(tmp_path):
    checkpoint(tmp_path / "w", {"v": np.ones(3, np.float32)})
    with pytest.raises(relay.CompileError, match="holds weights but no layers"):
        relay.load(tmp_path / "w.index")
