"""TorchScript loops that append to their state, `rows = torch.cat((rows, made))`, with as many steps as a tensor has
rows.

Their steps are independent, so the loop becomes a scan over the step numbers, for any number of steps.
"""

from __future__ import annotations

import torch


def _only_use(value):
    """Returns (the node, the position of its operand) if a single node reads the value, otherwise (None, 0)."""
    uses = list(value.uses())
    return (uses[0].user, uses[0].offset) if len(uses) == 1 else (None, 0)


def _is_zero(value) -> bool:
    node = value.node()
    return node.kind() == "prim::Constant" and value.toIValue() == 0


def _is_appended(param, result) -> bool:
    """Returns true if the result is the parameter with rows appended, and nothing else reads the parameter."""
    node, place = _only_use(param)
    while node is not None and node.kind() in ("aten::to", "prim::ListConstruct") and place == 0:
        node, place = _only_use(node.output())
    if node is None or node.kind() != "aten::cat" or place != 0:
        return False
    return node.output().debugName() == result.debugName() and _is_zero(list(node.inputs())[1])


def appends(block, carried) -> bool:
    """Returns true if each value that the loop carries is appended to and empty at first, and the loop ends by its
    count."""
    _, *params = block.inputs()
    goes_on, *results = block.outputs()
    constant = goes_on.node().kind() == "prim::Constant" and goes_on.toIValue() is True
    return (
        constant
        and bool(carried)
        and all(isinstance(one, torch.Tensor) and one.dim() and one.shape[0] == 0 for one in carried)
        and all(map(_is_appended, params, results))
    )


def holds(condition) -> None:
    """Tells PyTorch that a condition holds, here and in the exported graph; torch._check would not be in the graph."""
    if isinstance(condition, torch.SymBool):
        torch.ops.aten._assert_scalar.default(condition, "sizes of TorchScript")


def scanned(count, carried, others: list, step) -> list:
    """Stacks the rows of step(i, carried, others) by a scan. carried: the values without rows.

    The rows have the sizes of those that they are appended to, which PyTorch cannot always infer.
    """

    def combine(i, *operands):
        made = step(i, operands)
        rows = []
        for one, empty in zip(made, carried, strict=True):
            for extent, wanted in zip(one.shape[1:], empty.shape[1:], strict=True):
                holds(extent == wanted)
            rows.append(one.reshape([-1, *empty.shape[1:]]).clone())
        return (i + 1, *rows)

    holds(count >= 1)  # the form of conditions on such sizes; without steps the program still returns no rows
    begin = torch.ops.aten.full.default([], 0, dtype=torch.int64)
    steps = torch.ops.aten.arange.default(count)
    _, *stacked = torch.ops.higher_order.scan(lambda i, _, *more: combine(i, *more), [begin], [steps], tuple(others))
    return [one.reshape([-1, *empty.shape[1:]]) for one, empty in zip(stacked, carried, strict=True)]
