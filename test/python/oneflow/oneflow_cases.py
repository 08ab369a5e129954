"""Folders of OneFlow that are written by hand, one operation each, with results that NumPy computes beside them.

OneFlow's last version is for Python 3.10 and needs libraries of CUDA, so that none of its programs run here. The
meaning of each operation is that of OneFlow 0.9's documentation and kernels."""

import dataclasses
import itertools
import math

import numpy as np

import relay

RNG = np.random.default_rng(0)
CLOSE = 2e-6  # float32 against float64, relative to the largest value
NUMBERS = {"float32": 2, "int32": 5, "int64": 6}
NAMES = {"float32": "f32", "int32": "si32", "int64": "si64", "bool": "i1"}


@dataclasses.dataclass(frozen=True)
class Case:
    """An operation on inputs and then on variables. wanted: its first result. results: how many it has."""

    name: str
    kind: str
    inputs: list
    wanted: np.ndarray
    stored: dict = dataclasses.field(default_factory=dict)
    given: dict = dataclasses.field(default_factory=dict)
    results: int = 1


# --- files ------------------------------------------------------------------------------------------------------------
def tensor(shape, dtype="float32"):
    return f"tensor<{''.join(f'{one}x' for one in shape)}{NAMES[dtype]}>"


def attributes(given):
    def written(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, list):
            return f"[{', '.join(map(written, value))}]"
        if isinstance(value, str):
            return f'"{value}"'
        return f"{value} : si32" if isinstance(value, int) else f"{value:e} : f32"

    plain = {"device_name": ["@0:0"], "device_tag": "cpu", "scope_symbol_id": 12}
    return ", ".join(f"{name} = {written(value)}" for name, value in {**plain, **given}.items())


def job(kind, inputs, results=1, stored=(), **given):
    """The text of a program with one operation on inputs and then on variables; arrays give their shapes."""
    lines, operands, types = [], [], []
    for place, one in enumerate(inputs):
        kind_ = tensor(one.shape, str(one.dtype))
        how = attributes({"op_name": f"input_{place}", "is_dynamic": False, "nd_sbp": ["B"]})
        lines.append(f'%i{place} = "oneflow.input"(%arg{place}) {{{how}}} : ({kind_}) -> {kind_}')
        operands.append(f"%i{place}")
        types.append(kind_)
    for name, one in dict(stored).items():
        kind_ = tensor(one.shape, str(one.dtype))
        lines.append(f'%{name} = "oneflow.variable"() {{{attributes({"op_name": name})}}} : () -> {kind_}')
        operands.append(f"%{name}")
        types.append(kind_)
    names = ", ".join(f"%r{place}" for place in range(results))
    how = attributes({"op_name": "it", **given})
    lines.append(f'{names} = "oneflow.{kind}"({", ".join(operands)}) {{{how}}} : ({", ".join(types)}) -> '
                 f"({', '.join(['tensor<1xf32>'] * results)})")  # fmt: skip
    lines.append(f'%o = "oneflow.output"(%r0) {{{attributes({"op_name": "out"})}}} : (tensor<1xf32>) -> tensor<1xf32>')
    lines.append("oneflow.return %o : tensor<1xf32>")
    arguments = ", ".join(f"%arg{place}: {one}" for place, one in enumerate(types[: len(inputs)]))
    body = "\n    ".join(lines)
    return f"module {{\n  oneflow.job @Graph_0({arguments}) -> tensor<1xf32> {{\n    {body}\n  }}\n}}\n"


def write(folder, text, stored=()):
    (folder / "model.mlir").write_text(text)
    for name, one in dict(stored).items():
        place = folder / name
        place.mkdir()
        dims = " ".join(f"dim: {size}" for size in one.shape)
        (place / "meta").write_text(f"shape {{ {dims} }}\ndata_type: {NUMBERS[str(one.dtype)]}\n")
        (place / "out").write_bytes(one.tobytes())
    return folder


def largest(case, folder):
    """The largest difference of a case, relative to the largest value."""
    write(folder, job(case.kind, case.inputs, case.results, case.stored, **case.given), case.stored)
    module, held = relay.frontend.from_oneflow(None, folder)
    assert held == {}
    got = np.asarray(relay.compile(module)(*case.inputs))
    wanted = np.asarray(case.wanted)
    assert got.shape == wanted.shape, (got.shape, wanted.shape)
    if wanted.dtype.kind in "bi":
        assert got.dtype.kind == wanted.dtype.kind, (got.dtype, wanted.dtype)
    return np.abs(got.astype(float) - wanted).max(initial=0) / max(np.abs(wanted).max(initial=0), 1e-30)


# --- references -------------------------------------------------------------------------------------------------------
erf = np.vectorize(math.erf)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def places(sizes, window, strides, padding, dilation):
    """The number of windows along each axis."""
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(sizes, window, strides, padding, dilation, strict=True)]  # fmt: skip


def convolved(x, w, strides, padding, dilation, groups=1):
    rank = x.ndim - 2
    x, w = x.astype(float), w.astype(float)
    padded = np.pad(x, [(0, 0), (0, 0), *((one, one) for one in padding)])
    share, part = w.shape[0] // groups, x.shape[1] // groups
    made = np.zeros((x.shape[0], w.shape[0], *places(x.shape[2:], w.shape[2:], strides, padding, dilation)))
    for at in np.ndindex(*made.shape[1:]):
        window = tuple(slice(at[axis + 1] * strides[axis],
                             at[axis + 1] * strides[axis] + dilation[axis] * (w.shape[axis + 2] - 1) + 1,
                             dilation[axis]) for axis in range(rank))  # fmt: skip
        first = at[0] // share * part
        made[(slice(None), *at)] = (padded[(slice(None), slice(first, first + part), *window)] * w[at[0]]).sum(
            axis=tuple(range(1, rank + 2))
        )
    return made


def deconvolved(x, w, strides, padding, more, groups=1):
    """w: (in, out / groups, ..): each element adds its kernel to the result."""
    x, w = x.astype(float), w.astype(float)
    window, share, part = w.shape[2:], w.shape[1], x.shape[1] // groups
    full = [(n - 1) * s + k + a for n, s, k, a in zip(x.shape[2:], strides, window, more, strict=True)]
    made = np.zeros((x.shape[0], share * groups, *full))
    for at in np.ndindex(*x.shape):
        group = at[1] // part
        where = tuple(slice(p * s, p * s + k) for p, s, k in zip(at[2:], strides, window, strict=True))
        made[(at[0], slice(group * share, (group + 1) * share), *where)] += x[at] * w[at[1]]
    ends = [size - one for size, one in zip(full, padding, strict=True)]
    return made[(slice(None), slice(None), *(slice(one, end) for one, end in zip(padding, ends, strict=True)))]


def pooled(x, kind, window, strides, padding):
    """A mean counts the elements of the padding; a maximum does not see them."""
    fill = 0.0 if kind == "avg" else -np.inf
    padded = np.pad(x.astype(float), [(0, 0), (0, 0), *((one, one) for one in padding)], constant_values=fill)
    made = np.zeros((*x.shape[:2], *places(x.shape[2:], window, strides, padding, [1] * len(window))))
    axes = tuple(range(2, x.ndim))
    for at in np.ndindex(*made.shape[2:]):
        where = tuple(slice(p * s, p * s + k) for p, s, k in zip(at, strides, window, strict=True))
        part = padded[(slice(None), slice(None), *where)]
        made[(slice(None), slice(None), *at)] = part.mean(axes) if kind == "avg" else part.max(axes)
    return made


def adapted(x, kind, sizes):
    made = np.zeros((*x.shape[:2], *sizes))
    for at in np.ndindex(*sizes):
        where = tuple(slice(p * n // s, -(-(p + 1) * n // s)) for p, n, s in zip(at, x.shape[2:], sizes, strict=True))
        part = x.astype(float)[(slice(None), slice(None), *where)]
        made[(slice(None), slice(None), *at)] = part.mean((2, 3)) if kind == "avg" else part.max((2, 3))
    return made


def stretched(x, sizes, is_aligned):
    """Linear interpolation of the last two axes, from the centres of pixels or from corner to corner."""
    made = x.astype(float)
    for axis, size in ((2, sizes[0]), (3, sizes[1])):
        count = made.shape[axis]
        steps = np.arange(size)
        points = steps * (count - 1) / (size - 1) if is_aligned else (steps + 0.5) * count / size - 0.5
        points = np.clip(points, 0, count - 1)
        low = np.floor(points).astype(int)
        share = np.moveaxis((points - low)[:, None], 0, 0).reshape([-1 if one == axis else 1 for one in range(4)])
        high = np.minimum(low + 1, count - 1)
        made = np.take(made, low, axis) * (1 - share) + np.take(made, high, axis) * share
    return made


# --- cases ------------------------------------------------------------------------------------------------------------
X = RNG.uniform(0.2, 2, (2, 3, 4)).astype(np.float32)
Y = RNG.uniform(0.2, 2, (2, 1, 4)).astype(np.float32)
S = RNG.uniform(-3, 3, (2, 3, 4)).astype(np.float32)  # of both signs
U = RNG.uniform(-0.9, 0.9, (2, 3, 4)).astype(np.float32)
HALVES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.2, -0.7], np.float32)
HOLES = np.array([0.0, 2.0, -4.0, 0.0], np.float32)
P = RNG.uniform(size=(2, 3, 4)) > 0.5
Q = RNG.uniform(size=(2, 1, 4)) > 0.5
WHOLE = RNG.integers(-5, 6, (2, 3, 4)).astype(np.int32)
D, E, T, W = (one.astype(float) for one in (X, Y, S, U))
IMAGE = RNG.normal(size=(2, 4, 5, 6)).astype(np.float32)

ONE = {
    "abs": (S, np.abs(T)), "acos": (U, np.arccos(W)), "acosh": (X + 1, np.arccosh((X + 1).astype(float))),
    "asin": (U, np.arcsin(W)), "asinh": (S, np.arcsinh(T)), "atan": (S, np.arctan(T)), "atanh": (U, np.arctanh(W)),
    "ceil": (S, np.ceil(T)), "cos": (S, np.cos(T)), "cosh": (S, np.cosh(T)), "erf": (S, erf(T)),
    "erfc": (U, 1 - erf(W)), "exp": (X, np.exp(D)), "expm1": (U, np.expm1(W)), "floor": (S, np.floor(T)),
    "gelu": (S, T * (1 + erf(T / math.sqrt(2))) / 2), "log": (X, np.log(D)), "log1p": (X, np.log1p(D)),
    "mish": (S, T * np.tanh(np.log1p(np.exp(T)))), "negative": (S, -T),
    "quick_gelu": (S, T / (1 + np.exp(-1.702 * T))), "reciprocal": (X, 1 / D),
    "reciprocal_no_nan": (HOLES, np.array([0, 0.5, -0.25, 0])), "relu": (S, np.maximum(T, 0)),
    "rint": (HALVES, np.rint(HALVES)), "round": (HALVES, np.rint(HALVES)), "rsqrt": (X, D**-0.5),
    "sigmoid": (S, 1 / (1 + np.exp(-T))), "sigmoid_v2": (S, 1 / (1 + np.exp(-T))),
    "sign": (HOLES, np.sign(HOLES)), "silu": (S, T / (1 + np.exp(-T))), "sin": (S, np.sin(T)),
    "sinh": (S, np.sinh(T)), "softsign": (S, T / (1 + np.abs(T))), "sqrt": (X, np.sqrt(D)), "square": (S, T * T),
    "tan": (U, np.tan(W)), "tanh": (S, np.tanh(T)), "zero_like": (S, T * 0), "ones_like": (S, T * 0 + 1),
    "logical_not": (P, ~P), "copy": (S, T), "dropout": (S, T), "identity": (S, T),
    "hardsigmoid": (S, np.clip(T / 6 + 0.5, 0, 1)), "hardswish": (S, T * np.clip(T + 3, 0, 6) / 6),
    "log_softmax": (S, np.log(softmax(T))), "softmax": (S, softmax(T)),
    "selu": (S, 1.0507009873554805 * np.where(T > 0, T, 1.6732632423543772 * np.expm1(T))),
}  # fmt: skip
TWO = {
    "add": D + E, "sub": D - E, "mul": D * E, "div": D / E, "maximum": np.maximum(D, E), "minimum": np.minimum(D, E),
    "pow": D**E, "equal": X == Y, "not_equal": X != Y, "greater": X > Y, "greater_equal": X >= Y, "less": X < Y,
    "less_equal": X <= Y,
}  # fmt: skip
REAL = {"has_float_operand": True, "has_int_operand": False, "int_operand": 0}
SCALARS = {
    "add": (S, T + 1.5), "mul": (S, T * 1.5), "div": (S, T / 1.5), "pow": (X, D**1.5), "fmod": (S, np.fmod(T, 1.5)),
    "logical_greater": (S, S > 1.5), "logical_less": (S, S < 1.5), "logical_equal": (HALVES, HALVES == 1.5),
    "logical_not_equal": (HALVES, HALVES != 1.5), "logical_greater_equal": (HALVES, HALVES >= 1.5),
    "logical_less_equal": (HALVES, HALVES <= 1.5),
}  # fmt: skip
CLIP = {"floating_min": -1.0, "floating_max": 0.5, "integral_min": -2, "integral_max": 3}
WITH = [
    ("scalar_mul", "whole", S, T * 3, {"int_operand": 3, "has_int_operand": True, "has_float_operand": False,
                                       "float_operand": 0.0}),
    ("leaky_relu", "", S, np.where(T > 0, T, 0.1 * T), {"alpha": 0.1}),
    ("elu", "", S, np.where(T > 0, T, 0.7 * np.expm1(T)), {"alpha": 0.7}),
    ("hardtanh", "", S, np.clip(T, -0.5, 1), {"min_val": -0.5, "max_val": 1.0}),
    ("threshold", "", S, np.where(T > 1, T, 0.25), {"threshold_val": 1.0, "value": 0.25}),
    ("softplus", "", S, np.log1p(np.exp(2 * T)) / 2, {"beta": 2.0, "threshold": 20.0}),
    ("clip_by_scalar", "", S, np.clip(T, -1, 0.5), CLIP),
    ("clip_by_scalar", "integers", WHOLE, np.clip(WHOLE, -2, 3), CLIP),
    ("reduce_max", "", S, T.max((0, 2)), {"axis": [0, 2]}),
    ("reduce_min", "", S, T.min(2, keepdims=True), {"axis": [-1], "keepdims": True}),
    ("reduce_prod", "", S, T.prod(1), {"axis": [1]}),
    ("reduce_mean", "", S, T.mean(1, keepdims=True), {"axis": [1], "keepdims": True}),
    ("reduce_sum", "", S, T.sum((0, 2)), {"axis": [0, 2]}),
    ("var", "", S, T.var(1, ddof=1), {"dim": [1], "unbiased": True, "keepdim": False}),
    ("var", "of all", S, T.var(), {"unbiased": False}),
    ("reshape", "", S, T.reshape(2, 12), {"shape": [2, -1]}),
    ("flatten", "", S, T.reshape(2, 12), {"start_dim": 1, "end_dim": -1}),
    ("transpose", "", S, T.transpose(2, 0, 1), {"perm": [2, 0, 1]}),
    ("expand_dims", "", S, T[:, None], {"axis": 1}), ("unsqueeze", "", S, T[..., None], {"axis": -1}),
    ("squeeze", "", Y, E[:, 0], {"axes": [-2]}),
    ("slice", "", S, T[:, 1:3, ::2], {"start": [0, 1, 0], "stop": [2, 3, 4], "step": [1, 1, 2]}),
    ("pad", "", S, np.pad(T, [(0, 0), (1, 0), (0, 2)], constant_values=1.5),
     {"padding_before": [0, 1, 0], "padding_after": [0, 0, 2], "floating_constant_value": 1.5}),
    ("pad", "integers", WHOLE, np.pad(WHOLE, [(0, 0), (1, 0), (0, 2)], constant_values=7),
     {"padding_before": [0, 1, 0], "padding_after": [0, 0, 2], "floating_constant_value": 0.0,
      "integral_constant_value": 7}),
    ("cast", "", S, T, {"dtype": 3}), ("cast", "to integers", S, np.trunc(T).astype(int), {"dtype": 5}),
    ("expand", "", Y, np.broadcast_to(E, (5, 2, 3, 4)), {"expand_shape": [5, 2, 3, 4]}),
    ("expand", "-1", Y, np.broadcast_to(E, (2, 3, 4)), {"logical_expand_shape": [-1, 3, -1]}),
    ("adaptive_avg_pool2d", "", IMAGE, adapted(IMAGE, "avg", (2, 4)), {"output_size": [2, 4]}),
    ("adaptive_max_pool2d", "", IMAGE, adapted(IMAGE, "max", (1, 3)), {"output_size": [1, 3]}),
    ("upsample_nearest_2d", "", IMAGE, IMAGE.repeat(2, 2).repeat(3, 3),
     {"height_scale": 2.0, "width_scale": 3.0, "data_format": "channels_first"}),
    ("upsample_bilinear_2d", "", IMAGE, stretched(IMAGE, (10, 9), False),
     {"height_scale": 2.0, "width_scale": 1.5, "align_corners": False}),
    ("upsample_bilinear_2d", "of corners", IMAGE, stretched(IMAGE, (7, 11), True),
     {"output_size": [7, 11], "align_corners": True}),
]  # fmt: skip


def plain_cases():
    for kind, (x, wanted) in ONE.items():
        yield Case(kind, kind, [x], wanted)
    for kind, wanted in TWO.items():
        yield Case(f"broadcast_{kind}", f"broadcast_{kind}", [X, Y], wanted)
    yield Case("broadcast_floor_mod", "broadcast_floor_mod", [S, Y], np.mod(T, E))
    yield Case("broadcast_logical_and", "broadcast_logical_and", [P, Q], P & Q)
    yield Case("broadcast_logical_or", "broadcast_logical_or", [P, Q], P | Q)
    for kind, (x, wanted) in SCALARS.items():
        yield Case(f"scalar_{kind}", f"scalar_{kind}", [x], wanted, given={"float_operand": 1.5, **REAL})
    for kind, more, x, wanted, given in WITH:
        yield Case(f"{kind} {more}".strip(), kind, [x], wanted, given=given)
    yield Case("pow", "pow", [X, X[::-1].copy()], D ** D[::-1])
    yield Case("multiply", "multiply", [S, X], T * D)
    yield Case("add_n", "add_n", [S, X, U], T + D + W)
    yield Case("add_n2", "add_n2", [S, X], T + D)
    yield Case("concat", "concat", [X, Y], np.concatenate([D, E], 1), given={"axis": 1, "max_dim_size": 4})
    yield Case("where", "where", [P, X, Y], np.where(P, D, E))
    index = np.array([[1, 0], [2, 2]], np.int32)
    yield Case("gather", "gather", [S, index], T[:, index], given={"axis": 1})
    yield Case("constant", "constant", [], np.full((2, 3), 1.5),
               given={"shape": [2, 3], "is_floating_value": True, "floating_value": 1.5, "dtype": 2})  # fmt: skip
    yield Case("range", "range", [], np.arange(2, 11, 3),
               given={"integer_start": 2, "integer_delta": 3, "integer_limit": 11, "dtype": 6})  # fmt: skip


def product_cases():
    w = {"w": RNG.normal(size=(5, 4)).astype(np.float32)}
    both = {"transpose_a": False, "transpose_b": True}
    yield Case("broadcast_matmul", "broadcast_matmul", [X], 2 * (D @ w["w"].T.astype(float)), w,
               {**both, "alpha": 2.0})  # fmt: skip
    a, b = RNG.normal(size=(4, 3)).astype(np.float32), RNG.normal(size=(4, 5)).astype(np.float32)
    more = RNG.normal(size=(3, 5)).astype(np.float32)
    yield Case("matmul", "matmul", [a, b, more], a.T.astype(float) @ b + more, given={
        "transpose_a": True, "transpose_b": False, "alpha": 1.0})  # fmt: skip
    c = RNG.normal(size=(2, 4, 5)).astype(np.float32)
    yield Case("batch_matmul", "batch_matmul", [X, c], D @ c.astype(float), given={
        "transpose_a": False, "transpose_b": False, "alpha": 1.0})  # fmt: skip
    bias = {"b": RNG.normal(size=3).astype(np.float32)}
    yield Case("bias_add", "bias_add", [S], T + bias["b"][:, None], bias, {"axis": 1})
    slope = {"a": RNG.uniform(size=(3,)).astype(np.float32)}
    yield Case("prelu", "prelu", [S], np.where(T > 0, T, T * slope["a"][:, None]), slope, {"requires_grad": True})


def norm_cases():
    stored = {name: RNG.uniform(0.5, 1.5, 4).astype(np.float32) for name in ("mean", "var", "gamma", "beta")}
    mean, var, gamma, beta = (one.astype(float).reshape(1, 4, 1, 1) for one in stored.values())
    wanted = (IMAGE - mean) / np.sqrt(var + 1e-3) * gamma + beta
    how = {"axis": 1, "epsilon": 1e-3, "momentum": 0.9, "training": False}
    yield Case("normalization", "normalization", [IMAGE], wanted, stored, how, 3)
    yield Case("normalization_infer", "normalization_infer", [IMAGE], wanted, stored, how)
    centred = T - T.mean((1, 2), keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean((1, 2), keepdims=True) + 1e-5)
    scale = {name: RNG.uniform(0.5, 1.5, (3, 4)).astype(np.float32) for name in ("beta", "gamma")}
    how = {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-5}
    yield Case("layer_norm", "layer_norm", [S], wanted * scale["gamma"] + scale["beta"], scale,
               {**how, "center": True, "scale": True}, 3)  # fmt: skip
    yield Case("layer_norm alone", "layer_norm", [S], wanted, {}, {**how, "center": False, "scale": False}, 3)


def window_cases():
    for rank in (1, 2, 3):
        sizes, window = (7, 6, 5)[:rank], [3, 2, 3][:rank]
        strides, padding, dilation = [2, 1, 2][:rank], [1, 0, 1][:rank], [1, 2, 1][:rank]
        x = RNG.normal(size=(1, 4, *sizes)).astype(np.float32)
        for groups in (1, 2):
            w = {"w": RNG.normal(size=(6, 4 // groups, *window)).astype(np.float32)}
            how = {"filters": 6, "kernel_size": window, "strides": strides, "groups": groups,
                   "padding_before": padding, "data_format": "channels_first"}  # fmt: skip
            yield Case(f"conv{rank}d groups={groups}", f"conv{rank}d", [x],
                       convolved(x, w["w"], strides, padding, dilation, groups), w,
                       {**how, "dilation_rate": dilation})  # fmt: skip
            w = {"w": RNG.normal(size=(4, 6 // groups, *window)).astype(np.float32)}
            more = [1, 0, 1][:rank]
            yield Case(f"deconv{rank}d groups={groups}", f"deconv{rank}d", [x],
                       deconvolved(x, w["w"], strides, padding, more, groups), w,
                       {**how, "dilation_rate": [1] * rank, "output_padding": more})  # fmt: skip
        for kind, name in itertools.product(("max", "avg"), ("", "_")):
            how = {"kernel_size": window, "stride": strides, "padding": padding, "ceil_mode": False,
                   "data_format": "channels_first"}  # fmt: skip
            how |= {"dilation": [1] * rank, "return_indices": False} if kind == "max" else {"count_include_pad": True}
            operator = f"{kind}{name}pool_{rank}d"
            yield Case(operator, operator, [x], pooled(x, kind, window, strides, padding), {}, how,
                       2 if kind == "max" else 1)  # fmt: skip
    last = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))
    w = RNG.normal(size=(3, 4, 2, 2)).astype(np.float32)
    wanted = convolved(IMAGE, w, [1, 1], [0, 0], [1, 1]).transpose(0, 2, 3, 1)
    yield Case("conv2d channels last", "conv2d", [last], wanted, {"w": np.ascontiguousarray(w.transpose(0, 2, 3, 1))},
               {"filters": 3, "kernel_size": [2, 2], "strides": [1, 1], "groups": 1, "padding_before": [0, 0],
                "dilation_rate": [1, 1], "data_format": "channels_last"})  # fmt: skip


CASES = [*plain_cases(), *product_cases(), *norm_cases(), *window_cases()]
