"""python -m relay: the command line."""

import os
import signal
import sys

from . import _core


def _import_pytorch(path: str, shapes: dict[str, list[int]]) -> _core.IRModule:
    from .frontend.pytorch.file import import_file

    return import_file(path, shapes)


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a compilation
    os.environ.setdefault("RELAY_PYTHON", sys.executable)  # for `bench --vs`
    status = _core.main(["relay", *sys.argv[1:]], _import_pytorch)
    sys.stdout.flush()
    return status


if __name__ == "__main__":
    sys.exit(main())
