"""Arithmetic, activations, comparison, selection."""

import numpy as np
from lite_cases import case, floats, one, with_constants

# --- element by element -----------------------------------------------------------------------------------------------

BINARY = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "SQUARED_DIFFERENCE": lambda a, b: (a - b) ** 2,
}
for op, f in BINARY.items():
    one(op, [[2, 3, 4], [2, 3, 4]], [2, 3, 4], f)
    one(op, [[2, 3, 4], [3, 1]], [2, 3, 4], f, name=f"{op} broadcast")
    if op != "SQUARED_DIFFERENCE":
        one(op, [[5], [5]], [5], f, dtype="int32", high=90, low=-90, exact=True, name=f"{op} int32")
one("DIV", [[2, 3, 4], [2, 3, 4]], [2, 3, 4], np.divide, low=0.5)
one("FLOOR_DIV", [[4, 5], [4, 5]], [4, 5], np.floor_divide, low=0.5, high=9)
one("FLOOR_MOD", [[40], [40]], [40], np.mod, dtype="int32", low=3, high=90, exact=True)
one("POW", [[3, 4], [3, 4]], [3, 4], np.power, low=0.5)
one("ATAN2", [[60], [60]], [60], np.arctan2)
one("ADD_N", [[2, 3]] * 3, [2, 3], lambda a, b, c: a + b + c)
for number, f in enumerate((np.maximum, None, None, np.tanh)):
    name = ("relu", "relu_n1_to_1", "relu6", "tanh")[number]
    reals = {
        "relu": lambda x: np.maximum(x, 0),
        "relu_n1_to_1": lambda x: np.clip(x, -1, 1),
        "relu6": lambda x: np.clip(x, 0, 6),
        "tanh": np.tanh,
    }[name]
    if name != "tanh":
        one(
            "ADD",
            [[3, 5], [3, 5]],
            [3, 5],
            lambda a, b, f=reals: f(a + b),
            low=-5,
            high=5,
            fused_activation_function=number + 1,
            name=f"ADD then {name}",
        )
UNARY = {
    "ABS": np.abs,
    "CEIL": np.ceil,
    "COS": np.cos,
    "EXP": np.exp,
    "FLOOR": np.floor,
    "NEG": np.negative,
    "ROUND": np.round,
    "SIGN": np.sign,
    "SIN": np.sin,
    "SQUARE": np.square,
    "TANH": np.tanh,
    "RELU": lambda x: np.maximum(x, 0),
    "RELU6": lambda x: np.clip(x, 0, 6),
    "RELU_N1_TO_1": lambda x: np.clip(x, -1, 1),
    "RELU_0_TO_1": lambda x: np.clip(x, 0, 1),
    "LOGISTIC": lambda x: 1 / (1 + np.exp(-x)),
    "ELU": lambda x: np.where(x < 0, np.expm1(x), x),
    "HARD_SWISH": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "ZEROS_LIKE": np.zeros_like,
}
for op, f in UNARY.items():
    one(op, [[4, 9]], [4, 9], f, low=-8, high=8)
for op, f in {"LOG": np.log, "SQRT": np.sqrt, "RSQRT": lambda x: 1 / np.sqrt(x)}.items():
    one(op, [[4, 9]], [4, 9], f, low=0.1, high=8)
one("LEAKY_RELU", [[30]], [30], lambda x: np.where(x < 0, np.float32(0.2) * x, x), alpha=0.2)
one("GELU", [[30]], [30], None, approximate=False)
one(
    "GELU",
    [[30]],
    [30],
    lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    approximate=True,
    name="GELU by tanh",
)
with_constants(
    "PRELU",
    [1, 4, 5, 3],
    [np.float32([[[0.1, 0.2, -0.3]]])],
    [[1, 4, 5, 3]],
    lambda x: np.where(x < 0, x * np.float32([0.1, 0.2, -0.3]), x),
    exact=False,
)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


one("SOFTMAX", [[3, 7]], [3, 7], softmax, beta=1.0)
one("SOFTMAX", [[2, 3, 7]], [2, 3, 7], lambda x: softmax(0.5 * x), beta=0.5, name="SOFTMAX beta")
one("LOG_SOFTMAX", [[3, 7]], [3, 7], lambda x: np.log(softmax(x)))
COMPARE = {
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
}
for op, f in COMPARE.items():
    one(op, [[90], [90]], [90], f, dtype="int32", result_type="bool", exact=True, low=-4, high=4)
for op, f in {"LOGICAL_AND": np.logical_and, "LOGICAL_OR": np.logical_or}.items():
    one(op, [[9], [9]], [9], f, dtype="bool", exact=True, low=0, high=1.9)
one("LOGICAL_NOT", [[9]], [9], np.logical_not, dtype="bool", exact=True, low=0, high=1.9)
one("BITWISE_XOR", [[20], [20]], [20], np.bitwise_xor, dtype="int32", high=99, low=-99, exact=True)
one("RIGHT_SHIFT", [[20], [20]], [20], np.right_shift, dtype="int32", high=9, low=0, exact=True)
for source, target in (("float32", "int32"), ("int32", "float32"), ("int32", "bool"), ("uint8", "float32")):
    one(
        "CAST",
        [[30]],
        [30],
        lambda x, t=target: x.astype(t),
        dtype=source,
        result_type=target,
        low=0,
        high=9,
        exact=True,
        name=f"CAST {source} to {target}",
        in_data_type=0,
        out_data_type=0,
    )


def _select(op, condition_shape, f):
    def build(model, rng):
        condition = rng.integers(0, 2, condition_shape).astype(bool)
        a, b = floats(rng, [3, 4]), floats(rng, [3, 4])
        inputs = [model.input("c", condition_shape, "bool"), model.input("a", [3, 4]), model.input("b", [3, 4])]
        model.outputs(model.op(op, inputs, [model.tensor("y", [3, 4])]))
        return [condition, a, b]

    case(f"{op} {condition_shape}", build, f, True)


_select("SELECT", [3, 4], np.where)
_select("SELECT", [3], lambda c, a, b: np.where(c[:, None], a, b))
_select("SELECT_V2", [3, 1], np.where)
