"""Sessions: a model with state that lives from run to run."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

import numpy as np

from .. import _core
from ..data.arrays import array, like
from ..errors import wrong_input
from .ports import Port, in_order, ports_of, unpacked


class State(MutableMapping[str, np.ndarray]):
    """The state of a session by the names of the model's inputs. Reading an item copies it from the session, and
    assigning copies to it. An item whose size no run has determined yet is None."""

    def __init__(self, core: _core.Session):
        self._core = core
        self._ports = ports_of(core.states)

    def _place(self, name: str) -> int:
        names = list(self)
        if name not in names:
            raise wrong_input(f"the session has no state `{name}`", f"the states are: {', '.join(names)}")
        return names.index(name)

    def __getitem__(self, name: str) -> np.ndarray:
        value = self._core.state(self._place(name))
        return None if value is None else like([value], None)[0]

    def __setitem__(self, name: str, value: object) -> None:
        place = self._place(name)
        self._core.set_state(place, array(value, self._ports[place].dtype))

    def __delitem__(self, name: str) -> None:
        raise TypeError("a session keeps its states: reset() sets them to zeros")

    def __iter__(self) -> Iterator[str]:
        return (port.name for port in self._ports)

    def __len__(self) -> int:
        return len(self._ports)

    def __repr__(self) -> str:
        return f"State({', '.join(map(str, self._ports))})"


class Session:
    """A model with state of its own: the inputs that the model donates for a result. Call it with the other inputs; it
    returns the other results. The state begins as zeros, and is updated by each call, mostly in place.

    The sessions of a model share its weights. Calls of one session follow each other; sessions run in parallel. If a
    call fails in the middle, the state is lost: later calls raise InputError until reset() or restore().
    """

    def __init__(self, core: _core.Session):
        self._core = core
        self.inputs: list[Port] = ports_of(core.inputs)
        self.outputs: list[Port] = ports_of(core.outputs)
        self.state = State(core)
        self._names = [port.name for port in self.inputs]

    def __call__(self, /, *args: object, threads: int = 0, **named: object):
        args, named = unpacked(args, named)
        values = in_order(self._names, args, named)
        arrays = [array(value, port.dtype) for value, port in zip(values, self.inputs, strict=True)]
        example = next((v for v in values if type(v).__module__.partition(".")[0] == "torch"), None)
        results = like(self._core.run(arrays, threads), example)
        return results[0] if len(results) == 1 else tuple(results)

    def reset(self) -> None:
        """Sets all states to zeros."""
        self._core.reset()

    def snapshot(self) -> dict[str, np.ndarray]:
        """Returns copies of all states by name, at one moment between two calls."""
        values = (None if value is None else like([value], None)[0] for value in self._core.snapshot())
        return dict(zip(self.state, values, strict=True))

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        """Sets all states to those of a snapshot; none of them if one does not fit."""
        missing = [name for name in self.state if name not in snapshot]
        if missing:
            raise wrong_input(f"the snapshot has no state `{missing[0]}`", "give a snapshot of a session of this model")
        self._core.restore(
            [
                None if snapshot[port.name] is None else array(snapshot[port.name], port.dtype)
                for port in ports_of(self._core.states)
            ]
        )
