"""Additional attributes of TVM's classes, set on ours: TensorType.shape[0].value, var.vid, function.set_attribute,
module._add.

Sizes stay numbers (int), so nothing else is affected.
"""

from __future__ import annotations

import numpy as np

from relay import (
    Attrs,
    Clause,
    Constant,
    Expr,
    Function,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    IRModule,
    Library,
    Op,
    Pattern,
    TensorType,
    Type,
    TypeData,
    TypeKind,
    TypeVar,
    Var,
    operators,
)
from relay.data.arrays import numpy as as_numpy
from relay.ir import type_functor

from . import spans
from .nd import NDArray
from .relations import ConstrainedFuncType, TypeRelation, kind_of
from .tir import IntImm

_data, _shape = Constant.data.fget, TensorType.shape.fget


def _sizes(self) -> tuple:
    return tuple(IntImm("int64", size) if isinstance(size, int) else size for size in _shape(self))


def _array(self):
    return as_numpy(_data(self)).view(NDArray)


class Id:
    """The identity of a variable: same_as(), name_hint."""

    def __init__(self, var: Var):
        self._var, self.name_hint = var, var.name_hint

    def same_as(self, other) -> bool:
        """Returns true for the same object."""
        return isinstance(other, Id) and self._var.same_as(other._var)

    __eq__ = same_as

    def __hash__(self) -> int:
        return hash(self._var)


_PATTERNS = {"elementwise": 0, "broadcast": 1, "injective": 2, "reduce": 3, "output_fusable": 4, "opaque": 8}


def _op_attrs(op: Op) -> dict:
    """Returns the properties of an operator, from its file and from users' rules, under the names that TVM's passes
    use."""
    from .relay.op.rules import RULES

    definition = operators()[op.name]
    fusion = definition["fusion"].lower().replace(" ", "_").replace("outputfusable", "output_fusable")
    found = {"TOpPattern": _PATTERNS[fusion], "TNonComputational": False}
    if definition["differentiable"]:
        found["FPrimalGradient"] = True
    for key, rules in RULES.items():
        if op.name in rules:
            found[key] = rules[op.name]
    return found


def _get_attr(self, key: str):
    return _op_attrs(self).get(key)


def _has_attr(self, key: str) -> bool:
    return key in _op_attrs(self)


def _reset_attr(self, key: str) -> None:
    from .relay.op import rules

    rules.reset(key, self.name)


# --- attributes -------------------------------------------------------------------------------------------------------
_with_attr, _function_attrs, _module_attrs = Function.with_attr, Function.attrs.fget, IRModule.attrs.fget


def _number(value):
    """Returns whole numbers and lists of them with .value, and arrays in dictionaries with numpy()."""
    if isinstance(value, dict):
        return {key: _number(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.view(NDArray)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return IntImm("int32", value)
    return [_number(one) for one in value] if isinstance(value, list) else value


def _set_attrs(self, name, value=None):
    for key, one in name.items() if isinstance(name, dict) else [(name, value)]:
        self = _with_attr(self, key, one)
    return self


def _field_info(self) -> list:
    """Returns the fields with name, description and type_info."""
    found = next((one for one in operators().values() if _attrs_key(one) == self.keys()), None)
    return [FieldInfo(*field[:3]) for field in (found["attributes"] if found else [])]


def _attrs_key(definition: dict) -> list[str]:
    return [field[0] for field in definition["attributes"]]


class FieldInfo:
    """A field of attributes."""

    def __init__(self, name: str, description: str, type_info: str):
        self.name, self.description, self.type_info = name, description, type_info


# --- text -------------------------------------------------------------------------------------------------------------
_expr_text, _module_text = Expr.astext, IRModule.astext
_OMITTED = """
/* For debugging purposes the metadata section has been omitted.
 * If you would like to see the full metadata section you can set the
 * option to `True` when invoking `astext`.
 */"""


def _expr_astext(self, show_meta_data=True, annotate=None, *, types=None) -> str:
    """Returns the text, with types if they are known."""
    return _as_text(_expr_text, self, show_meta_data, annotate, types)


def _module_astext(self, show_meta_data=True, annotate=None, *, types=None, **options) -> str:
    """Returns the text, with types if they are known."""
    return _as_text(_module_text, self, show_meta_data, annotate, types, **options)


def _as_text(text, self, show_meta_data, annotate, types, **options) -> str:
    types = annotate is None if types is None else types
    if types and annotate is None and spans.has_named(self):
        annotate = _type_and_place
    out = text(self, show_meta_data, annotate, types=types, **options)
    if show_meta_data:
        return out
    head = "" if out.startswith("#[version") or options.get("version") is False else '#[version = "0.0.5"]\n'
    return head + out + (_OMITTED if "meta[relay.Constant]" in out else "")


def _type_and_place(expr: Expr) -> str:
    """The comment behind an expression: /* ty=Tensor[(2), float32] span=net.py:3:1 */"""
    place = spans.named(expr)
    parts = [f"ty={expr._checked_type_}"] if expr._checked_type_ is not None else []
    parts += [f"span={place}"] if place else []
    return f" /* {' '.join(parts)} */" if parts else ""


def _texts() -> None:
    spans.install()
    Expr.astext, IRModule.astext = _expr_astext, _module_astext
    Type.astext = lambda self, show_meta_data=True, annotate=None: str(self)
    for kind in (Type, Pattern, Clause, TypeData):
        kind.span = None


_attribute = Attrs.__getitem__


def _field(self, name: str):
    """Returns a field. A missing element type is ""."""
    value = _attribute(self, name)
    return "" if value is None and name.endswith("dtype") else value


def _constructor(self, tag: int):
    """Returns the first constructor with this number in its type."""
    for definition in self.type_definitions.values():
        for constructor in definition.constructors:
            if constructor.tag == tag:
                return constructor
    raise ValueError(f"the module has no constructor of the number {tag}")


def _attributes() -> None:
    Attrs.__getattr__ = Attrs.__getitem__ = Attrs.get_str = _field
    IRModule.get_constructor = _constructor
    Function.with_attr = Function.set_attribute = _set_attrs
    Function.attrs = property(
        lambda self: {name: _number(value) for name, value in _function_attrs(self).items()}, doc="Converts to a dict."
    )
    IRModule.attrs = property(
        lambda self: {name: _number(value) for name, value in _module_attrs(self).items()}, doc="Converts to a dict."
    )
    Attrs.list_field_info = _field_info
    Attrs.get = lambda self, name, default=None: self[name] if name in self.keys() else default


def _libraries() -> None:
    """Sets the attributes that the result of relay.build() has in TVM."""
    Library.lib = property(lambda self: self, doc="This.")
    Library.ir_mod = property(lambda self: self.module, doc="What was built.")
    Library.libmod_name = property(lambda self: self.name, doc="The name of its module.")
    Library.get_executor_config = Library.get_graph_json
    Library.executor_config = property(Library.get_graph_json, doc="The report, as JSON.")


def _visitors() -> None:
    """Makes visitors visit types with relations."""
    type_functor._METHODS[TypeRelation] = "visit_type_relation"
    type_functor._METHODS[ConstrainedFuncType] = "visit_func_type"

    def parts(self, relation):
        for arg in relation.args:
            self.visit(arg)

    def changed(self, relation):
        args = [self.visit(arg) for arg in relation.args]
        return TypeRelation(relation.func, args, relation.num_inputs, relation.attrs)

    type_functor.TypeVisitor.visit_type_relation = parts
    type_functor.TypeMutator.visit_type_relation = changed


def install() -> None:
    """Sets the attributes."""
    _texts()
    _attributes()
    _libraries()
    _visitors()
    TensorType.shape = property(_sizes, doc="The sizes: integers, or Dims for symbolic sizes.")
    FuncType.type_constraints = []
    Var.vid = property(Id)
    Constant.data = property(_array, doc="Its value, an NDArray.")
    IRModule.entry_func = property(lambda self: self.get_global_var("main"))
    IRModule.functions_items = lambda self: list(self.functions.items())
    Op.num_inputs = property(lambda self: len(operators()[self.name]["inputs"]))
    TypeVar.kind = IncompleteType.kind = property(kind_of)
    GlobalTypeVar.kind = property(lambda self: TypeKind.AdtHandle)
    Op.has_attr, Op.get_attr, Op.reset_attr = _has_attr, _get_attr, _reset_attr
    Op.list_op_names = staticmethod(lambda: sorted(operators()))
    IRModule.same_as = lambda self, other: self is other
    IRModule._add = lambda self, var, function, update=False: self.update_func(var, function)
