"""Functions by name: register_func, get_global_func, and EnvFunc, a name that stands for one."""

from __future__ import annotations

from ..outside import Outside as _Outside

_FUNCTIONS: dict[str, object] = {}
_RELATION = "tvm.relay.type_relation."


def register_func(func_name, f=None, override: bool = False):
    """Makes a function known by a name; as a decorator too, with or without the name."""
    if callable(func_name):
        return register_func(func_name.__name__, func_name)
    if f is None:
        return lambda function: register_func(func_name, function, override)
    if func_name in _FUNCTIONS and not override:
        raise ValueError(f"there is a function {func_name} already: override=True replaces it")
    _FUNCTIONS[func_name] = f
    return f


def get_global_func(name: str, allow_missing: bool = False):
    """What register_func() was given under the name. Functions of TVM itself are not there: using one says so."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    return None if allow_missing else _Outside(f"tvm.get_global_func.{name}")


def remove_global_func(name: str) -> None:
    """The name is free again."""
    _FUNCTIONS.pop(name, None)


def list_global_func_names() -> list[str]:
    """Those that were registered."""
    return sorted(_FUNCTIONS)


class EnvFunc:
    """A function by name: EnvFunc.get("tvm.relay.type_relation.Broadcast"), or one of register_func(). Equal by name."""

    def __init__(self, name: str):
        self.name = name

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The function of this name."""
        if name not in _FUNCTIONS and not name.startswith(_RELATION):
            raise ValueError(f"there is no function {name}: tvm.register_func() makes one known")
        return EnvFunc(name)

    @property
    def func(self):
        """What the name stands for."""
        return get_global_func(self.name)

    def __call__(self, *args):
        return self.func(*args)

    def __eq__(self, other) -> bool:
        return isinstance(other, EnvFunc) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"EnvFunc({self.name})"

    astext = __repr__
