"""The TFLite importer, with the arguments of TVM's importer. relay.load(path) is the short way."""

from __future__ import annotations

from .. import _core
from ..errors import wrong_input
from .onnx import sizes_of
from .sources import source_of


def from_tflite(model, shape_dict=None, dtype_dict=None, op_converter=None, import_limits=None, custom_operators=None):
    """Returns (module, params) of a TFLite model: the bytes of a file, a path, an open binary file, or the Model object
    of the package tflite. All weights are constants of the module, so that params is empty.

    `shape_dict`: sizes of inputs that replace those in the model, by the tensor's name.
    `dtype_dict`: element types of inputs that replace those in the model. A single dtype has no effect.
    `op_converter`: not supported; it must be None.
    `import_limits`: as for relay.load.
    `custom_operators`: functions by the name of a custom operator, function(inputs, attributes), which returns an
    expression, or one for each result. inputs: relay.Expr, None where one is absent. attributes: the operator's
    options, if they are a map of FlexBuffers; also "custom_options", their bytes; "result_types"; and, for each input
    and result, "input_scales" and "result_scales": (scale, zero point) of a quantised tensor, otherwise None.
    """
    if op_converter is not None:
        raise wrong_input("op_converter is given, which replaces TVM's own converters", "leave it out")
    types = {name: str(one) for name, one in dtype_dict.items()} if isinstance(dtype_dict, dict) else {}
    source = source_of(_bytes_of(model))
    if source.form != "TFLite model":
        raise wrong_input(f"{source.name} is not a TFLite model", "relay.load(model) reads models of all formats")
    if custom_operators:
        functions = dict(custom_operators)
        return _core.load_tflite(
            source.name, source.bytes, sizes_of(shape_dict), types, import_limits or {}, functions
        ), {}
    options = (sizes_of(shape_dict), types, None, True, import_limits or {})
    if source.bytes is None:
        return _core.load(source.name, *options), {}
    return _core.load_bytes(source.name, source.bytes, *options), {}


def _bytes_of(model):
    """Returns the bytes of a Model object of the package tflite, a view into them; others as they are."""
    table = getattr(model, "_tab", None)
    return bytes(table.Bytes) if hasattr(table, "Bytes") else model
