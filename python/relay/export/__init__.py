"""Programs as texts of other compilers: StableHLO.

`program.py` visits the expressions of @main and calls a converter for each operator: `table.py` is the list of them.
"""

from __future__ import annotations

from .._core import Function, IRModule
from ..errors import not_supported
from ..transform import run_passes

__all__ = ["to_stablehlo"]

# Operators that are defined by others become these.
_PASSES = ["simplify_inference", "expand_composites", "dynamic_to_static", "infer_type"]


def to_stablehlo(program: IRModule | Function) -> str:
    """Returns the StableHLO text of a program, whose @main has constant sizes. Constants are part of the text.

    Tail-recursive functions become `while`, other functions are written in place of their calls.
    """
    return written(program)[0]


def written(program: IRModule | Function) -> tuple[str, Function]:
    """Returns the StableHLO text of a program, and the typed @main that it was made from."""
    from .program import Program
    from .writer import Unwritable

    if isinstance(program, Function):
        program = IRModule({"main": program})
    module = run_passes(program, _PASSES)
    try:
        return Program(module).text(), module["main"]
    except Unwritable as reason:
        raise not_supported(
            f"the program has no form in StableHLO: {reason}", "write this part in another form"
        ) from None
