"""All ranks of a mesh in one program.

merged() makes one module of the modules of all ranks. A collective becomes ordinary operators between the ranks'
values: a sum, a concatenation, a slice. The evaluator then runs n ranks in lockstep, without processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core, op
from .._core import Call, Constant, Expr, Function, IRModule, Tuple, TupleGetItem, TupleType, Var
from ..errors import wrong_input
from ..ir.pass_infra import run_passes
from ..run.compiled import evaluate
from .collectives import is_collective, tree
from .mesh import Mesh, Sharding
from .partitioning import Partitioned
from .sequences import check_sequences
from .straight import Straight, chained, straight

_COMBINE = {"sum": op.add, "max": op.maximum, "min": op.minimum}
_OF_BOOLS = {"max": op.logical_or, "min": op.logical_and}


def _block(x: Expr, type_: Any, dim: int, at: int, n: int) -> Expr:
    size = int(type_.shape[dim]) // n
    return op.strided_slice(x, begin=[at * size], end=[(at + 1) * size], axes=[dim])


def _combined(call: Call, values: list[Expr]) -> Expr:
    combiner = call.attrs.get_str("combiner")
    table = _OF_BOOLS if str(call.args[0].checked_type.dtype) == "bool" else _COMBINE
    return tree(list(values), table[combiner])


def _result(call: Call, values: list[Expr], at: int, cache: dict) -> Expr:
    """Returns the result of a collective at place `at` of its group, from the values of all places."""
    name, attrs, type_, n = call.op.name, dict(call.attrs), call.args[0].checked_type, len(values)
    if name == "comm.all_gather":
        return cache.setdefault("whole", op.concatenate(Tuple(list(values)), axis=attrs["dim"]))
    if name == "comm.all_to_all":
        blocks = [_block(value, type_, attrs["split"], at, n) for value in values]
        return op.concatenate(Tuple(blocks), axis=attrs["join"])
    total = cache.setdefault("total", _combined(call, values))
    return total if name == "comm.all_reduce" else _block(total, type_, attrs["dim"], at, n)


class _Merger:
    """Builds the module of all ranks."""

    def __init__(self, mesh: Mesh, sources: list[Straight]):
        self.mesh, self.sources = mesh, sources
        self.now: list[dict[Expr, Expr]] = [{} for _ in sources]
        self.bound: list[tuple[Var, Expr]] = []

    def new(self, rank: int, expr: Expr) -> Expr:
        value = self.sources[rank].value(expr)
        return value if isinstance(value, Constant) else self.now[rank][value]

    def let(self, rank: int, step: Expr, value: Expr) -> None:
        variable = Var(f"rank{rank}")
        self.bound.append((variable, value))
        self.now[rank][step] = variable

    def local(self, rank: int, step: Expr) -> None:
        operands = [self.new(rank, one) for one in self.sources[rank].operands(step)]
        if isinstance(step, Tuple):
            self.now[rank][step] = Tuple(operands)
        elif isinstance(step, TupleGetItem):
            self.let(rank, step, TupleGetItem(operands[0], step.index))
        elif is_collective(step):  # comm.part needs no other rank
            attrs, at = dict(step.attrs), self.mesh.coordinates(rank)
            block = _block(operands[0], step.args[0].checked_type, attrs["dim"], at[attrs["axis"]], attrs["size"])
            self.let(rank, step, block)
        else:
            attributes = dict(step.attrs) if step.attrs else {}
            self.let(rank, step, _core.call(step.op.name, operands, attributes))

    def meet(self, calls: list[Call]) -> None:
        """Emits a collective, at which all ranks have arrived."""
        axis, caches = calls[0].attrs.get_str("axis"), {}
        for rank, call in enumerate(calls):
            group = self.mesh.group(rank, axis)
            values = [self.new(one, calls[one].args[0]) for one in group]
            cache = caches.setdefault(tuple(group), {})
            self.let(rank, call, _result(call, values, group.index(rank), cache))

    def run(self) -> None:
        todo = [iter(source.steps) for source in self.sources]
        while True:
            calls = [self._until_collective(rank, steps) for rank, steps in enumerate(todo)]
            if calls[0] is None:
                return
            self.meet(calls)

    def _until_collective(self, rank: int, steps) -> Call | None:
        for step in steps:
            if is_collective(step) and step.op.name != "comm.part":
                return step
            self.local(rank, step)
        return None


def merged(modules: IRModule | Sequence[IRModule], mesh: Mesh) -> IRModule:
    """Returns one module that runs the programs of all ranks. Its parameters are those of rank 0, then of rank 1, ..;
    its results are the results of all ranks likewise.

    modules: one for each rank, or one that all of them run. Their sequences of collectives must agree."""
    modules = [modules] * mesh.size if isinstance(modules, IRModule) else list(modules)
    check_sequences(modules, mesh)
    merger = _Merger(mesh, [straight(module["main"]) for module in modules])
    params = []
    for rank, source in enumerate(merger.sources):
        for param in source.params:
            variable = Var(f"{param.name_hint}@{rank}", param.checked_type)
            merger.now[rank][param] = variable
            params.append(variable)
    merger.run()
    results = []
    for rank, source in enumerate(merger.sources):
        result = merger.new(rank, source.result)
        type_ = source.result.checked_type
        fields = len(type_.fields) if isinstance(type_, TupleType) else 0
        results += [TupleGetItem(result, i) for i in range(fields)] if fields else [result]
    out = IRModule.from_expr(Function(params, chained(merger.bound, Tuple(results))))
    return run_passes(out, ["infer_type"])


def simulate(program: Partitioned, inputs: Sequence[np.ndarray], run=None) -> list[np.ndarray]:
    """Runs all ranks of a program on whole inputs, and returns the whole results.

    run(module, arrays): how to run the merged module; the evaluator by default. Parts that several ranks have must be
    equal, bit for bit."""
    module = merged(program.module, program.mesh)
    names = [param.name_hint for param in program.module["main"].params]
    whole = dict(zip([param.name_hint for param in program.whole["main"].params], inputs, strict=True))
    ranks = range(program.mesh.size)
    parts = [
        program.shardings.get(name, Sharding()).part(np.asarray(whole[name]), program.mesh, rank)
        for rank in ranks
        for name in names
    ]
    results = (run or evaluate)(module, parts)
    count = len(results) // program.mesh.size
    return [_joined(program, i, [np.asarray(results[rank * count + i]) for rank in ranks]) for i in range(count)]


def _joined(program: Partitioned, i: int, parts: list[np.ndarray]) -> np.ndarray:
    mesh, sharding = program.mesh, program.shardings.get(f"={i}", Sharding())
    shape = list(parts[0].shape)
    for d, axes in enumerate(sharding.dims):
        for axis in axes:
            shape[d] *= mesh.axes[axis]
    out = sharding.joined(parts, tuple(shape), mesh)
    for rank, part in enumerate(parts):
        if not np.array_equal(out[sharding.place(tuple(shape), mesh, rank)], part, equal_nan=part.dtype.kind == "f"):
            raise wrong_input(
                f"result {i} of rank {rank} differs from that of another rank with the same part",
                "report this program: ranks must agree",
            )
    return out
