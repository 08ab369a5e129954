"""The command line: python -m relay."""

import os
import signal
import sys

from . import _core


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a compilation
    os.environ.setdefault("RELAY_PYTHON", sys.executable)  # for `bench --vs`
    status = _core.main(["relay", *sys.argv[1:]])
    sys.stdout.flush()
    return status


if __name__ == "__main__":
    sys.exit(main())
