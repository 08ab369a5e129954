"""Bring your own code generator: what a compiler of yours takes of a program.

    @relay.byoc.supports("other", "nn.dense")
    def dense(call):
        return call.checked_type.dtype == "float32"

    @relay.byoc.register_pattern_table("other")
    def table():
        return [("other.dense_relu", is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())))]

    @relay.byoc.register_codegen("other")
    def generate(function):
        return relay.byoc.CSource(...)

    mod = relay.byoc.partition(mod, "other")
    relay.compile(mod)

docs/byoc.md shows what comes out.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import _core
from ._core import Call, Function, IRModule, Op, post_order_visit
from .analysis import get_total_mac_number
from .arrays import array
from .callbacks import keep_function
from .errors import bad_option

__all__ = [
    "CSource",
    "LibraryCode",
    "Report",
    "SharedObject",
    "get_pattern_table",
    "partition",
    "partition_for_dnnl",
    "register_codegen",
    "register_pattern_table",
    "report",
    "supports",
    "takes",
]

_TABLES: dict[str, Callable[[], list]] = {}
_CHECKS: dict[tuple[str, str], Callable[[Call], bool]] = {}


def supports(compiler: str, op_name: str, check: Callable[[Call], bool] | None = None):
    """Says that the compiler takes calls of an operator that check(call) is true of. Without `check` a decorator."""
    if check is None:
        return lambda function: supports(compiler, op_name, function)
    Op.get(op_name)  # there is such an operator
    _CHECKS[compiler, op_name] = check
    return check


def takes(compiler: str, call: Call) -> bool:
    """Whether the compiler takes this call of an operator."""
    check = _CHECKS.get((compiler, call.op.name))
    return check is not None and bool(check(call))


def register_pattern_table(compiler: str, table: Callable[[], list] | None = None):
    """Registers a function that gives rows (name, pattern) or (name, pattern, check). Without `table` a decorator."""
    if table is None:
        return lambda function: register_pattern_table(compiler, function)
    _TABLES[compiler] = table
    return table


def get_pattern_table(compiler: str) -> list:
    """The table of a compiler."""
    if compiler not in _TABLES:
        known = ", ".join(sorted(_TABLES)) or "none"
        raise KeyError(
            f"there is no pattern table for {compiler}; there are: {known}. register_pattern_table() adds one"
        )
    return _TABLES[compiler]()


def partition(mod: IRModule, compiler: str, *, module_name: str = "default", bind_constants: bool = True) -> IRModule:
    """The module with what the compiler takes, patterns of its table first, in functions with Compiler=compiler."""
    from . import transform

    table = get_pattern_table(compiler) if compiler in _TABLES else []
    passes = [
        transform.MergeComposite(table),
        transform.AnnotateTarget([compiler]),
        transform.MergeCompilerRegions(),
        transform.PartitionGraph(module_name, bind_constants),
    ]
    for one in passes:
        mod = one(mod)
    return mod


# --- code ------------------------------------------------------------------------------------------------------------
# relay_external_array of runtime/relay_external.h.
_C_PRELUDE = """#include <stdint.h>
typedef struct relay_external_array {
  void* data;
  const int64_t* shape;
  int32_t rank;
  uint8_t type_code, type_bits;
} relay_external_array;
"""


@dataclasses.dataclass(frozen=True)
class CSource:
    """A function in C with the name of the function's global_symbol:

        int NAME(const relay_external_array* arrays, int32_t threads)

    `arrays`: the inputs, the outputs, then `constants`; each has data (aligned to 64 bytes, dense, row-major), shape
    and rank. 0: it has done its work. The type is declared in front. It is compiled by `compiler` when a program is
    built, and the machine code becomes part of the program, for this machine.
    """

    text: str
    constants: tuple = ()
    compiler: tuple = (os.environ.get("CC", "cc"), "-O3", "-march=native")

    def code(self, symbol: str) -> tuple:
        """As the compiler takes it."""
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder) / "code.c", Path(folder) / "code.so"
            source.write_text(_C_PRELUDE + self.text)
            command = [*self.compiler, "-shared", "-fPIC", "-o", str(made), str(source), "-lm"]
            try:
                done = subprocess.run(command, capture_output=True, text=True)
            except OSError as error:
                raise bad_option(
                    f"the C compiler {self.compiler[0]} cannot be run: {error.strerror}", "set CC, or give compiler="
                ) from error
            if done.returncode != 0:
                lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"status {done.returncode}"]
                raise bad_option(f"the C compiler refuses the code of {symbol}: {lines[0]}", "correct the generator")
            return SharedObject(made.read_bytes(), self.constants).code(symbol)


@dataclasses.dataclass(frozen=True)
class SharedObject:
    """Machine code: the bytes of a shared object that exports the function, as CSource describes it."""

    content: bytes
    constants: tuple = ()

    def code(self, symbol: str) -> tuple:
        """As the compiler takes it."""
        return ("elf", symbol, self.content, [array(c) for c in self.constants])


@dataclasses.dataclass(frozen=True)
class LibraryCode:
    """What a library (src/relay/runtime/relay_external.h) makes a function of: its name, a payload, constants."""

    library: str
    payload: bytes
    constants: tuple = ()

    def code(self, symbol: str) -> tuple:
        """As the compiler takes it."""
        return (self.library, symbol, self.payload, [array(c) for c in self.constants])


def register_codegen(compiler: str, generate: Callable[[Function], object] | None = None):
    """Registers the code generator of a compiler. Without `generate` a decorator.

    generate(function) is given each function of a program with Compiler=compiler, typed, once for each compilation. It
    gives a CSource, a SharedObject, a LibraryCode, or a function of Python that takes the inputs as arrays of NumPy and
    gives the results. What it raises becomes a diagnostic.
    """
    if generate is None:
        return lambda function: register_codegen(compiler, function)

    def code(function: Function) -> tuple:
        symbol = function.attrs["global_symbol"]
        made = generate(function)
        if isinstance(made, (CSource, SharedObject, LibraryCode)):
            return made.code(symbol)
        if callable(made):
            return ("python", symbol, keep_function(symbol, made), [])
        raise TypeError(f"it gives {made!r}: a CSource, SharedObject, LibraryCode or function is expected")

    _core.add_generator(compiler, code)
    return generate


# --- oneDNN ----------------------------------------------------------------------------------------------------------
def partition_for_dnnl(mod: IRModule, params: dict | None = None) -> IRModule:
    """The module with contractions, what follows them, and pools between them, for oneDNN. `params` become constants.

    What compiles the result needs nothing of oneDNN; what runs it needs the plugin librelay_external_dnnl.so.
    """
    if params:
        from .build_module import bind_params_by_name

        mod = mod.clone()
        mod["main"] = bind_params_by_name(mod["main"], params)
    return _core.partition_for(mod, "dnnl")


# --- what was taken --------------------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Row:
    """A function for a compiler, or what is left of the program ("relay")."""

    compiler: str
    symbol: str
    calls: int  # of operators
    macs: int  # multiply-adds; 0 where sizes are not numbers


class Report(list):
    """A Row for each function of a program that is for a compiler, and one for the rest. str() is a table."""

    def share(self, compiler: str) -> float:
        """The part of all multiply-adds that a compiler has, from 0 to 1."""
        return sum(row.macs for row in self if row.compiler == compiler) / max(1, sum(row.macs for row in self))

    def __str__(self) -> str:
        calls, macs = max(1, sum(row.calls for row in self)), max(1, sum(row.macs for row in self))
        lines = [f"{'compiler':<10} {'operators':>9} {'':>6} {'multiply-adds':>14} {'':>6}  function"]
        lines += [
            f"{row.compiler:<10} {row.calls:>9} {row.calls / calls:>6.1%} {row.macs:>14,} {row.macs / macs:>6.1%}  "
            f"{row.symbol}"
            for row in self
        ]
        return "\n".join(lines)


def _count(symbol: str, compiler: str, function: Function) -> Row:
    calls = 0

    def note(e):
        nonlocal calls
        calls += isinstance(e, Call) and isinstance(e.op, Op)

    post_order_visit(function, note)
    try:
        macs = get_total_mac_number(function)
    except ValueError:  # sizes that are known at run time
        macs = 0
    return Row(compiler, symbol, calls, macs)


def report(mod: IRModule) -> Report:
    """What compilers have of a program after partition()."""
    from .transform import InferType

    rows = Report()
    for var, function in InferType()(mod).functions.items():
        compiler = (function.attrs or {}).get("Compiler", "relay")
        rows.append(_count(var.name_hint, compiler, function))
    return rows
