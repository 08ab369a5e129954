"""python -m relay.distribute: the verbs of relay.distribute.command."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
