"""relay.op: the operators as functions, and relay.op.op, where they are looked up."""

from relay import op as _ours

from . import contrib, op

globals().update({name: value for name, value in vars(_ours).items() if not name.startswith("__")})


def __getattr__(name: str):
    if name.startswith(("register", "Op")):
        return getattr(op, name)
    return getattr(_ours, name)


__all__ = [*_ours._published, "contrib", "get", "op", "operators"]
