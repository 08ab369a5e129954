"""The forms of models that load() and compile() accept: a path, bytes, an open binary file, an onnx.ModelProto, or an
exported PyTorch program, a Keras model, a TensorFlow model."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import BinaryIO, Protocol, TypeAlias

from .. import _core
from ..errors import wrong_input
from . import keras, pytorch, tensorflow
from .files import FORMATS, WITH_LAYOUT, import_file
from .keras.file import is_keras

_WANTED = (
    "give a path, the bytes of a file, an open binary file, an onnx.ModelProto, a torch.export.ExportedProgram, a "
    "keras.Model, a tf.compat.v1.GraphDef"
)


class OnnxModel(Protocol):
    """An onnx.ModelProto."""

    def SerializeToString(self) -> bytes: ...


class ExportedProgram(Protocol):
    """A torch.export.ExportedProgram."""

    @property
    def graph_module(self) -> Callable[..., object]: ...


class KerasModel(Protocol):
    """A keras.Model of Keras 2 or 3."""

    @property
    def layers(self) -> list: ...


@dataclasses.dataclass(frozen=True)
class Source:
    """A path, or bytes with a name for messages."""

    name: str
    bytes: bytes | None = None
    program: object = None  # a torch.export.ExportedProgram
    keras_model: object = None  # a keras.Model

    @property
    def form(self) -> str:
        """The format: "ONNX model", "TFLite model", "Relay program", "artifact", or one of files.FORMATS."""
        if self.program is not None or self._is_pt2:
            return "PyTorch model"
        if self.keras_model is not None or (self.bytes is not None and is_keras(self.bytes)):
            return "Keras model"
        form = _core.form_of(self.name) if self.bytes is None else _core.form_of_bytes(self.name, self.bytes)
        if form == "PyTorch model" and pytorch.is_script_file(self.name):
            raise wrong_input(
                f"{self.name} is a TorchScript file, which does not describe its inputs",
                f"give example inputs: relay.compile({self.name!r}, (example,)), or relay.from_pytorch()",
            )
        return form

    @property
    def _is_pt2(self) -> bool:
        """True if the source is a file that torch.export.save wrote: a zip archive."""
        if self.bytes is None:
            return self.name.endswith(".pt2") and os.path.isfile(self.name)
        return self.bytes.startswith(b"PK\x03\x04") and b"archive_format" in self.bytes

    @property
    def is_read_by_python(self) -> bool:
        return self.form in FORMATS

    def module(self, shapes: dict, layout: str = "") -> _core.IRModule:
        """Imports a source of one of files.FORMATS, with these sizes of inputs.

        layout: the order of the axes of images, "NCHW", or that of the model if empty.
        """
        form = self.form
        if layout and form not in WITH_LAYOUT:
            raise wrong_input(f"a layout is given, and the images of {self.name} keep their order", "leave it out")
        if self.keras_model is not None:
            return keras.from_keras(self.keras_model, shapes, layout=layout or "NHWC")[0]
        if form == "Keras model":
            return keras.import_ordered(self.name, self.bytes, shapes, layout)
        if form == "TensorFlow model" and self.bytes is not None:
            return tensorflow.import_content(self.name, self.bytes, shapes, layout)
        if form != "PyTorch model":
            return import_file(self.name, shapes, layout)[0]
        if self.program is not None:
            made = pytorch.from_exported(self.program)
        else:
            made = pytorch.read_pt2(self.name, self.bytes)
        return made.bind_shapes(shapes) if shapes else made


# The types that load() accepts. compile() also accepts modules of Relay and PyTorch.
Model: TypeAlias = (
    str
    | os.PathLike[str]
    | bytes
    | bytearray
    | memoryview
    | BinaryIO
    | OnnxModel
    | ExportedProgram
    | KerasModel
    | Source
)


def source_of(model) -> Source:
    """Returns the source of a model. Raises CompileError with a description of the object if it cannot be a model."""
    if isinstance(model, Source):
        return model
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Source("<bytes>", bytes(model))
    if isinstance(model, str):
        return _of_path(_checked(model))
    if isinstance(model, os.PathLike):
        return _of_path(os.fsdecode(model))
    classes = {f"{cls.__module__}.{cls.__qualname__}" for cls in type(model).__mro__}
    if type(model).__name__ == "ModelProto" and hasattr(model, "SerializeToString"):
        return Source("<onnx.ModelProto>", _serialised(model))
    if "torch.export.exported_program.ExportedProgram" in classes:
        return Source("<torch.export.ExportedProgram>", program=model)
    if keras.is_live_model(model):
        return Source(f"<{type(model).__name__}>", keras_model=model)
    if type(model).__name__ == "GraphDef" and hasattr(model, "SerializeToString"):
        return Source("<GraphDef>", model.SerializeToString())
    if "torch.nn.modules.module.Module" in classes:
        raise wrong_input(
            f"{_kind(model)} is given, which does not describe its inputs",
            "give example inputs: relay.compile(model, (example,)), or relay.from_pytorch to import it alone",
        )
    if hasattr(model, "read"):
        return _of_file(model)
    if isinstance(model, _core.IRModule):
        raise wrong_input("this is a module, which needs no loading", "relay.compile(module) compiles it")
    if isinstance(model, _core.Expr):
        raise wrong_input(
            f"{_kind(model)} is given, which is only a part of a module",
            "relay.compile(relay.IRModule.from_expr(function))",
        )
    if "relay.run.compiled.Compiled" in classes:
        raise wrong_input("this is a compiled model", "call it: model(x)")
    raise wrong_input(f"{_kind(model)} is given as a model", f"{_WANTED} or a relay.IRModule")


def _of_path(path: str) -> Source:
    """Returns the source of a path. A pipe is read at once, because it can be read only once."""
    return Source(path, _core.read_pipe(path)) if _core.is_pipe(path) else Source(path)


def _kind(value) -> str:
    """Returns the type of a value as the user sees it: an array, a dict, None."""
    if value is None:
        return "None"
    cls = type(value)
    name = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _checked(path: str) -> str:
    if "\n" in path or path.lstrip().startswith(("#[version", "def @", "fn (")):
        raise wrong_input("the text of a program is given where a path is expected", "relay.compile(relay.parse(text))")
    return path


def _serialised(model) -> bytes:
    try:
        return model.SerializeToString()
    except Exception as error:  # protobuf's own exceptions: for a message above 2 GiB, or an incomplete one
        raise wrong_input(
            f"the onnx.ModelProto cannot be serialised: {error}",
            "onnx.save(model, 'model.onnx', save_as_external_data=True), then give the path",
        ) from error


def _of_file(file) -> Source:
    content = file.read()
    name = getattr(file, "name", None)
    name = name if isinstance(name, str) else f"<{type(file).__name__}>"
    if isinstance(content, str):
        raise wrong_input(f"{name} is open as text", "open it as binary: open(path, 'rb')")
    if not isinstance(content, (bytes, bytearray)):
        raise wrong_input(f"read() of {_kind(file)} returns {_kind(content)}, not bytes", _WANTED)
    if not content and getattr(file, "seekable", lambda: False)() and file.tell() > 0:
        raise wrong_input(f"{name} has already been read to its end", "file.seek(0)")
    return Source(name, bytes(content))
