"""Files of programs that several tests read."""

import pytest
from programs import CONV, DENSE


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
