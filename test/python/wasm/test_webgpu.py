"""Networks as packages for WebGPU: their files and what is refused. make test-wasm runs them."""

import js_packages
import pytest
from programs import EXAMPLES, cli, fails, needs_program

pytestmark = needs_program
VERSION = '#[version = "0.0.5"]\n'


def write(model, folder, *options):
    done = cli("compile", model, "--emit", "webgpu", "-o", folder, *options)
    assert done.returncode == 0, done.stderr
    return folder


def program(text, tmp_path):
    path = tmp_path / "net.relay"
    path.write_text(VERSION + text)
    return path


def test_the_files_name_the_same_kernels_and_places(tmp_path):
    text = """def @main(%x: Tensor[(1, 3, 9, 9), float32], %w: Tensor[(16, 3, 3, 3), float32]) {
  nn.softmax(nn.batch_flatten(nn.relu(nn.conv2d(%x, %w))))
}
"""
    package = write(program(text, tmp_path), tmp_path / "package")
    gpu = js_packages.constant(package / "model.mjs", "description")["gpu"]
    code = (package / "model.wgsl").read_text()
    assert len(gpu["steps"]) >= 2
    for kernel in gpu["kernels"]:
        assert f"fn {kernel['entry']}(" in code and kernel["groups"] > 0
    for step in gpu["steps"]:
        assert all(0 <= 4 * word < gpu["bytes"] for word in step["arrays"])
        assert f"override relay_array_{len(step['arrays']) - 1}:" in code
    places = [gpu["blocks"][name] for name in ("relay_input_0", "relay_input_1", "relay_output_0")]
    assert len(set(places)) == 3 and all(at % 256 == 0 for at in places)


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write(EXAMPLES / "tour" / "dense.relay", tmp_path / name, "--input", "x=1")
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert "model.wgsl" in files and "model.wasm" not in files
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


@pytest.mark.skipif(not js_packages.NODE, reason="node is not installed")
def test_engines_without_webgpu_say_so(tmp_path):
    package = write(EXAMPLES / "tour" / "dense.relay", tmp_path / "package")
    problems = js_packages.in_node(tmp_path, [package.name])
    assert "ModelError: there is no WebGPU here" in problems["package"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("def @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }\n", [], "its sizes are not constant"),
        ("def @main(%x: Tensor[(4), int8]) { nn.relu(%x) }\n", [], "array `data` has elements of type int8"),
        ("def @main(%x: Tensor[(4), float64]) { exp(%x) }\n", [], "array `data` has elements of type float64"),
        (
            'def @main(%x: Tensor[(5, 2), float32], %i: Tensor[(3), int32]) { take(%x, %i, axis=0, mode="checked") }\n',
            [],
            "it computes int64",
        ),
        ("def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }\n", ["--target", "zen4"], "but the target is zen4"),
        (
            "def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }\n",
            ["--target", "wasm32-simd128"],
            "--emit webgpu is not for the target wasm32-simd128",
        ),
    ],
)
def test_refusals(text, options, message, tmp_path):
    done = cli("compile", program(text, tmp_path), "--emit", "webgpu", "-o", tmp_path / "out", *options)
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_other_forms_are_refused(tmp_path):
    path = EXAMPLES / "tour" / "dense.relay"
    target = ["--target", "webgpu"]
    assert "run in browsers, and not from an artifact" in fails(
        "R0504", "compile", path, *target, "-o", tmp_path / "k.rart"
    )
    assert "kernels for webgpu are source text" in fails("R0504", "opt", path, *target, "--emit", "asm")
    done = cli("run", path, *target)
    assert done.returncode == 1 and "compiled for webgpu" in done.stderr, done.stderr
