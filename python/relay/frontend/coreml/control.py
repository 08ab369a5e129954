"""Control flow of ML programs: branches and loops whose bodies are blocks, states, and lists of tensors."""

from __future__ import annotations

import dataclasses

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import bounded, cast, known, number, shape_of
from ..shared.loops import Outside, choose, repeat
from ..shared.problems import Refused
from ..shared.values import Known
from . import functions as f
from .conversion import Operation, State, TensorList
from .operations import TYPES

MOST_LISTED = 1 << 20
_NO_STATES = "move the writing of states out of branches and loops"


def _parts(value, what: str) -> Expr:
    """Returns the expression that a value is."""
    if isinstance(value, Known) and value.dtype != "string":
        return value.expr()
    if isinstance(value, TensorList) and value.stack is not None:
        return value.stack
    if isinstance(value, Expr):
        return value
    raise Refused(f"{what} is a text, a state or an empty list", "carry tensors only")


def _like(value, made: Expr):
    return dataclasses.replace(value, stack=made) if isinstance(value, TensorList) else made


def cond(c: Operation):
    """A condition that is known at import selects a branch. The other one is not imported."""
    held = dict(c.importer.held)
    if c.is_known("pred"):
        return c.importer.block(c.node, 0 if c.elements("pred").reshape(-1)[0] else 1, [])
    condition = c.expr("pred")
    branches = [c.importer.block(c.node, number_, []) for number_ in (0, 1)]
    _refuse_writes(c, held)
    if len(branches[0]) != len(branches[1]):
        raise Refused(f"its branches have {len(branches[0])} and {len(branches[1])} results")
    if not branches[0]:
        return []
    parts = [[_parts(one, "a result of a branch") for one in side] for side in branches]
    made = choose(condition, *parts)
    return [_like(model, one) for model, one in zip(branches[0], made, strict=True)]


def _refuse_writes(c: Operation, held: dict) -> None:
    if any(held[name] is not one for name, one in c.importer.held.items()):
        raise Refused("a block of it writes a state", _NO_STATES)


def while_loop(c: Operation):
    initial = [_with_stack(one) for one in c.several("loop_vars")]
    held, outside = dict(c.importer.held), Outside()
    start = [_parts(one, "a value of the loop") for one in initial]

    def step(state: list[Expr]):
        values = [_like(model, one) for model, one in zip(initial, state, strict=True)]
        tested = c.importer.block(c.node, 0, values)
        if len(tested) != 1:
            raise Refused(f"its condition has {len(tested)} results")
        following = c.importer.block(c.node, 1, values)
        return _parts(tested[0], "its condition"), [_parts(one, "a value of the loop") for one in following]

    made = repeat(start, step, outside)
    _refuse_writes(c, held)
    return [_like(model, one) for model, one in zip(initial, made, strict=True)]


# --- states -----------------------------------------------------------------------------------------------------------
def _state(c: Operation, name: str) -> str:
    found = c.given(name)
    if not isinstance(found, State) or found.name not in c.importer.held:
        raise Refused(f"`{name}` is not a state that the model describes", "save the model again with coremltools")
    return found.name


def read_state(c: Operation):
    return cast(c.importer.held[_state(c, "input")], c.result()[1])


def write_state(c: Operation):
    return _written(c, _state(c, "input"), c.expr("data"))


def update_state(c: Operation):
    return _written(c, _state(c, "state"), c.expr("value"))


def _written(c: Operation, name: str, value: Expr):
    before = shape_of(c.importer.held[name])
    if shape_of(value) != before:
        raise Refused(f"the state `{name}` has the shape {before}, and {shape_of(value)} is written")
    c.importer.held[name] = value
    return [value] if c.node.outputs else []


# --- lists ------------------------------------------------------------------------------------------------------------
def make_list(c: Operation):
    shape = []  # of an element; -1 for sizes that are texts: names of open sizes
    for one in c.several("elem_shape"):
        known_ = isinstance(one, Known) and one.dtype != "string"
        shape += [int(size) for size in one.array.reshape(-1)] if known_ else [-1]
    count = bounded(c.count("init_length", 1, 0), MOST_LISTED, "`init_length`")
    grows = c.flag("dynamic_length", True)
    return _with_stack(TensorList(shape, TYPES[c.text("dtype", "fp32", tuple(TYPES))], count, grows=grows))


def _with_stack(found):
    """Returns a list with room for its elements, zero at first."""
    if not isinstance(found, TensorList) or found.stack is not None or any(one < 0 for one in found.shape):
        return found
    return dataclasses.replace(found, stack=op.zeros([found.count, *found.shape], dtype=found.dtype))


def _list(c: Operation) -> TensorList:
    found = c.given("ls")
    if not isinstance(found, TensorList):
        raise Refused("`ls` is not a list of tensors")
    return found


def _index(c: Operation, name: str) -> Expr:
    return op.reshape(cast(c.expr(name), "int32"), [1, 1])


def list_write(c: Operation):
    """Writes an element; a list grows if the position is known and behind its end."""
    found, value = _list(c), c.expr("value")
    value = cast(value, found.dtype)
    sizes = [known(one, "an element of a list") for one in shape_of(value)]
    if found.stack is None:
        found = _with_stack(dataclasses.replace(found, shape=sizes))
    stack = found.stack
    if c.is_known("index"):
        place, count = int(c.elements("index").reshape(-1)[0]), shape_of(stack)[0]
        if isinstance(count, int) and place >= count:
            bounded(place, MOST_LISTED, "the length of a list")
            more = op.zeros([place + 1 - count, *sizes], dtype=found.dtype)
            stack = op.concatenate([stack, more], axis=0) if count else more
    elif found.grows:
        stack = _grown(stack, op.reshape(cast(c.expr("index"), "int64"), [1]), sizes, found.dtype)
    made = f.scattered_nd(stack, _index(c, "index"), op.expand_dims(value, axis=0), "update")
    return dataclasses.replace(found, stack=made)


def _grown(stack: Expr, index: Expr, sizes: list[int], dtype: str) -> Expr:
    """Returns elements with room for one at a position that is computed at run time."""
    count = op.strided_slice(op.shape_of(stack, dtype="int64"), begin=[0], end=[1], strides=[1], axes=[0])
    more = op.maximum(op.subtract(op.add(index, number(1, "int64")), count), number(0, "int64"))
    shape = op.concatenate([more, f.constants(sizes, "int64")], axis=0) if sizes else more
    return op.concatenate([stack, op.dyn.zeros(shape, dtype=dtype)], axis=0)


def _elements(c: Operation) -> Expr:
    found = _list(c)
    if found.stack is None:
        raise Refused("it reads a list in which nothing was written")
    return found.stack


def list_read(c: Operation):
    return op.take(_elements(c), op.reshape(cast(c.expr("index"), "int32"), []), axis=0, mode="clip")


def list_gather(c: Operation):
    return op.take(_elements(c), cast(c.expr("indices"), "int32"), axis=0, mode="clip")


def list_scatter(c: Operation):
    found, value = _list(c), c.expr("value")
    value = cast(value, found.dtype)
    sizes = [known(one, "an element of a list") for one in shape_of(value)[1:]]
    indices = cast(c.expr("indices"), "int32")
    stack = found.stack
    if c.is_known("indices"):
        most = int(np.max(c.elements("indices"), initial=-1)) + 1
        count = 0 if stack is None else shape_of(stack)[0]
        bounded(most, MOST_LISTED, "the length of a list")
        if isinstance(count, int) and most > count:
            more = op.zeros([most - count, *sizes], dtype=found.dtype)
            stack = op.concatenate([stack, more], axis=0) if count else more
    elif stack is None or shape_of(stack)[0] in (0, 1):
        stack = op.zeros([known(shape_of(value)[0], "a list"), *sizes], dtype=found.dtype)
    made = f.scattered_nd(stack, op.expand_dims(indices, axis=-1), value, "update")
    return dataclasses.replace(found, shape=sizes, stack=made)


def list_length(c: Operation):
    found = _list(c)
    count = found.count if found.stack is None else shape_of(found.stack)[0]
    if isinstance(count, int):
        return Known(np.asarray(count, np.int32))
    return op.take(op.shape_of(found.stack, dtype="int32"), number(0, "int32"), axis=0)
