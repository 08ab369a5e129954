"""Shardings of all values of a program, from those of its parameters and results.

    module = propagate_shardings(annotate(module, Mesh(data=4), {"x": "{data}, {}"}))
    print(module.astext())                  let %dense = nn.dense(%x, %w);
                                            let %dense_sharded = distribute.sharding(%dense, sharding="{data}, {}");

The pass writes an annotation behind each value that is not whole. `partition` follows annotations, so that a program
can be looked at, and changed, before it is divided.
"""

from __future__ import annotations

from .. import _core
from .._core import Call, Expr, Function, IRModule, TensorType, TupleGetItem
from ..ir.pass_infra import run_passes
from .annotations import ANNOTATION, PRODUCED, annotations
from .mesh import Sharding, State
from .partitioning import Axis, check_annotations, check_sizes
from .straight import rebuilt, straight


def propagate_shardings(module: IRModule, *, stored: set[str] | None = None) -> IRModule:
    """Returns the module with the sharding of each value that is not whole, as annotations. Values that have one keep
    it. The arguments are those of relay.distribute.partition, which divides the result as the module itself."""
    mesh, shardings = annotations(module)
    module = run_passes(module, ["infer_type"])
    check_sizes(module)
    check_annotations(module, mesh)
    values = _values(module["main"])
    states: dict[int, dict[str, State]] = {number: {} for number in values.values()}
    now = _with(module, lambda value, number: _core.call(PRODUCED, [value], {"number": number}), values)
    for axis, size in mesh.sizes:
        if size == 1:
            continue
        divided = Axis(now, axis, size, 0, stored or set())
        now = divided.run({name: sharding.state(axis) for name, sharding in shardings.items()})
        for number, state in divided.produced.items():
            states[number][axis] = state
    ranks = {number: len(step.checked_type.shape) for step, number in values.items()}
    found = {number: Sharding.of_states(states[number], ranks[number]) for number in ranks}
    found = {number: one for number, one in found.items() if any(one.dims) or one.partial}
    annotated = {step: number for step, number in values.items() if number in found}
    return _with(module, lambda value, n: _core.call(ANNOTATION, [value], {"sharding": str(found[n])}), annotated)


def _values(main: Function) -> dict[Expr, int]:
    """Returns the steps that yield a tensor by computing it and have no annotation, with a number for each."""
    source = straight(main)
    done = {source.operands(step)[0] for step in source.steps if isinstance(step, Call) and step.op.name == ANNOTATION}
    found: dict[Expr, int] = {}
    for step in source.steps:
        is_field = isinstance(step, TupleGetItem) and isinstance(source.operands(step)[0], Call)
        is_call = isinstance(step, Call) and step.op.name != ANNOTATION
        if (is_call or is_field) and isinstance(step.checked_type, TensorType) and step not in done:
            found[step] = len(found)
    return found


def _with(module: IRModule, mark, steps: dict[Expr, int]) -> IRModule:
    """Returns the module with mark(value, number) in place of the values of steps that have a number."""

    def change(step: Expr, _, let, keep) -> Expr:
        made = keep()
        return let(f"{made.name_hint}_sharded", mark(made, steps[step])) if step in steps else made

    out = module.clone()
    out["main"] = rebuilt(module["main"], change)
    return run_passes(out, ["infer_type"])
