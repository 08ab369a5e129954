"""Functions by name: register_func, get_global_func, and EnvFunc, which refers to a function by name."""

from __future__ import annotations

from ..outside import Outside as _Outside

_FUNCTIONS: dict[str, object] = {}
_RELATION = "tvm.relay.type_relation."


def register_func(func_name, f=None, override: bool = False):
    """Registers a function under a name. It is also a decorator, with or without the name."""
    if callable(func_name):
        return register_func(func_name.__name__, func_name)
    if f is None:
        return lambda function: register_func(func_name, function, override)
    if func_name in _FUNCTIONS and not override:
        raise ValueError(f"there is a function {func_name} already: override=True replaces it")
    _FUNCTIONS[func_name] = f
    return f


def get_global_func(name: str, allow_missing: bool = False):
    """Returns the function that register_func() registered. Functions of TVM itself are missing, and using one raises
    an error."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    return None if allow_missing else _Outside(f"tvm.get_global_func.{name}")


def remove_global_func(name: str) -> None:
    """Removes a name."""
    _FUNCTIONS.pop(name, None)


def list_global_func_names() -> list[str]:
    """Returns the registered names."""
    return sorted(_FUNCTIONS)


class EnvFunc:
    """A reference to a function by name: EnvFunc.get("tvm.relay.type_relation.Broadcast"), or a name of
    register_func().

    Two references are equal if their names are.
    """

    def __init__(self, name: str):
        self.name = name

    @staticmethod
    def get(name: str) -> EnvFunc:
        """Returns the reference to this name."""
        if name not in _FUNCTIONS and not name.startswith(_RELATION):
            raise ValueError(f"no function is named {name}; register it with tvm.register_func()")
        return EnvFunc(name)

    @property
    def func(self):
        """The function."""
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
