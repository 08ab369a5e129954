"""The fuzzers of the readers in short form. They are a build of their own: make fuzz-short."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "readers"))

import readers  # noqa: E402

built = pytest.mark.skipif(
    not all((readers.BIN / f"relay_read_{reader}").exists() for reader in readers.READERS),
    reason="the fuzzers are not built: make fuzz-short",
)


def test_every_reader_has_a_corpus():
    for reader in readers.READERS:
        cases = list((readers.HERE / "corpus" / reader).iterdir())
        assert cases and all(path.stat().st_size <= readers.LARGEST for path in cases), reader


@built
@pytest.mark.parametrize("reader", readers.READERS)
def test_readers_replay_their_corpora(reader):
    passed, line, output = readers.replay(reader)
    assert passed, line + "\n" + readers.said(output)


@built
@pytest.mark.parametrize("reader", readers.READERS)
def test_readers_find_planted_faults(reader):
    passed, line, output = readers.planted(reader, 60)
    assert passed, line
