"""Programs of JAX: NETWORKS, and one or more for each operation in CASES. Each is (function, arguments)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_rng = np.random.default_rng(11)


def f32(*shape):
    return _rng.standard_normal(shape).astype("float32")


def i32(low, high, *shape):
    return _rng.integers(low, high, shape).astype("int32")


# --- networks -----------------------------------------------------------------------------------------------------
def cnn(x, w1, b1, w2, b2):
    y = lax.conv_general_dilated(x, w1, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + b1
    y = lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax.nn.log_softmax(y.reshape(y.shape[0], -1) @ w2 + b2)


def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)


def lstm(xs, w, u, b, h, c):
    def step(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x @ w + h @ u + b, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    (h, c), ys = lax.scan(step, (h, c), xs)
    return ys, h, c


def decode(embedding, keys, values, token, at):
    x = embedding[token]
    keys = lax.dynamic_update_slice(keys, x[:, None], (0, at, 0))
    values = lax.dynamic_update_slice(values, (x * 2)[:, None], (0, at, 0))
    scores = jnp.einsum("bd,btd->bt", x, keys)
    scores = jnp.where(jnp.arange(keys.shape[1])[None] <= at, scores, -jnp.inf)
    y = jnp.einsum("bt,btd->bd", jax.nn.softmax(scores), values)
    return jnp.argmax(y @ embedding.T, -1), keys, values


def loss(w1, w2, x, labels):
    scores = jnp.tanh(x @ w1) @ w2
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1))


_IMAGE = (f32(2, 8, 8, 3), f32(3, 3, 3, 4), f32(4), f32(64, 10), f32(10))
_SEQUENCE = (f32(6, 2, 3), f32(3, 16), f32(4, 16), f32(16), f32(2, 4), f32(2, 4))
NETWORKS = {
    "cnn": (cnn, _IMAGE),
    "cnn_gradient": (jax.grad(lambda *args: jnp.sum(cnn(*args) ** 2), (0, 1, 2, 3)), _IMAGE),
    "attention": (attention, (f32(2, 3, 5, 4), f32(2, 3, 5, 4), f32(2, 3, 5, 4))),
    "lstm_scan": (lstm, _SEQUENCE),
    "lstm_gradient": (jax.grad(lambda *args: jnp.sum(lstm(*args)[0] ** 2), (1, 2, 3)), _SEQUENCE),
    "decode_step": (decode, (f32(11, 4), f32(2, 7, 4), f32(2, 7, 4), i32(0, 11, 2), np.int32(3))),
    "gradient": (jax.value_and_grad(loss, (0, 1)), (f32(3, 5), f32(5, 4), f32(6, 3), i32(0, 4, 6))),
    "random_numbers": (lambda key: jax.random.normal(key, (3, 4)), (np.array([1, 2], "uint32"),)),
}

# --- operations ---------------------------------------------------------------------------------------------------
CASES = {}


def case(name, function, *args):
    assert name not in CASES, name
    CASES[name] = (function, args)


_UNIT = _rng.uniform(-0.9, 0.9, (3, 5)).astype("float32")
for _name in ("abs", "cbrt", "ceil", "cos", "erf", "erf_inv", "erfc", "exp", "expm1", "floor", "is_finite", "logistic",
              "neg", "round", "sign", "sin", "square", "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan", "asinh",
              "atanh"):  # fmt: skip
    case(_name, getattr(lax, _name), _UNIT)
for _name in ("log", "log1p", "rsqrt", "sqrt", "acosh"):
    case(_name, getattr(lax, _name), np.abs(f32(3, 5)) + 1.1)
for _name in ("add", "atan2", "div", "max", "min", "mul", "pow", "rem", "sub"):
    case(_name, getattr(lax, _name), np.abs(f32(3, 5)) if _name == "pow" else f32(3, 5), f32(3, 5))
for _name in ("add", "and", "div", "max", "min", "mul", "or", "rem", "sub", "xor"):
    _function = getattr(lax, {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}.get(_name, _name))
    case(f"{_name}_int", _function, i32(-9, 9, 3, 5), i32(1, 7, 3, 5))
for _name in ("and", "or", "xor"):
    case(f"{_name}_bool", getattr(lax, f"bitwise_{_name}"), f32(3, 5) > 0, f32(3, 5) > 0)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    case(_name, getattr(lax, _name), i32(0, 3, 3, 5), i32(0, 3, 3, 5))
case("lt_bool", lambda a, b: a < b, f32(3, 5) > 0, f32(3, 5) > 0)
case("not_int", lax.bitwise_not, i32(-9, 9, 7))
case("not_bool", jnp.logical_not, f32(7) > 0)
case("popcnt", lax.population_count, i32(-99, 99, 7))
case("clz", lax.clz, i32(-9, 999, 7))
_SHIFTS = np.array([0, 1, 5, 31, 32, 40, -1], "int32")
for _name in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
    case(_name, getattr(lax, _name), i32(-999, 999, 7), _SHIFTS)
_SPECIAL = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2.5, -2.5], "float32")
_GRID = [one.reshape(-1) for one in np.meshgrid(_SPECIAL, _SPECIAL)]
case("atan2_special", lax.atan2, *_GRID)
case("max_special", lax.max, *_GRID)
case("round_away", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), np.arange(-8, 8, dtype="float32") / 2)
case("clamp", lambda x: lax.clamp(-0.5, x, 0.5), f32(3, 5))
case("select", lambda p, x, y: jnp.where(p, x, y), f32(3, 5) > 0, f32(3, 5), f32(3, 5))
case("convert", lambda x: tuple(x.astype(one) for one in ("int32", "bool", "float16", "bfloat16")), 3 * f32(3, 5))
case("convert_int", lambda x: (x.astype("int8"), x.astype("uint8"), x.astype("float32")), i32(-300, 300, 9))
case("bitcast", lambda x: lax.bitcast_convert_type(x, jnp.int32), f32(3, 5))
case("reduce_precision", lambda x: lax.reduce_precision(x, 8, 7), f32(3, 5))
case("iota", lambda: (lax.broadcasted_iota(jnp.int32, (3, 4), 1), lax.broadcasted_iota(jnp.float32, (3, 4), 0)))
case("broadcast", lambda x: lax.broadcast_in_dim(x, (4, 3, 2, 5), (1, 3)), f32(3, 5))
case("transpose", lambda x: jnp.transpose(x, (2, 0, 1)), f32(2, 3, 4))
case("slice", lambda x: x[1:5:2, ::-1], f32(6, 4))
case("concatenate", lambda x, y: jnp.concatenate([x, y, x], 1), f32(2, 3), f32(2, 1))
case("pad", lambda x: lax.pad(x, 7.0, ((1, 2, 1), (-1, 2, 0), (0, -1, 2))), f32(2, 3, 4))
case("dynamic_slice", lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), f32(5, 6), np.int32(9), np.int32(-1))
case("dynamic_update", lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 1)), f32(5, 6), f32(2, 3), np.int32(9))
# sums of products
case("matmul", jnp.matmul, f32(3, 4), f32(4, 5))
case("matmul_batched", jnp.matmul, f32(2, 3, 4), f32(2, 4, 5))
case("matmul_int", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32), i32(-9, 9, 3, 4).astype("int8"),
     i32(-9, 9, 4, 5).astype("int8"))  # fmt: skip
case("matmul_half", jnp.matmul, f32(3, 4).astype("float16"), f32(4, 5).astype("float16"))
case("dot_vectors", jnp.dot, f32(7), f32(7))
case("outer", jnp.outer, f32(3), f32(4))
case("einsum", lambda a, b: jnp.einsum("abcd,dbe->ceab", a, b), f32(2, 3, 4, 5), f32(5, 3, 2))


# Negative padding of a convolution is not here: XLA's CPU client reads outside of the array. test_stablehlo.py has it.
def conv(x, w, **kwargs):
    rank = x.ndim - 2
    spatial = "DHW"[3 - rank :]
    numbers = kwargs.pop("numbers", (f"NC{spatial}", f"OI{spatial}", f"NC{spatial}"))
    strides, padding = kwargs.pop("strides", (1,) * rank), kwargs.pop("padding", "SAME")
    return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=numbers, **kwargs)


for _name, _x, _w, _kwargs in (
    ("1d", (2, 3, 9), (4, 3, 3), {}),
    ("2d", (2, 3, 8, 9), (4, 3, 3, 2), {"strides": (2, 1), "padding": ((1, 2), (0, 1))}),
    ("3d", (1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"padding": "VALID"}),
    ("grouped", (2, 4, 8, 9), (6, 2, 3, 3), {"feature_group_count": 2}),
    ("depthwise", (2, 8, 9, 4), (3, 3, 1, 4), {"feature_group_count": 4, "numbers": ("NHWC", "HWIO", "NHWC")}),
    ("batch_groups", (4, 3, 8, 9), (6, 3, 3, 3), {"batch_group_count": 2}),
    ("dilated", (2, 3, 9, 9), (4, 3, 3, 3), {"rhs_dilation": (2, 2)}),
    ("transposed", (2, 3, 4, 5), (4, 3, 3, 3), {"lhs_dilation": (2, 3), "padding": ((1, 1), (2, 2))}),
):
    case(f"conv_{_name}", lambda x, w, kwargs=_kwargs: conv(x, w, **dict(kwargs)), f32(*_x), f32(*_w))
# reductions
for _name in ("sum", "prod", "max", "min"):
    case(f"reduce_{_name}", lambda x, name=_name: getattr(jnp, name)(x, (0, 2)), f32(3, 4, 5))
case("reduce_all", lambda x: (jnp.all(x, 1), jnp.any(x, 0)), f32(3, 4) > 0)
case("reduce_int", lambda x: (x.max(0), x.min(1), x.sum()), i32(-9, 9, 3, 4))
case("argmax", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), i32(0, 3, 4, 7))
case("cumsum", lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1)), f32(3, 7))
case("logsumexp", lambda x: jax.nn.logsumexp(x, 1), f32(3, 7))
case("max_pool", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 2), (1, 1, 2, 2), "SAME"), f32(2, 3, 8, 7))
case("mean_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 2, 1), (1, 2, 1, 1), "SAME"), f32(2, 8, 7, 3))
case("window_dilated", lambda x: lax.reduce_window(x, 1.0, lax.mul, (2, 3), (1, 2), ((0, 1), (2, 0)), (2, 1), (1, 2)),
     f32(5, 9))  # fmt: skip
# positions
case("gather_rows", lambda x, i: x[i], f32(7, 4), i32(-7, 7, 2, 3))
case("gather_points", lambda x, i, j: x[i, :, j], f32(7, 4, 5), i32(0, 7, 6), i32(0, 5, 6))
case("gather_middle", lambda x, i: x[:, i], f32(3, 7, 4), i32(0, 7, 2, 3))
case("take_along", lambda x, i: jnp.take_along_axis(x, i, 1), f32(3, 7), i32(0, 7, 3, 4))
case("gather_windows", jax.vmap(lambda x, j: lax.dynamic_slice(x, (j, 1), (2, 3)), (None, 0)), f32(6, 5), i32(-2, 9, 4))
case("scatter_set", lambda x, i, u: x.at[i].set(u), f32(7, 4), np.array([5, 0, 9], "int32"), f32(3, 4))
case("scatter_add", lambda x, i, u: x.at[:, i].add(u), f32(3, 7), i32(0, 7, 5), f32(3, 5))
case("scatter_max", lambda x, i, j, u: x.at[i, j].max(u), f32(4, 5), i32(0, 4, 6), i32(0, 5, 6), f32(6))
case("scatter_mul", lambda x, i, u: x.at[i].multiply(u), f32(7), i32(0, 7, 9), f32(9))
case("scatter_windows", lambda x, i, u: jax.vmap(lambda x, i, u: lax.dynamic_update_slice(x, u, (i,)))(x, i, u),
     f32(4, 6), i32(0, 4, 4), f32(4, 3))  # fmt: skip
_TIES = np.array([[3, 1, np.nan, -0.0, 0.0, 1, -np.inf], [2, 2, 1, 1, 0, np.inf, -1]], "float32")
case("sort", lambda x: (jnp.sort(x, 1), jnp.argsort(x, 1), jnp.sort(x, 0, descending=True)), _TIES)
case("sort_int", lambda x: (jnp.sort(x, 0), jnp.argsort(x, 1, descending=True)), i32(0, 9, 4, 7))
case("sort_pairs", lambda x, y: lax.sort((x, y), num_keys=2), i32(0, 3, 3, 9), f32(3, 9))
case("top_k", lambda x: lax.top_k(x, 3), f32(3, 7))
# control flow
case("cond", lambda p, x: lax.cond(p > 0, lambda x: x + 1, lambda x: x * 2, x), np.int32(1), f32(3))
case("switch", lambda p, x: lax.switch(p, [lambda x: x + 1, lambda x: x * 2, lambda x: x - 3], x), np.int32(7), f32(3))
case("while", lambda x: lax.while_loop(lambda c: c[0].sum() < 100, lambda c: (c[0] * 2, c[1] + 1), (x, 0)),
     np.abs(f32(3)) + 1)  # fmt: skip
case("fori", lambda x, y: lax.fori_loop(0, 5, lambda i, x: x * 0.5 + y * i, x), f32(3), f32(3))
case("nested_loops", lambda x: lax.fori_loop(0, 3, lambda i, x: lax.fori_loop(0, i + 1, lambda j, y: y + j, x), x),
     f32(2))  # fmt: skip
case("map", lambda xs: lax.map(lambda x: jnp.sin(x) * 2, xs), f32(4, 3))
case("scan_reversed", lambda xs: lax.scan(lambda c, x: (c + x, c * x), xs[0], xs, reverse=True), f32(4, 3))

# --- open sizes --------------------------------------------------------------------------------------------------
# Each is (function, shapes of the arguments, in which a letter is an open size).
OPEN = {
    "layer": (lambda x, w, b: jax.nn.softmax(x @ w + b).reshape(-1), ("n, 3", "3, 4", "4")),
    "attention": (lambda q, k, v: jax.nn.softmax(q @ k.transpose(0, 2, 1)) @ v, ("b, s, 4", "b, s, 4", "b, s, 4")),
    "cnn": (cnn, ("n, 8, 8, 3", "3, 3, 3, 4", "4", "64, 10", "10")),
    "reshape": (lambda x: jnp.sum(x.reshape(x.shape[0] * 2, -1), 1), ("n, 6",)),
}
