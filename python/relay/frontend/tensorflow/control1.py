"""Control flow of TensorFlow 1. Switch and Merge around branches become an `if`; the nodes of a frame become a loop.

A Switch passes its data to one of two results, by a predicate; a Merge takes whichever of its inputs was computed. The
predicate of a Merge is the one under which its inputs are computed: data and control edges lead from a Switch to each
of them. A loop has, for each value of its state, Enter -> Merge -> Switch -> Exit, and NextIteration back to Merge.
"""

from __future__ import annotations

import dataclasses

from ...errors import told
from ..shared.loops import Outside, choose, repeat
from ..shared.problems import Refused
from ..shared.values import FAILED, Absent
from .control import known_bool
from .graph import CONTROL, Graph, Node, Ref
from .scope import Scope

_INDEX = Absent("the number of the input that a Merge took")


@dataclasses.dataclass
class Variable:
    """A value of a loop's state. `exit` and `switch` are None if nothing reads it after the loop, or ever."""

    enter: Node
    merge: Node
    next: Node
    switch: Node | None
    exit: Node | None


def needs(importer, scope, node: Node) -> list[Ref]:
    """Returns the results that a node of control flow needs next."""
    kind = CONTROL[node.op]
    if kind == "Enter":
        return []
    if kind == "Switch":
        return node.inputs[:1]
    if kind == "Exit":
        return [one.enter.inputs[0] for one in _loop_of(importer, scope, node)[1]]
    if kind == "Merge":
        if _next_of(scope.graph, node) is not None:
            raise _outside(node)
        predicate, places = _predicate(importer, scope.graph, node)
        if predicate.name not in scope.values and predicate.index >= 0:
            return [predicate]
        known = known_bool(scope.get(predicate, node))
        return node.inputs if known is None else [node.inputs[places[known]]]
    return node.inputs


def convert(importer, scope, node: Node):
    """Returns the results of a node of control flow."""
    kind = CONTROL[node.op]
    if kind == "Enter":
        return [_entered(importer, scope, node)]
    if kind == "Switch":
        data = scope.get(node.inputs[0], node)
        return [data, data]
    if kind == "Merge":
        return _merged(importer, scope, node)
    if kind == "Exit":
        return _run(importer, scope, node)
    return [scope.get(node.inputs[0], node)]


def _bad(message: str):
    return told("bad_model", message, "save the model again with TensorFlow")


def _outside(node: Node):
    return _bad(f"{node} belongs to a loop, and a node outside of it reads its result")


def _entered(importer, scope, node: Node):
    """Returns the value that enters a loop, as its steps see it."""
    frame = _frame_name(node)
    if scope.parent is None or scope.frame != frame:
        raise _outside(node)
    ref = node.inputs[0]
    importer.evaluate(scope.parent, [ref])
    return scope.held.hold(scope.parent.get(ref, node))


def _frame_name(node: Node) -> str:
    found = node.attrs.get("frame_name")
    return str(bytes(found.s), "utf-8", "replace") if found is not None else ""


# --- branches ---------------------------------------------------------------------------------------------------------
def _merged(importer, scope, node: Node):
    predicate, places = _predicate(importer, scope.graph, node)
    condition = scope.get(predicate, node)
    known = known_bool(condition)
    if known is not None:
        return [scope.get(node.inputs[places[known]], node), _INDEX]
    values = [scope.get(node.inputs[places[side]], node) for side in (True, False)]
    if condition is FAILED:
        return FAILED
    return [*choose(condition, [values[0]], [values[1]]), _INDEX]


def _predicate(importer, graph: Graph, node: Node) -> tuple[Ref, dict]:
    """Returns the predicate of a Merge, and the places of its inputs by the predicate's value."""
    if len(node.inputs) != 2:
        raise Refused(f"it has {len(node.inputs)} inputs, not two", "save the model again with TensorFlow 2")
    conditions = importer.shared(("conditions", id(graph)), lambda: Conditions(graph))
    first, second = (conditions.of_ref(ref) for ref in node.inputs)
    for predicate, side in first:
        if (predicate, not side) in second:
            return predicate, {side: 0, not side: 1}
    raise Refused(
        "its inputs are not computed under the two values of one predicate",
        "freeze the graph with its predicates as constants, or save the model again with TensorFlow 2",
    )


class Conditions:
    """The predicates, and their values, under which the nodes of a graph are computed."""

    def __init__(self, graph: Graph):
        self._graph, self._found = graph, {}

    def of_ref(self, ref: Ref) -> frozenset:
        if ref.index < 0:
            return frozenset()
        self._compute(ref.name)
        return self._at(ref)

    def _at(self, ref: Ref) -> frozenset:
        own = self._found[ref.name]
        node = self._graph.nodes[ref.name]
        if CONTROL.get(node.op) == "Switch" and len(node.inputs) == 2:
            predicate = self._origin(node.inputs[1])
            at = self._graph.nodes.get(predicate.name) if predicate.index >= 0 else None
            if at is None or CONTROL.get(at.op) != "LoopCond":
                return own | {(predicate, ref.index == 1)}
        return own

    def _origin(self, ref: Ref) -> Ref:
        """Returns the predicate itself, which Identity and inner Switches pass on."""
        for _ in range(100):
            node = self._graph.nodes.get(ref.name) if ref.index >= 0 else None
            if node is None or not node.inputs or (node.op != "Identity" and CONTROL.get(node.op) != "Switch"):
                return ref
            ref = node.inputs[0]
        return ref

    def _sources(self, node: Node) -> list[Ref]:
        inputs = node.inputs
        if CONTROL.get(node.op) == "Merge":
            inputs = [one for one in inputs if not self._is_back(one)]
        made = [one for one in inputs if one.index >= 0]
        return made + [Ref(name) for name in node.controls if name in self._graph.nodes]

    def _is_back(self, ref: Ref) -> bool:
        node = self._graph.nodes.get(ref.name) if ref.index >= 0 else None
        return node is not None and CONTROL.get(node.op) == "NextIteration"

    def _compute(self, name: str) -> None:
        stack, open_ = [name], set()
        while stack:
            at = stack[-1]
            if at in self._found:
                stack.pop()
                continue
            node = self._graph.nodes[at]
            sources = self._sources(node)
            missing = [one.name for one in sources if one.name not in self._found]
            if missing:
                open_.add(at)
                if any(one in open_ for one in missing):
                    raise _bad(f"{node} needs its own result: the graph has a cycle")
                stack += missing
                continue
            parts = [self._at(one) for one in sources]
            whole = frozenset().union(*parts)
            if CONTROL.get(node.op) == "Merge":  # either value of its predicate
                whole = frozenset(one for one in whole if (one[0], not one[1]) not in whole)
            self._found[at] = whole


# --- loops ------------------------------------------------------------------------------------------------------------
def _next_of(graph: Graph, merge: Node) -> Node | None:
    """Returns the NextIteration that a Merge reads, or None for a Merge of branches."""
    for ref in merge.inputs:
        node = graph.nodes.get(ref.name) if ref.index >= 0 else None
        if node is not None and CONTROL.get(node.op) == "NextIteration":
            return node
    return None


def _loop_of(importer, scope, node: Node) -> tuple[str, list[Variable], Node]:
    """Returns the frame of the loop that an Exit leaves, the values of its state, and its LoopCond."""
    graph = scope.graph
    switch = graph.nodes.get(node.inputs[0].name) if node.inputs else None
    if switch is None or CONTROL.get(switch.op) != "Switch" or len(switch.inputs) != 2:
        raise _bad(f"{node} does not follow the Switch of a loop")
    cond = graph.nodes.get(switch.inputs[1].name)
    if cond is None or CONTROL.get(cond.op) != "LoopCond":
        raise _bad(f"{node} leaves a loop without LoopCond")
    return importer.shared(("loop", id(graph), cond.name), lambda: _frame(graph, cond))


def _frame(graph: Graph, cond: Node) -> tuple[str, list[Variable], Node]:
    """Finds the state of a loop by its structure; names say nothing."""
    switches = {}
    for one in graph.users_of_kind("Switch"):
        if len(one.inputs) == 2 and one.inputs[1].name == cond.name:
            switches[one.inputs[0].name] = one
    exits = {one.inputs[0].name: one for one in graph.users_of_kind("Exit") if one.inputs}
    variables, frames = [], set()
    for name, switch in switches.items():
        merge = graph.nodes.get(name)
        following = _next_of(graph, merge) if merge is not None else None
        enters = [graph.nodes[ref.name] for ref in merge.inputs if ref.index >= 0] if merge is not None else []
        enters = [one for one in enters if CONTROL.get(one.op) == "Enter" and one.inputs]
        if following is None or not enters or not following.inputs:
            raise _bad(f"{switch} is not part of a whole loop: Enter, Merge, Switch, NextIteration")
        frames.add(_frame_name(enters[0]))
        variables.append(Variable(enters[0], merge, following, switch, exits.get(switch.name)))
    frame = frames.pop() if len(frames) == 1 else ""
    held = {one.merge.name for one in variables}
    for merge in graph.users_of_kind("Merge"):  # a value that nothing but the condition reads has no Switch
        following = _next_of(graph, merge)
        if following is None or merge.name in held or not following.inputs:
            continue
        enters = [graph.nodes[ref.name] for ref in merge.inputs if ref.index >= 0]
        enters = [one for one in enters if CONTROL.get(one.op) == "Enter" and _frame_name(one) == frame and one.inputs]
        if enters:
            variables.append(Variable(enters[0], merge, following, None, None))
    return frame, variables, cond


def _run(importer, scope, node: Node):
    """Imports the loop that an Exit leaves, and sets the results of all its Exits."""
    frame, variables, cond = _loop_of(importer, scope, node)
    outside = Outside()
    initial = [scope.get(one.enter.inputs[0], one.enter) for one in variables]
    fixed = [_is_fixed(scope.graph, one) for one in variables]
    given = [outside.hold(value) if same else value for value, same in zip(initial, fixed, strict=True)]
    changing = [place for place, same in enumerate(fixed) if not same]

    def step(state: list):
        inner = Scope(scope.graph, scope.arguments, scope, frame)
        inner.held = outside
        values = list(given)
        for place, one in zip(changing, state, strict=True):
            values[place] = one
        for one, value in zip(variables, values, strict=True):
            inner.values[one.merge.name] = [value, _INDEX]
            if one.switch is not None:
                inner.values[one.switch.name] = [value, value]
        after = [variables[place].next.inputs[0] for place in changing]
        importer.evaluate(inner, [cond.inputs[0], *after])
        return inner.get(cond.inputs[0], cond), [inner.get(ref, cond) for ref in after]

    made = list(given)
    results = repeat([given[place] for place in changing], step, outside)
    for place, one in zip(changing, results, strict=True):
        made[place] = one
    own = FAILED
    for one, value, first in zip(variables, made, initial, strict=True):
        if one.exit is None:
            continue
        kept = first if value is not FAILED and variables.index(one) not in changing else value
        if one.exit.name == node.name:
            own = [kept]
        else:
            scope.values[one.exit.name] = [kept]
    return own


def _is_fixed(graph: Graph, one: Variable) -> bool:
    """Returns true if each step passes the value on as it is."""
    ref = one.next.inputs[0]
    for _ in range(100):
        node = graph.nodes.get(ref.name) if ref.index >= 0 else None
        if node is None:
            return False
        if node is one.switch or node is one.merge:
            return True
        if node.op != "Identity" or not node.inputs:
            return False
        ref = node.inputs[0]
    return False
