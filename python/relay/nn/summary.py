"""Tables of layers: result shapes, parameters, operations and bytes."""

from __future__ import annotations

import numpy as np

from .._core import (
    Call,
    Expr,
    Function,
    IRModule,
    Op,
    TensorType,
    Tuple,
    TupleType,
    Type,
    Var,
    children,
    free_vars,
)
from ..ir.pass_infra import run_passes
from ..script.datatypes import define_types
from ..script.program import Program, tracing
from .trace import expression, trace, type_of

_CONTRACTIONS = ("nn.dense", "nn.matmul", "nn.batch_matmul")
_FREE = {
    "reshape",
    "transpose",
    "squeeze",
    "expand_dims",
    "split",
    "concatenate",
    "take",
    "strided_slice",
    "zeros",
    "ones",
    "zeros_like",
    "ones_like",
    "shape_of",
    "cast",
    "nn.batch_flatten",
    "nn.dropout",
}


def _size(shape) -> int:
    return int(np.prod([one if isinstance(one, int) else 1 for one in shape], dtype=np.int64))


def _operations(call: Call) -> int:
    """Returns the floating-point operations of a call, a multiplication and an addition each one. Open sizes count as
    1."""
    name, out = call.op.name, call.checked_type
    if name in _FREE or isinstance(out, TupleType) and name not in ("nn.lstm", "nn.gru", "nn.rnn", "nn.batch_norm"):
        return 0
    if "conv" in name and name.startswith("nn.conv"):
        weight = call.args[1].checked_type.shape
        each = _size(weight) // int(weight[call.attrs.kernel_layout.index("O")])
        over = call.args[0].checked_type if "transpose" in name else out
        if "transpose" in name:
            each = _size(weight) // int(weight[0])
        return 2 * _size(over.shape) * each
    if name in _CONTRACTIONS:
        left = call.args[0].checked_type.shape
        axis = -2 if name != "nn.dense" and call.attrs.transpose_a else -1
        return 2 * _size(out.shape) * _size([left[axis]])
    if name in ("nn.lstm", "nn.gru", "nn.rnn"):
        steps = _size(call.args[0].checked_type.shape[:2])
        return 2 * steps * sum(_size(one.shape) for one in call.args[1].checked_type.fields if len(one.shape) == 2)
    if name == "nn.scaled_dot_product_attention":
        query, key, value = (one.shape for one in call.args[0].checked_type.fields[:3])
        return 2 * _size(query) * _size(key[2:3]) + 2 * _size(query[:3]) * _size(value[2:])
    if name in ("sum", "mean", "max", "min", "prod") or "pool" in name:
        return _size(call.args[0].checked_type.shape)
    first = out.fields[0] if isinstance(out, TupleType) else out
    return _size(first.shape) if isinstance(first, TensorType) else 0


def _bytes(type_: Type) -> int:
    if isinstance(type_, TupleType):
        return sum(map(_bytes, type_.fields))
    if not isinstance(type_, TensorType):
        return 0
    width = {"bool": 1, "bfloat16": 2}.get(str(type_.dtype)) or np.dtype(str(type_.dtype)).itemsize
    return _size(type_.shape) * width


def _shown(type_: Type) -> str:
    if isinstance(type_, TensorType):
        return "(" + ", ".join(map(str, type_.shape)) + ")"
    if isinstance(type_, TupleType):
        return ", ".join(map(_shown, type_.fields))
    return str(type_)


def _rows(layer, args: tuple):
    """Returns, for each call of a layer without parts, (path, class, result type, parameters, operations)."""
    program, variables = Program(), []
    for at, one in enumerate(args):
        type_ = type_of(one, f"x{at}")
        define_types(type_, program.types)
        variables.append(Var(f"x{at}", type_))
    layer.set_names()
    with tracing(program):
        result = expression(layer(*variables), layer)
    paths = {id(one): path for path, one in layer.named_modules()}
    leaves = [
        (one, inputs, expression(made, layer)) for one, inputs, made in program.calls if not list(one.named_children())
    ]
    params = [*variables, *program.variables.values()]
    outside = [not set(free_vars(made)) <= set(params) for _, _, made in leaves]  # within a scripted function
    parts = [Tuple([made, *_exprs(inputs)]) for _, inputs, made in leaves]
    body = Tuple([result, *(part for part, out in zip(parts, outside, strict=True) if not out)])
    typed = run_passes(program.finished(params, body), ["infer_type"])["main"].body
    together = iter(typed.fields[1:])
    of_each = [_alone(part) if out else next(together) for part, out in zip(parts, outside, strict=True)]
    counted: set[Expr] = set()
    rows, seen = [], set()
    for (one, _, _), part in zip(leaves, of_each, strict=True):
        made, inputs = part.fields[0], set(part.fields[1:])
        count = sum(_operations(call) for call in _calls(made, inputs, counted))
        mine = [p for _, p in one.named_state() if p.trained and id(p) not in seen]
        seen |= {id(p) for p in mine}
        rows.append(
            (paths.get(id(one), "?"), type(one).__name__, made.checked_type, sum(_size(p.shape) for p in mine), count)
        )
    every = sum(_operations(call) for call in _calls(typed.fields[0], set(), set()))
    if program.functions:
        every = sum(row[4] for row in rows)
    return rows, typed.fields[0].checked_type, every


def _alone(part: Expr) -> Expr:
    """Returns an expression of a scripted function with its types."""
    return run_passes(IRModule({"main": Function(free_vars(part), part)}), ["infer_type"])["main"].body


def _exprs(values) -> list[Expr]:
    return [one for one in values if isinstance(one, Expr)]


def _calls(made: Expr, stop: set[Expr], counted: set[Expr]) -> list[Call]:
    """Returns the calls of operators that an expression computes from `stop`, without those of `counted`, which are
    added to it."""
    found: list[Call] = []
    work, seen = [made], set()
    while work:
        one = work.pop()
        if one in seen or one in stop or one in counted:
            continue
        seen.add(one)
        if isinstance(one, Call) and isinstance(one.op, Op):
            found.append(one)
            counted.add(one)
        work += children(one)
    return found


def _short(number: int) -> str:
    for unit in ("", "k", "M", "G"):
        if number < 1000 or unit == "G":
            return f"{number}" if not unit else f"{number:.1f}{unit}"
        number /= 1000
    return str(number)


def summary(layer, args: tuple) -> str:
    """Returns the table as text. The columns are the path and class of a layer, the shape of its result, its trained
    parameters, floating-point operations, and the bytes of its parameters and its result. A layer within a scripted
    function counts once."""
    trace(layer, args)
    rows, result, every = _rows(layer, args)
    table = [("layer", "result", "parameters", "FLOPs", "bytes")]
    for path, kind, type_, parameters, operations in rows:
        table.append(
            (
                f"{path or '.'} ({kind})",
                _shown(type_),
                f"{parameters:,}",
                _short(operations),
                _short(4 * parameters + _bytes(type_)),
            )
        )
    parameters = sum(_size(one.shape) for one in layer.parameters())
    total = sum(one.data.nbytes for _, one in layer.set_names().items())
    table.append(("total", _shown(result), f"{parameters:,}", _short(every), _short(total)))
    widths = [max(len(row[at]) for row in table) for at in range(5)]
    lines = [
        "  ".join(
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    lines.insert(-1, lines[1])
    return "\n".join(lines)
