"""The line about a compilation that takes long."""

import time

import pytest
from relay.decoding import progress


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    assert progress._AFTER == 2.0
    monkeypatch.setattr(progress, "_AFTER", 0.05)


def test_short_work_says_nothing(capfd):
    with progress.Progress("compiling a model"):
        pass
    time.sleep(0.1)
    assert capfd.readouterr() == ("", "")


def test_long_work_says_what_it_is_once(capfd):
    with progress.Progress("compiling a model"):
        time.sleep(0.3)
    assert capfd.readouterr() == ("", "relay: compiling a model ...\n")


def test_a_terminal_shows_the_seconds_and_is_cleared_at_the_end(capfd, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with pytest.raises(ValueError), progress.Progress("compiling a model"):
        time.sleep(0.3)
        raise ValueError
    said = capfd.readouterr().err
    assert "relay: compiling a model ... 0 s" in said and said.endswith("\r\033[K")


def test_quiet_work_never_says_anything(capfd):
    with progress.Progress("compiling a model", quiet=True):
        time.sleep(0.2)
    assert capfd.readouterr() == ("", "")
