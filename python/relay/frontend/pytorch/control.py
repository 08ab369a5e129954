"""Control flow: torch.cond as an if, while_loop as a function that calls itself.

Their graphs are imported where they stand.
"""

from __future__ import annotations

import torch

from ... import op
from ..._core import Call, Function, GlobalVar, If, TensorType, Tuple, TupleGetItem, TupleType
from ...expr import var
from .conversion import Refused, cast, dtype_name, size, sizes_of


def kind(target) -> str | None:
    """ "cond" or "while_loop"; None of other operators."""
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
    """Sizes are read off the types: they are None here."""
    return [importer.values[one] if _is_tensor(one) else None for one in given]


def _condition(value, val):
    """One truth value without axes."""
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
        raise Refused("the condition is computed from sizes, not from a tensor")
    condition = _condition(importer.values[predicate], predicate.meta["val"])
    branches = [importer.inlined(node, _graph(importer, one), operands, importer.sizes) for one in (first, second)]
    return _apart(If(condition, *map(_together, branches)), len(branches[0]))


def while_loop(importer, node) -> list:
    """@while_loop(carried.., more..) { if (condition) { @while_loop(body.., more..) } else { carried } }"""
    condition, body, carried, *more = node.args
    more = more[0] if more else ()
    if not all(map(_is_tensor, [*carried, *more])):
        raise Refused("a size or a number is carried through the loop: give it as a tensor")
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


CONVERTERS = {"cond": cond, "while_loop": while_loop}
