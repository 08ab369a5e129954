"""Files of programs that several tests read."""

import os

import pytest
from programs import CONV, DENSE

os.environ["RELAY_TUNING_RECORDS"] = "off"  # those of the user would change kernels


@pytest.fixture
def dense_file(tmp_path):
    path = tmp_path / "dense.relay"
    path.write_text(DENSE)
    return path


@pytest.fixture
def conv_file(tmp_path):
    path = tmp_path / "conv.relay"
    path.write_text(CONV)
    return path
