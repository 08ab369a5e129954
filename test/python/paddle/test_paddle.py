"""Models of PaddlePaddle that are written by hand: files, forms, control flow, sequences and problems.
test/frontends/paddle_run.py compares operators with PaddlePaddle."""

import json

import numpy as np
import pytest
from paddle_writer import Block, parameters, pir, program
from relay.frontend.paddle import import_file
from relay.frontend.paddle.pir_names import SIGNATURES
from relay.frontend.paddle.table import OPERATORS

import relay

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (2, 3)).astype(np.float32)
W = RNG.uniform(-1, 1, (3, 4)).astype(np.float32)
B = RNG.uniform(-1, 1, 4).astype(np.float32)
WANTED = np.maximum(X.astype(np.float64) @ W + B, 0)
CLOSE = 2e-6  # float32 against float64, relative to the largest value

DENSE = [
    ("matmul_v2", {"X": ["x"], "Y": ["w"]}, {"Out": ["y"]}, {"trans_x": False, "trans_y": False}),
    ("elementwise_add", {"X": ["y"], "Y": ["b"]}, {"Out": ["z"]}, {"axis": -1}),
    ("relu", {"X": ["z"]}, {"Out": ["out"]}, {"op_role": 0, "op_callstack": ["line 1"]}),
]
WEIGHTS = {"w": W, "b": B}


def dense(sizes=(-1, 3)):
    return program(DENSE, {"x": sizes}, ["out"], WEIGHTS)


def dense_in_json(**how):
    operators = [("matmul", [3, 2], [4], {"transpose_x": False, "transpose_y": False}), ("add", [4, 1], [5], {}),
                 ("relu", [5], [6], {"struct_name": "/Layer/"})]  # fmt: skip
    return pir(operators, [(3, "x", (-1, 3))], [6], [(1, "b", B), (2, "w", W)], **how)


def check(got, wanted):
    got = np.asarray(got)
    assert got.shape == np.shape(wanted), (got.shape, np.shape(wanted))
    assert np.abs(got.astype(float) - wanted).max(initial=0) <= CLOSE * max(np.abs(wanted).max(initial=0), 1e-30)


def run(content, *arrays, **how):
    module, held = relay.frontend.from_paddle(content, **how)
    assert held == {}
    return relay.compile(module)(*arrays)


def operate(kind, inputs, outputs, attributes, *arrays, stored=None):
    """Runs one operator; the operands are inputs of the program, x0, x1, .., unless they are stored."""
    given = [name for names in inputs.values() for name in names if name not in (stored or {})]
    sizes = {name: one.shape for name, one in zip(given, arrays, strict=True)}
    results = [name for names in outputs.values() for name in names]
    content = program([(kind, inputs, outputs, attributes)], sizes, results, stored)
    return run(content, *arrays, scope=stored or {})


# --- files ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("content", [dense(), dense_in_json()], ids=["protobuf", "JSON"])
def test_both_forms(content):
    check(run(content, X, scope=WEIGHTS), WANTED)


@pytest.mark.parametrize("name", ["net.pdmodel", "net.json", "__model__", "net.pdiparams"])
def test_files_by_name(tmp_path, name):
    program_name = "net.pdmodel" if name.endswith("params") else name
    (tmp_path / program_name).write_bytes(dense_in_json() if name.endswith(".json") else dense())
    (tmp_path / "net.pdiparams").write_bytes(parameters(WEIGHTS))
    module, files = import_file(str(tmp_path / name))
    check(relay.compile(module)(X), WANTED)
    assert sorted(files) == sorted([str(tmp_path / program_name), str(tmp_path / "net.pdiparams")])


@pytest.mark.parametrize("names", [("inference.json", "inference.pdiparams"), ("inference.pdmodel", "inference.pdiparams"),  # noqa: E501
                                   ("__model__", "__params__")])  # fmt: skip
def test_folders(tmp_path, names):
    (tmp_path / names[0]).write_bytes(dense_in_json() if names[0].endswith("json") else dense())
    (tmp_path / names[1]).write_bytes(parameters(WEIGHTS))
    check(run(tmp_path, X), WANTED)


def test_a_file_for_each_parameter(tmp_path):
    (tmp_path / "__model__").write_bytes(dense())
    for name, one in WEIGHTS.items():
        (tmp_path / name).write_bytes(parameters({name: one}))
    check(run(tmp_path, X), WANTED)


def test_open_sizes():
    module, _ = relay.frontend.from_paddle(dense(), scope=WEIGHTS)
    compiled = relay.compile(module)
    check(compiled(X), WANTED)
    check(compiled(np.concatenate([X, X])), np.concatenate([WANTED, WANTED]))
    module, _ = relay.frontend.from_paddle(dense(), {"x": (2, 3)}, WEIGHTS)
    assert str(module["main"].params[0].type_annotation) == "Tensor[(2, 3), float32]"


def test_other_objects():
    for wrong in (3, None, ["program"]):
        with pytest.raises(relay.CompileError, match="is given as a model of PaddlePaddle"):
            relay.frontend.from_paddle(wrong)


def test_names_of_the_json_form():
    """Every name stands for an operator that has a converter, or is refused by its own name."""
    missing = {one.kind for one in SIGNATURES.values()} - set(OPERATORS)
    assert not missing & set(OPERATORS)
    for form in SIGNATURES.values():
        assert all(not name.endswith("*") for name in form.inputs[:-1])


# --- operators that Paddle 3 writes no more, and rules that are easily missed -----------------------------------------
D = X.astype(np.float64)


def test_elementwise_axis():
    x, y = RNG.uniform(size=(2, 3, 4)).astype(np.float32), RNG.uniform(size=3).astype(np.float32)
    got = operate("elementwise_mul", {"X": ["x0"], "Y": ["x1"]}, {"Out": ["o"]}, {"axis": 1}, x, y)
    check(got, x.astype(float) * y.reshape(1, 3, 1))


def test_dropout_of_old_models_scales():
    got = operate("dropout", {"X": ["x0"]}, {"Out": ["o"]}, {"dropout_prob": 0.25, "is_test": True}, X)
    check(got, D * 0.75)
    how = {"dropout_prob": 0.25, "dropout_implementation": "upscale_in_train"}
    check(operate("dropout", {"X": ["x0"]}, {"Out": ["o"]}, how, X), D)


@pytest.mark.parametrize("after", [True, False])
def test_scale_before_or_after(after):
    how = {"scale": 2.0, "bias": 3.0, "bias_after_scale": after}
    check(operate("scale", {"X": ["x0"]}, {"Out": ["o"]}, how, X), D * 2 + 3 if after else (D + 3) * 2)


OLD = {
    "soft_relu": ({"threshold": 0.5}, np.log1p(np.exp(np.clip(D, -0.5, 0.5)))),
    "flatten": ({"axis": 1}, D), "squeeze": ({"axes": []}, D), "unsqueeze": ({"axes": [0]}, D[None]),
    "expand": ({"expand_times": [1, 2]}, np.tile(D, (1, 2))), "fill_zeros_like": ({}, D * 0),
    "mish": ({}, D * np.tanh(np.log1p(np.exp(D)))), "hard_shrink": ({"threshold": 0.3}, np.where(np.abs(D) > 0.3, D, 0)),  # noqa: E501
    "brelu": ({"t_min": -0.5, "t_max": 0.25}, np.clip(D, -0.5, 0.25)), "reverse": ({"axis": [1]}, D[:, ::-1]),
}  # fmt: skip


@pytest.mark.parametrize("kind", OLD)
def test_old_operators(kind):
    attributes, wanted = OLD[kind]
    check(operate(kind, {"X": ["x0"]}, {"Out": ["o"]}, attributes, X), wanted)


def test_pads_of_images():
    x = RNG.uniform(size=(1, 1, 2, 3)).astype(np.float32)
    got = operate(
        "pad2d", {"X": ["x0"]}, {"Out": ["o"]}, {"paddings": [1, 0, 0, 2], "mode": "constant", "pad_value": 2.0}, x
    )
    check(got, np.pad(x.astype(float), [(0, 0), (0, 0), (1, 0), (0, 2)], constant_values=2))


def test_affine_channel():
    x, scale, bias = RNG.uniform(size=(1, 2, 3, 3)).astype(np.float32), np.float32([2, 3]), np.float32([1, -1])
    names = {"X": ["x0"], "Scale": ["s"], "Bias": ["t"]}
    got = operate("affine_channel", names, {"Out": ["o"]}, {}, x, stored={"s": scale, "t": bias})
    check(got, x.astype(float) * scale.reshape(1, 2, 1, 1) + bias.reshape(1, 2, 1, 1))


def test_the_best_path():
    """Every path of a short sequence is tried."""
    import itertools

    emission, transition = RNG.normal(size=(4, 3)).astype(np.float32), RNG.normal(size=(5, 3)).astype(np.float32)

    def score(path):
        total = transition[0, path[0]] + transition[1, path[-1]] + sum(emission[at, one] for at, one in enumerate(path))
        return total + sum(transition[2 + a, b] for a, b in itertools.pairwise(path))

    best = max(itertools.product(range(3), repeat=4), key=score)
    names = {"Emission": ["x0"], "Transition": ["t"]}
    got = operate("crf_decoding", names, {"ViterbiPath": ["o"]}, {}, emission, stored={"t": transition})
    assert np.asarray(got).reshape(-1).tolist() == list(best)


def test_shapes_are_followed():
    """shape, slice and a product give the size of a reshape, also if it is open."""
    operators = [
        ("shape", {"Input": ["x"]}, {"Out": ["s"]}, {}),
        ("slice", {"Input": ["s"]}, {"Out": ["n"]}, {"axes": [0], "starts": [0], "ends": [1], "decrease_axis": [0]}),
        ("scale", {"X": ["n"]}, {"Out": ["m"]}, {"scale": 3.0, "bias": 0.0}),
        ("fill_constant", {}, {"Out": ["one"]}, {"shape": [1], "dtype": 2, "value": 1.0}),
        ("reshape2", {"X": ["x"], "ShapeTensor": ["m", "one"]}, {"Out": ["o"], "XShape": ["u"]}, {"shape": [-1, 1]}),
    ]
    module, _ = relay.frontend.from_paddle(program(operators, {"x": (-1, 3)}, ["o"]))
    check(relay.compile(module)(X), D.reshape(6, 1))


# --- control flow -----------------------------------------------------------------------------------------------------
def loop(start, limit):
    """i = start; while i < limit: x = x * 2; i += 1."""
    step = [
        ("scale", {"X": ["x"]}, {"Out": ["x"]}, {"scale": 2.0}),
        ("increment", {"X": ["i"]}, {"Out": ["i"]}, {"step": 1.0}),
        ("less_than", {"X": ["i"], "Y": ["n"]}, {"Out": ["c"]}, {}),
    ]
    operators = [
        ("fill_constant", {}, {"Out": ["i"]}, {"shape": [1], "dtype": 5, "value": start}),
        ("fill_constant", {}, {"Out": ["n"]}, {"shape": [1], "dtype": 5, "value": limit}),
        ("less_than", {"X": ["i"], "Y": ["n"]}, {"Out": ["c"]}, {}),
        ("while", {"X": ["x", "i", "n"], "Condition": ["c"]}, {"Out": ["x", "i", "c"]}, {"sub_block": Block(1)}),
        ("assign", {"X": ["x"]}, {"Out": ["o"]}, {}),
    ]
    return program(operators, {"x": (2, 3)}, ["o"], blocks=[step])


@pytest.mark.parametrize(("start", "times"), [(0.0, 3), (2.0, 1), (5.0, 0)])
def test_loops(start, times):
    check(run(loop(start, 3.0), X), D * 2**times)


@pytest.mark.parametrize("sign", [1, -1])
def test_branches(sign):
    """Two conditional blocks, and a selection of their results."""
    operators = [
        ("reduce_sum", {"X": ["x"]}, {"Out": ["t"]}, {"reduce_all": True, "dim": [0]}),
        ("fill_constant", {}, {"Out": ["zero"]}, {"shape": [1], "dtype": 5, "value": 0.0}),
        ("greater_than", {"X": ["t"], "Y": ["zero"]}, {"Out": ["c"]}, {}),
        ("logical_not", {"X": ["c"]}, {"Out": ["d"]}, {}),
        ("conditional_block", {"Cond": ["c"], "Input": ["x"]}, {"Out": ["a"]}, {"sub_block": Block(1)}),
        ("conditional_block", {"Cond": ["d"], "Input": ["x"]}, {"Out": ["b"]}, {"sub_block": Block(2)}),
        ("cast", {"X": ["c"]}, {"Out": ["mask"]}, {"out_dtype": 2}),
        ("select_input", {"X": ["b", "a"], "Mask": ["mask"]}, {"Out": ["o"]}, {}),
    ]
    first = [("scale", {"X": ["x"]}, {"Out": ["a"]}, {"scale": 2.0})]
    second = [("scale", {"X": ["x"]}, {"Out": ["b"]}, {"scale": 3.0})]
    content = program(operators, {"x": (2, 3)}, ["o"], blocks=[first, second])
    x = np.abs(X) * sign
    check(run(content, x), np.abs(D) * sign * (2 if sign > 0 else 3))


def test_a_block_that_changes_a_variable():
    operators = [
        ("reduce_sum", {"X": ["x"]}, {"Out": ["t"]}, {"reduce_all": True, "dim": [0]}),
        ("fill_constant", {}, {"Out": ["zero"]}, {"shape": [1], "dtype": 5, "value": 0.0}),
        ("greater_than", {"X": ["t"], "Y": ["zero"]}, {"Out": ["c"]}, {}),
        ("scale", {"X": ["x"]}, {"Out": ["y"]}, {"scale": 5.0}),
        ("conditional_block", {"Cond": ["c"], "Input": ["y"]}, {"Out": ["y"]}, {"sub_block": Block(1)}),
        ("assign", {"X": ["y"]}, {"Out": ["o"]}, {}),
    ]
    block = [("scale", {"X": ["y"]}, {"Out": ["y"]}, {"scale": 2.0})]
    content = program(operators, {"x": (2, 3)}, ["o"], blocks=[block])
    check(run(content, np.abs(X)), np.abs(D) * 10)
    check(run(content, -np.abs(X)), -np.abs(D) * 5)


def test_lists_of_tensors():
    def place(value):
        return ("fill_constant", {}, {"Out": [f"i{value}"]}, {"shape": [1], "dtype": 3, "value": float(value)})

    operators = [
        place(0), place(1), ("scale", {"X": ["x"]}, {"Out": ["y"]}, {"scale": 2.0}),
        ("write_to_array", {"X": ["x"], "I": ["i0"]}, {"Out": ["l"]}, {}),
        ("write_to_array", {"X": ["y"], "I": ["i1"]}, {"Out": ["l"]}, {}),
        ("read_from_array", {"X": ["l"], "I": ["i1"]}, {"Out": ["o"]}, {}),
        ("lod_array_length", {"X": ["l"]}, {"Out": ["n"]}, {}),
        ("tensor_array_to_tensor", {"X": ["l"]}, {"Out": ["p"], "OutIndex": ["q"]}, {"axis": 0, "use_stack": True}),
    ]  # fmt: skip
    got = run(program(operators, {"x": (2, 3)}, ["o", "n", "p"]), X)
    check(got[0], D * 2)
    assert int(np.asarray(got[1]).reshape(())) == 2
    check(got[2], np.stack([D, D * 2]))


def test_custom_operators():
    content = program([("mine", {"X": ["x"]}, {"Out": ["o"]}, {"by": 3.0})], {"x": (2, 3)}, ["o"])
    got = run(content, X, custom_operators={"mine": lambda inputs, attributes: relay.multiply(
        inputs[0], relay.const(float(attributes["by"])))})  # fmt: skip
    check(got, 3.0 * D)


# --- problems ---------------------------------------------------------------------------------------------------------
def refused(said, content, scope=None):
    with pytest.raises(relay.CompileError) as raised:
        relay.frontend.from_paddle(content, scope=scope or {})
    told = str(raised.value)
    assert "help:" in told and "bug in Relay" not in told, told
    for one in said:
        assert one in told, told


def one_operator(kind, attributes=None, sizes=(2, 3)):
    return program([(kind, {"X": ["x"]}, {"Out": ["o"]}, attributes or {})], {"x": sizes}, ["o"])


def changed(**how):
    made = json.loads(dense_in_json())
    made["base_code"].update(how)
    return json.dumps(made).encode()


NESTED = [[("while", {"X": ["x"], "Condition": ["c"]}, {"Out": ["x"]}, {"sub_block": Block(1)})]]
PROBLEMS = {
    "unknown operators": (program([("mine", {"X": ["x"]}, {"Out": ["y"]}, {}), ("yours", {"X": ["y"]}, {"Out": ["o"]}, {})],  # noqa: E501
                                  {"x": (1,)}, ["o"]), ["operator mine", "operator yours", "`mine 'y'`", "custom_operators"]),  # noqa: E501
    "unknown attribute": (one_operator("relu", {"sharp": 1}), ["`sharp` is not known", "newer version"]),
    "wrong attribute": (one_operator("leaky_relu", {"alpha": "steep"}), ["`alpha` is 'steep'", "leaky_relu 'o'"]),
    "missing variable": (program([("relu", {"X": ["y"]}, {"Out": ["o"]}, {})], {"x": (1,)}, ["o"]), ["`y`", "cycle"]),
    "missing result": (program([], {"x": (1,)}, ["o"]), ["nothing computes the output `o`"]),
    "training": (program([("batch_norm", {"X": ["x"], "Mean": ["m"], "Variance": ["m"]}, {"Y": ["o"]}, {"is_test": False})],  # noqa: E501
                         {"x": (1, 1, 2, 2), "m": (1,)}, ["o"]), ["as in training", "model.eval()"]),
    "block": (program([("while", {"X": ["x"], "Condition": ["x"]}, {"Out": ["x"]}, {"sub_block": Block(7)})], {"x": (1,)},  # noqa: E501
                      ["x"]), ["block 7 of 1"]),
    "blocks in a ring": (program([("while", {"X": ["x"], "Condition": ["x"]}, {"Out": ["x"]}, {"sub_block": Block(1)})],
                                 {"x": (1,)}, ["x"], blocks=NESTED), ["block 1 is inside of several operators"]),
    "huge constant": (program([("fill_constant", {}, {"Out": ["o"]}, {"shape": [1 << 20, 1 << 20], "dtype": 5, "value": 0.0})],  # noqa: E501
                              {"x": (1,)}, ["o"]), ["1099511627776"]),
    "weights missing": (dense(), ["no parameter `b`"]),
    "cut": (dense()[:-3], ["damaged at byte"]),
    "no program": (b"\x12\x00", ["it has no blocks"]),
    "not JSON": (b'{"base_code": ', ["not JSON at byte"]),
    "newer version": (changed(version=99), ["version 99", "PaddlePaddle 3.3"]),
    "other magic": (changed(magic="mlir"), ["`magic`"]),
    "JSON without a program": (b'{"base_code": {"magic": "pir", "version": 4}}', ["`program` is missing"]),
    "value without a number": (pir([("relu", ["x"], [2], {})], [(1, "x", (2,))], [2]), ["a value has no number"]),
    "value that is never made": (pir([("relu", [9], [2], {})], [(1, "x", (2,))], [2]), ["%9"]),
    "unknown operator in JSON": (pir([("mine", [1], [2], {})], [(1, "x", (2,))], [2]), ["operator mine", "`mine '%2'`"]),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems(name):
    refused(PROBLEMS[name][1], PROBLEMS[name][0])


PARAMETERS = {
    "cut": (parameters(WEIGHTS)[:-1], ["the parameter `w` needs 48 bytes"]),
    "missing": (parameters({"b": B}), ["`w` is missing"]),
    "more": (parameters({**WEIGHTS, "z": B}), ["bytes after the 2 parameters"]),
    "other shape": (parameters({"w": W.T, "b": B}), ["`w` has the shape [4, 3], and the program declares [3, 4]"]),
    "other type": (parameters(WEIGHTS).replace(b"\x08\x05", b"\x08\x63"), ["unknown type 99"]),
    "huge": (b"\0" * 4 + b"\xff" * 8, ["a length of 18446744073709551615"]),
    "empty": (b"", ["`b` is missing"]),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_damaged_parameters(tmp_path, name):
    (tmp_path / "net.pdmodel").write_bytes(dense())
    (tmp_path / "net.pdiparams").write_bytes(PARAMETERS[name][0])
    with pytest.raises(relay.CompileError) as raised:
        relay.frontend.from_paddle(tmp_path)
    assert all(one in str(raised.value) for one in PARAMETERS[name][1]), str(raised.value)


def test_no_parameters(tmp_path):
    (tmp_path / "net.pdmodel").write_bytes(dense())
    with pytest.raises(relay.CompileError, match="no .pdiparams file is beside it"):
        relay.frontend.from_paddle(tmp_path / "net.pdmodel")


@pytest.mark.parametrize("form", [dense, dense_in_json], ids=["protobuf", "JSON"])
@pytest.mark.parametrize("seed", range(25))
def test_changed_bytes(form, seed):
    rng = np.random.default_rng(seed)
    content = bytearray(form())
    for _ in range(int(rng.integers(1, 4))):
        content[rng.integers(len(content))] = rng.integers(256)
    try:
        relay.frontend.from_paddle(bytes(content), {"x": (2, 3)}, WEIGHTS)
    except relay.CompileError as error:
        assert "help:" in str(error) and "bug in Relay" not in str(error), str(error)
