"""Runs scripts written for TVM's Relay. After `import relay.compat`, `import tvm` finds the contents of
relay.compat.tvm.

    python -m relay.compat SCRIPT.py ARGUMENTS          python -m relay.compat -m pytest tests

IR, types, text, passes, executors and the networks of relay.testing are supported, also under the names of 2019
(relay.Module, relay.ir_pass, relay.build_config). Unsupported names (te schedules, TIR, RPC, other devices)
raise an error that names the replacement.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

from .outside import OutsideModule

_HERE = "relay.compat.tvm"


# Files of a package whose names belong to the package itself here.
_PARTS = {
    "tvm.autotvm": "tuner",
    "tvm.ir": "adt affine_type attrs base container expr function memory_pools module op tensor_type type "
    "type_relation",
    "tvm.meta_schedule": "relay_integration",
    "tvm.relay.analysis": "analysis",
    "tvm.relay.op": "tensor transform reduce algorithm",
    "tvm.relay.op.nn": "nn",
    "tvm.relay.op.image": "image",
    "tvm.relay.op.vision": "multibox nms rcnn yolo",
    "tvm.relay.testing": "py_converter",
    "tvm.runtime": "module",
    "tvm.target": "target",
    "tvm.testing": "plugin utils",
}
_WHOLE = {f"{package}.{part}": package for package, parts in _PARTS.items() for part in parts.split()}


def _full(name: str) -> str:
    name = f"tvm.{name}" if name.partition(".")[0] == "topi" else name
    return _WHOLE.get(name, name)


def _ours(name: str) -> str | None:
    """Returns the module that stands for tvm's module of this name, or None. topi was once a package of its own."""
    name = _full(name)
    rest = name.removeprefix("tvm").removeprefix(".")
    candidates = [f"{_HERE}.{rest}" if rest else _HERE]
    if rest.startswith("relay.") and not _is_in_ours(candidates[0]):
        candidates.append(rest)
    for candidate in candidates:
        parent = candidate.rpartition(".")[0]
        try:
            importlib.import_module(parent)
        except ModuleNotFoundError:
            continue
        if candidate in sys.modules or _has_file(candidate):
            return candidate
    return None


def _is_in_ours(name: str) -> bool:
    """Returns true if a module here has this module as an attribute, such as relay.op.annotation."""
    parent, _, last = name.rpartition(".")
    try:
        value = vars(importlib.import_module(parent)).get(last)
    except ModuleNotFoundError:
        return False
    return isinstance(value, types.ModuleType | types.SimpleNamespace)


def _has_file(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the parent is a single file
        return False


def _attribute(name: str):
    """Returns an attribute of one of our modules that stands for a module, such as tvm.ir.transform, or None."""
    name = _full(name)
    parent, _, last = name.rpartition(".")
    ours = _ours(parent) if parent else None
    value = vars(importlib.import_module(ours)).get(last) if ours else None
    return value if isinstance(value, types.ModuleType | types.SimpleNamespace) else None


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds our modules under tvm's names."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] not in ("tvm", "topi"):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        known = _ours(spec.name) is not None or _attribute(spec.name) is not None
        return None if known else OutsideModule(_full(spec.name))

    def exec_module(self, module):
        if not isinstance(module, OutsideModule):
            ours = _ours(module.__name__)
            found = importlib.import_module(ours) if ours else _attribute(module.__name__)
            if not hasattr(found, "__path__"):
                found.__path__ = []  # tvm's module may be a package, whose imports must come here too
            sys.modules[module.__name__] = found


def install() -> None:
    """Makes `import tvm` return relay.compat.tvm. Importing this package calls it."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if "tvm" in sys.modules:
        raise ImportError("TVM itself is already imported: import relay.compat before it, in a separate process")
    sys.meta_path.insert(0, _Finder())


install()
