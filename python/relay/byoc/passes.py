"""Passes that move parts of a program into functions for other compilers."""

from __future__ import annotations

import functools

from .. import _core
from .._core import IRModule
from ..ir.pass_infra import CorePass, Pass, PassInfo
from ..run.build_module import bind_params_by_name
from .tables import TABLES, get_pattern_table, takes


class _PartitionPass(Pass):
    def __init__(self, name: str, core_name: str, composites=(), compilers=(), module_name="default", bind=True):
        super().__init__(PassInfo(0, name))
        self._arguments = core_name, list(composites), list(compilers), module_name, bind

    def run(self, mod, ctx):
        return _core.partition_pass(mod, *self._arguments)


def MergeComposite(pattern_table: list[tuple]) -> Pass:
    """Replaces each match of a pattern by a function that is marked Composite=name. Rows are (name, pattern) or (name,
    pattern, check), where check(expr) may refuse a match. Earlier rows take precedence."""
    rows = []
    for row in pattern_table:
        if len(row) not in (2, 3):
            raise ValueError(f"a row of a pattern table must be (name, pattern) or (name, pattern, check), not {row!r}")
        rows.append((row[0], row[1]._core, row[2] if len(row) == 3 else None))
    return _PartitionPass("MergeComposite", "merge_composite", composites=rows)


def AnnotateTarget(targets: str | list[str], include_non_call_ops: bool = True) -> Pass:
    """Marks the calls that the compilers take, by annotation.compiler_begin and compiler_end: composite functions
    "compiler.name", and calls that relay.byoc.supports() accepts. Everything else is for "default". Tuples have no
    marks of their own, whatever include_non_call_ops is, because they separate no regions."""
    names = [targets] if isinstance(targets, str) else list(targets)
    checks = [(name, functools.partial(takes, name)) for name in names]
    return _PartitionPass("AnnotateTarget", "annotate_target", compilers=checks)


def PartitionGraph(mod_name: str = "default", bind_constants: bool = True) -> Pass:
    """Makes a global function of each marked region. Constants become part of it, or arguments."""
    return _PartitionPass("PartitionGraph", "partition_graph", module_name=mod_name, bind=bind_constants)


def partition(mod: IRModule, compiler: str, *, module_name: str = "default", bind_constants: bool = True) -> IRModule:
    """Returns the module with the parts that the compiler takes, first by the patterns of its table, in functions with
    Compiler=compiler."""
    table = get_pattern_table(compiler) if compiler in TABLES else []
    passes = [
        MergeComposite(table),
        AnnotateTarget([compiler]),
        CorePass(PassInfo(0, "MergeCompilerRegions"), "merge_compiler_regions"),
        PartitionGraph(module_name, bind_constants),
    ]
    for one in passes:
        mod = one(mod)
    return mod


def partition_for_accelerator(mod: IRModule, params: dict | None = None) -> IRModule:
    """Returns the module partitioned for the simulated accelerator: convolutions and dense layers of int8 with constant
    weights, and sums of their results. Requantisation is computed in fixed point (pass fixed_point_requantize).
    `params` become constants.

    Running the result needs the plugin librelay_external_accelerator.so. docs/accelerator.md describes the machine.
    """
    return _core.partition_for(_bound(mod, params), "accelerator")


def partition_for_dnnl(mod: IRModule, params: dict | None = None) -> IRModule:
    """Returns the module partitioned for oneDNN: contractions, the operators after them, and pools between them.
    `params` become constants.

    Compiling the result does not need oneDNN; running it needs the plugin librelay_external_dnnl.so.
    """
    return _core.partition_for(_bound(mod, params), "dnnl")


def _bound(mod: IRModule, params: dict | None) -> IRModule:
    if not params:
        return mod
    mod = mod.clone()
    mod["main"] = bind_params_by_name(mod["main"], params)
    return mod
