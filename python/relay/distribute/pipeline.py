"""Training in a pipeline: the stages of a network on different ranks, which work on different micro-batches.

    step = Pipeline(loss, params, {"x": (8, 32), "y": ((8,), "int64")}, train.Adam(1e-3), ranks=4, micros=8)
    for x, y in data:                    # whole batches: of 64 samples here
        value = step(x, y)

Gradients of micro-batches are added in one order, a tree over their numbers, whatever the schedule. All schedules and
any number of workers therefore give the same bits.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import op
from .._core import IRModule
from ..errors import wrong_input
from ..run.compiled import Compiled, compile
from ..train import Step as LocalStep
from ..train.formulas import tree_sum
from ..train.optimisers import Adam, Optimiser
from ..train.parameters import rebuilt
from ..train.program import STEP
from ..train.step import by_name, not_finite, planned
from .collectives import tree
from .cut import Stage, cut_pipeline
from .gloo import link_of
from .mesh import Mesh
from .ranks import Link, Post
from .schedules import Action, schedule_pipeline

_FORWARD, _BACKWARD, _LOSS = 1 << 20, 1 << 21, 1 << 22  # tags of messages


class _RunningStage:
    """A stage with its compiled passes, its parameters and what it keeps between them."""

    def __init__(self, stage: Stage, values: dict[str, np.ndarray], update: LocalStep | None, options: dict):
        self.stage, self.update = stage, update
        self.frozen = {name: values[name] for name in stage.parameters}
        self.forward: Compiled = compile(stage.forward, **options)
        needs_backward = bool(stage.differentiated or stage.parameters)
        self.backward: Compiled | None = compile(stage.backward, **options) if needs_backward else None
        self.received: dict[int, list[np.ndarray]] = {}
        self.gradients: dict[int, list[np.ndarray]] = {}

    @property
    def parameters(self) -> list[np.ndarray]:
        """The parameters in order: those that are trained are arrays of the update's step."""
        trained = self.update.arrays if self.update else {}
        return [trained.get(name, self.frozen[name]) for name in self.stage.parameters]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters and the state of their updates, by name."""
        state = self.update.arrays if self.update else {}
        return dict(zip(self.stage.parameters, self.parameters, strict=True)) | state

    def run_forward(self, batch: list, micro: int) -> list[np.ndarray]:
        """Returns the values that are sent, or the loss."""
        return _listed(self.forward(*batch, *self.received[micro], *self.parameters))

    def run_backward(self, batch: list, micro: int, seeds: list[np.ndarray]) -> list[np.ndarray]:
        """Keeps the gradients of the parameters, and returns those of the received values."""
        received = self.received.pop(micro)
        if self.backward is None:
            return []
        gradients = _listed(self.backward(*batch, *received, *self.parameters, *seeds))
        count = len(self.stage.differentiated)
        self.gradients[micro] = gradients[count:]
        return gradients[:count]

    def step(self, micros: int) -> None:
        """Updates the parameters by the mean of the gradients of all micro-batches."""
        if self.update is None:
            self.gradients = {}
            return
        mean = {}
        for i, name in enumerate(self.stage.parameters):
            if f"g/{name}" in self.update.batch:
                total = tree([self.gradients[micro][i] for micro in range(micros)], np.add)
                mean[f"g/{name}"] = total / total.dtype.type(micros)
        self.gradients = {}
        self.update(**mean)


def _listed(results: Any) -> list[np.ndarray]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _update_of(values: dict[str, np.ndarray], optimisers: dict[str, Optimiser], options: dict) -> LocalStep | None:
    """Returns a step whose batch is the gradients: the gradient of sum(p g) with respect to p is g."""
    trained = {name: values[name] for name in optimisers}
    if not trained:
        return None

    def loss(nested: dict, *gradients: Any) -> Any:
        return tree_sum([op.sum(p * g) for p, g in zip(nested.values(), gradients, strict=True)])

    batch = {f"g/{name}": (value.shape, value.dtype.name) for name, value in trained.items()}
    return LocalStep(loss, trained, batch, next(iter(optimisers.values())), groups=_groups(optimisers), **options)


def _groups(optimisers: dict[str, Optimiser]) -> dict[str, Optimiser]:
    return {"".join(f"[{c}]" if c in "*?[" else c for c in name): one for name, one in optimisers.items()}


class Pipeline:
    """A training step on a pipeline of ranks. Calling it with a whole batch updates the parameters, and returns the
    mean loss of its micro-batches.

    loss, params, optimiser, groups: as in relay.train.Step. The loss must be the mean over its batch, and the program
    without control flow. batch: the types of one micro-batch.
    ranks: of the pipeline. per_rank: stages on each of them, more than 1 for the schedule "interleaved".
    micros: micro-batches of a step, blocks of the first dimension of the batch. schedule: relay.distribute.schedules.
    limit, slow, report, link, options: as in relay.distribute.Step.
    """

    def __init__(
        self,
        loss: Any,
        params: Any,
        batch: dict,
        optimiser: Optimiser = Adam(),  # noqa: B008 - it is immutable
        *,
        ranks: int,
        micros: int,
        schedule: str = "1f1b",
        per_rank: int = 1,
        groups: dict | None = None,
        limit: float = 60.0,
        slow: float = 5.0,
        report: Any = None,
        link: Link | None = None,
        **options: Any,
    ):
        self._nested, self.size, self.micros, self.stages = params, ranks, micros, ranks * per_rank
        self.schedule = schedule_pipeline(schedule, ranks, micros, per_rank)
        self.loss, self.plan, values = planned(loss, params, batch, optimiser, groups=groups)
        self.batch = self.plan.loss.batch
        if self.plan.draws:
            raise wrong_input(
                "the loss draws random numbers, and the stages of a pipeline have no generator",
                "remove dropout, or use relay.distribute.Step",
            )
        cut = cut_pipeline(self.plan.loss, self.stages)
        self.link = link if link is not None else link_of(ranks, limit)
        self.me = self.link.me
        self.ranks = [rank for rank in range(ranks) if self.link.worker(rank) == self.me]
        self.post = Post(self.link, limit, slow, report)
        options = {"threads": 1} | options
        self._cut = cut
        state = {name: (slot.dtype, tuple(slot.shape)) for name, slot in self.plan.state().items()}
        self.tensors = {name: (value.dtype.name, value.shape) for name, value in values.items()} | state
        read = {name for stage in cut for name in stage.parameters}
        self._unread = {name: value for name, value in values.items() if name not in read}
        self.mesh, self.shardings = Mesh(pipeline=ranks), {}  # every tensor is whole, on the rank of its stage
        self._running = {
            stage.number: _RunningStage(
                stage,
                values,
                _update_of(values, {n: o for n, o in self.plan.optimisers.items() if n in stage.parameters}, options),
                options,
            )
            for stage in cut
            if stage.number % ranks in self.ranks
        }
        self.count = self.calls = 0

    # --- running ------------------------------------------------------------------------------------------------------
    def __call__(self, *batch: Any, **named: Any) -> np.ndarray:
        """Runs the step on a whole batch. Returns the mean loss."""
        micros = self._micro_batches(by_name(self.batch, batch, named))
        losses: dict[int, np.ndarray] = {}
        errors: list[BaseException] = []

        def run(rank: int) -> None:
            try:
                losses[rank] = self._run_rank(rank, micros)
            except BaseException as error:  # the other ranks of this worker wait for this one
                errors.append(error)
                self.post.fail(error)

        threads = [threading.Thread(target=run, args=(rank,), name=f"rank {rank}") for rank in self.ranks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        loss = losses[self.ranks[0]]
        if not math.isfinite(loss):
            raise not_finite(self.count, f"the loss is {float(loss)}", "lower the learning rate")
        for running in self._running.values():
            running.step(self.micros)
        self.count += 1
        self.calls += 1
        return loss

    def _run_rank(self, rank: int, micros: list[dict[str, np.ndarray]]) -> np.ndarray:
        losses: dict[int, np.ndarray] = {}
        for action in self.schedule[rank]:
            running = self._running[action.stage]
            batch = [micros[action.micro][name] for name in running.stage.batch]
            (self._forward if action.kind == "F" else self._backward)(rank, action, running, batch, losses)
        return self._mean(rank, losses)

    def _forward(self, rank: int, action: Action, running: _RunningStage, batch: list, losses: dict) -> None:
        stage, micro = running.stage, action.micro
        running.received[micro] = self._receive(rank, action, stage.number - 1, _FORWARD) if stage.number else []
        made = running.run_forward(batch, micro)
        if stage.number + 1 == self.stages:
            losses[micro] = made[0]
        else:
            self._send(rank, stage.number + 1, micro, made, _FORWARD)

    def _backward(self, rank: int, action: Action, running: _RunningStage, batch: list, losses: dict) -> None:
        stage, micro = running.stage, action.micro
        seeds = self._receive(rank, action, stage.number + 1, _BACKWARD) if stage.number + 1 < self.stages else []
        gradients = running.run_backward(batch, micro, seeds)
        if stage.number:
            self._send(rank, stage.number - 1, micro, gradients, _BACKWARD)

    def _tag(self, stage: int, micro: int, place: int, kind: int) -> int:
        return kind + (stage * self.micros + micro) * 64 + place

    def _send(self, rank: int, stage: int, micro: int, values: list[np.ndarray], kind: int) -> None:
        for place, value in enumerate(values):
            self.post.send(rank, stage % self.size, self._tag(stage, micro, place, kind), np.ascontiguousarray(value))

    def _receive(self, rank: int, action: Action, source: int, kind: int) -> list[np.ndarray]:
        stage = self._cut[action.stage]
        if kind == _FORWARD:
            main = stage.forward["main"]
            wanted = set(stage.received)
        else:
            main = stage.backward["main"]
            wanted = {f"seed{name[len('sent') :]}" for name in stage.seeded}
        types = [param.checked_type for param in main.params if param.name_hint in wanted]
        return [
            self.post.receive(
                source % self.size, rank, self._tag(action.stage, action.micro, place, kind),
                tuple(map(int, type_.shape)), np.dtype(str(type_.dtype)), f"{action} of step {self.count + 1}",
            )
            for place, type_ in enumerate(types)
        ]  # fmt: skip

    def _mean(self, rank: int, losses: dict[int, np.ndarray]) -> np.ndarray:
        """Returns the mean loss on every rank."""
        last = (self.stages - 1) % self.size
        if rank != last:
            type_ = self.plan.loss.result_type("loss")
            return self.post.receive(last, rank, _LOSS, (), np.dtype(str(type_.dtype)), "the loss")
        total = tree([losses[micro] for micro in range(self.micros)], np.add)
        mean = np.asarray(total / total.dtype.type(self.micros))
        for to in range(self.size):
            if to != last:
                self.post.send(last, to, _LOSS, mean)
        return mean

    def _micro_batches(self, given: dict[str, Any]) -> list[dict[str, np.ndarray]]:
        types = self.plan.loss.types()
        micros: list[dict[str, np.ndarray]] = [{} for _ in range(self.micros)]
        for name in self.batch:
            value, shape = np.asarray(given[name]), tuple(map(int, types[name].shape))
            whole = (shape[0] * self.micros, *shape[1:]) if shape else ()
            if value.shape != whole:
                raise wrong_input(
                    f"`{name}` has the shape {value.shape}, and {self.micros} micro-batches of {shape} make {whole}",
                    "give whole batches of that size",
                )
            value = value.astype(str(types[name].dtype), copy=False)
            for micro, block in enumerate(np.split(value, self.micros) if shape else [value] * self.micros):
                micros[micro][name] = np.ascontiguousarray(block)
        return micros

    # --- state --------------------------------------------------------------------------------------------------------
    @property
    def module(self) -> IRModule:
        """The program of the loss, before it is cut."""
        return self.plan.loss.module

    @property
    def report(self):
        """The compiler's report of the first stage of this worker."""
        return next(iter(self._running.values())).forward.report

    @property
    def micro(self) -> int:
        """Pipelines are saved between steps only."""
        return 0

    @property
    def layout_text(self) -> str:
        """The part of the layout on which bits depend. Ranks and schedules change no bits."""
        return f"stages={self.stages}, micro_batches={self.micros}"

    def owned(self, rank: int) -> dict[str, np.ndarray]:
        """Returns the parameters and the state of a rank's stages. Rank 0 also has the parameters that no stage reads.
        All stages count steps, and the first that is trained owns the count."""
        found = dict(self._unread) if rank == 0 else {}
        trained = [one.number for one in self._cut if any(name in self.plan.optimisers for name in one.parameters)]
        for number, running in self._running.items():
            if number % self.size == rank:
                found |= {name: value for name, value in running.arrays.items() if name != STEP or number == trained[0]}
        return found

    def restore(self, tensor: Callable[[str], np.ndarray], count: int, calls: int) -> None:
        """Replaces all parameters and state by tensor(name), after this many updates and calls."""
        for running in self._running.values():
            for name, value in running.arrays.items():
                value[...] = tensor(name).reshape(value.shape)
        for name, value in self._unread.items():
            value[...] = tensor(name).reshape(value.shape)
        self.count, self.calls = count, calls

    @property
    def params(self) -> Any:
        """Copies of the parameters, nested as they were given. All workers must ask for them."""
        mine = {}
        for running in self._running.values():
            values = zip(running.stage.parameters, running.parameters, strict=True)
            mine |= {name: value.copy() for name, value in values}
        everyone = self.link.gathered(mine)
        found = {name: value for one in everyone for name, value in one.items()}
        return rebuilt(self._nested, self._unread | found)
