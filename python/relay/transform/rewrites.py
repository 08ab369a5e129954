"""Passes that take a rule, a size or a type: Legalize, AlterOpLayout, DenseToSparse, ChangeBatch, ...

def narrow(call):                                     # typed; returns an expression of the same type, or None
    return relay.nn.relu(call.args[0]) if call.attrs.a_min == 0 and call.attrs.a_max > 1e30 else None

mod = relay.transform.Legalize({"clip": narrow})(mod)
mod = relay.transform.AlterOpLayout({"nn.conv2d": lambda call: ["NHWC", "HWIO"]})(mod)
mod = relay.transform.ChangeBatch({mod["main"].params[0]: 0}, 16)(mod)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .._core import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    Op,
    TensorType,
    TupleType,
    Var,
    post_order_visit,
)
from ..errors import expect
from ..ir.expr import const
from ..ir.expr_functor import ExprMutator
from ..ir.pass_infra import CorePass, Pass, PassInfo, UserPass, run_passes
from ..op.make import named_op

__all__ = [
    "AlterOpLayout",
    "ChangeBatch",
    "ChangeDatatype",
    "Conv2dToSparse",
    "DenseToSparse",
    "InlineCompilerFunctionsBoundTo",
    "Legalize",
    "MarkCompilerFunctionsAsExtern",
    "OutlineCompilerFunctionsWithExistingGlobalSymbols",
    "SplitArgs",
    "recast",
]


# --- rules by operator ------------------------------------------------------------------------------------------------
def _by_operator(rules: dict[str, Callable] | None):
    if rules is None:
        return None
    for name in rules:
        Op.get(name)  # raises if there is no such operator

    def rule(call):
        own = rules.get(call.op.name)
        return None if own is None else own(call)

    return rule


def Legalize(rules: dict[str, Callable[[Call], Expr | None]] | None = None) -> Pass:
    """Replaces calls of operators by the results of their rules. rule(call) returns an expression of the call's type,
    or None. The call and its arguments are typed. Without rules, composite operators are replaced by their definitions.
    """
    return CorePass(PassInfo(1, "Legalize"), "legalize", hooks={"legalize": _by_operator(rules)})


def AlterOpLayout(rules: dict[str, Callable[[Call], list[str] | None]] | None = None) -> Pass:
    """Converts calls to the layouts that their rules return, and the operators between them as well. rule(call) returns
    [layout of the data, of the weights, of the result], a prefix of this list, or None. Layouts may have blocks, such
    as ["NCHW16c", "OIHW16i16o"]; channels that are not divisible by the block size are an error. Without rules,
    convolutions with channels in front are converted to channels last."""
    return CorePass(PassInfo(3, "AlterOpLayout"), "alter_op_layout", hooks={"alter_layout": _by_operator(rules)})


def SplitArgs(max_function_args: int) -> Pass:
    """Splits concatenations, stacks and splits of more than this number of parts into trees."""
    if max_function_args < 2:
        raise ValueError(f"a concatenation needs at least 2 parts: max_function_args cannot be {max_function_args}")
    return CorePass(PassInfo(1, "SplitArgs"), "limit_width", {"limit_width.max_width": max_function_args})


# --- sparse weights ---------------------------------------------------------------------------------------------------
def blocks(matrix: np.ndarray, block: tuple[int, int]):
    """Returns the nonzero blocks of a matrix as (values, columns, row begins), or None if the block size does not
    divide the shape."""
    (rows, columns), (height, width) = matrix.shape, block
    if rows % height or columns % width:
        return None
    tiles = matrix.reshape(rows // height, height, columns // width, width).transpose(0, 2, 1, 3)
    filled = tiles.any(axis=(2, 3))
    values = tiles[filled]
    begins = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype("int32")
    return (values.reshape(-1) if block == (1, 1) else values), np.nonzero(filled)[1].astype("int32"), begins


def _sparse_parts(matrix: np.ndarray, block: tuple[int, int], threshold: float):
    """Returns the constants of a sparse matrix, or None if its share of zeros (in blocks) is below `threshold`."""
    parts = blocks(matrix, block)
    if parts is None or parts[0].size == 0 or 1 - parts[0].size / matrix.size < threshold:
        return None
    return [const(part) for part in parts]


def _weight(e) -> np.ndarray | None:
    return e.data.numpy() if isinstance(e, Constant) else None


def DenseToSparse(blocksize: tuple[int, int] = (1, 1), sparsity_threshold: float = 0.8) -> Pass:
    """Replaces nn.dense by nn.sparse_dense if the share of zeros in its constant weights is at least
    sparsity_threshold. Zeros are counted in blocks of (rows, columns), which are kept or left out as a whole."""

    def rule(call):
        weight = _weight(call.args[1])
        if weight is None or call.args[0].checked_type.dtype != weight.dtype.name:
            return None
        if len(call.args[0].checked_type.shape) != 2 or call.checked_type.dtype != weight.dtype.name:
            return None
        parts = _sparse_parts(weight, tuple(blocksize), sparsity_threshold)
        return None if parts is None else named_op("nn.sparse_dense")(call.args[0], *parts)

    return CorePass(PassInfo(4, "DenseToSparse"), "legalize", hooks={"legalize": _by_operator({"nn.dense": rule})})


def Conv2dToSparse(blocksize: tuple[int, int] = (1, 1), sparsity_threshold: float = 0.8) -> Pass:
    """Replaces 1 x 1 convolutions by nn.sparse_conv2d if the share of zeros in their constant weights is at least
    sparsity_threshold. They must have no padding, strides or groups, and the layouts NHWC with HWIO or NCHW with OIHW.
    """

    def rule(call):
        attrs, weight = call.attrs, _weight(call.args[1])
        layouts = attrs.data_layout, attrs.kernel_layout
        if weight is None or layouts not in (("NHWC", "HWIO"), ("NCHW", "OIHW")):
            return None
        matrix = weight.transpose(3, 2, 0, 1) if layouts[0] == "NHWC" else weight  # OIHW
        plain = set(attrs.strides) == {1} and set(attrs.padding) <= {0} and attrs.groups == 1
        if matrix.shape[2:] != (1, 1) or not plain or call.checked_type.dtype != weight.dtype.name:
            return None
        parts = _sparse_parts(matrix[:, :, 0, 0], tuple(blocksize), sparsity_threshold)
        return None if parts is None else named_op("nn.sparse_conv2d")(call.args[0], *parts, layout=layouts[0])

    return CorePass(PassInfo(4, "Conv2dToSparse"), "legalize", hooks={"legalize": _by_operator({"nn.conv2d": rule})})


def _name(var, kind: type, of: str) -> str:
    expect(var, (str, kind), f"the name of a {of} or its {kind.__name__}")
    return var if isinstance(var, str) else var.name_hint


# --- sizes and types of parameters ------------------------------------------------------------------------------------
def ChangeBatch(data: dict[Var, int], batch_size: int = 16) -> Pass:
    """Changes the batch size of parameters of @main: {parameter, or its name: the axis of the batch}. All other types
    are inferred."""
    expect(data, Mapping, "a dict: {parameter, or its name: the axis of the batch}")
    axes = {_name(var, Var, "parameter"): axis for var, axis in data.items()}

    def run(mod, ctx):
        main = mod["main"]
        names = {param.name_hint for param in main.params}
        for name in axes:
            if name not in names:
                raise ValueError(f"@main has no parameter {name}; it has: {', '.join(sorted(names))}")
        new = {}
        for param in main.params:
            if param.name_hint in axes:
                shape, dtype = list(param.type_annotation.shape), param.type_annotation.dtype
                shape[axes[param.name_hint]] = batch_size
                new[param] = Var(param.name_hint, TensorType(shape, dtype))
        out = mod.clone()
        out["main"] = _with_params(main, new)
        return run_passes(out, ["infer_type"])

    return UserPass(run, PassInfo(0, "ChangeBatch"), False)


class _Substitute(ExprMutator):
    def __init__(self, new: dict):
        super().__init__()
        self._new = new

    def visit_var(self, var):
        return self._new.get(var, var)


def _with_params(f: Function, new: dict[Var, Var]) -> Function:
    """Returns the function with other parameters. The type of its result is inferred again."""
    body = _Substitute(new).visit(f.body)
    return Function([new.get(p, p) for p in f.params], body, None, f.type_params, f.attrs)


class _ChangeDatatype(ExprMutator):
    def __init__(self, source: str, target: str):
        super().__init__()
        self._source, self._target, self._new = source, target, {}

    def type(self, t):
        if isinstance(t, TensorType) and t.dtype == self._source:
            return TensorType(t.shape, self._target)
        return TupleType([self.type(field) for field in t.fields]) if isinstance(t, TupleType) else t

    def visit_var(self, var):
        if var not in self._new:
            changed = self.type(var.type_annotation)
            self._new[var] = var if changed is var.type_annotation else Var(var.name_hint, changed)
        return self._new[var]

    def visit_constant(self, constant):
        if constant.data.dtype != self._source:
            return constant
        return const(constant.data.numpy(), self._target)

    def visit_function(self, fn):
        params = [self.visit(param) for param in fn.params]
        return Function(params, self.visit(fn.body), self.type(fn.ret_type), fn.type_params, fn.attrs)

    def visit_call(self, call):
        call = super().visit_call(call)
        if not isinstance(call.op, Op) or call.attrs is None:
            return call
        given = {name: call.attrs[name] for name in call.attrs.keys()}
        changed = {name: self._target for name, value in given.items() if str(value) == self._source}
        return named_op(call.op.name)(*call.args, **{**given, **changed}) if changed else call


def ChangeDatatype(src: str, dst: str) -> Pass:
    """Converts every parameter, constant and attribute of one element type to another."""

    def run(mod, ctx):
        out = mod.clone()
        for var, function in mod.functions.items():
            out[var] = _ChangeDatatype(src, dst).visit(function)
        return run_passes(out, ["infer_type"])

    return UserPass(run, PassInfo(0, "ChangeDatatype"), False)


def recast(expr: Expr, dtype: str, out_dtype: str, ops: list[str] | None = None, skip_layers=()) -> Expr:
    """Returns the expression with calls of `ops` (by default nn.conv2d) on arguments of type `dtype`, with results of
    type `out_dtype` that are cast back. Calls in `skip_layers` stay unchanged; they are counted from 0 in the order of
    evaluation, negative numbers from the end."""
    names = ops or ["nn.conv2d"]
    found: list[Call] = []

    def note(e):
        if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name in names:
            found.append(e)

    module = run_passes(IRModule.from_expr(expr), ["infer_type"])
    main = module["main"]
    post_order_visit(main, note)
    skipped = {index % len(found) for index in skip_layers} if found else set()
    chosen = {call for index, call in enumerate(found) if index not in skipped}

    class Recast(ExprMutator):
        def visit_call(self, call):
            now = super().visit_call(call)
            if call not in chosen:
                return now
            given = {name: now.attrs[name] for name in now.attrs.keys()} if now.attrs is not None else {}
            if "out_dtype" in given:
                given["out_dtype"] = out_dtype
            made = named_op(call.op.name)(*(arg.astype(dtype) for arg in now.args), **given)
            return made.astype(call.checked_type.dtype)

    changed = Recast().visit(main)
    return changed if isinstance(expr, Function) else changed.body


# --- functions for other compilers ------------------------------------------------------------------------------------
def OutlineCompilerFunctionsWithExistingGlobalSymbols(compiler_filter: str = "") -> Pass:
    """Turns inner functions for a compiler into global functions named by their global_symbol. `compiler_filter` is the
    compiler, or "" for any."""

    def run(mod, ctx):
        out = mod.clone()

        class Outline(ExprMutator):
            def visit_function(self, fn):
                now = super().visit_function(fn)
                compiler, symbol = now.attrs.get("Compiler"), now.attrs.get("global_symbol")
                if not compiler or not symbol or compiler_filter not in ("", compiler):
                    return now
                if symbol not in out:
                    out[symbol] = now
                elif out[symbol] != now:
                    raise ValueError(f"two functions have the global_symbol {symbol}")
                return GlobalVar(symbol)

        for var, function in mod.functions.items():
            if not function.attrs.get("Compiler"):
                out[var] = Outline().visit(function)
        return run_passes(out, ["infer_type"])

    return UserPass(run, PassInfo(0, "OutlineCompilerFunctionsWithExistingGlobalSymbols"), False)


def MarkCompilerFunctionsAsExtern(compiler_filter: str = "") -> Pass:
    """Replaces the attributes of global functions for a compiler by Extern=1, because they are compiled elsewhere.
    `compiler_filter` is the compiler, or "" for any. Bodies and callers stay unchanged."""

    def run(mod, ctx):
        out = mod.clone()
        for var, function in mod.functions.items():
            compiler = function.attrs.get("Compiler")
            if compiler and compiler_filter in ("", compiler):
                out[var] = Function(
                    function.params, function.body, function.ret_type, function.type_params, {"Extern": 1}
                )
        return run_passes(out, ["infer_type"])

    return UserPass(run, PassInfo(0, "MarkCompilerFunctionsAsExtern"), False)


def InlineCompilerFunctionsBoundTo(global_vars: list[GlobalVar | str]) -> Pass:
    """Inlines these functions, which were marked for another compiler, where they are called."""
    expect(global_vars, (list, tuple, set, frozenset), "a list of functions' names, or of their GlobalVars")
    names = [_name(var, GlobalVar, "function") for var in global_vars]
    marks = ("Compiler", "Primitive", "global_symbol", "Composite", "PartitionedFromPattern")

    def run(mod, ctx):
        out = mod.clone()
        for name in names:
            f = mod[name]
            kept = {key: value for key, value in f.attrs.items() if key not in marks}
            out[name] = Function(f.params, f.body, f.ret_type, f.type_params, {**kept, "Inline": 1})
        return run_passes(out, ["inline_calls", "remove_unused_functions"])

    return UserPass(run, PassInfo(0, "InlineCompilerFunctionsBoundTo"), False)
