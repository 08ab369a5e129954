"""Models and inputs are read from pipes."""

import os
import subprocess

import pytest
from programs import PROGRAM, cli, needs_program, onnx_model

relay = pytest.importorskip("relay", exc_type=ImportError)


def through_a_pipe(path, *arguments):
    with open(path, "rb") as file:
        return subprocess.run(
            ["bash", "-c", 'cat | "$0" "$@"', str(PROGRAM), *map(str, arguments)],
            stdin=file,
            capture_output=True,
            text=True,
            timeout=60,
        )


@needs_program
def test_models_come_through_pipes(dense_file, tmp_path):
    pytest.importorskip("onnx")
    from onnx import helper

    net = onnx_model(tmp_path / "net.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", [2, 4])], [("y", [2, 4])])
    artifact = tmp_path / "dense.rart"
    assert cli("compile", dense_file, "-o", artifact).returncode == 0
    for path in (dense_file, net, artifact):
        for verb in ("run", "check", "inspect"):
            done = through_a_pipe(path, verb, "/dev/stdin")
            assert done.returncode == 0, done.stderr
            assert "/proc/" not in done.stderr
    done = through_a_pipe(artifact, "run", "/dev/stdin", "-O3")
    assert done.returncode == 1 and "is compiled already" in done.stderr
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(net.read_bytes()[:20])
    for verb in ("run", "check"):
        done = through_a_pipe(broken, verb, "/dev/stdin")
        assert done.returncode == 1 and "/dev/stdin" in done.stderr and "/proc/" not in done.stderr, done.stderr


def test_python_reads_pipes(dense_file, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(["bash", "-c", 'cat "$0" > "$1"', dense_file, pipe])
    model = relay.compile(pipe)
    assert writer.wait() == 0 and [port.name for port in model.inputs] == ["x", "w"]
