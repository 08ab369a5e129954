"""Operators that a program registers: register("mine.op"), then get("mine.op").add_argument(...), add_type_rel(...).

They are typed, printed and rewritten like others. Running one needs a computation: relay.op.define().
"""

from __future__ import annotations

from relay import Call, CompileError, FuncType, Op, TypeVar
from relay.op import define
from relay.op import get as _get

_OWN: dict[str, OwnOp] = {}
_RELATIONS = {
    "Identity": lambda types, attrs: types[0],
    "Broadcast": lambda types, attrs: _result("add", types),
    "BroadcastComp": lambda types, attrs: _result("less", types),
}
_FUSION = {0: "elementwise", 1: "broadcast", 2: "injective", 3: "reduce", 4: "output fusable"}


def _result(operator: str, types):
    from relay import Var
    from relay.transform import infer_expr

    return infer_expr(Call(_get(operator), [Var(f"x{i}", one) for i, one in enumerate(types)])).checked_type


class Argument:
    """An input of an operator."""

    def __init__(self, name: str, type_info: str, description: str):
        self.name, self.type_info, self.description = name, type_info, description


class OwnOp:
    """A registered operator that is being described. It is an expression as soon as its relation is known."""

    def __init__(self, name: str, description: str):
        self.name, self.description = name, description
        self.arguments: list[Argument] = []
        self.num_inputs, self.support_level, self.attrs_type_key = -1, 10, ""
        self.pattern = 8
        self._op: Op | None = None

    def set_num_inputs(self, n: int) -> OwnOp:
        """Sets the number of inputs."""
        self.num_inputs = n
        return self

    def add_argument(self, name: str, type_info: str, description: str) -> OwnOp:
        """Adds an input."""
        self.arguments.append(Argument(name, type_info, description))
        return self

    def set_support_level(self, level: int) -> OwnOp:
        """Sets a number for the documentation."""
        self.support_level = level
        return self

    def set_attrs_type_key(self, key: str) -> OwnOp:
        """Sets the type of the attributes of calls. Operators defined in Python have no other type than DictAttrs."""
        self.attrs_type_key = key
        return self

    def add_type_rel(self, rel_name: str, type_rel_func=None) -> OwnOp:
        """Sets the relation: type_rel_func(arg_types, attrs) returns the type of the result. Without a function,
        rel_name is Identity, Broadcast or BroadcastComp."""
        relation = type_rel_func or _RELATIONS.get(rel_name)
        if relation is None:
            raise CompileError(f"error: there is no relation {rel_name}: {', '.join(_RELATIONS)}, or give a function")
        inputs = [one.name for one in self.arguments] or [f"x{i}" for i in range(max(self.num_inputs, 0))]
        callback = self._refuse if self.pattern == 8 else None
        define(
            self.name,
            inputs=inputs,
            relation=lambda *types: relation(list(types), None),
            callback=callback,
            compute=None if callback else self._refuse,
            fusion=_FUSION.get(self.pattern, "opaque"),
            doc=self.description,
        )
        self._op = _get(self.name)
        return self

    def _refuse(self, *args):
        raise NotImplementedError(f"{self.name} was registered without a computation: define it with relay.op.define()")

    @property
    def op_type(self) -> FuncType:
        """Accepts any types; the relation checks them."""
        params = [TypeVar(f"t{i}") for i in range(len(self.arguments) + 1)]
        return FuncType(params[:-1], params[-1], params)

    def __relay_expr__(self) -> Op:
        if self._op is None:
            raise CompileError(f"error: there is no relation for the types that {self.name} takes: add_type_rel()")
        return self._op

    def __call__(self, *args) -> Call:
        return Call(self.__relay_expr__(), list(args))

    def has_attr(self, key: str) -> bool:
        """Returns true if a value is registered under the key."""
        return self.get_attr(key) is not None

    def get_attr(self, key: str):
        """Returns the value that is registered under the key."""
        from .rules import RULES

        return self.pattern if key == "TOpPattern" else RULES.get(key, {}).get(self.name)

    def reset_attr(self, key: str) -> None:
        """Removes the value under the key."""
        from .rules import reset

        reset(key, self.name)


def register(op_name: str, describe: str = "") -> None:
    """Begins an operator. get(op_name) describes it."""
    if op_name in _OWN:
        raise CompileError(f"error: {op_name} is registered already")
    _OWN[op_name] = OwnOp(op_name, describe)


def own(op_name: str) -> OwnOp | None:
    """Returns an operator that register() began."""
    return _OWN.get(op_name)


def get(op_name: str):
    """Returns the operator of this name."""
    return _OWN.get(op_name) or _get(op_name)
