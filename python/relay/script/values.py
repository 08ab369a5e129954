"""Values while a function is translated: known ones are Python objects, others are expressions with a type."""

from __future__ import annotations

import ast
import dataclasses

import numpy as np

from .._core import Expr, GlobalTypeVar, TensorType, Type
from ..data.arrays import array
from ..data.values import Data, _is
from ..errors import wrong_input
from .datatypes import LIST, DataType, TupleType, TypeCall
from .problems import Place


@dataclasses.dataclass(eq=False)
class Sym:
    """A value that is known at run time only."""

    expr: Expr
    type: Type

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.type, TensorType)

    @property
    def is_scalar(self) -> bool:
        return isinstance(self.type, TensorType) and not len(self.type.shape)

    @property
    def dtype(self) -> str:
        return str(self.type.dtype)


class _Unknown:
    """The value of an expression with a problem, or of a recursive call whose type is not known yet."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name


POISON, PENDING = _Unknown("poison"), _Unknown("pending")


def is_unknown(*values: object) -> bool:
    return any(value is POISON or value is PENDING for value in values)


@dataclasses.dataclass(eq=False)
class Unset:
    """A variable that not every way to a place sets. `set_at` is a place that does."""

    set_at: Place


@dataclasses.dataclass(eq=False)
class Clash:
    """A variable whose type differs between the ways to a place."""

    message: str
    first: tuple[Place, str]
    second: tuple[Place, str]
    help: str = "convert one of the two, or use two variables"


@dataclasses.dataclass(eq=False)
class Closure:
    """A nested function or lambda, with the variables around it."""

    node: ast.FunctionDef | ast.Lambda
    env: Env
    scope: object  # of the names outside of the scripted function: translate.Scope


class Env:
    """Variables by name, and the places where they were assigned."""

    def __init__(self, values=None, places=None, outer: Env | None = None):
        self.values: dict[str, object] = dict(values or {})
        self.places: dict[str, Place] = dict(places or {})
        self.outer = outer

    def copy(self) -> Env:
        return Env(self.values, self.places, self.outer)

    def find(self, name: str):
        """Returns the environment that has a name, or None."""
        env = self
        while env is not None:
            if name in env.values:
                return env
            env = env.outer
        return None


# --- types of Python values -------------------------------------------------------------------------------------------
def type_of_value(value: object, where: str) -> Type:
    """Returns the type of an argument: an array, a number, a tuple, a list, or an instance of a data type."""
    data_type = getattr(type(value), "__relay_type__", None)
    if isinstance(data_type, DataType):
        return data_type.type
    if isinstance(value, bool):
        return TensorType((), "bool")
    if isinstance(value, int):
        return TensorType((), "int32")
    if isinstance(value, float):
        return TensorType((), "float32")
    if isinstance(value, tuple):
        return TupleType([type_of_value(one, where) for one in value])
    if isinstance(value, list):
        if not value:
            raise wrong_input(
                f"the type of the empty list `{where}` is not known", 'annotate it: list["Tensor[(3), float32]"]'
            )
        kinds = [type_of_value(one, where) for one in value]
        if any(kind != kinds[0] for kind in kinds):
            other = next(kind for kind in kinds if kind != kinds[0])
            raise wrong_input(
                f"the list `{where}` has elements of the types {kinds[0]} and {other}", "give elements of one type"
            )
        return TypeCall(LIST, [kinds[0]])
    if _is(value, Data):
        if value.type is None:
            raise wrong_input(
                f"the type of `{where}` is not known", "give relay.Data(.., type=..), or a dataclass instance"
            )
        return GlobalTypeVar(value.type)()
    if isinstance(value, (np.ndarray, np.generic)):
        return TensorType(value.shape, value.dtype.name)
    try:
        made = array(value)
    except (TypeError, ValueError) as error:
        raise wrong_input(
            f"`{where}` is of type {type(value).__name__}, which programs do not have",
            "pass arrays, numbers, tuples, lists, or instances of a relay.data_type",
        ) from error
    return TensorType(made.shape, made.dtype)


def signature_of(value: object, where: str = "an argument") -> object:
    """Returns a hashable key that is equal for values of one type. `where` names the value in messages."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape
    return "[]" if isinstance(value, list) and not value else str(type_of_value(value, where))
