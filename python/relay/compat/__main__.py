"""python -m relay.compat SCRIPT ARGUMENTS, or -m MODULE ARGUMENTS: runs a script or module with relay.compat.tvm as
`tvm`."""

import importlib
import os
import runpy
import sys

from . import install


def main() -> int:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m relay.compat (SCRIPT | -m MODULE) [ARGUMENTS]")
        return 0 if arguments else 2
    install()
    importlib.import_module("relay.compat.tvm.spans").only_given()
    plugins = [os.environ.get("PYTEST_PLUGINS"), "relay.compat.pytest_plugin"]
    os.environ["PYTEST_PLUGINS"] = ",".join(filter(None, plugins))  # also for a file that calls pytest.main() itself
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print("relay.compat: -m needs the name of a module", file=sys.stderr)
            return 2
        sys.argv = arguments[1:]
        sys.path.insert(0, "")
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
