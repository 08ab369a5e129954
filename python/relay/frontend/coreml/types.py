"""The functions of an ML program, and the types of its tensors."""

from __future__ import annotations

from ...errors import told
from ..shared.problems import Refused
from .blobs import AGAIN, dtype_of_type, sizes_of


def function_of(program, name: str):
    """Returns a function of a program, and its block for the set of operators that it names."""
    found = program.functions.get(name)
    if found is None:
        listed = ", ".join(list(program.functions)[:20]) or "none"
        raise told("bad_model", f"the program has no function `{name}`; its functions are {listed}", AGAIN)
    block = found.blocks.get(found.opset) or next(iter(found.blocks.values()), None)
    if block is None:
        raise told("bad_model", f"the function `{name}` has no block of operations", AGAIN)
    return found, block


def declared(about) -> tuple[list[int | None], str]:
    """Returns the sizes, None for open ones, and the element type of a tensor's type."""
    about = about.stateType.wrappedType if about is not None and about.has("stateType") else about
    if about is None or not about.has("tensorType"):
        raise Refused("a type of it is not that of a tensor", AGAIN)
    dtype = dtype_of_type(about.tensorType.dataType)
    if dtype == "string":
        raise Refused("a type of it is that of texts", "turn them into numbers before the model")
    return sizes_of(about.tensorType), dtype
