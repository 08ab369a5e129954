"""python -m relay: the command line."""

import sys

from relay_command import main

if __name__ == "__main__":
    sys.exit(main())
