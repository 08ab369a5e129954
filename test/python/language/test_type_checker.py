"""Programs that use the package are checked by mypy, which finds precise types and reports misuse."""

import os
import subprocess
import sys

import pytest
from programs import ROOT

pytest.importorskip("mypy")

PROGRAM = """
import io, os, pathlib
from typing import Any, assert_type
import numpy as np
import onnx
import relay
from relay import frontend, transform
from relay.run.report import Report

model = relay.compile("net.onnx", threads=2, shapes={"x": (1, 3)}, schedules={0: "text"}, donate={"cache": 1})
assert_type(model, relay.Compiled)
assert_type(model.inputs, list[relay.Port])
assert_type(model.outputs[0].shape, tuple[int | str, ...])
assert_type(model.report, Report)
assert_type(model.emit("c", 0), str)
assert_type(model.profile(np.zeros(3)), list[dict[str, str | float | int]])
assert_type(model.cached, str | None)
model.save(pathlib.Path("net.rart"))
model(np.zeros(3), threads=2).sum()
first, second = model(x=[1.0])
relay.compile(pathlib.Path("net.onnx"))
relay.compile(b"bytes")
relay.compile(io.BytesIO(b"bytes"))
relay.compile(onnx.load("net.onnx"))
relay.compile(lambda x: x, (np.zeros(3),))

assert_type(relay.load("net.onnx", import_limits={"nodes": 3}), relay.IRModule | relay.Compiled)
module = relay.parse("def @main() { 1 }")
assert_type(module, relay.IRModule)
relay.compile(module)
relay.evaluate(module, [np.zeros(3)], precision="float64").shape

x = relay.var("x", shape=(1, "n"))
assert_type(x, relay.Var)
y = relay.nn.relu(x) + relay.add(x, relay.const(1.0))
assert_type(y, relay.Expr)
assert_type(relay.grad(relay.Function([x], y)), relay.IRModule)
assert_type(transform.FoldConstant()(relay.IRModule({"main": relay.Function([x], y)})), relay.IRModule)

imported, params = frontend.from_onnx(onnx.load("net.onnx"), shape={"x": (1, 3)}, freeze_params=False)
assert_type(imported, relay.IRModule)
assert_type(relay.from_pytorch(lambda x: x, (np.zeros(3),)), relay.IRModule)
assert_type(frontend.from_pytorch(lambda x: x, [("x", (1, 3))])[0], relay.IRModule)

@frontend.converter("mine::scaled")
def scaled(inputs: list[relay.Expr], types: list[str | None]) -> relay.Expr:
    return inputs[0]

assert_type(scaled([x], []), relay.Expr)

net = relay.nn.Sequential(relay.nn.Linear(3, 4), relay.nn.ReLU())
assert_type(net.state_dict(), dict[str, np.ndarray])
assert_type(net.module((1, 3)), relay.IRModule)
assert_type(relay.nn.relu(x), relay.Expr)

@relay.script
def doubled(a: float) -> float:
    return a + a

assert_type(doubled, relay.Script)
assert_type(doubled.module(1.0), relay.IRModule)
"""
CONFIGURATION = """[mypy]
strict_optional = true
check_untyped_defs = true
[mypy-torch.*,transformers.*,safetensors.*]
follow_imports = skip
ignore_missing_imports = true
"""


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mypy")
    (folder / "mypy.ini").write_text(CONFIGURATION)

    def run(program):
        (folder / "program.py").write_text(program)
        command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "program.py"]
        environment = {**os.environ, "MYPYPATH": str(ROOT / "python")}
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment).stdout

    return run


@pytest.mark.slow
def test_the_interface_has_precise_types(check):
    assert "Success" in (said := check(PROGRAM)), said


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("relay.compile(3)", 'incompatible type "int"'),
        ("relay.compile('net.onnx', thread=2)", 'Unexpected keyword argument "thread"'),
        ("relay.compile('net.onnx').emitt('c')", '"Compiled" has no attribute "emitt"'),
        ("relay.nn.relu('x')", 'incompatible type "str"'),
        ("relay.nn.Linear(3, 4, biass=True)", 'Unexpected keyword argument "biass"'),
        ("relay.nn.conv2d(x, x, stride=(1, 1))", 'Unexpected keyword argument "stride"'),
    ],
)
def test_misuse_is_an_error(check, line, error):
    said = check(f"import relay\nx = relay.var('x', shape=(2, 2))\n{line}\n")
    assert error in said and "program.py:3: error" in said, said
