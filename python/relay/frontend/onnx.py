"""The ONNX importer, with the arguments of TVM's importer. relay.load(path) is the short way."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping

import numpy as np

from .. import _core
from ..errors import bad_option, wrong_input
from .sources import Model, source_of

# Keys that from_onnx's convert_config may contain. Relay chooses these forms by itself.
_CONVERT_CONFIG = {"use_nt_batch_matmul", "use_welford"}


def _integer(value, what: str, help: str) -> int:
    """Returns an integer of any integral type. Raises CompileError for other types, and for bool, which is an integer
    in Python."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise bad_option(f"{what} is {value!r}, which is not an integer", help)


def sizes_of(shape):
    """Returns the sizes by input, with -1 for a TVM size that is not a number: relay.Any() or a variable."""
    help = "give integers: shape={'x': (1, 3, 224, 224)}; -1 or relay.Any() keeps a size of the model"

    def size(name, one):
        return -1 if isinstance(one, _core.Dim) else _integer(one, f"a size of input '{name}' in shape", help)

    given = {}
    for name, sizes in (shape or {}).items():
        if isinstance(sizes, str | bytes) or not hasattr(sizes, "__iter__"):
            raise bad_option(f"the shape of input '{name}' is {sizes!r}, which is not a list of sizes", help)
        given[name] = [size(name, one) for one in sizes]
    return given


def _with_names(model):
    """Returns a copy of the model in which all nodes have unique names."""
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


def _dense(sparse):
    """Returns all elements of a sparse initialiser. Its positions are element numbers, or one index for each axis."""
    from onnx.numpy_helper import to_array

    values, places = to_array(sparse.values), to_array(sparse.indices)
    dense = np.zeros(tuple(sparse.dims), values.dtype)
    if places.ndim == 1:
        dense.flat[places] = values
    else:
        dense[tuple(places.T)] = values
    return dense


def _weights(graph, names):
    """Returns the initialisers with these names, as arrays."""
    from onnx.numpy_helper import to_array

    given = {weight.name: to_array(weight) for weight in graph.initializer if weight.name in names}
    sparse = {one.values.name: _dense(one) for one in graph.sparse_initializer if one.values.name in names}
    return given | sparse


def from_onnx(
    model: Model,
    shape: Mapping[str, Iterable[int | _core.Dim]] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Mapping[str, bool] | None = None,
    export_node_renamed_model_path: str | os.PathLike[str] | None = None,
    import_limits: Mapping[str, int] | None = None,
) -> tuple[_core.IRModule, dict[str, np.ndarray]]:
    """Returns (module, params) of an ONNX model: an onnx.ModelProto, a path, the bytes of a file or an open binary
    file.

    `shape`: sizes of inputs that replace those in the model.
    `dtype`: a dict of element types of inputs that replace those in the model. A single dtype has no effect.
    `opset`: the operator set version to read the model as, instead of its own.
    `freeze_params`: make weights constants of the module and return no params. With False, weights are parameters of
    main after the inputs, and params has their values (small lists of integers, such as shapes and axes, stay
    constants).
    `export_node_renamed_model_path`: a path to write the model to, with a name for every node.
    `import_limits`: as for relay.load.
    """
    unknown = set(convert_config or {}) - _CONVERT_CONFIG
    if unknown:
        raise ValueError(
            f"convert_config has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(_CONVERT_CONFIG))}"
        )
    types = {name: str(one) for name, one in dtype.items()} if isinstance(dtype, dict) else {}
    if opset is not None:
        opset = _integer(opset, "opset", "give the version number of an operator set, such as 17")
    source = source_of(model)
    if source.form == "PyTorch model":
        raise wrong_input(f"{source.name} is not an ONNX model", "relay.load(model) or from_pytorch() read it")
    options = (sizes_of(shape), types, opset, freeze_params, import_limits or {})
    if source.bytes is None:
        module = _core.load(source.name, *options)
    else:
        module = _core.load_bytes(source.name, source.bytes, *options)
    if freeze_params and export_node_renamed_model_path is None:
        return module, {}
    import onnx

    proto = onnx.load(source.name) if source.bytes is None else onnx.load_from_string(source.bytes)
    if export_node_renamed_model_path is not None:
        onnx.save(_with_names(proto), os.fspath(export_node_renamed_model_path))
    if freeze_params:
        return module, {}
    return module, _weights(proto.graph, {parameter.name_hint for parameter in module["main"].params})
