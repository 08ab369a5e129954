"""Programs, models and ways to run them that several tests use."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
PROGRAM = ROOT / "build" / "release" / "bin" / "relay"
needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")

DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(n, 4), float32], %w: Tensor[(8, 4), float32]) {
  %0 = nn.dense(%x, %w, units=8);
  nn.relu(%0)
}
"""

TWO_RESULTS = """#[version = "0.0.5"]
def @main(%a: Tensor[(2, 3), float32], %b: Tensor[(2, 3), float32]) {
  (add(%a, %b), multiply(%a, %b))
}
"""

CONV = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 16, 16), float32], %w: Tensor[(8, 3, 3, 3), float32], %b: Tensor[(8), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1], channels=8, kernel_size=[3, 3]);
  %1 = nn.bias_add(%0, %b);
  %2 = nn.relu(%1);
  nn.max_pool2d(%2, pool_size=[2, 2], strides=[2, 2])
}
"""


def cli(*arguments, cwd=None, timeout=60):
    """The command line: a finished process with text. Nothing may ever end by a signal or an internal error."""
    done = subprocess.run(
        [str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=timeout,
        env={**os.environ, "RELAY_PYTHON": sys.executable},
    )
    assert done.returncode in (0, 1, 2, 3), f"{arguments}: exit status {done.returncode}\n{done.stderr}"
    assert "internal error" not in done.stderr, done.stderr
    return done


def fails(code, *arguments, status=1, **named):
    """The message of the command line for an error that it must report."""
    done = cli(*arguments, **named)
    assert done.returncode == status, done.stderr
    assert f"error[{code}]" in done.stderr, done.stderr
    return done.stderr


def cli_json(*arguments, **named):
    return json.loads(cli(*arguments, **named).stdout)


def onnx_model(path, nodes, inputs, outputs, initializers=(), opset=17):
    """Writes an ONNX model; inputs and outputs are (name, shape), float32."""
    import onnx
    from onnx import TensorProto, helper

    def info(ports):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ports]

    graph = helper.make_graph(nodes, "g", info(inputs), info(outputs), list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.save(model, str(path))
    return path


def weights(rng, *shapes):
    """Normal numbers over the root of the last axis."""
    return [(rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32) for shape in shapes]


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
