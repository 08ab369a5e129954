"""Functions of NumPy, math and Python's operators, and the operators of Relay that compute them."""

from __future__ import annotations

import ast
import math

import numpy as np

from .. import op

BINARY = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "floor_mod",
    ast.Pow: "power",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "left_shift",
    ast.RShift: "right_shift",
}
SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
COMPARE = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}

# Functions of one array of floats: integers are converted, as NumPy does.
_FLOAT_UNARY = {
    "exp": (np.exp, math.exp), "log": (np.log, math.log), "log2": (np.log2, math.log2), "log10": (np.log10, math.log10),
    "log1p": (np.log1p, math.log1p), "expm1": (np.expm1, math.expm1), "sqrt": (np.sqrt, math.sqrt),
    "tanh": (np.tanh, math.tanh), "sin": (np.sin, math.sin), "cos": (np.cos, math.cos), "tan": (np.tan, math.tan),
    "sinh": (np.sinh, math.sinh), "cosh": (np.cosh, math.cosh), "asin": (np.arcsin, math.asin),
    "acos": (np.arccos, math.acos), "atan": (np.arctan, math.atan), "erf": (math.erf,),
}  # fmt: skip
_UNARY = {
    "abs": (np.abs, np.fabs, abs), "negative": (np.negative,), "sign": (np.sign,), "floor": (np.floor,),
    "ceil": (np.ceil,), "round": (np.round, np.rint), "trunc": (np.trunc,), "isnan": (np.isnan,),
    "isinf": (np.isinf,), "isfinite": (np.isfinite,), "logical_not": (np.logical_not,),
    "zeros_like": (np.zeros_like,), "ones_like": (np.ones_like,),
}  # fmt: skip
_BINARY = {
    "add": (np.add,), "subtract": (np.subtract,), "multiply": (np.multiply,), "divide": (np.divide,),
    "maximum": (np.maximum,), "minimum": (np.minimum,), "power": (np.power,), "logical_and": (np.logical_and,),
    "logical_or": (np.logical_or,), "logical_xor": (np.logical_xor,), "equal": (np.equal,),
    "not_equal": (np.not_equal,), "less": (np.less,), "less_equal": (np.less_equal,), "greater": (np.greater,),
    "greater_equal": (np.greater_equal,), "floor_divide": (np.floor_divide,), "floor_mod": (np.mod,),
}  # fmt: skip
_REDUCE = {
    "sum": (np.sum,), "mean": (np.mean,), "max": (np.max,), "min": (np.min,), "prod": (np.prod,),
    "argmax": (np.argmax,), "argmin": (np.argmin,), "all": (np.all,), "any": (np.any,),
}  # fmt: skip


def _by_function(table: dict) -> dict[int, str]:
    return {id(function): name for name, functions in table.items() for function in functions}


FLOAT_UNARY, UNARY, BINARY_FUNCTIONS, REDUCTIONS = map(_by_function, (_FLOAT_UNARY, _UNARY, _BINARY, _REDUCE))
REDUCTION_METHODS = set(_REDUCE)
DTYPES = {
    id(getattr(np, name)): name
    for name in (
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    )
} | {id(np.bool_): "bool", id(float): "float32", id(int): "int32", id(bool): "bool"}
ORDER = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def operator_of(name: str):
    """Returns the function of an operator."""
    return getattr(op, name)


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def common(first: str, second: str) -> str:
    """Returns the element type of an operation on two: the wider one, and the float of an integer and a float."""
    known = [one for one in (first, second) if one in ORDER]
    return max(known, key=ORDER.index) if len(known) == 2 else first
