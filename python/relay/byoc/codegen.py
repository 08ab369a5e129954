"""Code generators: the forms of code that a compiler's generator may return for a function."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

from .. import _core
from .._core import Function
from ..data.arrays import array
from ..data.callbacks import keep_function
from ..errors import bad_option

# The struct relay_external_array of runtime/relay_external.h.
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
    """A function in C, named by the function's global_symbol:

        int NAME(const relay_external_array* arrays, int32_t threads)

    `arrays` contains the inputs, the outputs, then `constants`. Each has data (aligned to 64 bytes, dense, row-major),
    shape and rank. The function returns 0 on success. The type is declared before the text. `compiler` compiles the
    text when a program is built, and the machine code becomes part of the program, for this machine only.
    """

    text: str
    constants: tuple = ()
    compiler: tuple = (os.environ.get("CC", "cc"), "-O3", "-march=native")

    def code(self, symbol: str) -> tuple:
        """Returns the code in the compiler's form."""
        import subprocess  # here, so that `import relay` stays fast
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder) / "code.c", Path(folder) / "code.so"
            source.write_text(_C_PRELUDE + self.text)
            command = [*self.compiler, "-shared", "-fPIC", "-o", str(made), str(source), "-lm"]
            try:
                done = subprocess.run(command, capture_output=True, text=True)
            except OSError as error:
                raise bad_option(
                    f"the C compiler {self.compiler[0]} cannot be run: {error.strerror}", "set CC, or pass compiler="
                ) from error
            if done.returncode != 0:
                lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"status {done.returncode}"]
                raise bad_option(f"the C compiler refuses the code of {symbol}: {lines[0]}", "correct the generator")
            return SharedObject(made.read_bytes(), self.constants).code(symbol)


@dataclasses.dataclass(frozen=True)
class SharedObject:
    """Machine code: the bytes of a shared object that exports a function like that of CSource."""

    content: bytes
    constants: tuple = ()

    def code(self, symbol: str) -> tuple:
        """Returns the code in the compiler's form."""
        return ("elf", symbol, self.content, [array(c) for c in self.constants])


@dataclasses.dataclass(frozen=True)
class LibraryCode:
    """A function that a library (src/relay/runtime/relay_external.h) makes from a payload and constants."""

    library: str
    payload: bytes
    constants: tuple = ()

    def code(self, symbol: str) -> tuple:
        """Returns the code in the compiler's form."""
        return (self.library, symbol, self.payload, [array(c) for c in self.constants])


def register_codegen(compiler: str, generate: Callable[[Function], object] | None = None):
    """Registers the code generator of a compiler. Without `generate`, returns a decorator.

    generate(function) is called for each function of a program with Compiler=compiler, typed, once for each
    compilation. It returns a CSource, a SharedObject, a LibraryCode, or a Python function that takes the inputs as
    NumPy arrays and returns the results. An exception that it raises becomes a diagnostic.
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
        raise TypeError(f"it returns {made!r}: expected a CSource, SharedObject, LibraryCode or function")

    _core.add_generator(compiler, code)
    return generate
