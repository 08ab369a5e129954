"""TensorFlow models: graphs that TensorFlow computed (recorded.npz), and files that the tests write."""

import json
import pathlib

import numpy as np
import pytest
from tensorflow_files import (
    Func,
    Shape,
    Type,
    checkpoint,
    const,
    field,
    function,
    graph,
    node,
    placeholder,
    saved_model,
)

import relay

RECORDED = np.load(pathlib.Path(__file__).parent / "recorded.npz")
ABOUT = json.loads(RECORDED["about"].tobytes())
FLOAT = Type("float32")


def run(module, *inputs):
    got = relay.compile(module, opt_level=1)(*inputs)
    return [np.asarray(one) for one in (got if isinstance(got, (list, tuple)) else [got])]


def imported(content, **how):
    return relay.frontend.from_tensorflow(content, **how)[0]


def refused(content, *said, **how):
    with pytest.raises(relay.CompileError) as raised:
        relay.frontend.from_tensorflow(content, **how)
    text = str(raised.value)
    for one in [*said, "help:"]:
        assert one in text, text
    return text


# --- recorded from TensorFlow by `test/frontends/tensorflow_run.py --record` ------------------------------------------
def close(got, wanted, tolerance):
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    assert np.array_equal(np.isnan(got), np.isnan(wanted)) and np.array_equal(np.isinf(got), np.isinf(wanted))
    finite = np.isfinite(wanted)
    if finite.any():
        worst = np.abs(got[finite] - wanted[finite]).max() / max(np.abs(wanted[finite]).max(), 1e-30)
        assert worst <= tolerance, worst


@pytest.mark.parametrize("place", range(0, len(ABOUT), 4), ids=lambda place: ABOUT[place]["name"])
def test_recorded_graph(place):
    check_recorded(place)


@pytest.mark.slow
@pytest.mark.parametrize("place", [one for one in range(len(ABOUT)) if one % 4], ids=lambda place: ABOUT[place]["name"])
def test_every_recorded_graph(place):
    check_recorded(place)


def check_recorded(place):
    about = ABOUT[place]
    module = imported(RECORDED[f"{place}.graph"].tobytes(), outputs=about["outputs"])
    inputs = [RECORDED[f"{place}.in.{one.name_hint}"] for one in module["main"].params]
    got = run(module, *inputs)
    assert len(got) == about["results"]
    for number, one in enumerate(got):
        close(one, RECORDED[f"{place}.out.{number}"], about["close"])


# --- inputs and outputs -----------------------------------------------------------------------------------------------
DENSE = graph(
    [
        placeholder("x", -1, 4),
        const("w", np.ones((4, 3), np.float32)),
        node("product", "MatMul", "x", "w", T=FLOAT),
        node("y", "Relu", "product", T=FLOAT),
    ]
)


def test_a_graph_of_bytes_and_of_a_file(tmp_path):
    module = imported(DENSE)
    assert module["main"].params[0].name_hint == "x"
    assert list(module.attrs["input_names"]) == ["x"] and list(module.attrs["output_names"]) == ["y"]
    np.testing.assert_array_equal(run(module, np.ones((2, 4), np.float32))[0], np.full((2, 3), 4, np.float32))
    (tmp_path / "net.pb").write_bytes(DENSE)
    for source in (str(tmp_path / "net.pb"), tmp_path / "net.pb", DENSE):
        assert relay.alpha_equal(relay.load(source)["main"], module["main"])


def test_shapes_and_outputs_are_chosen():
    module = imported(DENSE, shape={"x": (5, 4)}, outputs=["product:0"])
    assert str(module["main"].params[0].checked_type) == "Tensor[(5, 4), float32]"
    assert list(module.attrs["output_names"]) == ["product:0"]


def test_a_node_with_given_sizes_is_an_input():
    module = imported(DENSE, shape={"product": (2, 3)})
    assert [one.name_hint for one in module["main"].params] == ["product"]


def test_the_layout_of_images_is_chosen():
    content = graph(
        [
            placeholder("x", 1, 6, 7, 3),
            const("k", np.ones((1, 1, 3, 2), np.float32)),
            node("y", "Conv2D", "x", "k", T=FLOAT, strides=[1, 1, 1, 1], padding="SAME"),
        ]
    )
    kept, changed = imported(content, layout="NCHW"), relay.load(content, layout="NCHW")
    x = np.random.default_rng(0).uniform(-1, 1, (1, 6, 7, 3)).astype(np.float32)
    (a,), (b,) = run(kept, x), run(changed, np.ascontiguousarray(x.transpose(0, 3, 1, 2)))
    np.testing.assert_allclose(b.transpose(0, 2, 3, 1), a, rtol=1e-6)
    for load in (imported, relay.load):
        with pytest.raises(relay.InputError, match="layout"):
            load(content, layout="CHWN")


def test_wrong_shapes_names_and_arguments_are_refused():
    for how, said in (
        ({"shape": {"x": (5, 3)}}, "has the shape (any, 4) in the model"),
        ({"shape": {"z": (5, 3)}}, "has no input `z`"),
        ({"outputs": ["nothing"]}, "no node `nothing`"),
        ({"convert_config": {"use_dense": True}}, "convert_config has use_dense"),
    ):
        with pytest.raises((relay.CompileError, relay.InputError)) as raised:
            imported(DENSE, **how)
        assert said in str(raised.value) and "help:" in str(raised.value)


def test_sizes_are_computed_at_import():
    content = graph(
        [
            placeholder("x", -1, 4, 6),
            node("sizes", "Shape", "x", T=FLOAT),
            const("zero", np.array([0], np.int32)),
            const("one", np.array([1], np.int32)),
            node("batch", "StridedSlice", "sizes", "zero", "one", "one", shrink_axis_mask=1),
            const("rest", np.array(24, np.int32)),
            node("wanted", "Pack", "batch", "rest", N=2, T=Type("int32")),
            node("y", "Reshape", "x", "wanted", T=FLOAT),
        ]
    )
    module = relay.transform.InferType()(imported(content))
    assert str(module["main"].ret_type) == "Tensor[(x_0, 24), float32]"


# --- variables --------------------------------------------------------------------------------------------------------
def variable_graph(restores=True):
    """y = x * v, whose variable is stored under a key that is not its name; the operation that loads it says so."""
    nodes = [
        node("serving_x", "Placeholder", dtype=FLOAT, shape=Shape((-1, 3))),
        node("v", "VarHandleOp", dtype=FLOAT, shape=Shape((3,)), shared_name="scale"),
        node("y", "StatefulPartitionedCall", "serving_x", "v", f=Func("run")),
        const("file", np.array(b"file", object)),
        node("load", "StatefulPartitionedCall", "file", "v", f=Func("restore")),
    ]
    run_ = function(
        "run",
        {"x": "float32", "handle": "resource"},
        {"made": "float32"},
        [node("read", "ReadVariableOp", "handle", dtype=FLOAT), node("mul", "Mul", "x", "read:value:0", T=FLOAT)],
        {"made": "mul:z:0"},
    )
    keys, slices = np.array([b"layer/.ATTRIBUTES/VALUE"], object), np.array([b""], object)
    restore = function(
        "restore",
        {"file": "string", "handle": "resource"},
        {},
        [
            const("keys", keys),
            const("slices", slices),
            node("read", "RestoreV2", "file", "keys:output:0", "slices:output:0"),
            node("same", "Identity", "read:tensors:0", T=FLOAT),
            node("assign", "AssignVariableOp", "handle", "same:output:0", dtype=FLOAT),
        ],
        {},
        {"assign": "assign"},
    )
    return graph(nodes if restores else nodes[:3], [run_, restore])


ENTRY = {"x": ("serving_x:0", "float32", (-1, 3))}, {"made": ("y:0", "float32", (-1, 3))}
VALUE = np.array([1, 2, 3], np.float32)


def test_a_saved_model_finds_its_variables_by_the_operation_that_loads_them(tmp_path):
    path = saved_model(
        tmp_path / "m", variable_graph(), *ENTRY, {"layer/.ATTRIBUTES/VALUE": VALUE, "other": VALUE}, "load"
    )
    for source in (path, f"{path}/saved_model.pb"):
        module = relay.load(source)
        assert str(module["main"].params[0].checked_type) == "Tensor[(batch, 3), float32]"
        np.testing.assert_array_equal(run(module, np.ones((2, 3), np.float32))[0], [VALUE, VALUE])


def test_a_variable_is_found_by_its_name(tmp_path):
    path = saved_model(tmp_path / "m", variable_graph(False), *ENTRY, {"scale": VALUE})
    np.testing.assert_array_equal(run(relay.load(path), np.ones((1, 3), np.float32))[0], [VALUE])


def test_a_graph_of_tensorflow_1_reads_its_checkpoint(tmp_path):
    content = graph(
        [
            placeholder("x", 2, 3),
            node("v", "VariableV2", dtype=FLOAT, shape=Shape((3,))),
            node("v/read", "Identity", "v", T=FLOAT),
            node("y", "Mul", "x", "v/read", T=FLOAT),
        ]
    )
    (tmp_path / "net.meta").write_bytes(field(2, content))
    checkpoint(tmp_path / "net", {"v": VALUE})
    for name in ("net.meta", "net.index"):
        np.testing.assert_array_equal(run(relay.load(tmp_path / name), np.ones((2, 3), np.float32))[0], [VALUE, VALUE])
    (tmp_path / "net.meta").unlink()
    with pytest.raises(relay.CompileError, match="holds weights but no layers"):
        relay.load(tmp_path / "net.index")


def test_variables_that_are_missing_or_of_another_shape_are_refused(tmp_path):
    for variables, said in (
        ({"other": VALUE}, "the variable `scale` has no value"),
        ({"scale": VALUE[:2]}, "has the shape (3,) in the graph, and (2,)"),
        ({"scale": VALUE.astype(np.float64)}, "is float32 in the graph, and float64"),
        (None, "cannot be read"),
    ):
        path = saved_model(tmp_path / str(len(said)), variable_graph(False), *ENTRY, variables)
        with pytest.raises(relay.CompileError) as raised:
            relay.load(path)
        assert said in str(raised.value) and "help:" in str(raised.value)


HANDLE = {"x": "float32", "v": "resource"}


def changing_graph(*functions):
    """A graph that calls the function `run` on its input and on a variable."""
    return graph(
        [
            node("serving_x", "Placeholder", dtype=FLOAT, shape=Shape((3,))),
            node("v", "VarHandleOp", dtype=FLOAT, shape=Shape((3,)), shared_name="sum"),
            node("y", "StatefulPartitionedCall", "serving_x", "v", f=Func("run")),
        ],
        functions,
    )


CHANGED = {"x": ("serving_x:0", "float32", (3,))}, {"made": ("y:0", "float32", (3,))}
ADDS = [
    node("before", "ReadVariableOp", "v", dtype=FLOAT),
    node("add", "AssignAddVariableOp", "v", "x", "^before", dtype=FLOAT),
]


def test_a_variable_that_a_run_changes_is_a_state(tmp_path):
    # The results need what reads before the change only after it.
    nodes = [*ADDS, node("after", "ReadVariableOp", "v", "^add", dtype=FLOAT),
             node("mul", "Mul", "after:value:0", "before:value:0", T=FLOAT)]  # fmt: skip
    content = changing_graph(function("run", HANDLE, {"made": "float32"}, nodes, {"made": "mul:z:0"}))
    path = saved_model(tmp_path / "m", content, *CHANGED, {"sum": np.full(3, 2, np.float32)})
    module = relay.load(path)
    main = module["main"]
    assert [one.name_hint for one in main.params] == ["x", "sum"]
    assert main.attrs["state_names"] == ["sum"] and main.attrs["state_starts"] == [2]
    compiled, held = relay.compile(module), np.full(3, 2, np.float32)
    for step in range(3):
        x = np.arange(3, dtype=np.float32) + step
        made, now = compiled(x, held)
        np.testing.assert_array_equal(now, held + x)
        np.testing.assert_array_equal(made, held * (held + x))
        held = now


def test_a_variable_is_changed_in_a_branch_and_in_a_loop(tmp_path):
    adds = function("adds", HANDLE, {"made": "float32"}, ADDS, {"made": "x"})
    passes = function("passes", HANDLE, {"made": "float32"}, [], {"made": "x"})
    state = {"i": "int32", **HANDLE}
    below = function("below", state, {"on": "bool"}, [const("limit", np.array(3, np.int32)),
                     node("less", "Less", "i", "limit:output:0", T=Type("int32"))], {"on": "less:z:0"})  # fmt: skip
    body = function("body", state, state, [
        const("one", np.array(1, np.int32)), node("next", "Add", "i", "one:output:0", T=Type("int32")),
        node("add", "AssignAddVariableOp", "v", "x", dtype=FLOAT),
    ], {"i": "next:z:0", "x": "x", "v": "v"})  # fmt: skip
    run_ = function("run", HANDLE, {"made": "float32"}, [
        const("zero", np.array(0, np.int32)), const("first", np.array(0, np.int32)),
        node("part", "GatherV2", "x", "first:output:0", "zero:output:0", Tparams=FLOAT, Tindices=Type("int32"),
             Taxis=Type("int32")),
        const("half", np.array(0.5, np.float32)), node("is", "Greater", "part:output:0", "half:output:0", T=FLOAT),
        node("if", "If", "is:z:0", "x", "v", then_branch=Func("adds"), else_branch=Func("passes")),
        node("loop", "While", "zero:output:0", "if:output:0", "v", "^if", cond=Func("below"), body=Func("body")),
        node("after", "ReadVariableOp", "v", "^loop", dtype=FLOAT),
    ], {"made": "after:value:0"})  # fmt: skip
    path = saved_model(tmp_path / "m", changing_graph(run_, adds, passes, below, body), *CHANGED, {"sum": VALUE})
    with pytest.warns(UserWarning, match="`sum` begins with values that are not all equal"):
        compiled = relay.compile(relay.load(path))
    for first, times in ((1.0, 4), (0.0, 3)):
        x = np.array([first, 2, 3], np.float32)
        made, now = compiled(x, VALUE)
        np.testing.assert_array_equal(made, VALUE + times * x)
        np.testing.assert_array_equal(now, made)


@pytest.mark.parametrize(("nodes", "said"), [
    ([const("i", np.array([0], np.int32)), node("add", "ResourceScatterAdd", "v", "i:output:0", "x", dtype=FLOAT,
                                                Tindices=Type("int32"))], "ResourceScatterAdd: it changes a variable"),
    ([const("i", np.array([2], np.float32)), node("add", "AssignVariableOp", "v", "i:output:0", dtype=FLOAT)],
     "the variable `sum` is float32"),
    ([node("add", "AssignAddVariableOp", "v", "x", "^nowhere", dtype=FLOAT)], "has no node `nowhere`"),
    ([node("add", "AssignAddVariableOp", "v", "x", "^more", dtype=FLOAT),
      node("more", "AssignAddVariableOp", "v", "x", "^add", dtype=FLOAT)], "the graph has a cycle"),
])  # fmt: skip
def test_changes_that_are_refused(tmp_path, nodes, said):
    content = changing_graph(function("run", HANDLE, {"made": "float32"}, nodes, {"made": "x"}))
    path = saved_model(tmp_path / "m", content, *CHANGED, {"sum": VALUE})
    with pytest.raises(relay.CompileError, match=said) as raised:
        relay.load(path)
    assert "help:" in str(raised.value)


# --- diagnostics ------------------------------------------------------------------------------------------------------
def test_everything_that_is_missing_is_named_at_once():
    content = graph(
        [
            placeholder("x", 2, 3),
            node("a", "FancyOp", "x", T=FLOAT),
            node("b", "OtherOp", "a", T=FLOAT),
            node("c", "DecodeGif", "x"),
            node("d", "Conv2D", "x", "b", T=FLOAT, strides=[1, 1, 1, 1], padding="SAME"),
            node("e", "FancyOp", "c", T=FLOAT),
        ]
    )
    text = refused(content, "the operator FancyOp (2 times), first in `a`", "the operator OtherOp, first in `b`")
    assert "DecodeGif: it reads the bytes of a picture, first in `c`" in text


def test_problems_have_the_name_of_their_node():
    content = graph(
        [
            placeholder("x", 2, 3),
            const("axis", np.array(7, np.int32)),
            node("block/mean", "Mean", "x", "axis", T=FLOAT),
            node("y", "Relu", "block/mean", T=FLOAT),
        ]
    )
    refused(content, "Mean: the axis 7 is not one of 2 axes, first in `block/mean`")


def test_an_attribute_of_a_newer_version_is_refused():
    content = graph([placeholder("x", 2, 3), node("y", "Relu", "x", T=FLOAT, new_mode=1, _note=2)])
    refused(content, "Relu: it has the attribute `new_mode`, which its operator does not have", "first in `y`")


def test_training_nodes_are_left_out_by_choosing_outputs():
    content = graph(
        [
            placeholder("x", 2, 3),
            node("y", "Relu", "x", T=FLOAT),
            node("train", "ReluGrad", "y", "x", T=FLOAT),
            node("step", "ApplyAdam", "train"),
        ]
    )
    refused(content, "ReluGrad: it is a part of training", "ApplyAdam: it is a part of training")
    assert imported(content, outputs=["y"]) is not None


def test_an_unknown_shape_is_asked_for():
    content = graph([node("x", "Placeholder", dtype=FLOAT), node("y", "Relu", "x", T=FLOAT)])
    refused(content, "the input `x` has no shape in the model", "--shape x=1,224,224,3")
    assert imported(content, shape={"x": (2, 3)}) is not None


def test_names_of_nodes_are_the_provenance_of_calls():
    module = imported(DENSE)
    places = []
    relay.analysis.post_order_visit(module["main"], lambda one: places.append(str(one.span)) if one.span else None)
    assert any("MatMul 'product'" in one for one in places) and any("Relu 'y'" in one for one in places)


def test_a_number_of_largest_elements_that_is_an_input():
    top = node("top", "TopKV2", "x", "k", T=FLOAT, index_type=Type("int32"))
    module = imported(graph([placeholder("x", 2, 5), placeholder("k", dtype="int32"), top]), outputs=["top:0", "top:1"])
    x = np.float32([[3, 1, 4, 7, 5], [9, 2, 6, -5, 0]])
    values, places = run(module, x, np.int32(3))
    wanted = np.argsort(-x, axis=1)[:, :3]
    assert np.array_equal(places, wanted) and np.array_equal(values, np.take_along_axis(x, wanted, 1))
