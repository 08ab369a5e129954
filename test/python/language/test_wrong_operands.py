"""Wrong operands of patterns and of tensor expressions are named by a message."""

import pytest

import relay
from relay import dataflow_pattern, te


@pytest.mark.parametrize("call", [
    lambda: te.exp("x"), lambda: te.sigmoid(3), lambda: te.minimum("x", 2), lambda: te.cast("x", "int32"),
    lambda: te.select(True, 1, 2), lambda: dataflow_pattern.is_op("add")(relay.var("x"), 1),
    lambda: dataflow_pattern.wildcard() | 3, lambda: dataflow_pattern.is_tuple(["x"]),
    lambda: dataflow_pattern.match("x", relay.var("x")),
    lambda: dataflow_pattern.rewrite([dataflow_pattern.wildcard(), "x"], relay.var("x")),
])  # fmt: skip
def test_what_is_no_pattern_or_number_is_named(call):
    with pytest.raises(TypeError, match="is not"):
        call()
