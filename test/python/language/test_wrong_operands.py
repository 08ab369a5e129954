"""Wrong operands of patterns, tensor expressions, analyses and passes are named by a message."""

import re

import pytest

import relay
from relay import analysis, dataflow_pattern, te, transform


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


X = relay.var("x", shape=(4,))


@pytest.mark.parametrize("call, wanted, given", [
    *[(f, "a module", "type Var") for f in (
        analysis.CallGraph, analysis.list_op_freqs, analysis.list_fake_quantized_op_freqs,
        analysis.analyze_operations_distribution, analysis.extract_fused_functions,
        lambda x: analysis.extract_intermediate_expr(x, 0), lambda x: analysis.get_calibration_data(x, []),
        lambda x: transform.to_cps(relay.Function([X], X), x), lambda x: transform.FoldConstantExpr(X, x),
        transform.InferType(),
    )],
    (analysis.unmatched_cases, "a match expression", "type Var"),
    (transform.to_cps, "a function", "type Var"), (transform.un_cps, "a function", "type Var"),
    (lambda x: transform.Defunctionalization(x, relay.IRModule()), "a function", "type Var"),
    (transform.ChangeBatch, "a dict", "type Var"), (lambda x: transform.ChangeBatch({3: 0}), "the name", "type int"),
    (transform.ConvertLayout, "a dict", "type Var"),
    (lambda x: transform.ConvertLayout({"nn.conv2d": "NHWC"}), "the layouts of nn.conv2d as a list", "type str"),
    (transform.InlineCompilerFunctionsBoundTo, "a list", "type Var"),
    (lambda x: transform.function_pass(3), "a function, or a class with transform_function()", "type int"),
    (lambda x: transform.module_pass(int), "a class with transform_module()", "the class int"),
])  # fmt: skip
def test_what_is_no_program_or_rule_is_named(call, wanted, given):
    with pytest.raises(TypeError, match=re.escape(wanted) + ".*, got .*" + given):
        call(X)
