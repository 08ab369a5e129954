"""Fifty random ONNX models compared with ONNX Runtime. `make test-onnx-random` runs thousands, and reports more about a
failure."""

import os
import signal
import sys

import numpy as np
import pytest
from forms import each_nth
from programs import ROOT

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
sys.path.insert(0, str(ROOT / "test/onnx_random"))

import random_compare  # noqa: E402
import random_model  # noqa: E402
import random_run  # noqa: E402


@pytest.mark.parametrize("first", each_nth(3, range(0, 50, 10)))
def test_random_models_agree(first):
    bad = [one for one in map(random_run.verdict, range(first, first + 10)) if one[2] in random_run.BAD]
    assert not bad, "\n".join(f"seed {seed}: {kind}: {words}" for seed, _, kind, words in bad)


# Each has ended a compilation: results beside a root whose rule makes stages anew; a result in the place of a constant;
# a sum that reads both factors along the taps of a window.
@pytest.mark.parametrize("seed", [7000254, 7000612, 4906])
def test_models_that_failed_once(seed):
    assert random_run.verdict(seed)[2] in ("passed", "refused for named dimensions")


def test_what_fails_is_made_small(monkeypatch):
    """A fault that is planted in the comparison, one operator that is always wrong, is reduced to that operator."""
    model = next(m for m in map(random_model.generate, range(500)) if sum(n.op_type == "MatMul" for n in m.nodes) == 1
                 and len(m.nodes) > 5)  # fmt: skip

    def fault(one, outputs=None):
        return ("wrong", "planted") if any(node.op_type == "MatMul" for node in one.nodes) else None

    monkeypatch.setattr(random_compare, "fault", fault)
    small, _ = random_compare.minimise(model, "wrong")
    assert [node.op_type for node in small.nodes] == ["MatMul"]


def test_a_crash_is_a_fault(monkeypatch):
    monkeypatch.setattr(random_compare, "fault_here", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    assert random_compare.fault(random_model.generate(1)) == ("crash", "ended by SIGKILL")


def test_a_rounding_of_the_peer_is_none_of_ours():
    """Instance norm of one element, with no variance: ONNX Runtime multiplies by 1 / sqrt(epsilon), and cancels."""
    assert random_run.verdict(8707)[2] == "only ONNX Runtime differs"


@pytest.mark.parametrize(
    ("op", "shape", "constants", "attributes"),
    [
        ("ReduceLogSumExp", (3, 1, 8, 9), [], {"keepdims": 0}),
        ("LpPool", (2, 2, 11, 11), [], {"ceil_mode": 1, "kernel_shape": [2, 3], "strides": [3, 3]}),
        ("Resize", (2, 4, 13, 12), [None, [1, 1, 0.5, 0.5]], {"mode": "nearest"}),
        ("BatchNormalization", (3, 2, 4, 5), [[1, 2], [0.5, 1], [0, 1], [1, 2]], {}),
    ],
)
def test_what_random_models_found(op, shape, constants, attributes):
    """Each followed by an operator that needs to know the shape."""
    draw = random_model.Draw(1)
    x = draw.input(shape)
    if op == "BatchNormalization":
        x = draw.node("Cast", [x], to=10)
    more = [None if c is None else draw.add(np.array(c, np.float32), constant=True) for c in constants]
    y = draw.node(op, [x, *more], **attributes)
    draw.node("Reshape", [y, draw.ints(-1)])
    assert len(draw.model.nodes) == 2 + (op == "BatchNormalization")
    assert random_compare.fault(draw.model) is None
