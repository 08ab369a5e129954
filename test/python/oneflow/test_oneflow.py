"""Folders of OneFlow: each operation, against NumPy (oneflow_cases.py); files, problems, other objects."""

import numpy as np
import pytest
from oneflow_cases import CASES, CLOSE, D, X, job, largest, write
from relay.frontend.oneflow.table import OPERATORS

import relay

W = {"w": np.ones((5, 4), np.float32)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_operations(tmp_path, case):
    assert largest(case, tmp_path) <= CLOSE


def test_every_operation_has_a_case():
    assert {case.kind for case in CASES} == set(OPERATORS)


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
    np.testing.assert_allclose(relay.compile(module)(X), D * 3, rtol=CLOSE)


# --- problems ---------------------------------------------------------------------------------------------------------
def refused(said, folder):
    with pytest.raises(relay.CompileError) as raised:
        relay.frontend.from_oneflow(None, folder)
    text = str(raised.value)
    assert "help:" in text and "bug in Relay" not in text, text
    assert all(one in text for one in said), text


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
    "batch of indices": (job("gather", [X, np.zeros((2, 1), np.int32)], batch_dims=1), ["`batch_dims` is 1"]),
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
