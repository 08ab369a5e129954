"""Control flow of MXNet: _cond as an `if`, _foreach and _while_loop as functions that call themselves.

Their graphs are imported in place. The inputs of a node are those of its graphs; attributes say which belong to which.
"""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Call, Expr, Function, GlobalVar, If, Let, TensorType, Tuple, TupleGetItem, TupleType
from ...ir.expr import var
from ...ir.ty import Any
from ..shared.expressions import bounded, dtype_of, known, number, shape_of
from ..shared.problems import Refused
from .conversion import Operator


def _graph(c: Operator, number_: int, inputs: list[Expr]) -> list[Expr]:
    """Returns the results of a graph of the node on these inputs."""
    graphs = c.node.graphs
    if number_ >= len(graphs):
        raise Refused(f"it has {len(graphs)} graphs, and needs {number_ + 1}", "export the model again")
    return c.importer.inlined(graphs[number_], inputs, c.node.place)


def _at(c: Operator, places: list[int]) -> list[Expr]:
    return [c.input(place) for place in places]


def _type(value: Expr) -> TensorType:
    return TensorType(shape_of(value), dtype_of(value))


def _true(value: Expr) -> Expr:
    """Returns a single bool without axes."""
    return op.reshape(op.cast(value, "bool"), [])


def _together(results: list[Expr]) -> Expr:
    return results[0] if len(results) == 1 else Tuple(results)


def cond(c: Operator):
    c.ignore("num_args", "num_outputs")
    condition = _graph(c, 0, _at(c, c.ints("cond_input_locs", [])))[0]
    branches = [
        _graph(c, place, _at(c, c.ints(f"{name}_input_locs", []))) for place, name in enumerate(("then", "else"), 1)
    ]
    if [_shape(one) for one in branches[0]] != [_shape(one) for one in branches[1]]:
        raise Refused("its branches have results of different shapes", "give both the same shapes")
    made = c.importer.typed(If(_true(condition), *map(_together, branches)))
    return [made] if len(branches[0]) == 1 else [TupleGetItem(made, place) for place in range(len(branches[0]))]


def _shape(value: Expr) -> tuple:
    return tuple(map(str, shape_of(value))), dtype_of(value)


def while_loop(c: Operator):
    """Runs while the condition holds, at most `max_iterations` times. Results of steps are rows of an array that has
    room for all of them; rows that are left over are zero."""
    c.ignore("num_args", "num_outputs")
    most, results = bounded(c.count("max_iterations"), 1 << 24, "`max_iterations`"), c.count("num_out_data", 0, 0)
    tested, used = c.ints("cond_input_locs", []), c.ints("func_input_locs", [])
    carried = c.ints("func_var_locs", [])
    params = [var(f"value{place}", _type(one)) for place, one in enumerate(c.inputs)]
    step = var("step", shape=[], dtype="int32")
    condition = _graph(c, 0, [params[place] for place in tested])[0]
    made = _graph(c, 1, [params[place] for place in used])
    rows, following = made[:results], made[results:]
    # `func_var_locs` are places among the inputs of the second graph.
    places = [used[place] for place in carried]
    if len(following) != len(places):
        raise Refused(f"it carries {len(places)} values, and its graph returns {len(following)}", "export it again")
    stores = [var(f"rows{place}", TensorType([most, *shape_of(one)], dtype_of(one))) for place, one in enumerate(rows)]
    index = op.reshape(step, [1, 1])
    stored = [
        op.scatter_nd(store, index, op.expand_dims(row, axis=0), mode="update")
        for store, row in zip(stores, rows, strict=True)
    ]
    again = GlobalVar(c.importer.name_of_function("while_loop"))
    now = list(params)
    for place, one in zip(places, following, strict=True):
        if _shape(one) != _shape(params[place]):
            raise Refused(f"a carried value changes its shape from {_shape(params[place])} to {_shape(one)}")
        now[place] = one
    goes_on = op.logical_and(_true(condition), op.less(step, number(most, "int32")))
    last = [*stores, *(params[place] for place in places)]
    result = TupleType([one.type_annotation for one in last])
    body = If(goes_on, Call(again, [op.add(step, number(1, "int32")), *now, *stored]), Tuple(last))
    c.importer.functions[again.name_hint] = Function([step, *params, *stores], body, result)
    empty = [c.constant(np.zeros([most, *map(int, shape_of(one))]), dtype_of(one)) for one in rows]
    call = c.importer.typed(Call(again, [number(0, "int32"), *c.inputs, *empty]))
    return [TupleGetItem(call, place) for place in range(len(last))]


def foreach(c: Operator):
    """Steps along the first axis. @foreach(first, steps, ..) does one step, or the first half of the steps and then the
    second half: results are copied once for each halving, not once for each step."""
    c.ignore("num_args", "num_outputs")
    results, locations = (
        c.count("num_out_data", 0, 0),
        [c.ints(name, []) for name in ("in_data_locs", "in_state_locs", "remain_locs")],
    )
    # The inputs of the node are data, states and others; the locations are their places among the inputs of the graph.
    order = [place for part in locations for place in part]
    if sorted(order) != list(range(len(c.inputs))):
        raise Refused(f"its inputs have the places {order} in its graph", "export the model again")
    ends = [len(locations[0]), len(locations[0]) + len(locations[1])]
    along, carried = list(range(ends[0])), list(range(*ends))
    if not along:
        raise Refused("no input of it is divided into steps", "export the model again")
    steps = known(shape_of(c.input(along[0]))[0], "the number of steps")
    if steps < 1 or any(shape_of(c.input(place))[0] != steps for place in along):
        raise Refused("its inputs have other numbers of steps", "give all of them the same first size")
    params = [var(f"value{place}", _type(one)) for place, one in enumerate(c.inputs)]
    first, count = (var(name, shape=[], dtype="int32") for name in ("first", "steps"))
    inner = list(params)
    for place in along:
        inner[place] = op.take(params[place], first, axis=0)
    made = _graph(c, 0, [inner[order.index(place)] for place in range(len(params))])
    rows, following = made[:results], made[results:]
    if len(following) != len(carried):
        raise Refused(f"it carries {len(carried)} values, and its graph returns {len(following)}", "export it again")
    for place, one in zip(carried, following, strict=True):
        if _shape(one) != _shape(params[place]):
            raise Refused(f"a state changes its shape from {_shape(params[place])} to {_shape(one)}")
    again = GlobalVar(c.importer.name_of_function("foreach"))
    types = [TensorType([Any(), *shape_of(one)], dtype_of(one)) for one in rows]
    types += [params[place].type_annotation for place in carried]
    one_step = Tuple([*(op.expand_dims(one, axis=0) for one in rows), *following])
    half, early, late = op.floor_divide(count, number(2, "int32")), var("early"), var("late")
    now = list(params)
    for position, place in enumerate(carried, results):
        now[place] = TupleGetItem(early, position)
    both = [op.concatenate([TupleGetItem(early, at), TupleGetItem(late, at)], axis=0) for at in range(results)]
    both += [TupleGetItem(late, at) for at in range(results, results + len(carried))]
    second = Call(again, [op.add(first, half), op.subtract(count, half), *now])
    halves = Let(early, Call(again, [first, half, *params]), Let(late, second, Tuple(both)))
    body = If(op.less_equal(count, number(1, "int32")), one_step, halves)
    c.importer.functions[again.name_hint] = Function([first, count, *params], body, TupleType(types))
    call = c.importer.typed(Call(again, [number(0, "int32"), number(steps, "int32"), *c.inputs]))
    stacked = [op.reshape(TupleGetItem(call, at), [steps, *shape_of(one)]) for at, one in enumerate(rows)]
    return [*stacked, *(TupleGetItem(call, at) for at in range(results, results + len(carried)))]
