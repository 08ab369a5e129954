"""Control flow: torch.cond as an `if`, and while_loop, scan and map as functions that call themselves.

Their graphs are imported in place.
"""

from __future__ import annotations

import torch

from ... import op
from ..._core import (
    Call,
    Dim,
    Function,
    GlobalVar,
    If,
    IRModule,
    Let,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    infer_expr,
)
from ...ir.expr import var
from ...ir.ty import Any
from .conversion import Refused, cast, dtype_name, number, number_of_sizes, size, sizes_of

_AS_TENSOR = "make it a tensor, for example torch.tensor(n)"


def kind(target) -> str | None:
    """Returns "cond", "while_loop", ..., or None for other operators."""
    if isinstance(target, torch._ops.HigherOrderOperator) and target._name in CONVERTERS:
        return target._name
    return None


def _graph(importer, node):
    if not isinstance(node, torch.fx.Node) or node.op != "get_attr":
        raise Refused("a branch is not a graph")
    return getattr(importer.graph_module, node.target)


def _is_tensor(one) -> bool:
    return isinstance(one, torch.fx.Node) and isinstance(one.meta.get("val"), torch.Tensor)


def _operands(importer, given) -> list:
    """Returns the operands, with None for sizes, which are read from the types."""
    return [importer.values[one] if _is_tensor(one) else None for one in given]


def _condition(value, val):
    """Returns a single bool without axes."""
    value = cast(value, dtype_name(val.dtype), "bool")
    return op.reshape(value, newshape=[]) if val.dim() else value


def _together(results: list):
    return results[0] if len(results) == 1 else Tuple(results)


def _apart(value, count: int) -> list:
    return [value] if count == 1 else [TupleGetItem(value, i) for i in range(count)]


def cond(importer, node) -> list:
    predicate, first, second, *more = node.args
    operands = _operands(importer, more[0] if more else ())
    if not _is_tensor(predicate):
        raise Refused("the condition is computed from sizes, not from a tensor", help=_AS_TENSOR)
    condition = _condition(importer.values[predicate], predicate.meta["val"])
    branches = [importer.inlined(node, _graph(importer, one), operands, importer.sizes) for one in (first, second)]
    return _apart(If(condition, *map(_together, branches)), len(branches[0]))


def while_loop(importer, node) -> list:
    """Imports while_loop: @while_loop(carried.., more..) { if (condition) { @while_loop(body.., more..) } else {
    carried } }"""
    condition, body, carried, *more = node.args
    more = more[0] if more else ()
    if not all(map(_is_tensor, [*carried, *more])):
        raise Refused("the loop carries a size or a number: make it a tensor", help=_AS_TENSOR)
    condition, body = _graph(importer, condition), _graph(importer, body)
    inner = [one.meta["val"] for one in body.graph.nodes if one.op == "placeholder"]
    types = [TensorType([size(extent) for extent in val.shape], dtype_name(val.dtype)) for val in inner]
    params = [var(f"{'carried' if i < len(carried) else 'more'}{i}", type_) for i, type_ in enumerate(types)]
    kept, given = params[: len(carried)], params[len(carried) :]
    sizes = {}
    for param, val in zip(params, inner, strict=True):
        sizes = sizes_of(param, val) | sizes
    goes_on = importer.inlined(node, condition, params, sizes)[0]
    [test] = [one.args[0] for one in condition.graph.nodes if one.op == "output"]
    test = test[0] if isinstance(test, (tuple, list)) else test
    again = GlobalVar(importer.name_of_function("while_loop"))
    following = Call(again, [*importer.inlined(node, body, params, sizes), *given])
    result = types[0] if len(kept) == 1 else TupleType(types[: len(kept)])
    choice = If(_condition(goes_on, test.meta["val"]), following, _together(kept))
    importer.functions[again.name_hint] = Function(params, choice, result)
    return _apart(Call(again, _operands(importer, [*carried, *more])), len(kept))


def _param(name: str, val):
    return var(name, TensorType([size(extent) for extent in val.shape], dtype_name(val.dtype)))


def _sizes_apart(vals: list) -> tuple[dict, list]:
    """Returns (parameters by symbol, operands), with an empty tensor for each symbol that occurs only in computed
    sizes.

    An example is n in min(n, 100), the size of a parameter: a function has no other way to know n.
    """
    extents = [extent.node.expr for val in vals for extent in val.shape if not isinstance(extent, int)]
    own = {one for one in extents if one.is_Symbol}
    missing = sorted({symbol for one in extents for symbol in one.free_symbols} - own, key=str)
    shapes = [[Dim(str(one)), 0] for one in missing]
    params = [var(f"size{i}", shape=shape, dtype="int8") for i, shape in enumerate(shapes)]
    return dict(zip(missing, params, strict=True)), [op.zeros(shape, dtype="int8") for shape in shapes]


def scan(importer, node) -> list:
    """Imports scan: steps along the first axis of `xs`, with carried values, and stacked results.

    @scan(first, steps, carried.., xs.., more..) does one step, or the first half of the steps and then the second half.
    The stacked values are therefore copied once for each halving, not once for each step.
    """
    combine, carried, xs, *more = node.args
    return _stepped(importer, node, combine, list(carried), list(xs), list(more[0]) if more else [])


def map_impl(importer, node) -> list:
    """Imports map: a function of each row of `xs`, and of further operands."""
    function, xs, more = node.args
    return _stepped(importer, node, function, [], list(xs), list(more))


def _stepped(importer, node, function, carried: list, xs: list, more: list) -> list:
    if not all(map(_is_tensor, [*carried, *xs, *more])):
        raise Refused("the steps have a size or a number as an operand: make it a tensor", help=_AS_TENSOR)
    function = _graph(importer, function)
    inner = [one.meta["val"] for one in function.graph.nodes if one.op == "placeholder"]
    first, steps = var("first", shape=[], dtype="int64"), var("steps", shape=[], dtype="int64")
    before = [_param(f"carried{i}", val) for i, val in enumerate(inner[: len(carried)])]
    rows = [_param(f"xs{i}", one.meta["val"]) for i, one in enumerate(xs)]
    rest = [_param(f"more{i}", val) for i, val in enumerate(inner[len(carried) + len(xs) :])]
    vals = [*inner[: len(carried)], *(one.meta["val"] for one in xs), *inner[len(carried) + len(xs) :]]
    apart, apart_operands = _sizes_apart(vals)
    sizes = {symbol: (one, 0) for symbol, one in apart.items()}
    for param, val in zip([*before, *rows, *rest], vals, strict=True):
        sizes = sizes_of(param, val) | sizes
    row = [op.take(one, first, axis=0, mode="checked") for one in rows]
    made = importer.inlined(node, function, [*before, *row, *rest], sizes)
    rest += apart.values()
    now, given = made[: len(carried)], made[len(carried) :]
    for one in given:
        infer_expr(one, IRModule(importer.functions))
    one_step = Tuple([*now, *(op.expand_dims(one, axis=0) for one in given)])
    again = GlobalVar(importer.name_of_function("steps"))
    half = op.floor_divide(steps, number(2, "int64"))
    early = var("early")
    late = var("late")
    places = range(len(carried), len(made))
    results = [
        *(TupleGetItem(late, i) for i in range(len(carried))),
        *(op.concatenate([TupleGetItem(early, i), TupleGetItem(late, i)], axis=0) for i in places),
    ]
    halves = Let(
        early,
        Call(again, [first, half, *before, *rows, *rest]),
        Let(
            late,
            Call(
                again,
                [
                    op.add(first, half),
                    op.subtract(steps, half),
                    *(TupleGetItem(early, i) for i in range(len(carried))),
                    *rows,
                    *rest,
                ],
            ),
            Tuple(results),
        ),
    )
    types = [one.type_annotation for one in before]
    types += [TensorType([Any(), *one.checked_type.shape], one.checked_type.dtype) for one in given]
    body = If(op.less_equal(steps, number(1, "int64")), one_step, halves)
    importer.functions[again.name_hint] = Function([first, steps, *before, *rows, *rest], body, TupleType(types))
    count = xs[0].meta["val"].shape[0]
    total = number(count, "int64") if isinstance(count, int) else number_of_sizes(count.node.expr, importer.sizes)[0]
    operands = [*_operands(importer, [*carried, *xs, *more]), *apart_operands]
    call = Call(again, [number(0, "int64"), total, *operands])
    outer = list(node.meta["val"]) if isinstance(node.meta["val"], list | tuple) else [node.meta["val"]]
    if not isinstance(count, int):  # there is no step if there are no rows
        nothing = [
            op.zeros([0, *map(size, outer[i].shape[1:])], dtype=one.checked_type.dtype)
            for i, one in zip(places, given, strict=True)
        ]
        call = If(op.greater(total, number(0, "int64")), call, Tuple([*operands[: len(carried)], *nothing]))
    stacked = [op.reshape(TupleGetItem(call, i), newshape=[size(one) for one in outer[i].shape]) for i in places]
    return [*(TupleGetItem(call, i) for i in range(len(carried))), *stacked]


CONVERTERS = {"cond": cond, "while_loop": while_loop, "scan": scan, "map_impl": map_impl}
