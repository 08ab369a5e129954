"""Files of programs that several tests read."""

import os

import pytest
from programs import CONV, DENSE

import relay

os.environ["RELAY_TUNING_RECORDS"] = "off"  # those of the user would change kernels
CONSTANT_DATA = relay.Constant.data.fget  # before the tests of relay.compat import it, which replaces Constant.data


@pytest.fixture
def constant_data():
    """The function behind Constant.data, which returns a relay.Array."""
    return CONSTANT_DATA


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
