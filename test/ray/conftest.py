"""Modules of the Python tests that these tests use too."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python" / "support"))
