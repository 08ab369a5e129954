"""The importer of StableHLO: text, bytecode (through jaxlib), and programs of JAX.

`reader.py` reads the text into the structures of `syntax.py`. `graph.py` visits the operations and calls a converter
for each: `table.py` is the list of them.
"""

from __future__ import annotations

import os

from ..._core import IRModule
from ...errors import wrong_input

__all__ = ["from_stablehlo"]

_BYTECODE = b"ML\xefR"


def from_stablehlo(program: object, entry: str | None = None) -> IRModule:
    """Returns the module of a StableHLO program.

    program: a text, its bytes, the path of a file (.mlir, or bytecode), or a program of JAX: jax.jit(f).lower(..), or a
    jax.export.Exported. Bytecode is read by jaxlib, which must then be installed.
    entry: the function that becomes @main. Unset: @main, or else the first public function.
    """
    from .graph import Importer
    from .reader import read_module

    text, name = _text(program)
    return Importer(text, name, read_module(text, name)).module(entry)


def _text(program: object) -> tuple[str, str]:
    """Returns the text of a program and the name of its file, for messages."""
    if isinstance(program, str) and ("\n" in program or "{" in program):
        return program, "<text>"
    if isinstance(program, (str, os.PathLike)):
        name = os.fspath(program)
        try:
            with open(name, "rb") as file:
                return _decoded(file.read(), name), name
        except OSError as error:
            raise wrong_input(f"{name} cannot be read: {error.strerror}", "give the path of a file") from error
    if isinstance(program, (bytes, bytearray)):
        return _decoded(bytes(program), "<bytes>"), "<bytes>"
    if callable(getattr(program, "mlir_module", None)):  # jax.export.Exported
        return str(program.mlir_module()), "<jax>"
    if callable(getattr(program, "as_text", None)):  # jax.stages.Lowered
        return program.as_text("stablehlo"), "<jax>"
    raise wrong_input(
        f"a {type(program).__qualname__} is not a StableHLO program",
        "give a text, a path, bytes, or jax.jit(f).lower(..)",
    )


def _decoded(content: bytes, name: str) -> str:
    if not content.startswith(_BYTECODE):
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            help = "give a file of text or of bytecode"
            raise wrong_input(f"{name} is neither text nor MLIR bytecode ({error.reason})", help) from error
    try:
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import stablehlo
    except ImportError as error:
        help = "pip install jaxlib, or give the text of the module"
        raise wrong_input(f"{name} is MLIR bytecode, which jaxlib reads, and jaxlib is not installed", help) from error
    try:
        with ir.Context() as context:
            return str(stablehlo.deserialize_portable_artifact(context, content))
    except Exception as error:  # errors of MLIR's C++ code have no common class
        raise wrong_input(f"jaxlib cannot read {name}: {error}", "export the program again") from error
