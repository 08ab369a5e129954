"""Limits on the import of an ONNX file can be changed (docs/security.md)."""

import pytest
from programs import cli

import relay

onnx = pytest.importorskip("onnx")


def test_limits_of_an_import_can_be_changed(tmp_path):
    """Through the command line and in Python, by name; the refusal says how."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> net (float[2] x) => (float[2] y)'
        " { a = Relu(x) b = Exp(a) y = Abs(b) }"
    )
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    for name, fewest in {"calls": 3, "nodes": 3}.items():
        for read in (lambda limits: relay.load(path, import_limits=limits),
                     lambda limits: relay.load(path.read_bytes(), import_limits=limits),
                     lambda limits: relay.frontend.from_onnx(model, import_limits=limits)):  # fmt: skip
            read({name: fewest})
            with pytest.raises(relay.CompileError, match="R0405") as caught:
                read({name: fewest - 1})
            assert f"more than {fewest - 1} " in str(caught.value) and f"--import-limit {name}=N" in str(caught.value)
    with pytest.raises(relay.CompileError, match="an import has no limit 'call'"):
        relay.load(path, import_limits={"call": 3})
    with pytest.raises(relay.CompileError, match="the limit of calls is 0"):
        relay.load(path, import_limits={"calls": 0})

    for verb in ("check", "compile"):
        more = ["-o", tmp_path / "net.rart"] if verb == "compile" else []
        assert cli(verb, path, "--import-limit", "calls=3", *more).returncode == 0
        refused = cli(verb, path, "--import-limit", "calls=2", *more)
        assert refused.returncode != 0 and "R0405" in refused.stderr + refused.stdout
    refused = cli("check", path, "--import-limit", "calls")
    assert refused.returncode == 1 and "'calls' is not NAME=N" in refused.stderr


def test_constants_of_an_import_have_a_limit_of_their_own():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> net (float[64,64] x) => (float[64,64] y) { y = EyeLike(x) }'
    )
    relay.frontend.from_onnx(model, import_limits={"constants": 4 * 64 * 64})
    with pytest.raises(relay.CompileError, match="all constants of an import may have at most 16383 bytes"):
        relay.frontend.from_onnx(model, import_limits={"constants": 4 * 64 * 64 - 1})
