"""relay.transform.transform: relay.transform."""

from relay import transform as _ours
from relay.transform import *  # noqa: F403


def __getattr__(name: str):
    from .. import transform

    return getattr(transform, name)


__all__ = _ours.__all__
