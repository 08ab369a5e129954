"""Texts in pieces: characters of several tokens, stop texts, spaces, vocabularies of SentencePiece."""

import types

import gguf_files
import numpy as np
import pytest
from relay.decoding.gguf import File
from relay.decoding.pieces import Pieces
from relay.decoding.vocabulary import Vocabulary, vocabulary_of
from small_texts import tokenizer

TEXTS = ["the cat", "naïve 日本語 🙂🙂 é", " leading and  two spaces\n\n", "🙂", ""]


def joined(vocabulary, tokens, stops=()):
    """The pieces of a text, and whether a stop text was found."""
    pieces = Pieces(vocabulary, stops)
    made = []
    for token in tokens:
        made.append(pieces.add(token))
        if pieces.stopped:
            break
    return [*made, pieces.rest()], pieces.stopped


@pytest.fixture(scope="module")
def bytes_and_pairs():
    return Vocabulary(tokenizer(), frozenset(), {})


@pytest.mark.parametrize("text", TEXTS)
def test_pieces_are_whole_characters(text, bytes_and_pairs):
    tokens = bytes_and_pairs.encode(text)
    pieces, _ = joined(bytes_and_pairs, tokens)
    assert "".join(pieces) == text
    assert "\ufffd" not in "".join(pieces[:-1])


def test_text_comes_as_early_as_it_is_certain(bytes_and_pairs):
    tokens = bytes_and_pairs.encode("a🙂b")
    pieces, _ = joined(bytes_and_pairs, tokens)
    assert pieces[0] == "a" and pieces[-2] == "b" and "🙂" in pieces


def test_bytes_that_are_no_text_do_not_hold_the_rest_back(bytes_and_pairs):
    broken = bytes_and_pairs.encode("日")[:1] * 20
    pieces, _ = joined(bytes_and_pairs, [*broken, *bytes_and_pairs.encode(" cat")])
    assert "".join(pieces).endswith(" cat")
    assert len([piece for piece in pieces[:20] if piece]) >= 2


@pytest.mark.parametrize("cut", range(1, 12))
def test_stop_texts_are_found_across_tokens(cut, bytes_and_pairs):
    text = "the cat in the sun; it's fine"
    stop = text[10 : 10 + cut]
    pieces, stopped = joined(bytes_and_pairs, bytes_and_pairs.encode(text), ["zzz", stop])
    assert stopped and "".join(pieces) == text[: text.index(stop)]


def test_the_beginning_of_a_stop_text_is_held_back_and_returned_at_the_end(bytes_and_pairs):
    tokens = bytes_and_pairs.encode("the cat")
    pieces, stopped = joined(bytes_and_pairs, tokens, ["cat sat"])
    assert not stopped and "".join(pieces) == "the cat" and pieces[-1].endswith("cat")


# --- SentencePiece ----------------------------------------------------------------------------------------------------
PIECES = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "t", "h", "e", "c", "a", "th", "▁t",
          "▁th", "▁the", "▁c", "at", "▁cat", "he"]  # fmt: skip
SCORES = {piece: -float(place) for place, piece in enumerate(["▁the", "▁cat", "▁th", "th", "▁t", "at", "▁c", "he"])}


@pytest.fixture(scope="module")
def sentence_pieces(tmp_path_factory):
    """A vocabulary of a GGUF file: the pairs with the best score are joined first."""
    kinds = np.array([2, 3, 3] + [6] * 256 + [1] * (len(PIECES) - 259), np.int32)
    keys = {
        "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": PIECES, "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.scores": np.array([SCORES.get(piece, -100.0) for piece in PIECES], np.float32),
        "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
    }  # fmt: skip
    path = tmp_path_factory.mktemp("spm") / "v.gguf"
    path.write_bytes(gguf_files.content(keys, {}))

    config = types.SimpleNamespace(vocabulary=len(PIECES))
    return vocabulary_of(types.SimpleNamespace(gguf=File(path), path=path, config=config))


def test_sentence_pieces(sentence_pieces):
    tokens = sentence_pieces.encode("the cat 日")
    assert [PIECES[token] for token in tokens] == ["<s>", "▁the", "▁cat", "▁", "<0xE6>", "<0x97>", "<0xA5>"]
    assert sentence_pieces.ends == {2}
    assert sentence_pieces.encode("the", plain=False) == tokens[1:2]


def test_pieces_of_sentence_pieces_keep_their_spaces(sentence_pieces):
    for text in ("the cat the cat", "cat 日本 the"):
        pieces, _ = joined(sentence_pieces, sentence_pieces.encode(text)[1:])
        assert "".join(pieces) == text
