"""The command line: python -m relay."""

import sys

from relay_command import main

if __name__ == "__main__":
    sys.exit(main())
