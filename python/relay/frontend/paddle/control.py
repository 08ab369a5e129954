"""Control flow of PaddlePaddle: blocks as branches and loops, and lists of tensors (LoDTensorArray)."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import axis_of, cast, dtype_of, number, shape_of
from ..shared.lists import element_of, length, stack_of, written
from ..shared.loops import Outside, choose, condition_of, repeat
from ..shared.problems import Refused
from ..shared.values import Absent, Known, List, is_any
from .conversion import Operator, PaddleNode
from .program import Block, Operation

# Operators whose operands may be variables that nothing has written yet.
KINDS = ("write_to_array", "conditional_block", "conditional_block_infer", "while", "if")
_UNWRITTEN = Absent("a result of a branch that is never taken")


def _known_bool(value) -> bool | None:
    """Returns a condition that is known at import, or None."""
    if isinstance(value, Known) and not value.is_symbolic and value.array.size == 1:
        return bool(value.array.reshape(-1)[0])
    return None


def _reads(block: Block) -> set[str]:
    """Returns the variables that the operators of a block read, also in blocks inside of it, and its results."""
    found = set(block.results)
    for one in block.operations:
        found.update(one.reads)
        for inner in one.blocks:
            found |= _reads(inner)
    return found


def _writes(block: Block) -> dict[str, None]:
    """Returns the variables that the operators of a block write, in order."""
    found: dict[str, None] = {}
    for one in block.operations:
        found.update(dict.fromkeys(_written(one)))
        for inner in one.blocks:
            found.update(_writes(inner))
    return found


def _written(operation: Operation) -> list[str]:
    """Returns the variables that an operator writes: its results, and a list that it changes."""
    changed = operation.inputs.get("Array", []) if operation.kind == "write_to_array" else []
    return [*operation.writes, *changed]


def _run(c: Operator, block: Block, values: dict) -> dict:
    """Returns the variables after the block, if it begins with these."""
    importer = c.importer
    outer, problems = importer.values, importer.problems.count
    importer.values = dict(values)
    try:
        importer.run(block)
        made = importer.values
    finally:
        importer.values = outer
    if importer.problems.count != problems:
        raise Refused("an operator inside of it is not imported", "see the others")
    return made


def _block(c: Operator, place: int = 0) -> Block:
    blocks = c.operation.blocks
    if place >= len(blocks):
        raise Refused(f"it has {len(blocks)} blocks, and needs {place + 1}", "export the model again")
    return blocks[place]


def if_(c: Operator):
    """The JSON form: two blocks, whose results are those of the operator."""
    known, values = _known_bool(c.held("Cond")), c.importer.values
    branches = [None, None]
    for place in (0, 1) if known is None else (0,) if known else (1,):
        block = _block(c, place)
        made = _run(c, block, values)
        branches[place] = [_value(made, name) for name in block.results]
    if known is not None:
        return {"Out": branches[0 if known else 1]}
    return {"Out": choose(c.held("Cond"), *branches)}


def _value(values: dict, name: str):
    found = values.get(name)
    if found is None:
        raise Refused(f"nothing computes `{name}` inside of it", "export the model again")
    return found


def conditional_block(c: Operator):
    """The protobuf form: a block that runs if the condition holds. What it writes keeps its value otherwise.

    Results without a value before are made without a condition: `select_input` takes them or others, and only what it
    takes is computed.
    """
    c.ignore("is_scalar_condition", "skip_eager_deletion_vars")
    before, names = c.importer.values, c.operation.outputs.get("Out", [])
    condition = c.held("Cond")
    known = _known_bool(condition)
    if known is False:
        return {"Out": [before.get(name) or _UNWRITTEN for name in names]}
    after = _run(c, _block(c), before)
    made = {name: after.get(name) for name in names}
    kept = [name for name in names if name in before and made[name] is not None and made[name] is not before[name]]
    if known is None and kept:
        chosen = choose(condition, [made[name] for name in kept], [before[name] for name in kept])
        made.update(zip(kept, chosen, strict=True))
    return {"Out": [_UNWRITTEN if made[name] is None else made[name] for name in names]}


def select(importer, operations: Sequence[Operation], at: int) -> int:
    """Imports the selections that follow each other and have one condition, as one branch. Returns their number."""
    first, group = operations[at], []
    while at + len(group) < len(operations):
        one = operations[at + len(group)]
        mask = one.inputs.get("Mask")
        if one.kind != "select_input" or mask != first.inputs.get("Mask") or len(one.inputs.get("X", [])) != 2:
            break
        if group and any(name not in importer.values for name in one.reads):
            break
        group.append(one)
    group = group or [first]
    inputs = {"Mask": first.inputs.get("Mask", []), "X": [name for one in group for name in one.inputs.get("X", [])]}
    outputs = {"Out": [name for one in group for name in one.writes]}
    whole = Operation("select_input", first.place, inputs, outputs, first.attributes)
    names = [name for name in dict.fromkeys(whole.writes) if name in importer.used]
    importer.add(PaddleNode("select_input", whole.place, whole.reads, names, whole.attributes, whole))
    return len(group)


def select_input(c: Operator):
    """Selects a value: the first if the mask is 0."""
    mask, values = c.held("Mask"), c.every_held("X")
    if len(values) % 2 or not values:
        raise Refused(f"it selects one of {len(values)} values, not of two")
    known = _known_bool(mask)
    first, second = values[0::2], values[1::2]
    if known is not None:
        return {"Out": second if known else first}
    return {"Out": choose(mask, second, first)}


def _read_first(block: Block) -> set[str]:
    """Returns the variables that a block reads before it writes them."""
    found, written = set(), set()
    for one in block.operations:
        found.update(name for name in one.reads if name not in written)
        for inner in one.blocks:
            found |= _read_first(inner) - written
        written.update(_written(one))
    return found | {name for name in block.results if name not in written}


def _is_read_after(c: Operator, name: str, block: Block) -> bool:
    """Returns true if anything outside of the loop reads a variable."""
    importer = c.importer
    inside = read_counts(block)[name] + c.operation.reads.count(name)
    return name in importer.results or importer.reads[name] > inside


def read_counts(block: Block) -> collections.Counter:
    """Returns how often each variable is read."""
    found = collections.Counter(block.results)
    for one in block.operations:
        found.update(one.reads)
        for inner in one.blocks:
            found += read_counts(inner)
    return found


@dataclasses.dataclass
class _Loop:
    """A loop: the names of its state inside of the block, those of the values after a step, and what it begins with."""

    names: list[str]
    following: list[str]
    initial: list
    results: list[str]  # the variables that hold the state afterwards
    condition: str | None  # None: the first of `following` is the next condition


def _loop(c: Operator, block: Block) -> _Loop:
    before, outputs = c.importer.values, c.operation.outputs.get("Out", [])
    if block.arguments:  # the JSON form: the state has its own names inside of the block
        initial = c.every_held("X")
        if not len(block.arguments) == len(initial) == len(outputs) == len(block.results) - 1:
            counts = f"{len(block.arguments)} arguments, {len(initial)} operands, {len(block.results)} results"
            raise Refused(f"its block has {counts}", "export the model again")
        made = _Loop(list(block.arguments), block.results[1:], initial, list(outputs), None)
        kept = [at for at, name in enumerate(made.names) if name in _reads(block) or outputs[at] in c.importer.used]
        lists = [name for name in _writes(block) if name in before]  # changed in place
        return dataclasses.replace(
            made, names=[made.names[at] for at in kept] + lists, following=[made.following[at] for at in kept] + lists,
            initial=[initial[at] for at in kept] + [before[name] for name in lists],
            results=[outputs[at] for at in kept] + lists,
        )  # fmt: skip
    condition, first = c.operation.inputs["Condition"][0], _read_first(block)
    names = [
        name
        for name in _writes(block)
        if name != condition and ((name in before and name in first) or _is_read_after(c, name, block))
    ]
    return _Loop(names, names, [before.get(name) for name in names], names, condition)


def while_(c: Operator):
    """A loop. Its state are the condition and the variables that its block changes.

    A variable that the block writes before it reads it may begin as anything: it begins with zeros then.
    """
    c.ignore("is_test", "skip_eager_deletion_vars")
    block, before = _block(c), c.importer.values
    loop = _loop(c, block)
    outside, values = Outside(), dict(before)
    for name in sorted(_reads(block)):
        if name in values and name not in loop.names and name != loop.condition and values[name] is not None:
            values[name] = outside.hold(values[name])

    def step(state: list):
        now = {**values, **dict(zip(loop.names, state[1:], strict=True))}
        if loop.condition is not None:
            now[loop.condition] = state[0]
        after = _run(c, block, now)
        names = [block.results[0] if loop.condition is None else loop.condition, *loop.following]
        return state[0], [_value(after, name) for name in names]

    start, first = _scalar_bool(c.held("Condition")), _read_first(block)
    initial = loop.initial
    fresh = [at for at, name in enumerate(loop.names) if name not in first]
    if fresh:
        following = step([start, *initial])[1][1:]
        initial = [_begun(one, following[at]) if at in fresh else one for at, one in enumerate(initial)]
    made = repeat([start, *initial], step, outside)
    found = dict(zip(loop.results, made[1:], strict=True))
    c.importer.values.update((name, one) for name, one in found.items() if isinstance(one, List))
    if block.arguments:  # lists are changed in place
        pairs = zip(c.operation.inputs["X"], c.operation.outputs["Out"], strict=True)
        c.importer.values.update((name, found[to]) for name, to in pairs if isinstance(found.get(to), List))
    if loop.condition is not None:
        found[loop.condition] = made[0]
    return {"Out": [found.get(name, before.get(name)) for name in c.operation.outputs.get("Out", [])]}


def _begun(initial, following):
    """Returns a first value of the type of the next: the initial one if it fits."""
    if isinstance(following, Known):
        following = following.expr()
    if isinstance(following, List):
        return initial if isinstance(initial, List) else empty_list(following.dtype)
    if not isinstance(following, Expr):
        return following if initial is None else initial
    sizes, dtype = shape_of(following), dtype_of(following)
    if initial is not None and not isinstance(initial, (List, Absent)):
        own = initial.expr() if isinstance(initial, Known) else initial
        if len(shape_of(own)) == len(sizes) and dtype_of(own) == dtype:
            return own
    if any(is_any(one) for one in sizes):
        raise Refused("a variable that it first writes inside of its block has open sizes", "set it before the loop")
    return op.zeros(sizes, dtype=dtype)


def _scalar_bool(value):
    """Returns the first condition as an expression, because those that follow are not known."""
    made = value.expr() if isinstance(value, Known) else value
    return made if shape_of(made) else condition_of(made)


# --- lists of tensors -------------------------------------------------------------------------------------------------
def create_array(c: Operator):
    dtype = c.dtype_named("dtype", "float32")
    c.ignore("val")
    return empty_list(dtype)


def empty_list(dtype: str) -> List:
    """Returns a list without elements, which writes make longer."""
    return List(dtype, None, Known(np.asarray(0, np.int32)), None, True)


def _list(c: Operator, slot: str) -> List:
    found = c.held(slot)
    if not isinstance(found, List):
        raise Refused(f"its operand `{slot}` is not a list of tensors")
    return found


def _index(c: Operator, slot: str = "I") -> Expr:
    return op.reshape(c[slot], newshape=[])


def write_to_array(c: Operator):
    """The list is an operand, or what the result was before."""
    names = c.operation.outputs.get("Out", [])
    found = c.held("Array") if c.gives("Array") else c.importer.values.get(names[0]) if names else None
    if found is None:
        found = empty_list("float32")
    if not isinstance(found, List):
        raise Refused("it writes to a variable that is not a list of tensors")
    made = written(found, cast(_index(c), "int64"), c["X"])
    for name in c.operation.inputs.get("Array", []):  # the list itself is changed
        c.importer.values[name] = made
    return made


def read_from_array(c: Operator):
    return element_of(_list(c, "X"), _index(c))


def array_length(c: Operator):
    found = length(_list(c, "X"))
    return cast(found.expr() if isinstance(found, Known) else found, "int64")


def array_to_tensor(c: Operator):
    """The elements side by side along a new axis, or one after another along an axis that they have."""
    found = _list(c, "X")
    stack, is_stacked = stack_of(found), c.flag("use_stack", False)
    rank = len(shape_of(stack))
    axis = axis_of(c.int("axis", 0), rank if is_stacked else rank - 1)
    sizes = shape_of(stack)
    order = [*range(1, axis + 1), 0, *range(axis + 1, rank)]
    made = op.transpose(stack, axes=order) if axis else stack
    if not is_stacked:
        kept = sizes[1:]
        made = op.reshape(made, newshape=[*kept[:axis], -1, *kept[axis + 1 :]])
    count = length(found)
    count = cast(count.expr() if isinstance(count, Known) else count, "int64")
    own = number(1 if is_stacked or not isinstance(sizes[axis + 1], int) else sizes[axis + 1], "int32")
    index = op.dyn.full(own, op.expand_dims(count, axis=0), dtype="int32")
    return {"Out": made, "OutIndex": index}


def nothing(c: Operator):
    c.ignore(*c.node.attributes)
    return {}
