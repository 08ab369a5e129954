"""The sequences of collectives of all ranks, compared before a run: a mismatch would be a deadlock."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence

from .._core import IRModule
from ..errors import wrong_input
from .collectives import is_collective
from .mesh import Mesh
from .straight import straight


@dataclasses.dataclass(frozen=True)
class Collective:
    """A collective as the others see it."""

    name: str
    axis: str
    number: int
    type: str
    attributes: str

    def __str__(self) -> str:
        return f"#{self.number} {self.name}({self.axis}{self.attributes}) of {self.type}"


def sequence_of(module: IRModule) -> list[Collective]:
    """Returns the collectives of a typed program in program order, without comm.part, which needs no other rank."""
    out = []
    for step in straight(module["main"]).steps:
        if is_collective(step) and step.op.name != "comm.part":
            attrs = dict(step.attrs)
            rest = "".join(f", {k}={attrs[k]}" for k in ("dim", "split", "join", "combiner") if k in attrs)
            out.append(Collective(step.op.name, attrs["axis"], attrs["number"], str(step.args[0].checked_type), rest))
    return out


def digest(sequence: list[Collective]) -> str:
    """Returns a short text that is equal for equal sequences."""
    return hashlib.blake2b("\n".join(map(str, sequence)).encode(), digest_size=8).hexdigest()


def check_axes(module: IRModule, mesh: Mesh) -> None:
    """Raises a diagnostic if a collective is not of this mesh."""
    for step in straight(module["main"]).steps:
        if is_collective(step):
            attrs = dict(step.attrs)
            if mesh.axes.get(attrs["axis"]) != attrs["size"]:
                raise wrong_input(
                    f"#{attrs['number']} {step.op.name} is along `{attrs['axis']}` of {attrs['size']} ranks, and the "
                    f"mesh is {mesh}",
                    "run the program on the mesh that it was divided for",
                )


def compare(sequences: Sequence[list[Collective]], mesh: Mesh) -> None:
    """Raises a diagnostic that names the first collective at which two ranks of a group do not meet."""
    for rank in range(mesh.size):
        for axis, _ in mesh.sizes:
            other = mesh.group(rank, axis)[0]
            here = [one for one in sequences[rank] if one.axis == axis]
            there = [one for one in sequences[other] if one.axis == axis]
            for at in range(max(len(here), len(there))):
                mine = here[at] if at < len(here) else "nothing"
                theirs = there[at] if at < len(there) else "nothing"
                if mine != theirs:
                    raise wrong_input(
                        f"the programs of rank {other} and rank {rank} do not match at collective {at} along `{axis}`: "
                        f"rank {other} has {theirs}, rank {rank} has {mine}",
                        "all ranks of a group must run the same collectives in the same order: divide one program",
                    )


def check_sequences(modules: Sequence[IRModule], mesh: Mesh) -> None:
    """Compares the programs of all ranks."""
    if len(modules) != mesh.size:
        raise wrong_input(
            f"{len(modules)} programs are given for the {mesh.size} ranks of mesh {mesh}", "give one each"
        )
    known: dict[int, list[Collective]] = {}
    for module in modules:
        if id(module) not in known:
            check_axes(module, mesh)
            known[id(module)] = sequence_of(module)
    compare([known[id(module)] for module in modules], mesh)
