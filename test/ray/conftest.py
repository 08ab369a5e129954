"""Modules of the Python tests that these tests use too."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python" / "support"))
os.environ["RAY_worker_niceness"] = "0"  # of the nodes that tests start, as relay train --ray=local sets it
