"""Passes that rewrite weights which are parameters. Their values, which are passed separately, change with the program.

f, params = relay.weights.simplify_fc_transpose(f, params)                       # transposes them once
f, params = relay.weights.sparse_dense(f, params, (1, 1), 0.8)                   # w becomes w.data, w.indices, w.indptr
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable

import numpy as np

from .._core import Call, Expr, Function, IRModule, Op, TensorType, Var, free_vars, post_order_visit
from ..analysis import search_fc_transpose
from ..data.arrays import array
from ..data.arrays import numpy as as_numpy
from ..ir.expr_functor import ExprMutator
from ..ir.pass_infra import Pass, PassInfo, UserPass, run_passes
from ..op.make import named_op
from .rewrites import blocks

__all__ = [
    "Conv2dToSparseParameters",
    "DenseToSparseParameters",
    "SimplifyFCTranspose",
    "SparseAnalysisResult",
    "process_conv2d_params",
    "process_dense_params",
    "simplify_fc_transpose",
    "sparse_conv2d",
    "sparse_dense",
]

# The names of the weights that are sparse enough, and for each [blocks, rows, columns of a block, columns, row begins].
SparseAnalysisResult = collections.namedtuple("SparseAnalysisResult", ["weight_name", "weight_shape"])


def _values(weight) -> np.ndarray:
    """Returns a NumPy array of an array of any framework."""
    return np.asarray(weight) if isinstance(weight, np.ndarray) else as_numpy(array(weight))


def _is_call(e, name: str) -> bool:
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == name


class _Rule(ExprMutator):
    """Replaces calls by rule(original call, call with new arguments), or keeps them if it returns None."""

    def __init__(self, rule: Callable[[Call, Call], Expr | None]):
        super().__init__()
        self._rule = rule

    def visit_call(self, call):
        now = super().visit_call(call)
        made = self._rule(call, now)
        return now if made is None else made


def _weight_pass(name: str, level: int, rule: Callable[[Call, Call], Expr | None]) -> Pass:
    """Returns a pass on @main that adds new free variables as parameters, after those that are still used."""

    def run(mod, ctx):
        out = mod.clone()
        main = mod["main"]
        body = _Rule(rule).visit(main.body)
        if body is main.body:
            return mod
        used = free_vars(body)
        gone = [p for p in main.params if p not in used and p in free_vars(main.body)]
        params = [p for p in main.params if p not in gone]
        params += [v for v in used if v not in params]
        out["main"] = Function(params, body, None, main.type_params, main.attrs)
        return run_passes(out, ["infer_type"])

    return UserPass(run, PassInfo(level, name), False)


def _converted(func: Function, made: Pass) -> Function:
    return made(IRModule({"main": func}))["main"]


# --- transposed weights -----------------------------------------------------------------------------------------------
def SimplifyFCTranspose(target_weights: Iterable[str]) -> Pass:
    """Replaces nn.dense(x, transpose(w)) by nn.dense(x, w.T) for parameters w with these names. The parameter `w.T` has
    the transposed shape, and takes the transposed values."""
    names, new = {str(name) for name in target_weights}, {}

    def rule(before, now):
        weight = before.args[1] if _is_call(before, "nn.dense") else None
        if not _is_call(weight, "transpose") or not isinstance(weight.args[0], Var):
            return None
        var = weight.args[0]
        if var.name_hint not in names:
            return None
        if var not in new:
            shape = var.checked_type.shape
            new[var] = Var(f"{var.name_hint}.T", TensorType([shape[1], shape[0]], var.checked_type.dtype))
        attrs = {key: now.attrs[key] for key in now.attrs.keys()}
        return named_op("nn.dense")(now.args[0], new[var], **attrs)

    return _weight_pass("SimplifyFCTranspose", 4, rule)


def simplify_fc_transpose(func: Function, params: dict) -> tuple[Function, dict]:
    """Returns the function and `params` with transposed weights."""
    typed = run_passes(IRModule({"main": func}), ["infer_type"])["main"]
    names = [name for name in search_fc_transpose(typed) if name in params]
    changed = _converted(typed, SimplifyFCTranspose(names))
    kept = {param.name_hint for param in changed.params}
    out = {name: value for name, value in params.items() if name not in names or name in kept}
    for name in names:
        out[f"{name}.T"] = np.ascontiguousarray(_values(params[name]).T)
    return changed, out


# --- sparse weights ---------------------------------------------------------------------------------------------------
def _weights_of(expr: Expr, op_name: str) -> list[tuple[str, Call]]:
    found: dict[str, Call] = {}

    def note(e):
        if _is_call(e, op_name) and isinstance(e.args[1], Var):
            found.setdefault(e.args[1].name_hint, e)

    post_order_visit(expr, note)
    return list(found.items())


def _process(weights, params: dict, block: tuple[int, int], threshold: float) -> SparseAnalysisResult:
    """Puts the parts of sufficiently sparse matrices into `params`. `weights`: (name, matrix)."""
    names, shapes = [], []
    for name, matrix in weights:
        parts = blocks(matrix, block)
        if parts is None or parts[0].size == 0 or 1 - parts[0].size / matrix.size < threshold:
            continue
        data, indices, begins = parts[0].reshape(-1, *block), parts[1], parts[2]
        names.append(name)
        shapes.append([*data.shape, *indices.shape, *begins.shape])
        del params[name]
        params.update({f"{name}.data": data, f"{name}.indices": indices, f"{name}.indptr": begins})
    return SparseAnalysisResult(names, shapes)


def process_dense_params(expr: Expr, params: dict, block_size, sparsity_threshold: float) -> SparseAnalysisResult:
    """Replaces weights of nn.dense in `params` by `w.data`, `w.indices` and `w.indptr` if their share of zero blocks is
    at least `sparsity_threshold`."""
    weights = [(name, _values(params[name])) for name, _ in _weights_of(expr, "nn.dense") if name in params]
    return _process(weights, params, tuple(block_size), sparsity_threshold)


def _pointwise(layout: str, weight: np.ndarray) -> np.ndarray | None:
    """Returns the matrix (output, input channels) of a 1 x 1 convolution."""
    oihw = weight.transpose(3, 2, 0, 1) if layout == "NHWC" else weight
    return oihw[:, :, 0, 0] if oihw.shape[2:] == (1, 1) else None


def _is_plain(call: Call, layout: str) -> bool:
    a = call.attrs
    kernel = {"NHWC": "HWIO", "NCHW": "OIHW"}[layout]
    plain = set(a.strides) == {1} and set(a.padding) <= {0} and set(a.dilation) == {1} and a.groups == 1
    return plain and (a.data_layout, a.kernel_layout) == (layout, kernel)


def process_conv2d_params(
    expr: Expr, params: dict, block_size, sparsity_threshold: float, layout: str = "NHWC"
) -> SparseAnalysisResult:
    """Replaces weights of 1 x 1 convolutions without padding, strides and groups, like process_dense_params()."""
    if layout not in ("NHWC", "NCHW"):
        raise ValueError(f"the layout must be NHWC or NCHW, not {layout}")
    weights = []
    for name, call in _weights_of(expr, "nn.conv2d"):
        matrix = _pointwise(layout, _values(params[name])) if name in params and _is_plain(call, layout) else None
        if matrix is not None:
            weights.append((name, matrix))
    return _process(weights, params, tuple(block_size), sparsity_threshold)


def _sparse_rule(op_name: str, names: Iterable[str], shapes: Iterable, make: Callable):
    parts: dict[str, list[Var]] = {}
    shape_of = dict(zip(map(str, names), (list(map(int, shape)) for shape in shapes), strict=True))

    def rule(before, now):
        weight = before.args[1] if _is_call(before, op_name) else None
        if not isinstance(weight, Var) or weight.name_hint not in shape_of:
            return None
        name, shape = weight.name_hint, shape_of[weight.name_hint]
        if name not in parts:
            parts[name] = [
                Var(f"{name}.data", TensorType(shape[:3], weight.checked_type.dtype)),
                Var(f"{name}.indices", TensorType(shape[3:4], "int32")),
                Var(f"{name}.indptr", TensorType(shape[4:5], "int32")),
            ]
        return make(now, parts[name])

    return rule


def DenseToSparseParameters(weight_name: Iterable[str], weight_shape: Iterable) -> Pass:
    """Replaces nn.dense by nn.sparse_dense for weights that are these parameters. The shapes are those of
    process_dense_params()."""
    make = lambda call, parts: named_op("nn.sparse_dense")(call.args[0], *parts)  # noqa: E731
    return _weight_pass("DenseToSparse", 4, _sparse_rule("nn.dense", weight_name, weight_shape, make))


def Conv2dToSparseParameters(weight_name: Iterable[str], weight_shape: Iterable, layout: str = "NHWC") -> Pass:
    """Replaces nn.conv2d by nn.sparse_conv2d for weights that are these parameters."""

    def make(call, parts):
        return named_op("nn.sparse_conv2d")(call.args[0], *parts, layout=layout) if _is_plain(call, layout) else None

    return _weight_pass("Conv2dToSparse", 4, _sparse_rule("nn.conv2d", weight_name, weight_shape, make))


def sparse_dense(func: Function, params: dict, blocksize, sparsity_threshold: float) -> tuple[Function, dict]:
    """Returns the function with nn.sparse_dense for sufficiently sparse weights in `params`, and its parameters."""
    typed, out = run_passes(IRModule({"main": func}), ["infer_type"])["main"], dict(params)
    found = process_dense_params(typed, out, blocksize, sparsity_threshold)
    return _converted(typed, DenseToSparseParameters(*found)), out


def sparse_conv2d(
    func: Function, params: dict, blocksize, sparsity_threshold: float, layout: str = "NHWC"
) -> tuple[Function, dict]:
    """Returns the function with nn.sparse_conv2d for sufficiently sparse weights in `params`, and its parameters."""
    typed, out = run_passes(IRModule({"main": func}), ["infer_type"])["main"], dict(params)
    found = process_conv2d_params(typed, out, blocksize, sparsity_threshold, layout)
    return _converted(typed, Conv2dToSparseParameters(*found, layout)), out
