"""The readers of models in Python: their kept corpora, a planted fault in each, and changes that keep structure.
`make fuzz-python` fuzzes them for long."""

import random
import sys

import pytest
from programs import ROOT

sys.path.insert(0, str(ROOT / "test/readers"))

import python_readers  # noqa: E402
import readers  # noqa: E402
import structure  # noqa: E402


def corpus(reader):
    return [path.read_bytes() for path in sorted((ROOT / "test/readers/corpus" / reader).iterdir())]


@pytest.fixture(autouse=True, scope="module")
def checked_hdf5():
    with pytest.MonkeyPatch.context() as patch:
        from relay.frontend.keras import file

        patch.setattr(file, "_try_elsewhere", file._try_elsewhere)
        python_readers.remember_good_hdf5()
        yield


@pytest.mark.parametrize("reader", readers.PYTHON_READERS)
def test_readers_replay_their_corpora(reader):
    cases = corpus(reader)
    assert cases and all(len(case) <= readers.LARGEST_PYTHON for case in cases)
    kinds = {python_readers.read(reader, case) for case in cases}
    assert "model" in kinds and len(kinds) > 1


@pytest.mark.parametrize("reader", readers.PYTHON_READERS)
def test_a_few_changed_cases(reader):
    """Each reader answers changed files with a model or its own diagnostic."""
    rng, cases = random.Random(1), corpus(reader)
    for _ in range(4):
        case = python_readers.change(
            reader, rng.choice(cases), 1 << 16, rng, lambda content, most: structure.changed_bytes(content, rng)
        )
        python_readers.read(reader, case)


@pytest.mark.parametrize("reader", readers.PYTHON_READERS)
def test_a_planted_fault_is_found(reader):
    """A check of the reader is left out: a case of its corpus shows it."""

    def is_found(case):
        try:
            python_readers.read(reader, case)
        except Exception:
            return True
        return False

    with python_readers.planted(reader):
        assert any(is_found(case) for case in corpus(reader))


@pytest.mark.parametrize("change", [structure.changed_message, structure.changed_json, structure.changed_text])
def test_changes_end(change):
    """Changes of changes stay bytes, whatever they begin with."""
    rng = random.Random(0)
    for begin in (b"", b"\x0a\x02\x08\x01", b'{"a": [1, {"b": null}], "c": "text"}', b"layer { a: 1 }\n"):
        content = begin
        for _ in range(200):
            content = change(content, rng)[:4096]
            assert isinstance(content, bytes)
