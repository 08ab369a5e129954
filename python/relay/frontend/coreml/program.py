"""Imports a function of an ML program: its operations in order, in blocks that may contain others."""

from __future__ import annotations

from ...errors import told
from ..shared.problems import Refused
from .blobs import AGAIN
from .conversion import MessageNode, Operation, State
from .table import OPERATIONS
from .types import function_of

MOST_BLOCKS = 100  # inside each other


def run(importer, program, name: str, inputs: dict) -> dict:
    """Returns the outputs of a function by name."""
    function, block = function_of(program, name)
    values = {}
    for one in function.inputs:
        if one.type is not None and one.type.has("stateType"):
            values[one.name] = State(one.name)
        elif one.name in inputs:
            values[one.name] = inputs[one.name]
        else:
            importer.problems.record(f"the description of the model lacks the input `{one.name}`", "", AGAIN)
            values[one.name] = None
    with importer.using(OPERATIONS, Operation, values):
        results = block_results(importer, block, "")
    made = {}
    for output, value in zip(block.outputs, results, strict=True):
        if value is not None and importer.as_expr(value) is not None:
            made[output] = importer.as_expr(value)
    return made


def block_results(importer, block, within: str) -> list:
    """Imports the operations of a block; returns its results, None for those that failed."""
    if within.count(" / ") > MOST_BLOCKS:
        raise told("limit_exceeded", f"blocks are nested more than {MOST_BLOCKS} levels deep", AGAIN)
    for operation in block.operations:
        _add(importer, operation, within)
    made = []
    for name in block.outputs:
        if name not in importer.values:
            importer.problems.record(f"nothing computes the output `{name}`", "", AGAIN)
        made.append(importer.values.get(name))
    return made


def _add(importer, operation, within: str) -> None:
    outputs = [one.name for one in operation.outputs]
    place = f"{within}{operation.type} '{outputs[0] if outputs else ''}'"
    problems = importer.problems
    try:
        if operation.type == "const":
            value = operation.attributes.get("val")
            if value is None or len(outputs) != 1:
                raise Refused("const: it has no value", AGAIN)
            importer.values[outputs[0]] = importer.constants.value(value)
            return
        attributes = {name: importer.constants.value(one) for name, one in operation.attributes.items()
                      if name != "name"}  # fmt: skip
        inputs, names = {}, []
        for name, argument in operation.inputs.items():
            parts = []
            for one in argument.arguments if argument is not None else []:
                if one.has("value"):
                    parts.append(importer.constants.value(one.value))
                else:
                    names.append(one.name)
                    parts.append(importer.values.get(one.name))
            inputs[name] = parts[0] if len(parts) == 1 and name not in _LISTS else parts
    except Refused as reason:
        problems.record(f"{operation.type}: {reason}", f", first in `{place}`", reason.help)
        importer.values.update(dict.fromkeys(outputs))
        return
    importer.add(MessageNode(operation.type, place, names, outputs, {**attributes, **inputs}, operation))


_LISTS = ("values", "loop_vars", "elem_shape", "ref_tensors", "begins", "ends", "end_masks")


def inlined(importer, node, number: int, arguments: list) -> list:
    """Returns the results of a block of an operation on these arguments."""
    blocks = node.message.blocks
    if number >= len(blocks):
        raise Refused(f"it has {len(blocks)} blocks, and needs {number + 1}", AGAIN)
    block = blocks[number]
    if len(block.inputs) != len(arguments):
        raise Refused(f"a block with {len(block.inputs)} inputs gets {len(arguments)}", AGAIN)
    values = dict(importer.values)
    values.update({one.name: value for one, value in zip(block.inputs, arguments, strict=True)})
    before = importer.problems.count
    with importer.using(OPERATIONS, Operation, values):
        made = block_results(importer, block, f"{node.place} / ")
    if importer.problems.count != before or any(one is None for one in made):
        raise Refused("an operation inside of it is not imported", "see the others")
    return made
