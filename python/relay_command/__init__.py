"""The command `relay` of an installed package: the command line inside the extension, started without NumPy.

Importing the package `relay` takes several times as long as `relay --version`, so the extension is loaded by itself.
"""

import os
import signal
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec


def _extension():
    """The extension relay._core, loaded without the package around it unless that is imported already."""
    if "relay._core" in sys.modules:
        return sys.modules["relay._core"]
    package = PathFinder.find_spec("relay")
    spec = PathFinder.find_spec("relay._core", package.submodule_search_locations)
    core = sys.modules[spec.name] = module_from_spec(spec)  # the package finds it there when it is imported later
    spec.loader.exec_module(core)
    return core


def _import_file(path: str, shapes: dict[str, list[int]], layout: str):
    """Imports a file of PyTorch, Keras or TensorFlow, which takes the package, and PyTorch or h5py."""
    from relay.frontend.files import import_file

    return import_file(path, shapes, layout)


def _run_on_pjrt(module, path: str, inputs: list):
    """Runs a module on a PJRT plugin, which takes the package."""
    from relay.pjrt.program import run

    return run(module, path, inputs)


def _run_in_python(function: str, arguments: list[str]) -> int:
    """Runs a verb that is written in Python: "module:function"."""
    from relay.errors import CompileError

    module, _, name = function.partition(":")
    try:
        return getattr(import_module(module), name)(arguments)
    except CompileError as error:  # a package that the verb needs is missing
        print(error, file=sys.stderr)
        return 1


def main() -> int:
    """Runs the command line with the arguments of this process and returns its exit status."""
    core = _extension()
    if function := core.python_verbs().get(sys.argv[1] if len(sys.argv) > 1 else ""):
        return _run_in_python(function, sys.argv[2:])
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a compilation
    os.environ.setdefault("RELAY_PYTHON", sys.executable)  # for `bench --vs`
    status = core.main(["relay", *sys.argv[1:]], _import_file, _run_on_pjrt)
    sys.stdout.flush()
    return status
