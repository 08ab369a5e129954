"""The list of operations: one line each, with its converter."""

from __future__ import annotations

from . import contract, control, elementwise, indexing, reduce, shape, sizes
from .elementwise import binary, shift, unary
from .syntax import Operation, Symbol

# Operations on single elements. They can be inside the functions of reductions and sorts.
_ELEMENTWISE = {
    "abs": unary("abs"),
    "add": binary("add", "logical_or"),
    "and": binary("bitwise_and", "logical_and"),
    "atan2": elementwise.atan2,
    "bitcast_convert": elementwise.bitcast_convert,
    "cbrt": elementwise.cbrt,
    "ceil": unary("ceil"),
    "clamp": elementwise.clamp,
    "compare": elementwise.compare,
    "constant": shape.constant,
    "convert": elementwise.convert,
    "cosine": unary("cos"),
    "count_leading_zeros": elementwise.leading_zeros,
    "divide": elementwise.divide,
    "exponential": unary("exp"),
    "exponential_minus_one": unary("expm1"),
    "floor": unary("floor"),
    "is_finite": unary("isfinite"),
    "log": unary("log"),
    "log_plus_one": unary("log1p"),
    "logistic": unary("sigmoid"),
    "maximum": binary("maximum", "logical_or"),
    "minimum": binary("minimum", "logical_and"),
    "multiply": binary("multiply", "logical_and"),
    "negate": unary("negative"),
    "not": elementwise.not_,
    "optimization_barrier": elementwise.same,
    "or": binary("bitwise_or", "logical_or"),
    "popcnt": elementwise.population_count,
    "power": binary("power"),
    "reduce_precision": elementwise.reduce_precision,
    "remainder": elementwise.remainder,
    "round_nearest_afz": elementwise.round_away,
    "round_nearest_even": unary("round"),
    "rsqrt": unary("rsqrt"),
    "select": elementwise.select,
    "shift_left": shift("left"),
    "shift_right_arithmetic": shift("arithmetic"),
    "shift_right_logical": shift("logical"),
    "sign": unary("sign"),
    "sine": unary("sin"),
    "sqrt": unary("sqrt"),
    "subtract": binary("subtract"),
    "tan": unary("tan"),
    "tanh": unary("tanh"),
    "xor": binary("bitwise_xor", "logical_xor"),
}
_OTHERS = {
    "broadcast_in_dim": shape.broadcast_in_dim,
    "case": control.case,
    "composite": control.call,
    "concatenate": shape.concatenate,
    "convolution": contract.convolution,
    "dot": contract.dot,
    "dot_general": contract.dot_general,
    "dynamic_broadcast_in_dim": sizes.dynamic_broadcast_in_dim,
    "dynamic_reshape": sizes.dynamic_reshape,
    "dynamic_slice": indexing.dynamic_slice,
    "dynamic_update_slice": indexing.dynamic_update_slice,
    "gather": indexing.gather,
    "get_dimension_size": sizes.get_dimension_size,
    "if": control.if_,
    "iota": shape.iota,
    "pad": shape.pad,
    "reduce": reduce.reduce,
    "reduce_window": reduce.reduce_window,
    "reshape": shape.reshape_,
    "reverse": shape.reverse,
    "scatter": indexing.scatter,
    "select_and_scatter": reduce.select_and_scatter,
    "slice": shape.slice_,
    "sort": indexing.sort,
    "transpose": shape.transpose_,
    "while": control.while_,
}
_CHLO_ELEMENTWISE = {
    "acos": unary("acos"),
    "acosh": unary("acosh"),
    "asin": unary("asin"),
    "asinh": unary("asinh"),
    "atan": unary("atan"),
    "atanh": unary("atanh"),
    "cosh": unary("cosh"),
    "erf": unary("erf"),
    "erf_inv": elementwise.erf_inv,
    "erfc": unary("erfc"),
    "is_inf": unary("isinf"),
    "sinh": unary("sinh"),
    "square": elementwise.square,
    "tan": unary("tan"),
}
CONVERTERS = {
    **{f"stablehlo.{name}": convert for name, convert in {**_ELEMENTWISE, **_OTHERS}.items()},
    **{f"chlo.{name}": convert for name, convert in _CHLO_ELEMENTWISE.items()},
    "chlo.top_k": indexing.top_k,
    "call": control.call,
    "func.call": control.call,
}
ON_ELEMENTS = {
    *(f"stablehlo.{name}" for name in _ELEMENTWISE),
    *(f"chlo.{name}" for name in _CHLO_ELEMENTWISE),
    "stablehlo.broadcast_in_dim",
    "call",
    "func.call",
}


# The targets of stablehlo.custom_call.
CUSTOM_CALLS = {
    "shape_assertion": sizes.shape_assertion,
}


def converter_of(operation: Operation):
    """Returns the converter of an operation, or None."""
    if operation.name == "stablehlo.custom_call":
        target = operation.attrs.get("call_target_name", operation.attrs.get("callee"))
        return CUSTOM_CALLS.get(target.name if isinstance(target, Symbol) else target)
    return CONVERTERS.get(operation.name)
