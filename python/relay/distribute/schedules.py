"""Orders of work in a pipeline.

A pipeline of p ranks has v stages on each: stage s is on rank s % p. A schedule is the list of actions of each rank:
the forward or backward pass of a stage for a micro-batch. Sends and receives follow from it: a forward pass receives
from the stage before, a backward pass from the stage behind.

    gpipe         all forward passes, then all backward passes
    1f1b          as few forward passes ahead as possible: at most p live micro-batches on a rank
    interleaved   1f1b with several stages on a rank: the bubble shrinks by v
"""

from __future__ import annotations

import dataclasses

from ..errors import bad_option, wrong_input


@dataclasses.dataclass(frozen=True)
class Action:
    """A pass of a stage for a micro-batch. kind: "F" or "B"."""

    kind: str
    stage: int
    micro: int

    def __str__(self) -> str:
        return f"{self.kind}{self.stage}.{self.micro}"


Schedule = list[list[Action]]


def gpipe(ranks: int, micros: int) -> Schedule:
    """All forward passes, then all backward passes."""
    order = range(micros)
    return [[Action("F", r, m) for m in order] + [Action("B", r, m) for m in order] for r in range(ranks)]


def one_forward_one_backward(ranks: int, micros: int) -> Schedule:
    """Rank r runs p - r forward passes ahead, then one backward and one forward in turn."""
    out = []
    for r in range(ranks):
        ahead = min(ranks - r, micros)
        actions = [Action("F", r, m) for m in range(ahead)]
        for m in range(micros):
            actions.append(Action("B", r, m))
            if m + ahead < micros:
                actions.append(Action("F", r, m + ahead))
        out.append(actions)
    return out


def interleaved(ranks: int, micros: int, per_rank: int) -> Schedule:
    """1f1b for several stages on each rank; micro-batches run in groups of as many as there are ranks.

    The order is that of Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
    Megatron-LM" (2021), section 2.2."""
    if micros % ranks:
        raise bad_option(
            f"{micros} micro-batches are not a multiple of the {ranks} ranks of the pipeline",
            "the interleaved schedule runs them in groups: change accumulate, or use the schedule 1f1b",
        )
    total = micros * per_rank

    def forward(r: int, k: int) -> Action:
        group, within = divmod(k, ranks * per_rank)
        return Action("F", (within // ranks) * ranks + r, group * ranks + within % ranks)

    def backward(r: int, k: int) -> Action:
        group, within = divmod(k, ranks * per_rank)
        chunk = per_rank - 1 - within // ranks
        return Action("B", chunk * ranks + r, group * ranks + within % ranks)

    out = []
    for r in range(ranks):
        ahead = min((ranks - r - 1) * 2 + (per_rank - 1) * ranks, total)
        actions = [forward(r, k) for k in range(ahead)]
        for k in range(total):
            if ahead + k < total:
                actions.append(forward(r, ahead + k))
            actions.append(backward(r, k))
        out.append(actions)
    return out


def schedule_pipeline(name: str, ranks: int, micros: int, per_rank: int = 1) -> Schedule:
    """Returns a schedule by name: gpipe, 1f1b or interleaved. It is checked: it ends, and no rank waits for ever."""
    if name not in ("gpipe", "1f1b", "interleaved"):
        raise bad_option(f"there is no schedule {name!r}", "give one of: gpipe, 1f1b, interleaved")
    if micros < 1 or ranks < 1 or per_rank < 1 or (per_rank > 1) != (name == "interleaved"):
        raise bad_option(
            f"{name} of {ranks} ranks, {micros} micro-batches, {per_rank} stages on a rank",
            "give 1 or more of each, and 2 or more stages on a rank for the schedule interleaved only",
        )
    if name == "interleaved":
        made = interleaved(ranks, micros, per_rank)
    else:
        made = (gpipe if name == "gpipe" else one_forward_one_backward)(ranks, micros)
    timed(made, ranks * per_rank)
    return made


@dataclasses.dataclass
class Timing:
    """The time of a schedule in the units of the costs. live: the most micro-batches of which a rank keeps activations,
    counted per stage."""

    total: float
    busy: list[float]
    live: list[int]

    @property
    def bubble(self) -> float:
        """Idle time of the busiest rank over its busy time."""
        return self.total / max(self.busy) - 1


def timed(schedule: Schedule, stages: int, forward: float = 1.0, backward: float = 2.0, send: float = 0.0) -> Timing:
    """Runs a schedule on paper: each rank does its actions in order, as soon as their inputs are there.

    A schedule in which ranks wait for each other for ever is refused, with the actions that they wait for."""
    ends: dict[Action, float] = {}
    clock, at = [0.0] * len(schedule), [0] * len(schedule)
    live, most = [0] * len(schedule), [0] * len(schedule)
    moved = True
    while moved:
        moved = False
        for rank, actions in enumerate(schedule):
            while at[rank] < len(actions):
                action = actions[at[rank]]
                needs = inputs_of(action, stages)
                if any(one not in ends for one in needs):
                    break
                hop = send if len(schedule) > 1 else 0.0
                ready = max([clock[rank]] + [ends[one] + (hop if one.stage != action.stage else 0) for one in needs])
                clock[rank] = ends[action] = ready + (forward if action.kind == "F" else backward)
                live[rank] += 1 if action.kind == "F" else -1
                most[rank] = max(most[rank], live[rank])
                at[rank] += 1
                moved = True
    stuck = {rank: actions[at[rank]] for rank, actions in enumerate(schedule) if at[rank] < len(actions)}
    if stuck:
        waits = "; ".join(f"rank {rank} waits to run {action}" for rank, action in stuck.items())
        raise wrong_input(f"the schedule never ends: {waits}", "use a schedule of schedule_pipeline")
    cost = {"F": forward, "B": backward}
    return Timing(max(clock), [sum(cost[a.kind] for a in actions) for actions in schedule], most)


def inputs_of(action: Action, stages: int) -> list[Action]:
    """Returns the actions that must have ended before an action can run."""
    if action.kind == "F":
        return [Action("F", action.stage - 1, action.micro)] if action.stage else []
    needs = [Action("F", action.stage, action.micro)]
    return needs + ([Action("B", action.stage + 1, action.micro)] if action.stage + 1 < stages else [])
