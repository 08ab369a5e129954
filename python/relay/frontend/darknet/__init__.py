"""The importer of DarkNet: a configuration (.cfg) and its weights (.weights), which `config.py` and `weights.py` read.
`graph.py` calls a converter for each layer: `table.py` is the list of them."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence

from ..._core import IRModule
from ...errors import wrong_input
from ..shared.beside import partner
from ..shared.binary import read_file
from .config import sections_of
from .graph import Importer
from .weights import Weights

__all__ = ["from_darknet", "import_file"]


def import_file(
    path: str,
    shapes: Mapping[str, Sequence[int]] | None = None,
    weights: str | None = None,
    custom_layers: Mapping[str, Callable] | None = None,
) -> tuple[IRModule, list[str]]:
    """Returns the module of a .cfg file, or of the .cfg file beside a .weights file, and the paths that were read."""
    if path.endswith(".weights"):
        config, weights = _beside(path, ".cfg", "configuration"), weights or path
    else:
        config, weights = path, weights or _beside(path, ".weights", "weights")
    sections = sections_of(config, read_file(config))
    held = Weights(weights, read_file(weights))
    return Importer(held, dict(shapes or {}), dict(custom_layers or {})).network(sections), [config, weights]


def _beside(path: str, end: str, what: str) -> str:
    name = f"{pathlib.Path(path).stem}{end}"
    help = (
        f"put them into one folder under one name, {name}, or call "
        "relay.frontend.from_darknet('NET.cfg', weights='NET.weights')"
    )
    found = partner(path, [end], [name], what, help)
    if found is None:
        raise wrong_input(f"{path} needs its {what}, and no {end} file is beside it", help)
    return found


def from_darknet(
    net: str | os.PathLike[str],
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: str = "float32",
    weights: str | os.PathLike[str] | None = None,
    custom_layers: Mapping[str, Callable] | None = None,
) -> tuple[IRModule, dict]:
    """Returns (module, params) of a network of DarkNet. All weights are constants of the module, so that params is
    empty.

    net: the path of the .cfg file. A network in memory does not hold the options of its layers.
    shape: {"data": (1, 3, 416, 416)}; by default one image of the size in the file.
    dtype: float32, the only type of DarkNet.
    weights: the path of the .weights file; by default the one beside the .cfg file.
    custom_layers: functions by the name of a section, function(inputs, options), which returns an expression.
    """
    if not isinstance(net, (str, os.PathLike)):
        raise wrong_input(
            f"the {type(net).__name__} is given as the network",
            "give the paths: from_darknet('NET.cfg', weights='NET.weights')",
        )
    if dtype != "float32":
        raise wrong_input(f"the type {dtype!r} is given", "leave it out: DarkNet computes in float32")
    held = None if weights is None else os.fspath(weights)
    return import_file(os.fspath(net), shape, held, custom_layers)[0], {}
