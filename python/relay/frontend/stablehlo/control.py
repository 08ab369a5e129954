"""Converters of calls, branches and loops."""

from __future__ import annotations

from ... import op
from ..._core import Call, Constant, Expr, Function, If, Let, Tuple, TupleGetItem, TupleType, Var, infer_expr
from ...ir.expr import var
from ..shared.problems import Refused
from .conversion import Conversion, number, reshape
from .syntax import Region, Symbol


def _together(results: list[Expr]) -> Expr:
    return results[0] if len(results) == 1 else Tuple(results)


def _apart(value: Expr, count: int) -> list[Expr]:
    return [value] if count == 1 else [TupleGetItem(value, i) for i in range(count)]


def call(c: Conversion) -> list[Expr]:
    """Converts the function in place of the call."""
    name = c.attr("callee", "decomposition")
    if c.operation.name == "stablehlo.composite":
        name = c.attr("decomposition")
    if not isinstance(name, Symbol):
        raise Refused("it names no function", "correct the text")
    return c.importer.call(c.importer.callee(name.name), c.inputs, c.operation.offset)


def if_(c: Conversion) -> list[Expr]:
    c.expect_inputs(1)
    branches = [c.run(position, []) for position in (0, 1)]
    return _apart(If(c.x, *map(_together, branches)), len(branches[0]))


def case(c: Conversion) -> list[Expr]:
    """Chooses a branch by number; a number without a branch chooses the last."""
    c.expect_inputs(1)
    branches = [c.run(position, []) for position in range(len(c.operation.regions))]
    if not branches:
        raise Refused("it has no branches", "correct the text")
    if len({len(one) for one in branches}) != 1:
        raise Refused("its branches have different numbers of results", "correct the text")
    made = _together(branches[-1])
    for position, branch in reversed(list(enumerate(branches[:-1]))):
        made = If(op.equal(c.x, number(position, "int32")), _together(branch), made)
    return _apart(made, len(branches[0]))


def while_(c: Conversion) -> list[Expr]:
    """Converts a loop to a recursive function: while(carried.., around..) {if (cond) {while(body.., around..)} else {
    carried}}. `around` are values that the loop uses from around it; constants are used as they are."""
    importer, count = c.importer, len(c.inputs)
    if not count:
        raise Refused("it carries no values")
    regions = [c.region(0), c.region(1)]
    outer = {value: c.env[value] for value in _captured(regions) if value in c.env}
    captured = [value for value, one in outer.items() if not isinstance(one, Constant)]
    given = [outer[value] for value in captured]
    types = [infer_expr(one).checked_type for one in [*c.inputs, *given]]
    params = [var(f"{'carried' if i < count else 'around'}{i}", type_) for i, type_ in enumerate(types)]
    carried, around = params[:count], params[count:]
    again = Var(importer.loop_name("while"))
    env = c.env.new_child(dict(zip(captured, around, strict=True)))
    [goes_on] = importer.run(regions[0], carried, env, c.operation.offset)
    following = importer.run(regions[1], carried, env, c.operation.offset)
    if len(following) != count:
        raise Refused(f"its body returns {len(following)} values, not {count}", "correct the text")
    body = If(reshape(goes_on, []), Call(again, [*following, *around]), _together(carried))
    loop = Function(params, body, types[0] if count == 1 else TupleType(types[:count]))
    return _apart(Let(again, loop, Call(again, [*c.inputs, *given])), count)


def _captured(regions: list[Region]) -> list[tuple[str, int]]:
    """Returns the values that regions use and do not define."""
    used, defined, pending = {}, set(), list(regions)
    while pending:
        region = pending.pop()
        defined |= {(name, 0) for name, _ in region.args}
        for operation in region.operations:
            used |= dict.fromkeys(operation.operands)
            defined |= set(operation.results)
            pending += operation.regions
    return [one for one in used if one not in defined]
