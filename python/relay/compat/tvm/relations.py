"""Kinds of types, and relations between types as objects: TypeVar(name, kind), IncompleteType(kind), TypeRelation.

Relations of operators are functions in their files. A TypeRelation names one of them. check_kind() and the solver of
relay.analysis._ffi_api._test_type_solver() read it.
"""

from __future__ import annotations

import relay as _relay
from relay import CompileError, TypeKind

# The kinds of type variables and incomplete types, unless it is Type.
_KINDS: dict = {}


def kind_of(type_) -> TypeKind:
    """Returns the kind of a type variable or an incomplete type."""
    return _KINDS.get(type_, TypeKind.Type)


def _stands_for(name: str, core: type, doc: str, make):
    """Returns a class that makes instances of another. isinstance() is delegated to the other."""

    class _Meta(type):
        def __instancecheck__(cls, value) -> bool:
            return isinstance(value, core)

        def __subclasscheck__(cls, other) -> bool:
            return issubclass(other, core)

    return _Meta(name, (), {"__new__": make, "__doc__": doc})


def _type_var(cls, name_hint: str, kind: TypeKind = TypeKind.Type):
    made = _relay.TypeVar(name_hint)
    if kind != TypeKind.Type:
        _KINDS[made] = TypeKind(kind)
    return made


def _incomplete(cls, kind: TypeKind = TypeKind.Type):
    made = _relay.IncompleteType()
    if kind != TypeKind.Type:
        _KINDS[made] = TypeKind(kind)
    return made


class TypeConstraint:
    """A constraint on types."""


class TypeRelation(TypeConstraint):
    """A relation by its name, on types. The first num_inputs are inputs, the others are results."""

    def __init__(self, func, args, num_inputs: int, attrs=None):
        self.func, self.args, self.num_inputs, self.attrs = func, list(args), num_inputs, attrs
        self.span = None

    def _key(self) -> tuple:
        return self.func, self.num_inputs, self.attrs

    def __eq__(self, other) -> bool:
        return isinstance(other, TypeRelation) and self._key() == other._key() and self.args == other.args

    def __hash__(self) -> int:
        return hash((self.func, self.num_inputs))

    def same_as(self, other) -> bool:
        """Returns true for the same object."""
        return self is other

    def __repr__(self) -> str:
        return f"{self.func.name.rpartition('.')[2]}({', '.join(map(str, self.args))})"

    astext = __repr__


class ConstrainedFuncType:
    """A function type with relations between its parts. Inference ignores them, because operators have their own."""

    def __init__(self, arg_types, ret_type, type_params, type_constraints):
        self.arg_types, self.ret_type = list(arg_types), ret_type
        self.type_params, self.type_constraints = list(type_params or []), list(type_constraints or [])
        self.span = None

    def plain(self):
        """Returns the type without the relations. A missing result is ()."""
        return _relay.FuncType(self.arg_types, self.ret_type or _relay.TupleType([]), self.type_params)

    def __eq__(self, other) -> bool:
        if not isinstance(other, ConstrainedFuncType) or len(self.type_constraints) != len(other.type_constraints):
            return False
        pairs = zip(self.type_constraints, other.type_constraints, strict=True)
        return self.plain() == other.plain() and all(a == b for a, b in pairs)

    def __hash__(self) -> int:
        return hash(self.plain())

    def __repr__(self) -> str:
        return f"{self.plain()} where {', '.join(map(str, self.type_constraints))}"

    astext = __repr__


class _IsFuncType(type):
    def __instancecheck__(cls, value) -> bool:
        return isinstance(value, (_relay.FuncType, ConstrainedFuncType))


class FuncType(metaclass=_IsFuncType):
    """FuncType([a, b], r) is fn (a, b) -> r."""

    def __new__(cls, arg_types, ret_type, type_params=None, type_constraints=None):
        if type_constraints or ret_type is None:
            return ConstrainedFuncType(arg_types, ret_type, type_params, type_constraints)
        if any(isinstance(one, ConstrainedFuncType) for one in [*arg_types, ret_type]):
            return ConstrainedFuncType(arg_types, ret_type, type_params, [])
        return _relay.FuncType(list(arg_types), ret_type, list(type_params or []))


TypeVar = _stands_for("TypeVar", _relay.TypeVar, "TypeVar(name, kind): a type variable.", _type_var)
IncompleteType = _stands_for("IncompleteType", _relay.IncompleteType, "A type to infer.", _incomplete)


# --- kinds ------------------------------------------------------------------------------------------------------------
def _wrong(what) -> CompileError:
    return CompileError(f"error: {what}")


def _expect(parts, kind: TypeKind, mod, whole) -> None:
    for part in parts:
        found = kind_checked(part, mod)
        if found != kind:
            raise _wrong(f"{part} in {whole} is of the kind {found.name}, not {kind.name}")


def _type_call(type_, mod) -> TypeKind:
    if not isinstance(type_.func, _relay.GlobalTypeVar):
        raise _wrong(f"{type_.func} is not the name of a type, so it takes no arguments")
    _expect(type_.args, TypeKind.Type, mod, type_)
    if mod is not None:
        known = {var.name_hint: definition for var, definition in mod.type_definitions.items()}
        definition = known.get(type_.func.name_hint)
        if definition is None:
            raise _wrong(f"the module defines no type {type_.func.name_hint}")
        if len(definition.type_vars) != len(type_.args):
            raise _wrong(f"{type_}: {type_.func.name_hint} takes {len(definition.type_vars)} types")
    return TypeKind.Type


def _type_data(data, mod) -> TypeKind:
    for constructor in data.constructors:
        if constructor.belong_to != data.header:
            raise _wrong(f"{constructor.name_hint} belongs to {constructor.belong_to}, not to {data.header}")
        _expect(constructor.inputs, TypeKind.Type, mod, constructor.name_hint)
    return TypeKind.TypeData


def kind_checked(type_, mod=None) -> TypeKind:
    """Returns the kind of a type. Raises CompileError if a part of it has a wrong kind."""
    if isinstance(type_, (_relay.TypeVar, _relay.IncompleteType)):
        return kind_of(type_)
    if isinstance(type_, _relay.GlobalTypeVar):
        return TypeKind.AdtHandle
    if isinstance(type_, _relay.TupleType):
        _expect(type_.fields, TypeKind.Type, mod, type_)
    elif isinstance(type_, (_relay.FuncType, ConstrainedFuncType)):
        _expect([*type_.arg_types, type_.ret_type], TypeKind.Type, mod, type_)
        _expect(getattr(type_, "type_constraints", ()), TypeKind.Constraint, mod, type_)
    elif isinstance(type_, _relay.RefType):
        _expect([type_.value], TypeKind.Type, mod, type_)
    elif isinstance(type_, TypeRelation):
        _expect(type_.args, TypeKind.Type, mod, type_)
        return TypeKind.Constraint
    elif isinstance(type_, _relay.TypeCall):
        return _type_call(type_, mod)
    elif isinstance(type_, _relay.TypeData):
        return _type_data(type_, mod)
    return TypeKind.Type
