"""The common part of the translator: problems, conversions of values, bindings."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from contextlib import contextmanager

import numpy as np

from .. import _core, op
from .._core import Constant, Expr, FuncType, Let, Span, TensorType, Tuple, TupleGetItem, TupleType, Type, Var
from ..errors import CompileError
from ..ir.expr import TupleWrapper, const
from .datatypes import LIST, TypeCall, define_types, is_list, registered
from .problems import File, Place, Problem, an
from .program import Program
from .values import PENDING, POISON, Clash, Closure, Sym, Unset, is_unknown


class Scope:
    """The names outside of a function: its closure, its globals, Python's builtins; and its file."""

    def __init__(self, function, file: File):
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._cells = dict(cells)
        self._globals = function.__globals__
        self._builtins = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
        self.file = file

    def find(self, name: str) -> tuple[bool, object]:
        """Returns true and the value, or false and None."""
        if name in self._cells:
            try:
                return True, self._cells[name].cell_contents
            except ValueError:
                return False, None
        for names in (self._globals, self._builtins):
            if name in names:
                return True, names[name]
        return False, None

    def names(self) -> list[str]:
        return [*self._cells, *self._globals]


@dataclasses.dataclass
class Frame:
    """The function that is translated: its scope, and the types of its results so far."""

    name: str
    scope: Scope
    result: Type | None = None
    result_place: Place | None = None
    declared: bool = False
    jumps: list = dataclasses.field(default_factory=list)  # of the loops around: (break, continue)


class Base:
    """State and helpers of the translator."""

    def __init__(self, program: Program):
        self.program = program
        self.problems: list[Problem] = []
        self.frames: list[Frame] = []
        self.bindings: list[list[tuple[Var, Expr]]] = [[]]
        self.depth = 0
        self.pending = 0  # recursive calls so far whose type was not known

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    # --- problems -----------------------------------------------------------------------------------------------------
    def place(self, node: ast.AST) -> Place:
        return self.frame.scope.file.place(node)

    def fail(self, code: str, message: str, node: ast.AST | Place, help: str, others=(), notes=()):
        """Records a problem, once for each place, and returns the value that stands for its result."""
        place = node if isinstance(node, Place) else self.place(node)
        if not any(one.code == code and one.place == place for one in self.problems):
            self.problems.append(Problem(code, message, place, help, list(others), list(notes)))
        return POISON

    def of_relay(self, error: CompileError, node: ast.AST):
        """Records a diagnostic of Relay at a node."""
        for one in error.diagnostics:
            self.fail(
                one.code,
                one.message,
                node,
                one.help,
                notes=[note for note in one.notes if not note.startswith("constraint")],
            )
        return POISON

    # --- expressions --------------------------------------------------------------------------------------------------
    @contextmanager
    def at(self, node: ast.AST):
        """Gives nodes that are made the place of a node of Python."""
        place = self.place(node)
        before = _core.set_place(Span(place.file, place.line, place.end_line, place.column, place.end_column))
        try:
            yield
        finally:
            _core.set_place(before if str(before) else None)

    def emit(self, make: Callable[[], Expr] | Expr, node: ast.AST):
        """Returns an expression with its type, or a tuple of a TupleWrapper's fields."""
        try:
            with self.at(node):
                expr = make() if callable(make) and not isinstance(make, Expr) else make
            if isinstance(expr, TupleWrapper):
                whole = self.bound("parts", self.emit(expr.astuple(), node))
                return whole if is_unknown(whole) else self.fields(whole)
            if not isinstance(expr, Expr):
                return expr
            typed = self.program.infer(expr)
            return Sym(typed, typed.checked_type)
        except CompileError as error:
            return self.of_relay(error, node)

    def bound(self, name: str, value):
        """Returns a value that is computed here and once: a variable."""
        if not isinstance(value, Sym) or isinstance(value.expr, (Var, Constant)):
            return value
        variable = Var(name, value.type)
        self.bindings[-1].append((variable, value.expr))
        return Sym(variable, value.type)

    def computed(self, expr: Expr, type_: Type, name: str) -> Sym:
        """Returns an expression of a known type, which inference does not see, as a variable."""
        variable = Var(name, type_)
        self.bindings[-1].append((variable, expr))
        return Sym(variable, type_)

    def fields(self, value: Sym) -> tuple:
        """Returns the fields of a tuple."""
        return tuple(Sym(TupleGetItem(value.expr, at), type_) for at, type_ in enumerate(value.type.fields))

    def in_scope(self, make: Callable[[], Callable[[], Expr] | None]) -> Callable[[], Expr] | None:
        """Returns the tail that make() returns, behind the variables that it binds."""
        self.bindings.append([])
        try:
            body = make()
        finally:
            bound = self.bindings.pop()
        return None if body is None else lambda: wrapped(bound, body())

    # --- values -------------------------------------------------------------------------------------------------------
    def sym(self, value, node: ast.AST, dtype: str | None = None, type_: Type | None = None):
        """Returns a value as an expression. dtype: of a plain number. type_: what is expected, for an empty list."""
        if isinstance(value, Sym) or is_unknown(value):
            return value
        if isinstance(value, TupleWrapper):
            value = self.emit(value, node)
        if isinstance(value, (Unset, Clash)):
            return self.unusable("a value", value, node)
        if isinstance(value, Expr):
            return self.emit(value, node)
        if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
            return self.number_sym(value, node, dtype)
        if isinstance(value, tuple):
            return self.tuple_sym(value, node, type_)
        if isinstance(value, list):
            return self.list_sym(value, node, type_)
        data_type = getattr(type(value), "__relay_type__", None)
        if data_type is not None:
            return self.construct(
                type(value), [getattr(value, name) for name in data_type.cases[type(value)].fields], node
            )
        if isinstance(value, Closure) and type_ is not None and isinstance(type_, FuncType):
            return self.function_value(value, node, type_)
        if hasattr(value, "__relay_parameter__"):
            return self.emit(value.__relay_parameter__(), node)
        if hasattr(value, "__dlpack__"):
            return self.number_sym(np.from_dlpack(value), node, dtype)
        what = "None" if value is None else f"a {type(value).__name__}"
        if isinstance(value, Closure) or callable(value):
            what = "a function"
        return self.fail(
            "P0207",
            f"{what} is not a value of a program",
            node,
            "use arrays, numbers, tuples, lists, and instances of a relay.data_type",
        )

    def number_sym(self, value, node: ast.AST, dtype: str | None):
        try:
            with self.at(node):
                made = const(value, dtype)
        except CompileError as error:
            return self.of_relay(error, node)
        array = made.data.numpy() if isinstance(made.data, _core.Array) else made.data
        return Sym(made, TensorType(tuple(array.shape), str(made.data.dtype)))

    def tuple_sym(self, value: tuple, node: ast.AST, type_: Type | None):
        wanted = (
            type_.fields if isinstance(type_, TupleType) and len(type_.fields) == len(value) else [None] * len(value)
        )
        parts = [self.sym(one, node, type_=kind) for one, kind in zip(value, wanted, strict=True)]
        if is_unknown(*parts):
            return PENDING if PENDING in parts else POISON
        return Sym(Tuple([one.expr for one in parts]), TupleType([one.type for one in parts]))

    def list_sym(self, value: list, node: ast.AST, type_: Type | None):
        wanted = type_.args[0] if type_ is not None and is_list(type_) else None
        parts = [self.sym(one, node, type_=wanted) for one in value]
        if is_unknown(*parts):
            return PENDING if PENDING in parts else POISON
        if not parts and wanted is None:
            return self.fail(
                "P0207",
                "the type of an empty list is not known here",
                node,
                'annotate the variable: xs: list["Tensor[(3), float32]"] = []',
            )
        element = parts[0].type if parts else wanted
        for one in parts:
            if one.type != element:
                return self.fail(
                    "P0207",
                    f"a list has elements of the types {element} and {one.type}",
                    node,
                    "give elements of one type, or write a tuple",
                )
        nil, cons = self.list_constructors(element)
        out: Expr = nil()
        for one in reversed(parts):
            out = cons(one.expr, out)
        return self.computed(out, TypeCall(LIST, [element]), "list")

    def list_constructors(self, element: Type) -> tuple:
        """Returns Nil and Cons."""
        define_types(TypeCall(LIST, [element]), self.program.types)
        by_name = {one.name_hint: one for one in self.program.types["List"].constructors}
        return by_name["Nil"], by_name["Cons"]

    def construct(self, cls: type, values: list, node: ast.AST):
        """Returns a value of a data type."""
        data_type = cls.__relay_type__
        data_type.define(self.program.types)
        constructor = data_type.constructor(cls)
        names = data_type.cases[cls].fields
        if len(values) != len(names):
            return self.fail(
                "P0209",
                f"{cls.__name__} has {len(names)} fields, {len(values)} are given",
                node,
                f"write {cls.__name__}({', '.join(names)})",
            )
        parts = []
        for name, value, wanted in zip(names, values, constructor.inputs, strict=True):
            part = self.sym(value, node, _dtype_of_number(value, wanted), wanted)
            if isinstance(part, Sym) and part.type != wanted:
                part = self.fail(
                    "P0203",
                    f"`{name}` of {cls.__name__} must be {an(wanted)}, but is {an(part.type)}",
                    node,
                    "convert the value, or change the annotation of the field",
                )
            parts.append(part)
        if is_unknown(*parts):
            return PENDING if PENDING in parts else POISON
        return self.computed(constructor(*[one.expr for one in parts]), data_type.type, cls.__name__.lower())

    def unusable(self, name: str, value: Unset | Clash, node: ast.AST):
        """Reports the use of a variable that has no value, or none of one type."""
        if isinstance(value, Unset):
            return self.fail(
                "P0202",
                f"`{name}` may be unset here",
                node,
                f"give `{name}` a value before the branch or the loop",
                [(value.set_at, f"`{name}` is only set here")],
            )
        return self.fail(
            "P0203",
            f"`{name}` {value.message}",
            value.second[0],
            value.help,
            [value.first],
        )

    def cast(self, value: Sym, dtype: str, node: ast.AST):
        """Returns a tensor with another element type."""
        return value if value.dtype == dtype else self.emit(lambda: op.cast(value.expr, dtype=dtype), node)

    def data_type_of(self, value):
        return registered(value.type) if isinstance(value, Sym) else None


def _dtype_of_number(value, wanted: Type) -> str | None:
    is_number = isinstance(value, (bool, int, float))
    return str(wanted.dtype) if is_number and isinstance(wanted, TensorType) and not isinstance(value, bool) else None


def wrapped(bound: list[tuple[Var, Expr]], body: Expr) -> Expr:
    """Returns `let` for each variable in front of a body."""
    for variable, value in reversed(bound):
        body = Let(variable, value, body)
    return body


def assigned(statements: list[ast.stmt]) -> dict[str, ast.AST]:
    """Returns the variables that statements assign, each with the node of its last assignment."""
    found: dict[str, ast.AST] = {}

    def targets(node: ast.AST):
        if isinstance(node, ast.Name):
            found[node.id] = node
        elif isinstance(node, (ast.Tuple, ast.List)):
            for one in node.elts:
                targets(one)

    def walk(node: ast.AST):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            if isinstance(node, ast.FunctionDef):
                found[node.name] = node
            return
        if isinstance(node, ast.ListComp):
            return
        if isinstance(node, ast.Assign):
            for one in node.targets:
                targets(one)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.NamedExpr)):
            targets(node.target)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found[node.name] = node
        for child in ast.iter_child_nodes(node):
            walk(child)

    for statement in statements:
        walk(statement)
    return found


def jumps(statements: list[ast.stmt], kinds=(ast.Return, ast.Break, ast.Continue)) -> bool:
    """Returns true if statements leave the block early: by return, or by break or continue of a loop outside."""
    for one in statements:
        if isinstance(one, kinds):
            return True
        if isinstance(one, (ast.FunctionDef, ast.Lambda)):
            continue
        inner = (ast.Return,) if isinstance(one, (ast.While, ast.For)) else kinds
        inner = tuple(kind for kind in inner if kind in kinds)
        blocks = [getattr(one, "body", []), getattr(one, "orelse", [])] + [
            case.body for case in getattr(one, "cases", [])
        ]
        if any(jumps(block, inner) for block in blocks if isinstance(block, list)):
            return True
    return False
