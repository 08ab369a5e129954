"""relay.frontend: models of other systems. There is one form so far: ONNX."""

from __future__ import annotations

import os
import tempfile

import relay as _relay

from ...outside import missing as _missing

__getattr__ = _missing("tvm.relay.frontend")


def from_onnx(model, shape=None, dtype="float32", opset=None, freeze_params=True, convert_config=None):
    """(module, {}) of an ONNX model or file. Weights are constants of the module, so there are no parameters besides."""
    shapes = {
        name: tuple(-1 if not isinstance(size, int) else size for size in one) for name, one in (shape or {}).items()
    }
    if isinstance(model, (str, os.PathLike)):
        return _relay.load(model, shapes=shapes), {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        return _relay.load(path, shapes=shapes), {}
