"""Visitors over types. Subclass one, and define visit_tensor_type, visit_func_type, ...

class Ranks(relay.TypeVisitor):
    def visit_tensor_type(self, t):
        print(len(t.shape))
"""

from __future__ import annotations

from .._core import (
    Constructor,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeData,
    TypeVar,
)
from .visitor_methods import check_names, returned

_METHODS = {
    TensorType: "visit_tensor_type",
    TupleType: "visit_tuple_type",
    FuncType: "visit_func_type",
    RefType: "visit_ref_type",
    TypeVar: "visit_type_var",
    GlobalTypeVar: "visit_global_type_var",
    TypeCall: "visit_type_call",
    TypeData: "visit_type_data",
    IncompleteType: "visit_incomplete_type",
}


class TypeFunctor:
    """Calls the method for the kind of a type."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        check_names(cls, {*_METHODS.values(), "visit"})

    def visit(self, typ):
        """Returns the result for a type."""
        name = _METHODS.get(type(typ))
        if name is None:
            raise TypeError(f"expected a type, got {type(typ).__name__}")
        method = getattr(self, name, None)
        if method is None:
            raise NotImplementedError(f"{type(self).__name__} has no {name}()")
        return self._checked(name, method(typ))

    def _checked(self, name, result):
        return result


class TypeVisitor(TypeFunctor):
    """Visits every part of a type."""

    def visit_tensor_type(self, tt):
        pass

    def visit_tuple_type(self, tt):
        for field in tt.fields:
            self.visit(field)

    def visit_func_type(self, ft):
        for part in [*ft.type_params, *ft.arg_types, ft.ret_type]:
            self.visit(part)

    def visit_ref_type(self, rt):
        self.visit(rt.value)

    def visit_type_var(self, tv):
        pass

    def visit_global_type_var(self, gtv):
        pass

    def visit_type_call(self, tc):
        self.visit(tc.func)
        for arg in tc.args:
            self.visit(arg)

    def visit_type_data(self, td):
        self.visit(td.header)
        for var in td.type_vars:
            self.visit(var)
        for constructor in td.constructors:
            for part in constructor.inputs:
                self.visit(part)

    def visit_incomplete_type(self, it):
        pass


class TypeMutator(TypeFunctor):
    """Returns a new type, rebuilt from the results for its parts."""

    def _checked(self, name, result):
        return returned(self, name, result, "a type (the same one to keep it)")

    def visit_tensor_type(self, tt):
        return tt

    def visit_tuple_type(self, tt):
        return TupleType([self.visit(field) for field in tt.fields])

    def visit_func_type(self, ft):
        params = [self.visit(param) for param in ft.type_params]
        return FuncType([self.visit(arg) for arg in ft.arg_types], self.visit(ft.ret_type), params)

    def visit_ref_type(self, rt):
        return RefType(self.visit(rt.value))

    def visit_type_var(self, tv):
        return tv

    def visit_global_type_var(self, gtv):
        return gtv

    def visit_type_call(self, tc):
        return TypeCall(self.visit(tc.func), [self.visit(arg) for arg in tc.args])

    def visit_type_data(self, td):
        header = self.visit(td.header)
        constructors = [
            Constructor(c.name_hint, [self.visit(part) for part in c.inputs], header) for c in td.constructors
        ]
        return TypeData(header, [self.visit(var) for var in td.type_vars], constructors)

    def visit_incomplete_type(self, it):
        return it
