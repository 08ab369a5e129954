"""relay.analysis._ffi_api._test_type_solver(): unification and relations of types, step by step.

solver = _test_type_solver()
solver("AddRelation")(relation); solver("Unify")(a, b); solver("Solve")(); solver("Resolve")(a)

The compiler does the actual inference. This is the textbook algorithm on the same types, for programs that call it.
"""

from __future__ import annotations

import relay as _relay
from relay import CompileError, Dim

from .relations import ConstrainedFuncType, FuncType, TypeRelation

_FUNCTIONS = (_relay.FuncType, ConstrainedFuncType)


def _mismatch(a, b) -> CompileError:
    return CompileError(f"error: the types {a} and {b} cannot be unified")


class TypeSolver:
    """Incomplete types, their solutions, and relations that wait for them."""

    def __init__(self):
        self._known: dict = {}
        self._waiting: list[TypeRelation] = []

    def __call__(self, name: str):
        return {
            "Unify": self.unify,
            "Resolve": self.resolve,
            "AddRelation": self.add,
            "Solve": self.solve,
        }[name]

    def add(self, relation: TypeRelation) -> None:
        """Adds a relation."""
        self._waiting.append(relation)

    # --- what is known ---
    def _found(self, type_):
        while type_ in self._known:
            type_ = self._known[type_]
        return type_

    def resolve(self, type_):
        """Returns the type with the known solutions of its parts."""
        type_ = self._found(type_)
        if isinstance(type_, _relay.TupleType):
            return _relay.TupleType([self.resolve(field) for field in type_.fields])
        if isinstance(type_, _FUNCTIONS):
            args = [self.resolve(arg) for arg in type_.arg_types]
            constraints = getattr(type_, "type_constraints", None)
            return FuncType(args, self.resolve(type_.ret_type), type_.type_params, constraints)
        if isinstance(type_, _relay.RefType):
            return _relay.RefType(self.resolve(type_.value))
        if isinstance(type_, _relay.TypeCall):
            return _relay.TypeCall(self.resolve(type_.func), [self.resolve(arg) for arg in type_.args])
        return type_

    def _parts(self, type_):
        if isinstance(type_, _relay.TupleType):
            return type_.fields
        if isinstance(type_, _FUNCTIONS):
            return [*type_.arg_types, type_.ret_type]
        if isinstance(type_, _relay.RefType):
            return [type_.value]
        return [type_.func, *type_.args] if isinstance(type_, _relay.TypeCall) else []

    def _occurs(self, hole, type_) -> bool:
        type_ = self._found(type_)
        return type_ is hole or any(self._occurs(hole, part) for part in self._parts(type_))

    # --- unification ---
    def unify(self, a, b):
        """Returns the type that both are equal to."""
        a, b = self._found(a), self._found(b)
        if a is b:
            return self.resolve(a)
        for hole, other in ((a, b), (b, a)):
            if isinstance(hole, _relay.IncompleteType):
                if self._occurs(hole, other):
                    raise _mismatch(a, b)
                self._known[hole] = other
                return self.resolve(other)
        return self._same_structure(a, b)

    def _all(self, some, others, whole) -> list:
        if len(some) != len(others):
            raise _mismatch(*whole)
        return [self.unify(one, other) for one, other in zip(some, others, strict=True)]

    def _same_structure(self, a, b):
        if isinstance(a, _relay.TensorType) and isinstance(b, _relay.TensorType):
            if a.dtype != b.dtype or len(a.shape) != len(b.shape):
                raise _mismatch(a, b)
            return _relay.TensorType([_size(x, y, (a, b)) for x, y in zip(a.shape, b.shape, strict=True)], a.dtype)
        if isinstance(a, _relay.TupleType) and isinstance(b, _relay.TupleType):
            return _relay.TupleType(self._all(a.fields, b.fields, (a, b)))
        if isinstance(a, _FUNCTIONS) and isinstance(b, _FUNCTIONS):
            return self._functions(a, b)
        if isinstance(a, _relay.RefType) and isinstance(b, _relay.RefType):
            return _relay.RefType(self.unify(a.value, b.value))
        if isinstance(a, _relay.TypeCall) and isinstance(b, _relay.TypeCall):
            return _relay.TypeCall(self.unify(a.func, b.func), self._all(a.args, b.args, (a, b)))
        if a == b:
            return a
        raise _mismatch(a, b)

    def _functions(self, a, b):
        if len(a.type_params) < len(b.type_params):
            a, b = b, a
        shared = len(b.type_params)
        names = dict(zip(b.type_params, a.type_params[:shared], strict=True))
        holes = {param: _relay.IncompleteType() for param in a.type_params[shared:]}
        args_a, args_b = ([_renamed(arg, subst) for arg in f.arg_types] for f, subst in ((a, holes), (b, names)))
        args = self._all(args_a, args_b, (a, b))
        result = self.unify(_renamed(a.ret_type, holes), _renamed(b.ret_type, names))
        constraints = [self._constraint(one) for one in getattr(a, "type_constraints", [])]
        return FuncType(args, result, a.type_params[:shared], constraints)

    def _constraint(self, one: TypeRelation) -> TypeRelation:
        return TypeRelation(one.func, [self.resolve(arg) for arg in one.args], one.num_inputs, one.attrs)

    # --- relations ---
    def solve(self) -> bool:
        """Returns true if every relation holds. Relations that wait for a type are tried again after each solution."""
        progress = True
        while self._waiting and progress:
            waiting, self._waiting, progress = self._waiting, [], False
            for relation in waiting:
                if self._holds(relation):
                    progress = True
                else:
                    self._waiting.append(relation)
        return not self._waiting

    def _holds(self, relation: TypeRelation) -> bool:
        name = relation.func.name.rpartition(".")[2]
        types = [self.resolve(arg) for arg in relation.args]
        if name == "Identity":
            known = [one for one in types if not isinstance(one, _relay.IncompleteType)]
            for one in relation.args[1:]:
                self.unify(relation.args[0], one)
            return bool(known)
        operator = {"Broadcast": "add", "BroadcastComp": "less"}.get(name)
        if operator is None:
            raise NotImplementedError(f"the solver knows Identity, Broadcast and BroadcastComp, not {name}")
        inputs = types[: relation.num_inputs]
        if any(isinstance(one, _relay.IncompleteType) for one in inputs):
            return False
        call = _relay.Call(_relay.op.get(operator), [_relay.Var(f"x{i}", one) for i, one in enumerate(inputs)])
        self.unify(relation.args[-1], _relay.transform.infer_expr(call).checked_type)
        return True


def _size(x, y, whole):
    if isinstance(x, Dim) and x.is_any or isinstance(y, Dim) and y.is_any:
        return _relay.Any()
    if isinstance(x, int) and isinstance(y, int) and x != y:
        raise _mismatch(*whole)
    return y if isinstance(x, Dim) else x


def _renamed(type_, names: dict):
    if not names:
        return type_
    mutator = type("_Rename", (_relay.TypeMutator,), {"visit_type_var": lambda self, var: names.get(var, var)})
    return mutator().visit(type_)
