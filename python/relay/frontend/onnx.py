"""ONNX models with the arguments that TVM's importer has. relay.load(path) is the short way."""

from __future__ import annotations

import os
import tempfile

from .. import _core

# What from_onnx's convert_config could say; Relay chooses these forms by itself.
_CONVERT_CONFIG = {"use_nt_batch_matmul", "use_welford"}


def _sizes(shape):
    """Sizes by input, -1 where one is not a number."""
    return {name: [size if isinstance(size, int) else -1 for size in one] for name, one in (shape or {}).items()}


def _with_names(model):
    """A copy of a model whose nodes all have names of their own."""
    named = type(model)()
    named.CopyFrom(model)
    taken = {node.name for node in named.graph.node}
    for number, node in enumerate(named.graph.node):
        if not node.name:
            name = f"{node.op_type}_{number}"
            while name in taken:
                name += "_"
            node.name = name
            taken.add(name)
    return named


def from_onnx(
    model,
    shape=None,
    dtype="float32",
    opset=None,
    freeze_params=True,
    convert_config=None,
    export_node_renamed_model_path=None,
    import_limits=None,
):
    """(module, params) of an ONNX model or file.

    `shape` gives sizes of inputs, and a dict of `dtype` element types, instead of those in the model; a single dtype
    says nothing that the model does not. `opset`: the version of operators that the model is read as, instead of its
    own. Weights are constants of the module, and params is empty; with freeze_params=False they are parameters of main
    behind the inputs, and params has their values (small lists of integers, such as shapes and axes, stay constants).
    `export_node_renamed_model_path`: where to write the model with a name for every node. `import_limits`: as of
    relay.load.
    """
    unknown = set(convert_config or {}) - _CONVERT_CONFIG
    if unknown:
        raise ValueError(
            f"convert_config has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(_CONVERT_CONFIG))}"
        )
    types = {name: str(one) for name, one in dtype.items()} if isinstance(dtype, dict) else {}
    is_path = isinstance(model, (str, os.PathLike))
    with tempfile.TemporaryDirectory() as folder:
        path = os.fspath(model) if is_path else os.path.join(folder, "model.onnx")
        if not is_path:
            with open(path, "wb") as file:
                file.write(model.SerializeToString())
        module = _core.load(path, _sizes(shape), types, opset, freeze_params, import_limits or {})
        if freeze_params and export_node_renamed_model_path is None:
            return module, {}
        import onnx

        proto = onnx.load(path)
        if export_node_renamed_model_path is not None:
            onnx.save(_with_names(proto), os.fspath(export_node_renamed_model_path))
        if freeze_params:
            return module, {}
        names = {parameter.name_hint for parameter in module["main"].params}
        return module, {
            weight.name: onnx.numpy_helper.to_array(weight)
            for weight in proto.graph.initializer
            if weight.name in names
        }
