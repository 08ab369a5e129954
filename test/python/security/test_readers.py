"""A short run of the fuzzers of the readers. `make fuzz-short` builds them."""

import re
import sys

import pytest
from programs import ROOT

sys.path.insert(0, str(ROOT / "test/readers"))

import readers  # noqa: E402

import relay  # noqa: E402

built = pytest.mark.skipif(
    not all((readers.BIN / f"relay_read_{reader}").exists() for reader in readers.READERS),
    reason="the fuzzers are not built: make fuzz-short",
)


def test_every_reader_has_a_corpus():
    for reader in readers.READERS:
        cases = list((readers.HERE / "corpus" / reader).iterdir())
        assert cases and all(path.stat().st_size <= readers.LARGEST for path in cases), reader


def words_of(reader):
    """Name and bytes of each word of the dictionary, as libFuzzer reads them."""
    lines = (readers.HERE / f"{reader}.dict").read_text().splitlines()
    words = [re.fullmatch(r'(\w*)=?"(.+)"', line) for line in lines if line and not line.startswith("#")]
    return [(word[1], word[2].encode().decode("unicode_escape").encode("latin1")) for word in words]


@pytest.mark.parametrize("reader", readers.READERS)
def test_every_reader_has_a_dictionary(reader):
    words = [word for _, word in words_of(reader)]
    assert words and len(set(words)) == len(words)


def test_the_dictionary_of_artifacts_has_the_numbers_of_the_format(tmp_path):
    relay.compile(relay.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { exp(%x) }')).save(
        tmp_path / "exp.rart"
    )
    words = dict(words_of("artifact"))
    assert (tmp_path / "exp.rart").read_bytes().startswith(words["Header"])
    for label, file, begin in [
        ("Op", "runtime/program/program.h", "enum class Op "),
        ("Step", "runtime/program/segment.h", "enum class StepKind "),
        ("SizeOp", "runtime/program/size_expr.h", "enum class SizeOp "),
        ("Code", "base/dtype.h", "enum class Code "),
    ]:
        listed = (readers.ROOT / "src/relay" / file).read_text().partition(begin)[2].partition("};")[0]
        names = re.findall(r"\w+", re.sub("//.*", "", listed.partition("{")[2]))
        there = {name.partition("_")[2]: word[0] for name, word in words.items() if name.startswith(f"{label}_")}
        assert there == {name: number for number, name in enumerate(names)}, label


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
