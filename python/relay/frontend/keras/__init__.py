"""The importer of Keras models: .keras and .h5 files of Keras 2 and 3, and live models. Keras is not needed for files.

`config.py` reads the configuration, `file.py` files, `weights.py` weights. `graph.py` calls a converter for each call
of a layer: `table.py` is the list of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence

from ..._core import IRModule
from ...errors import CompileError, wrong_input

__all__ = ["from_keras", "import_content", "import_file", "is_live_model"]

_LAYOUTS = {"NHWC": False, "NDHWC": False, "NWC": False, "NCHW": True, "NCDHW": True, "NCW": False}


def import_file(
    path: str, shapes: Mapping[str, Sequence[int]] | None = None, layout: str = ""
) -> tuple[IRModule, list[str]]:
    """Returns the module of a .keras or .h5 file, and the paths that were read. layout: as for import_ordered."""
    return import_ordered(path, None, shapes, layout), [path]


def import_content(
    name: str,
    content: bytes | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    custom_layers: Mapping[str, Callable[..., object]] | None = None,
    channels_first: bool = False,
) -> IRModule:
    """Returns the module of a .keras or .h5 file, or of its bytes. The other arguments are those of from_keras."""
    try:
        import h5py  # noqa: F401
    except ImportError as error:
        raise wrong_input(f"{name} is a Keras model, and h5py is not installed", "pip install h5py") from error
    from .config import network_of
    from .file import child, corrupt, first_line, opened
    from .graph import Importer
    from .weights import Grouped, Stored

    try:
        with opened(name, content) as (config, version, store, is_archive):
            network = network_of(config)
            weights = Stored(store) if is_archive else Grouped(child(store, "model_weights") or store)
            importer = Importer(version, dict(shapes or {}), dict(custom_layers or {}), channels_first)
            return importer.module(network, weights)
    except CompileError:
        raise
    except Exception as error:  # h5py raises nearly any class for a file that is damaged
        raise corrupt(f"{name} cannot be read: {type(error).__name__}: {first_line(error)}") from error


def import_ordered(
    name: str, content: bytes | None, shapes: Mapping[str, Sequence[int]] | None, layout: str
) -> IRModule:
    """Returns the module of a file, or of its bytes. layout: "NCHW" exchanges the axes of images; empty keeps them."""
    if layout not in ("", *_LAYOUTS):
        raise wrong_input(f"the layout {layout!r} is unknown", f"use one of {', '.join(_LAYOUTS)}")
    channels_first = _LAYOUTS[layout or "NHWC"]
    return import_content(name, content, _in_keras_order(shapes, channels_first), None, channels_first)


def is_live_model(model: object) -> bool:
    """Returns true for a model of Keras 2 or 3 in memory."""
    names = {f"{cls.__module__}.{cls.__qualname__}" for cls in type(model).__mro__}
    return any(name.endswith(".Model") and "keras" in name.split(".")[0] for name in names)


def from_keras(
    model: object,
    shape: Mapping[str, Sequence[int]] | None = None,
    layout: str = "NCHW",
    custom_layers: Mapping[str, Callable[..., object]] | None = None,
) -> tuple[IRModule, dict]:
    """Returns (module, params) of a Keras model, with the arguments of TVM's importer: a model in memory, the path of a
    .keras or .h5 file, or its bytes. All weights are constants of the module, so that params is empty.

    shape: sizes of inputs, with the batch, by the input layer's name, in the order of `layout`. Others are those of the
    model; sizes that it leaves open are variables.
    layout: the order of the axes of images (4 and 5 axes) that @main takes and returns. "NCHW" and "NCDHW" exchange
    them, "NHWC" and "NDHWC" keep Keras's.
    custom_layers: functions by the class or the name of a layer: function(inputs, config, weights) returns an
    expression or a tuple of them. `inputs` are relay.Expr, `config` is the layer's configuration, `weights` are NumPy
    arrays.
    """
    from .graph import Importer

    if layout not in _LAYOUTS:
        raise wrong_input(f"the layout {layout!r} is unknown", f"use one of {', '.join(_LAYOUTS)}")
    channels_first = _LAYOUTS[layout]
    if isinstance(model, (str, os.PathLike, bytes)):
        name, content = ("<bytes>", model) if isinstance(model, bytes) else (os.fspath(model), None)
        return import_content(name, content, _in_keras_order(shape, channels_first), custom_layers, channels_first), {}
    if not is_live_model(model):
        kind = type(model).__qualname__
        raise wrong_input(f"the {kind} is not a Keras model", "give a keras.Model, or the path of a .keras or .h5 file")
    config, version = _of_live(model)
    from .config import network_of
    from .traced import trace
    from .weights import Live

    importer = Importer(version, _in_keras_order(shape, channels_first), dict(custom_layers or {}), channels_first)
    network = network_of(config)
    return importer.module(network, Live(model, trace(network, model))), {}


def _of_live(model) -> tuple[dict, str]:
    """Returns the configuration and Keras's version of a model in memory."""
    try:
        config = json.loads(model.to_json())
    except Exception as error:  # exceptions of any layer's get_config()
        raise wrong_input(
            f"model.to_json() of the {type(model).__qualname__} fails: {type(error).__name__}: {error}",
            "build the model with the functional interface: keras.Model(inputs, outputs)",
        ) from error
    version = config.get("keras_version")
    if not isinstance(version, str):
        is_old = any("tf_keras" in cls.__module__ for cls in type(model).__mro__)
        version = "2" if is_old else "3"
    return config, version


def _in_keras_order(shape, channels_first: bool) -> dict:
    """Returns the sizes of inputs in Keras's order of axes."""
    made = {}
    for name, sizes in (shape or {}).items():
        sizes = list(sizes)
        is_image = channels_first and len(sizes) in (4, 5)
        made[name] = [sizes[0], *sizes[2:], sizes[1]] if is_image else sizes
    return made
