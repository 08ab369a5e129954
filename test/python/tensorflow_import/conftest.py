"""Puts the modules beside the tests on the path. A folder of the name `tensorflow` would be found as that package."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
