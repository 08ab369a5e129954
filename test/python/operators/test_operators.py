"""Every operator's examples: the reference evaluator in float64 against the operator's oracle in numpy and torch.

relay_op_cases (test/ops/cases.cpp) writes the cases; oracle.py has the oracles' helpers.
"""

import functools
import json
import pathlib
import subprocess
import tempfile

import pytest
from programs import ROOT

pytest.importorskip("torch")
pytest.importorskip("scipy")
import oracle  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

PROGRAM = ROOT / "build" / "release" / "bin" / "relay_op_cases"


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
    assert oracle.problem(case, load()[1]) == ""
