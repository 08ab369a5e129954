"""The importer of Caffe: a network (.prototxt), which `network.py` reads, and its weights (.caffemodel), which
`weights.py` reads. `graph.py` calls a converter for each layer: `table.py` is the list of them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping, Sequence

from ..._core import IRModule
from ...errors import wrong_input
from ..shared.beside import partner
from ..shared.messages import content_of
from .graph import Importer
from .network import network_of
from .weights import weights_of

__all__ = ["from_caffe", "import_file"]
_HELP = (
    "put both files into one folder under one name, NET.prototxt and NET.caffemodel, or call "
    "relay.frontend.from_caffe('NET.caffemodel', 'NET.prototxt')"
)


def import_file(path: str, shapes: Mapping[str, Sequence[int]] | None = None) -> tuple[IRModule, list[str]]:
    """Returns the module of a .prototxt file and of the weights beside it, or the reverse, and the paths that were
    read."""
    stem = pathlib.Path(path).stem
    if path.endswith(".caffemodel"):
        weights, network = path, partner(path, [".prototxt"], [f"{stem}.prototxt", "deploy.prototxt"], "network", _HELP)
    else:
        network, weights = path, partner(path, [".caffemodel"], [f"{stem}.caffemodel"], "weights", _HELP)
    if network is None or weights is None:
        missing = ".prototxt" if network is None else ".caffemodel"
        raise wrong_input(f"{path} is one half of a Caffe model, and no {missing} file is beside it", _HELP)
    module, _ = from_caffe(weights, network, shapes)
    return module, [network, weights]


def from_caffe(
    init_net: object,
    predict_net: object,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    dtype_dict: Mapping[str, str] | str | None = None,
    custom_layers: Mapping[str, Callable] | None = None,
) -> tuple[IRModule, dict]:
    """Returns (module, params) of a network of Caffe, with the arguments of TVM's importer. All weights are constants
    of the module, so that params is empty.

    init_net: the weights: the path of the .caffemodel file, its bytes, or a caffe_pb2.NetParameter.
    predict_net: the network: the path of the .prototxt file, its text, or a caffe_pb2.NetParameter.
    shape_dict: sizes of inputs by name, which replace those of the file.
    dtype_dict: float32, the only type of Caffe's weights.
    custom_layers: functions by the type of a layer, function(inputs, parameters), which returns an expression, or one
    for each top. The parameters have names such as "my_param.axis", and lists of values.
    """
    types = dtype_dict.values() if isinstance(dtype_dict, Mapping) else [dtype_dict] if dtype_dict else []
    if any(str(one) != "float32" for one in types):
        raise wrong_input(f"the types {dtype_dict!r} are given", "leave them out: Caffe computes in float32")
    name, content = content_of(init_net, "weights", is_text=False)
    weights = weights_of(name, content)
    name, content = content_of(predict_net, "network", is_text=True)
    network = network_of(name, content)
    return Importer(weights, dict(shape_dict or {}), dict(custom_layers or {})).network(network), {}
