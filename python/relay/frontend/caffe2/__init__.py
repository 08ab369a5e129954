"""The importer of Caffe2: a network (predict_net.pb) and the one that makes its weights (init_net.pb), which `net.py`
reads. `graph.py` calls a converter for each operator: `table.py` is the list of them."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence

from ..._core import IRModule
from ...errors import wrong_input
from ..shared.messages import content_of
from .graph import Importer
from .net import net_of

__all__ = ["from_caffe2", "import_file"]
_HELP = (
    "put both files into one folder as init_net.pb and predict_net.pb, or call "
    "relay.frontend.from_caffe2('init_net.pb', 'predict_net.pb', {'data': (1, 3, 224, 224)})"
)


def import_file(path: str, shapes: Mapping[str, Sequence[int]] | None = None) -> tuple[IRModule, list[str]]:
    """Returns the module of a network and of the one beside it that makes its weights, and the paths that were read."""
    name, folder = pathlib.Path(path).name, pathlib.Path(path).parent
    is_init = "init" in name and "predict" not in name
    other = folder / (name.replace("init", "predict") if is_init else name.replace("predict", "init"))
    if other.name == name or not other.is_file():
        wanted = other.name if other.name != name else "init_net.pb"
        raise wrong_input(f"{path} is one half of a Caffe2 model, and no {wanted} is beside it", _HELP)
    init, predict = (path, os.fspath(other)) if is_init else (os.fspath(other), path)
    return from_caffe2(init, predict, shapes)[0], [predict, init]


def from_caffe2(
    init_net: object,
    predict_net: object,
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    custom_operators: Mapping[str, Callable] | None = None,
) -> tuple[IRModule, dict]:
    """Returns (module, params) of a network of Caffe2, with the arguments of TVM's importer. All weights are constants
    of the module, so that params is empty.

    init_net, predict_net: the network that makes the weights, and the one that computes: paths, bytes, or
    caffe2_pb2.NetDef.
    shape: the sizes of each input by name, which the files do not contain: {"data": (1, 3, 224, 224)}.
    dtype: the type of the inputs, or the types by name.
    custom_operators: functions by the type of an operator, function(inputs, arguments), which returns an expression, or
    one for each output.
    """
    init, predict = (
        net_of(*content_of(given, what, is_text=False))
        for given, what in ((init_net, "init network"), (predict_net, "network"))
    )
    types = dict(dtype) if isinstance(dtype, Mapping) else dict.fromkeys(shape or {}, str(dtype))
    importer = Importer(dict(shape or {}), types, dict(custom_operators or {}))
    return importer.network(init, predict), {}
