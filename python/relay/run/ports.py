"""The inputs and outputs of a model, and the arguments of a call in their order."""

from __future__ import annotations

import dataclasses

from .. import _core
from ..errors import wrong_input


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or an output of a model."""

    name: str
    dtype: str  # "" if it is not a tensor
    shape: tuple[int | str, ...]  # an int, or text for a size that is unknown before the run: "n", "n * 224"
    type: str = ""  # "List[Tensor[(), int32]]"

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"
            if self.dtype
            else f"{self.name}: {self.type}"
        )


def ports_of(ports) -> list[Port]:
    return [
        Port(name, dtype, tuple(int(d) if d.lstrip("-").isdigit() else d for d in dims), type_)
        for name, dtype, dims, type_ in ports
    ]


def unpacked(args: tuple, named: dict) -> tuple[tuple, dict]:
    """Returns the arguments. A dictionary of all inputs by name may be the only one: model({"x": x})."""
    if len(args) == 1 and not named and isinstance(args[0], dict):
        return (), args[0]
    return args, named


def in_order(names: list[str], args: tuple, named: dict) -> list:
    """Returns the arguments, given by position or name, in the order of the inputs."""
    if not named and len(args) == len(names):
        return list(args)
    listed = ", ".join(names) or "none"
    if len(args) > len(names):
        raise wrong_input(f"{len(args)} inputs are given, the model has {len(names)}", f"the inputs are: {listed}")
    values: dict[int, object] = dict(enumerate(args))
    for name, value in named.items():
        places = [place for place, one in enumerate(names) if one == name]
        if not places:
            near = _core.suggestions(name, names, 1)
            raise wrong_input(
                f"the model has no input `{name}`",
                f"did you mean `{near[0]}`?" if near else f"the inputs are: {listed}",
            )
        if len(places) > 1:
            raise wrong_input(f"{len(places)} inputs are called `{name}`", "give them by position")
        if places[0] in values:
            raise wrong_input(f"input `{name}` is given twice, by position and by name", "leave out one of the two")
        values[places[0]] = value
    missing = [name for place, name in enumerate(names) if place not in values]
    if missing:
        raise wrong_input(
            f"{len(names) - len(missing)} inputs are given, the model has {len(names)}",
            f"missing: {', '.join(missing)}",
        )
    return [values[place] for place in range(len(names))]
