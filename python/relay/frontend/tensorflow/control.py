"""Control flow of TensorFlow 2: calls of functions, If, Case and While, whose bodies are functions of the model."""

from __future__ import annotations

from ... import op
from ..shared.loops import Outside, choose, repeat
from ..shared.problems import Refused
from ..shared.values import FAILED, Function, Known, number
from .conversion import Conversion
from .graph import Graph, Ref


def call(c: Conversion):
    return c.call(_function(c, "f"), c.inputs)


def _function(c: Conversion, name: str) -> Function:
    found = c(name)
    if not isinstance(found, Function):
        raise Refused(f"its attribute `{name}` is not a function", "save the model again with TensorFlow")
    return found


def known_bool(value) -> bool | None:
    """Returns a condition that is known at import, or None."""
    if isinstance(value, Known) and not value.is_symbolic and value.dtype != "string" and value.array.size == 1:
        return bool(value.array.reshape(-1)[0])
    return None


def if_(c: Conversion):
    """A condition that is known at import selects a branch. The other one is not imported."""
    condition, arguments = c.value(0), c.inputs[1:]
    known = known_bool(condition)
    if known is not None:
        return c.call(_function(c, "then_branch" if known else "else_branch"), arguments)
    (first, second), changed = _calls(c, [_function(c, name) for name in ("then_branch", "else_branch")], arguments)
    if condition is FAILED:
        return [FAILED] * (len(first) - len(changed))
    return _kept(c, choose(condition, first, second), changed)


def _calls(c: Conversion, functions: list[Function], arguments: list) -> tuple[list[list], list[str]]:
    """Returns the results of each of these functions, with the values of all variables that one of them changes after
    them, and the nodes of these variables."""
    variables = c.importer.variables
    before, results, after = variables.current, [], []
    for function in functions:
        variables.current = dict(before)
        results.append(c.call(function, arguments))
        after.append(variables.current)
    variables.current = before
    nodes = sorted({node for one in after for node in one if one[node] is not variables.begun(node)})
    if any(c.importer.changes(one.name) for one in functions):
        results = [[*made, *(held.get(node, variables.begun(node)) for node in nodes)]
                   for made, held in zip(results, after, strict=True)]  # fmt: skip
        return results, nodes
    return results, []


def _kept(c: Conversion, made: list, changed: list[str]) -> list:
    """Returns the results of a branch. The values of variables behind them become those at this point of the run."""
    count = len(made) - len(changed)
    c.importer.variables.current.update(zip(changed, made[count:], strict=True))
    return made[:count]


def case(c: Conversion):
    branches, arguments = c.list("branches"), c.inputs[1:]
    if not branches or not all(isinstance(one, Function) for one in branches):
        raise Refused("it has no branches")
    results, changed = _calls(c, branches, arguments)
    if c.value(0) is FAILED:
        return [FAILED] * (len(results[0]) - len(changed))
    index, made = op.reshape(c.expr(0), newshape=[]), results[-1]
    for place in reversed(range(len(results) - 1)):
        made = choose(op.equal(index, number(place, c.dtype(0))), results[place], made)
    if len(results) > 1:  # an index below 0 takes the last branch
        made = choose(op.less(index, number(0, c.dtype(0))), results[-1], made)
    return _kept(c, made, changed)


def while_(c: Conversion):
    condition, body = _function(c, "cond"), _function(c, "body")
    graph, outside = c.importer.body(body.name), Outside()
    if len(graph.results) != len(c.inputs):
        raise Refused(f"its body has {len(graph.results)} results for a state of {len(c.inputs)} values")
    constant = [_passes(graph, ref) == param for ref, param in zip(graph.results, graph.params, strict=False)]
    given = [outside.hold(one) if fixed else one for one, fixed in zip(c.inputs, constant, strict=True)]
    changing = [place for place, fixed in enumerate(constant) if not fixed]
    variables, changed = c.importer.variables, []  # nodes of variables: their values are a part of the state
    if c.importer.changes(body.name) or c.importer.changes(condition.name):
        changed = sorted(variables.changed)

    def whole(state: list) -> list:
        made = list(given)
        for place, one in zip(changing, state, strict=True):
            made[place] = one
        return made

    def step(state: list):
        values = whole(state[: len(changing)])
        variables.current.update(zip(changed, state[len(changing) :], strict=True))
        goes_on = c.call(condition, values)
        if len(goes_on) != 1:
            raise Refused(f"its condition has {len(goes_on)} results")
        following = c.call(body, values)
        return goes_on[0], [*(following[place] for place in changing), *(variables.current[node] for node in changed)]

    made = list(c.inputs)
    if not changing and not changed:
        raise Refused("it never changes its state")
    begun = [*(given[place] for place in changing), *(variables.begun(node) for node in changed)]
    after = repeat(begun, step, outside)
    for place, one in zip(changing, after, strict=False):
        made[place] = one
    variables.current.update(zip(changed, after[len(changing) :], strict=True))
    return made


def _passes(graph: Graph, ref: Ref) -> str | None:
    """Returns the argument that a result is, through nodes that pass it on; None for others."""
    for _ in range(100):
        if ref.index < 0:
            return ref.name
        node = graph.nodes.get(ref.name)
        if node is None or node.op not in ("Identity", "IdentityN") or ref.index >= len(node.inputs):
            return None
        ref = node.inputs[ref.index]
    return None
