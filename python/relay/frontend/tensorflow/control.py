"""Control flow of TensorFlow 2: calls of functions, If, Case and While, whose bodies are functions of the model."""

from __future__ import annotations

from ... import op
from ..shared.known import Known
from ..shared.problems import Refused
from .conversion import Conversion
from .graph import Graph, Ref
from .loops import Outside, choose, repeat
from .values import FAILED, Function, number


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
    first, second = (c.call(_function(c, name), arguments) for name in ("then_branch", "else_branch"))
    return [FAILED] * len(first) if condition is FAILED else choose(condition, first, second)


def case(c: Conversion):
    branches, arguments = c.list("branches"), c.inputs[1:]
    if not branches or not all(isinstance(one, Function) for one in branches):
        raise Refused("it has no branches")
    results = [c.call(one, arguments) for one in branches]
    if c.value(0) is FAILED:
        return [FAILED] * len(results[0])
    index, made = op.reshape(c.expr(0), newshape=[]), results[-1]
    for place in reversed(range(len(results) - 1)):
        made = choose(op.equal(index, number(place, c.dtype(0))), results[place], made)
    if len(results) > 1:  # an index below 0 takes the last branch
        made = choose(op.less(index, number(0, c.dtype(0))), results[-1], made)
    return made


def while_(c: Conversion):
    condition, body = _function(c, "cond"), _function(c, "body")
    graph, outside = c.importer.body(body.name), Outside()
    if len(graph.results) != len(c.inputs):
        raise Refused(f"its body has {len(graph.results)} results for a state of {len(c.inputs)} values")
    constant = [_passes(graph, ref) == param for ref, param in zip(graph.results, graph.params, strict=False)]
    given = [outside.hold(one) if fixed else one for one, fixed in zip(c.inputs, constant, strict=True)]
    changing = [place for place, fixed in enumerate(constant) if not fixed]

    def whole(state: list) -> list:
        made = list(given)
        for place, one in zip(changing, state, strict=True):
            made[place] = one
        return made

    def step(state: list):
        values = whole(state)
        goes_on = c.call(condition, values)
        if len(goes_on) != 1:
            raise Refused(f"its condition has {len(goes_on)} results")
        following = c.call(body, values)
        return goes_on[0], [following[place] for place in changing]

    made = list(c.inputs)
    if not changing:
        raise Refused("it never changes its state")
    for place, one in zip(changing, repeat([given[place] for place in changing], step, outside), strict=True):
        made[place] = one
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
