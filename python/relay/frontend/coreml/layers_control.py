"""Branches and loops of neural networks, whose parts are networks, and layers of the owner's program."""

from __future__ import annotations

from ... import op
from ..._core import Expr
from ..shared.expressions import bounded, number
from ..shared.loops import Outside, choose, repeat
from ..shared.problems import Refused
from .conversion import Layer


def custom(c: Layer):
    raise Refused(
        f"the layer of the class {c.p.className!r} is code of an app",
        f"give its meaning: custom_operators={{{c.p.className!r}: function(inputs, attributes)}}",
    )


def _true(value: Expr) -> Expr:
    """Returns a truth value, which is a number in networks, without axes."""
    return op.reshape(op.not_equal(value, number(0.0, "float32")), [])


def branch(c: Layer):
    """Values that both networks compute, by the condition; those that only one computes stay inside."""
    importer, names = c.importer, list(c.node.outputs)
    known = importer.folded(c.x)
    parts = [c.message("ifBranch"), c.p.elseBranch]
    if known is not None:
        part = parts[0] if known.reshape(-1)[0] else parts[1]
        values = importer.network(c.node, part, importer.values) if part is not None else importer.values
        changed = _changed(importer, values)
        importer.values.update({name: values[name] for name in changed})
        return [values.get(name) if name in values else _missing(name) for name in names]
    sides = [importer.network(c.node, one, importer.values) if one is not None else dict(importer.values)
             for one in parts]  # fmt: skip
    both = [name for name in {**_changed(importer, sides[0]), **_changed(importer, sides[1])}
            if name in sides[0] and name in sides[1]]  # fmt: skip
    both = list(dict.fromkeys([*names, *both]))
    for name in names:
        if any(name not in one for one in sides):
            _missing(name)
    made = choose(_true(c.x), *([one[name] for name in both] for one in sides)) if both else []
    importer.values.update(zip(both, made, strict=True))
    return made[: len(names)]


def _missing(name: str):
    raise Refused(f"a network inside of it does not compute `{name}`")


def _changed(importer, values: dict) -> dict:
    return {name: None for name, one in values.items() if importer.values.get(name) is not one}


def loop(c: Layer):
    """Runs a network while a condition holds. Values that it computes anew are carried from step to step."""
    importer, p = c.importer, c.p
    body = c.message("bodyNetwork")
    most = bounded(p.maxLoopIterations, 1 << 40, "`maxLoopIterations`")
    first = dict(importer.values)
    if p.conditionNetwork is not None:
        first = importer.network(c.node, p.conditionNetwork, first)
    after = importer.network(c.node, body, first)
    if p.conditionNetwork is not None:
        after = importer.network(c.node, p.conditionNetwork, after)
    carried = [name for name, one in importer.values.items()
               if one is not None and after.get(name) is not one and name in after]  # fmt: skip
    if p.conditionNetwork is not None and p.conditionVar not in carried:
        carried.append(p.conditionVar)
    if p.conditionVar and p.conditionVar not in after:
        _missing(p.conditionVar)
    if not carried:
        raise Refused("it changes no value")
    outside = Outside()
    start = [first[name] if name in first else _missing(name) for name in carried]

    def step(state: list[Expr]):
        count, values = state[0], {**importer.values, **dict(zip(carried, state[1:], strict=True))}
        made = importer.network(c.node, body, values)
        if p.conditionNetwork is not None:
            made = importer.network(c.node, p.conditionNetwork, made)
        following = [made[name] for name in carried]
        goes_on = op.less(count, number(most, "int64")) if most else number(True, "bool")
        if p.conditionVar:
            test = state[1 + carried.index(p.conditionVar)] if p.conditionVar in carried else made[p.conditionVar]
            goes_on = op.logical_and(goes_on, _true(test))
        return goes_on, [op.add(count, number(1, "int64")), *following]

    made = repeat([number(0, "int64"), *start], step, outside)[1:]
    importer.values.update(zip(carried, made, strict=True))
    return []
