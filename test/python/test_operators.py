"""Every operator's examples: the reference evaluator in float64 against the operator's oracle in numpy and torch.

relay_op_cases (test/tools/op_cases.cpp) writes the cases; oracle.py has the oracles' helpers.
"""

import functools
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("scipy")
import oracle  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "bin" / "relay_op_cases"


@functools.cache
def load():
    """The cases and their tensors."""
    if not PROGRAM.exists():
        return [], {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, folder], check=True)
        cases = json.loads((pathlib.Path(folder) / "cases.json").read_text())
        return cases, load_file(pathlib.Path(folder) / "cases.safetensors")


def test_there_are_cases():
    assert len(load()[0]) > 300, f"{PROGRAM} is missing or writes too few cases"


@pytest.mark.parametrize("case", load()[0], ids=lambda case: case["name"])
def test_operator(case):
    tensors = load()[1]

    def read(names):
        if isinstance(names, list):
            return [read(name) for name in names]
        tensor = torch.from_numpy(tensors[names])
        # Integers are multiplied in the type of the result, where that is wider.
        result = getattr(torch, case["attrs"].get("out_dtype") or "bool")
        wider = not result.is_floating_point and result.itemsize > tensor.dtype.itemsize
        return tensor.to(result) if wider and not tensor.dtype.is_floating_point else tensor

    inputs = {name: read(names) for name, names in case["inputs"].items()}
    expected = oracle.evaluate(case["oracle"], inputs, case["attrs"], case["output_shape"])
    expected = expected if case["is_tuple"] else (expected,)
    assert len(expected) == len(case["outputs"])
    for want, name in zip(expected, case["outputs"], strict=True):
        got, want = tensors[name], np.asarray(want)
        assert got.shape == want.shape
        if got.dtype.kind in "iub":
            # An oracle computes with integers too, or gives whole numbers.
            np.testing.assert_array_equal(got, want)
        else:
            scale = max(1e-30, float(np.abs(want).max(initial=0)))
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6 * scale)
