"""The importer of MXNet: symbols (-symbol.json), which `symbol.py` reads, and their arrays (.params), which `params.py`
reads. `graph.py` calls a converter for each node: `table.py` is the list of them."""

from __future__ import annotations

import os
import pathlib
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..._core import IRModule
from ...errors import wrong_input
from ..shared.beside import partner
from ..shared.binary import read_file
from .graph import Importer
from .params import params_of
from .symbol import symbol_of

__all__ = ["from_mxnet", "import_file"]
_HELP = (
    "put both files into one folder as NET-symbol.json and NET-0000.params, or call "
    "relay.frontend.from_mxnet('NET-symbol.json', shape={'data': (1, 3, 224, 224)}, arg_params='NET-0000.params')"
)


def import_file(path: str, shapes: Mapping[str, Sequence[int]] | None = None) -> tuple[IRModule, list[str]]:
    """Returns the module of a symbol and of the arrays beside it, or the reverse, and the paths that were read."""
    name = pathlib.Path(path).name
    if name.endswith(".json"):
        symbol, params = path, _params_beside(path)
    else:
        stem = re.sub(r"(-\d+)?\.params$", "", name)
        params, symbol = path, partner(path, ["-symbol.json"], [f"{stem}-symbol.json"], "symbol", _HELP)
        if symbol is None:
            raise wrong_input(f"{path} has the arrays of an MXNet model, and no -symbol.json file is beside it", _HELP)
    return from_mxnet(symbol, shapes, arg_params=params)[0], [symbol, *([params] if params else [])]


def _params_beside(path: str) -> str | None:
    """Returns the arrays of a symbol: those of the same name, of the last epoch. None if it needs none."""
    stem = re.sub(r"(-symbol)?\.json$", "", pathlib.Path(path).name)
    folder = pathlib.Path(path).parent
    found = sorted(
        one.name for one in folder.glob("*.params") if re.fullmatch(rf"{re.escape(stem)}(-\d+)?\.params", one.name)
    )
    return os.fspath(folder / found[-1]) if found else partner(path, [".params"], [], "arrays", _HELP)


def from_mxnet(
    symbol: object,
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    arg_params: object = None,
    aux_params: object = None,
    custom_operators: Mapping[str, Callable] | None = None,
) -> tuple[IRModule, dict]:
    """Returns (module, params) of a symbol of MXNet, with the arguments of TVM's importer. All arrays are constants of
    the module, so that params is empty.

    symbol: the path of a -symbol.json file, its bytes, an mxnet.Symbol, or a HybridBlock of Gluon that has been run.
    shape: sizes of the inputs by name, which most files do not contain: {"data": (1, 3, 224, 224)}.
    dtype: the type of the inputs, or the types by name.
    arg_params, aux_params: arrays by name, NumPy's or MXNet's; or the path of a .params file with both.
    custom_operators: functions by the name of an operator, function(inputs, attributes), which returns an expression,
    or one for each output.
    """
    arrays = _arrays(arg_params) | _arrays(aux_params)
    if hasattr(symbol, "export") and hasattr(symbol, "collect_params"):
        with tempfile.TemporaryDirectory() as folder:
            symbol.export(f"{folder}/net")
            name, content = "<HybridBlock>", read_file(f"{folder}/net-symbol.json")
            arrays = params_of("<HybridBlock>", read_file(f"{folder}/net-0000.params")) | arrays
    elif hasattr(symbol, "tojson"):
        name, content = "<Symbol>", symbol.tojson().encode()
    elif isinstance(symbol, (bytes, bytearray)):
        name, content = "<symbol>", bytes(symbol)
    elif isinstance(symbol, (str, os.PathLike)):
        is_text = isinstance(symbol, str) and symbol.lstrip().startswith("{")
        name = "<symbol>" if is_text else os.fspath(symbol)
        content = symbol.encode() if is_text else read_file(symbol)
    else:
        raise wrong_input(
            f"the {type(symbol).__name__} is given as the symbol",
            "give the path of a -symbol.json file, or a mxnet.Symbol",
        )
    types = dict(dtype) if isinstance(dtype, Mapping) else {"": str(dtype)} if dtype != "float32" else {}
    importer = Importer(arrays, dict(shape or {}), types, dict(custom_operators or {}))
    return importer.symbol(symbol_of(name, content)), {}


def _arrays(given: object) -> dict[str, np.ndarray]:
    """Returns arrays by name, of a path, bytes, or a dict of arrays."""
    if given is None:
        return {}
    if isinstance(given, (str, os.PathLike)):
        return params_of(os.fspath(given), read_file(given))
    if isinstance(given, (bytes, bytearray)):
        return params_of("<arrays>", bytes(given))
    if not isinstance(given, Mapping):
        raise wrong_input(
            f"the {type(given).__name__} is given as arrays", "give a dict of arrays, or the path of a file"
        )
    made = {}
    for name, one in given.items():
        one = one.data() if hasattr(one, "collect_params") or type(one).__name__ == "Parameter" else one
        made[name] = np.asarray(one.asnumpy() if hasattr(one, "asnumpy") else one)
    return made
