"""The operators of relay.op.nn, for relay.nn."""

from .. import op

globals().update({name: value for name, value in vars(op.nn).items() if not name.startswith("_")})


def __getattr__(name: str):
    """Returns an operator that was defined later, and refuses others."""
    return getattr(op.nn, name)
