"""Positions of whole numbers and texts in a vocabulary."""

from __future__ import annotations

import numpy as np

from ... import op
from ...ir.expr import const
from ..shared.problems import Refused
from .conversion import Conversion, Text, Value, number
from .preprocessing import encoded

_GIVE = "give the vocabulary to the layer itself: vocabulary=[...], which the file then has"


def integer_lookup(c: Conversion):
    words, masked = _words(c, int)
    return _found(c, op.cast(c.x, "int64"), words, masked)


def string_lookup(c: Conversion):
    """The numbers of texts, which stand for them, are looked up."""
    if not isinstance(c.value, Text):
        raise Refused("its input is not a text")
    words, masked = _words(c, str)
    texts = [one.encode() for one in [*words, *([] if masked is None else [masked])]]
    named = c.importer.words.numbers(np.array(texts, object))
    return _found(c, c.x, named[: len(words)], None if masked is None else int(named[-1]))


def _words(c: Conversion, kind: type) -> tuple[list, object]:
    """Returns the vocabulary without the words for masks and for others, and the word for masks, or None."""
    vocabulary = c("vocabulary")
    if not isinstance(vocabulary, list) or not vocabulary:
        raise Refused("its vocabulary is not in its configuration", _GIVE)
    if c("invert"):
        raise Refused("it returns the words of a vocabulary (invert)", "look them up after the model")
    masked, other = c("mask_token"), c("oov_token", "[UNK]" if kind is str else -1)
    words = [one for one in vocabulary if one not in (masked, other)]
    if not words or not all(type(one) is kind for one in [*words, *([] if masked is None else [masked])]):
        raise Refused(f"a word of its vocabulary is not {'a text' if kind is str else 'a whole number'}", _GIVE)
    return words, masked


def _found(c: Conversion, x, words, masked):
    """Returns the positions: 0 for the mask in the mode "int", then those of others, then those of the words."""
    mode, outside = c("output_mode", "int"), c.int_of("num_oov_indices", 1)
    mode = {"binary": "multi_hot"}.get(mode, mode)
    if outside < 1:
        raise Refused("it refuses words outside of its vocabulary", "use num_oov_indices=1")
    if outside > 1 and (isinstance(c.value, Text) or c("oov_method", "floormod") != "floormod"):
        raise Refused("it hashes words outside of its vocabulary", "use num_oov_indices=1")
    if masked is not None and mode != "int":
        raise Refused(f"`output_mode` is {mode!r}, with a word for masks, which are left out")
    first = outside + (1 if masked is not None else 0)
    keys = np.asarray(words, np.int64)
    order = np.argsort(keys, kind="stable")
    ranked = const(keys[order])
    place = op.minimum(op.searchsorted(ranked, x, dtype="int32"), number(len(words) - 1, "int32"))
    is_word = op.equal(op.take(ranked, place, axis=0, mode="checked"), x)
    known = op.take(const((order + first).astype(np.int64)), place, axis=0, mode="checked")
    other = number(first - outside, "int64")
    if outside > 1:
        other = op.add(op.floor_mod(x, number(outside, "int64")), other)
    made = op.where(is_word, known, other)
    if masked is not None:
        made = op.where(op.equal(x, number(masked, "int64")), number(0, "int64"), made)
    dtype = c.compute if c.is_keras_2 else "int64"
    return Value(made if mode == "int" else encoded(c, made, len(words) + first, mode, dtype=dtype))
