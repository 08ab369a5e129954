"""Fifty random ONNX models beside ONNX Runtime; `make test-onnx-random` runs thousands, and says more of a failure."""

import pathlib
import sys

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "onnx_random"))

import random_compare  # noqa: E402
import random_model  # noqa: E402
import random_run  # noqa: E402


@pytest.mark.parametrize("first", range(0, 50, 10))
def test_random_models_agree(first):
    bad = [one for one in map(random_run.verdict, range(first, first + 10)) if one[2] in ("wrong", "refused", "crash")]
    assert not bad, "\n".join(f"seed {seed}: {kind}: {words}" for seed, _, kind, words in bad)


def test_what_fails_is_made_small(monkeypatch):
    """A fault that is planted in the comparison, one operator that is always wrong, is reduced to that operator."""
    model = next(m for m in map(random_model.generate, range(500)) if sum(n.op_type == "MatMul" for n in m.nodes) == 1
                 and len(m.nodes) > 5)  # fmt: skip

    def fault(one, outputs=None):
        return ("wrong", "planted") if any(node.op_type == "MatMul" for node in one.nodes) else None

    monkeypatch.setattr(random_compare, "fault", fault)
    small, _ = random_compare.minimise(model, "wrong")
    assert [node.op_type for node in small.nodes] == ["MatMul"]
