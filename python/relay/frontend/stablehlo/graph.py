"""Imports the functions of a StableHLO text: parameters, operations in order, calls, results."""

from __future__ import annotations

from collections import ChainMap, Counter

from ..._core import Dim, Expr, Function, IRModule, Tuple, infer_expr
from ...errors import CompileError, wrong_input
from ...ir.expr import var
from ..shared.problems import Refused
from ..shared.provenance import Fates
from .conversion import Conversion
from .places import MOST_OPERATIONS, problem
from .sizes import follow
from .syntax import Func, Operation, Region, Tensor
from .table import ON_ELEMENTS, converter_of

_RETURNS = ("stablehlo.return", "func.return", "return")
_HELP = "replace it before the export, or add a converter (docs/stablehlo.md)"


class Importer:
    """The import of one text. name: that of the file, for messages."""

    def __init__(self, text: str, name: str, functions: dict[str, Func]):
        self.text, self.name, self.source = text, name, functions
        self.known: dict[Expr, list] = {}  # elements that are known at import: numbers and Dim
        self._fates = Fates()
        self._stack, self._count, self.is_on_elements = [], 0, False
        self._loops = Counter()

    # --- the module ---------------------------------------------------------------------------------------------------
    def module(self, entry: str | None) -> IRModule:
        """Returns the module whose @main is a function of the text: `entry`, or else the first public one."""
        self._refuse_missing()
        function = self._entry(entry)
        params = [self._parameter(name, type_, function) for name, type_ in function.body.args]
        results = self.call(function, params, function.offset)
        body = results[0] if len(results) == 1 else Tuple(results)
        infer_expr(body)
        functions = {"main": Function(params, body)}
        return IRModule(functions, attrs=self._fates.attrs(functions))

    def _entry(self, entry: str | None) -> Func:
        if entry is not None and entry not in self.source:
            names = ", ".join(f"@{one}" for one in self.source)
            raise wrong_input(f"{self.name} has no function @{entry}", f"its functions are {names}")
        if entry is None:
            public = [one.name for one in self.source.values() if one.is_public]
            entry = "main" if "main" in self.source else (public or list(self.source))[0]
        return self.source[entry]

    def _parameter(self, name: str, type_, function: Func):
        if not isinstance(type_, Tensor) or type_.dtype is None:
            shown = type_.element if isinstance(type_, Tensor) else type_.text
            raise self.error("unsupported_operator", f"%{name} has elements of type {shown}", _HELP, function.offset)
        sizes = [Dim(f"{name}_{axis}") if one is None else one for axis, one in enumerate(type_.shape)]
        return var(name, shape=sizes, dtype=type_.dtype)

    def _refuse_missing(self) -> None:
        """Refuses a text with operations that have no converter: all of them in one message."""
        counts, first = Counter(), {}
        pending = [function.body for function in self.source.values()]
        while pending:
            for one in pending.pop().operations:
                pending += one.regions
                if one.name not in _RETURNS and converter_of(one) is None:
                    what = one.name
                    if what == "stablehlo.custom_call":
                        callee = one.attrs.get("call_target_name", one.attrs.get("callee"))
                        what = f"stablehlo.custom_call @{getattr(callee, 'name', callee)}"
                    counts[what] += 1
                    first[what] = min(first.get(what, one.offset), one.offset)
        if counts:
            parts = [
                f"{what} ({count} times, first in line {self.text.count(chr(10), 0, first[what]) + 1})"
                if count > 1
                else f"{what} (line {self.text.count(chr(10), 0, first[what]) + 1})"
                for what, count in counts.most_common()
            ]
            message = f"the program uses operations without a converter: {', '.join(parts)}"
            raise self.error("unsupported_operator", message, _HELP, min(first.values()))

    def error(self, kind: str, message: str, help: str, offset: int) -> CompileError:
        return problem(kind, message, help, self.text, self.name, offset)

    def loop_name(self, stem: str) -> str:
        """Returns a new name for a function that the import makes."""
        self._loops[stem] += 1
        return f"{stem}_{self._loops[stem]}"

    # --- functions and regions ----------------------------------------------------------------------------------------
    def call(self, function: Func, args: list[Expr], offset: int) -> list[Expr]:
        """Converts a function on these arguments. Returns its results."""
        if function.name in self._stack:
            raise self.error("bad_model", f"@{function.name} calls itself", "use stablehlo.while", offset)
        if len(self._stack) > 50:
            raise self.error("limit_exceeded", "calls are nested more than 50 deep", "inline functions", offset)
        self._stack.append(function.name)
        try:
            return self.run(function.body, args, ChainMap(), offset)
        finally:
            self._stack.pop()

    def callee(self, name: str) -> Func:
        if name not in self.source:
            raise Refused(f"the function @{name} is not defined", "correct the text")
        return self.source[name]

    def run(self, region: Region, args: list[Expr], env: ChainMap, offset: int = 0) -> list[Expr]:
        """Converts the operations of a region. env: the values around it. Returns its results."""
        if len(args) != len(region.args):
            raise self.error(
                "bad_model", f"{len(args)} values for {len(region.args)} arguments", "correct the text", offset
            )
        inner = env.new_child({(name, 0): value for (name, _), value in zip(region.args, args, strict=True)})
        for operation in region.operations:
            if operation.name in _RETURNS:
                return [self._value(operation, one, inner) for one in operation.operands]
            self._convert(operation, inner)
        raise self.error("bad_model", "a region returns nothing", "end it with a return", offset)

    def run_on_elements(self, region: Region, args: list[Expr], env: ChainMap) -> list[Expr]:
        before, self.is_on_elements = self.is_on_elements, True
        try:
            return self.run(region, args, env)
        finally:
            self.is_on_elements = before

    def _value(self, operation: Operation, value: tuple[str, int], env: ChainMap) -> Expr:
        if value not in env:
            name, position = value
            shown = f"%{name}#{position}" if position else f"%{name}"
            raise self.error(
                "bad_model", f"{shown} is defined by no operation before", "correct the text", operation.offset
            )
        return env[value]

    def _convert(self, operation: Operation, env: ChainMap) -> None:
        self._count += 1
        if self._count > MOST_OPERATIONS:
            message = f"the program has more than {MOST_OPERATIONS} operations, counted in each call of a function"
            raise self.error("limit_exceeded", message, "export a smaller program", operation.offset)
        inputs = [self._value(operation, one, env) for one in operation.operands]
        line = self.text.count("\n", 0, operation.offset) + 1
        try:
            if self.is_on_elements and operation.name not in ON_ELEMENTS:
                raise Refused("it is inside a function of single elements that is neither a sum nor a comparison")
            with self._fates.of(f"{operation.name} line {line}"):
                c = Conversion(self, operation, inputs, env)
                made = converter_of(operation)(c)
            results = made if isinstance(made, list) else [made]
            follow(c, results)
            for one in results:
                infer_expr(one)
            self._check(operation, results)
        except Refused as reason:
            message = f"{operation.name} cannot be imported: {reason}"
            raise self.error("unsupported_operator", message, reason.help or _HELP, operation.offset) from reason
        except CompileError as error:
            first = error.diagnostics[0]
            if first.line is not None and first.file == self.name:
                raise
            message = f"{operation.name} cannot be imported: {first.message}"
            raise self.error("unsupported_operator", message, first.help or _HELP, operation.offset) from error
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:  # of attributes of wrong kinds
            message = f"{operation.name} has attributes that do not fit ({type(error).__name__}: {error})"
            raise self.error("bad_model", message, "correct the text", operation.offset) from error
        for name, one in zip(operation.results, results, strict=True):
            env[name] = one

    def _check(self, operation: Operation, results: list[Expr]) -> None:
        """Compares the types of the results with those in the text."""
        if len(results) != len(operation.results) and operation.results:
            raise Refused(
                f"it has {len(operation.results)} results, and should have {len(results)}", "correct the text"
            )
        if self.is_on_elements:
            return
        for one, stated in zip(results, operation.result_types, strict=False):
            found = infer_expr(one).checked_type
            sizes = list(getattr(found, "shape", []))
            if not isinstance(stated, Tensor):
                continue
            differs = len(sizes) != len(stated.shape) or any(
                isinstance(size, int) and wanted is not None and size != wanted
                for size, wanted in zip(sizes, stated.shape, strict=False)
            )
            if differs or (stated.dtype is not None and str(found.dtype) != stated.dtype):
                shown = "x".join("?" if size is None else str(size) for size in stated.shape)
                raise Refused(
                    f"its result is {found}, but the text states tensor<{shown}{'x' if shown else ''}{stated.element}>",
                    "correct the text; if StableHLO's own tools accept it, report it as a bug in Relay",
                )
