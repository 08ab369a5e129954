"""A training step on the ranks of a mesh.

    step = relay.distribute.Step(loss, params, {"x": (64, 32), "y": ((64,), "int64")}, train.AdamW(1e-3),
                                 mesh=Mesh(data=4), zero=1)
    for x, y in data:                      # every worker reads the whole batch, and computes its ranks' parts
        value = step(x, y)

The program of a step (relay.train.program) is divided as any other (relay.distribute.partitioning). Batches are divided
along the axis `data`, parameters as `shardings` say, and their moments as the parameters. ZeRO only changes shardings:
with 1 and 2, moments are also divided along `data`; with 3, parameters too. The collectives follow from that.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import IRModule
from ..errors import bad_option, wrong_input
from ..run.compiled import compile
from ..train.explain import first_not_finite
from ..train.losses import RNG
from ..train.optimisers import Adam, Optimiser
from ..train.parameters import near, rebuilt
from ..train.program import KEY, MICRO, STEP, Program, add_program, step_program
from ..train.step import by_name, not_finite, planned, starting_arrays
from .annotations import annotate
from .collectives import running_as
from .gloo import link_of
from .merge import merge_collectives
from .mesh import Mesh, Sharding, as_sharding
from .partitioning import Partitioned, partition
from .ranks import Link, Post, Rank
from .sequences import compare, sequence_of


def divided_along(sharding: Sharding, shape: tuple[int, ...], axis: str, mesh: Mesh) -> Sharding:
    """Returns the sharding with one more axis: on the first whole dimension that it divides, else on another one, else
    the sharding itself."""
    local = sharding.local_shape(shape, mesh)
    dims = list(sharding.dims) + [()] * (len(shape) - len(sharding.dims))
    fitting = [d for d, size in enumerate(local) if size and size % mesh.axes[axis] == 0]
    if not fitting or any(axis in names for names in dims):
        return sharding
    d = min(fitting, key=lambda one: (bool(dims[one]), one))
    order = [name for name, _ in mesh.sizes]
    dims[d] = tuple(sorted((*dims[d], axis), key=order.index))
    return Sharding(tuple(dims))


class _Layout:
    """The shardings of the inputs of a step's program."""

    def __init__(self, mesh: Mesh, data: str | None, zero: int, shardings: dict, plan: Any):
        self.mesh, self.data, self.zero, self.plan = mesh, data, zero, plan
        self.given = {pattern: as_sharding(one) for pattern, one in shardings.items()}
        known = [*plan.types, *plan.loss.batch]
        for pattern in self.given:
            if not any(fnmatch.fnmatchcase(name, one) for name in known for one in pattern.split("|")):
                raise bad_option(f"the sharding `{pattern}` matches no parameter or input", near(pattern, known))

    def _asked(self, name: str) -> Sharding | None:
        for pattern, one in self.given.items():
            if any(fnmatch.fnmatchcase(name, part) for part in pattern.split("|")):
                return one
        return None

    def _divides_data(self) -> bool:
        return self.data is not None and self.mesh.axes[self.data] > 1

    def of_batch(self, name: str, shape: tuple) -> Sharding:
        """The sharding of an input of the batch: its first dimension is divided along the data axis."""
        asked = self._asked(name)
        if asked is not None:
            return asked
        return Sharding(((self.data,),)) if self._divides_data() and shape else Sharding()

    def of_parameter(self, name: str) -> Sharding:
        """The sharding of a parameter."""
        found = self._asked(name) or Sharding()
        if self.zero == 3 and self._divides_data() and name in self.plan.optimisers:
            return divided_along(found, tuple(self.plan.types[name].shape), self.data, self.mesh)
        return found

    def of_state(self, name: str, shape: tuple[int, ...]) -> Sharding:
        """The sharding of a tensor of state: that of its parameter, if it has its shape."""
        _, _, rest = name.partition("/")
        slot, _, parameter = rest.partition("/")
        if parameter not in self.plan.types or tuple(self.plan.types[parameter].shape) != tuple(shape):
            return Sharding()
        found = self._asked(parameter) or Sharding()
        least = 2 if slot == "accumulated" else 1
        if self.zero >= least and self._divides_data():
            return divided_along(found, tuple(shape), self.data, self.mesh)
        return found

    def of(self, name: str, shape: tuple) -> Sharding:
        """The sharding of an input of the program."""
        if name in self.plan.loss.batch:
            return self.of_batch(name, shape)
        return self.of_parameter(name) if name in self.plan.types else self.of_state(name, shape)


class _Runner:
    """A divided program, compiled once, with the arrays that each rank of this worker gives to it."""

    def __init__(self, program: Program, layout: _Layout, ranks: dict[int, dict[str, np.ndarray]], options: dict):
        self.program = program
        main = program.module["main"]
        shapes = {param.name_hint: tuple(param.checked_type.shape) for param in main.params}
        shardings = {name: layout.of(name, shape) for name, shape in shapes.items()}
        shardings |= {f"={i}": shardings[name] for name, i in program.donate.items()}
        stored = set(layout.plan.optimisers) if layout.zero == 3 else set()
        module = annotate(program.module, layout.mesh, shardings)
        divided = partition(module, stored=stored)
        self.divided: Partitioned = dataclasses.replace(divided, module=merge_collectives(divided.module))
        self.compiled = compile(self.divided.module, donate=program.donate, **options)
        self.batch = layout.plan.loss.batch
        self._ranks = ranks
        self._count = len(program.results) - len(program.donate)

    def parts(self, batch: dict[str, np.ndarray], rank: int) -> list[np.ndarray]:
        """Returns a rank's parts of the batch."""
        mesh = self.divided.mesh
        return [self.divided.shardings.get(name, Sharding()).part(batch[name], mesh, rank) for name in self.batch]

    def __call__(self, parts: list[np.ndarray], rank: int) -> dict[str, Any]:
        """Runs the program of a rank. Returns the results that are not in the rank's own arrays."""
        own = self._ranks[rank]
        results = self.compiled(*parts, *[own[name] for name in self.program.inputs])
        results = results if isinstance(results, tuple) else (results,)
        for name, new in zip(self.program.results[self._count :], results[self._count :], strict=True):
            if new is not own[name]:
                own[name][...] = new
        return dict(zip(self.program.results[: self._count], results[: self._count], strict=True))


class Step:
    """A training step on the ranks of a mesh. Calling it with a whole batch updates the parameters in place on every
    rank, and returns the loss.

    loss, params, batch, optimiser, groups, accumulate, clip_norm, clip_value, ema, seed: as in relay.train.Step. Sizes
    of the batch are numbers. Every worker is given the same parameters.
    precision: "float32" or "bfloat16". Gradients of parameters are added in float32, and
    other sums in the type of their values.
    mesh: the ranks. Their number is part of the training; that of workers is not, and must only divide it.
    shardings: by pattern of names of parameters and of inputs of the batch, such as {"*.up.weight": "{model}, {}"}.
    data: the axis along which batches are divided, if the mesh has it.
    zero: 0: moments are divided as their parameters. 1: also along `data`. 2: accumulated gradients too. 3: parameters
    too, which are gathered where they are used.
    limit: seconds to wait for another rank before the run ends with a diagnostic that names it.
    slow: seconds after which a wait is reported by `report`, a function of a line of text.
    options: of relay.compile.
    """

    def __init__(
        self,
        loss: Any,
        params: Any,
        batch: dict | None = None,
        optimiser: Optimiser = Adam(),  # noqa: B008 - it is immutable
        *,
        mesh: Mesh,
        shardings: dict[str, Sharding | str] | None = None,
        data: str = "data",
        zero: int = 0,
        groups: dict | None = None,
        outputs: tuple[str, ...] | None = None,
        accumulate: int = 1,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        precision: str = "float32",
        ema: float | None = None,
        seed: int = 0,
        limit: float = 60.0,
        slow: float = 5.0,
        report: Any = None,
        link: Link | None = None,
        **options: Any,
    ):
        if zero not in (0, 1, 2, 3):
            raise bad_option(f"zero is {zero!r}", "give 0, 1, 2 or 3")
        if precision == "float16":
            raise bad_option("float16 needs a scaled loss, which one worker has only", 'give precision="bfloat16"')
        if zero and data not in mesh.axes:
            raise bad_option(f"zero={zero} divides along `{data}`, and the mesh is {mesh}", f"add an axis {data} to it")
        self._nested, self.mesh = params, mesh
        self.loss, self.plan, whole = planned(
            loss, params, batch, optimiser, groups=groups, outputs=outputs, accumulate=accumulate, clip_norm=clip_norm,
            clip_value=clip_value, precision=precision, ema=ema,
        )  # fmt: skip
        self.batch = self.plan.loss.batch
        self.layout = _Layout(mesh, data if data in mesh.axes else None, zero, shardings or {}, self.plan)
        self.link = link if link is not None else link_of(mesh.size, limit)
        self.me = self.link.me
        self.ranks = [rank for rank in range(mesh.size) if self.link.worker(rank) == self.me]
        self.post = Post(self.link, limit, slow, report)
        arrays = starting_arrays(self.plan, whole, seed)
        self.shapes = {name: value.shape for name, value in arrays.items()}
        self.shardings = {name: self.layout.of(name, shape) for name, shape in self.shapes.items()}
        for name, sharding in self.shardings.items():
            sharding.check(name, self.shapes[name], mesh)
        self.parts: dict[int, dict[str, np.ndarray]] = {
            rank: {name: self.shardings[name].part(value, mesh, rank).copy() for name, value in arrays.items()}
            for rank in self.ranks
        }
        options = {"threads": 1} | options
        self._runners = [_Runner(step_program(self.plan), self.layout, self.parts, options)]
        if accumulate > 1:
            self._runners.append(_Runner(add_program(self.plan), self.layout, self.parts, options))
        self._check_others()
        self.calls = 0
        self.metrics: dict[str, Any] = {}

    def _check_others(self) -> None:
        """Compares the programs of all workers before the first run."""
        target = f"{self.report['target']}, numerics {self.report['numerics']}"
        mine = [[sequence_of(one.divided.module) for one in self._runners], str(self.mesh), target]
        everyone = self.link.gathered(mine, starting=True)
        for worker, (_, mesh, there) in enumerate(everyone):
            if mesh != str(self.mesh):
                raise wrong_input(
                    f"worker {worker} has the mesh {mesh}, and worker {self.me} has {self.mesh}",
                    "start all workers with one script and the same arguments",
                )
            if there != target:  # ranks that should agree would part in the last bits
                raise wrong_input(
                    f"worker {worker} compiles for {there}, and worker {self.me} for {target}",
                    "compile for one processor that all machines have: Step(.., target=..)",
                )
        for at in range(len(self._runners)):
            compare([everyone[self.link.worker(rank)][0][at] for rank in range(self.mesh.size)], self.mesh)

    # --- running ------------------------------------------------------------------------------------------------------
    def __call__(self, *batch: Any, **named: Any) -> np.ndarray:
        """Runs the step on a whole batch, by position or by name. Returns the mean loss."""
        given = self._in_order(batch, named)
        first = self.parts[self.ranks[0]]
        is_last = self.plan.accumulate == 1 or first[MICRO] + 1 == self.plan.accumulate
        results = self._on_all_ranks(self._runners[0 if is_last else 1], given)
        self.calls += 1
        loss = results.pop("loss")
        self.metrics = results
        if not math.isfinite(loss):
            help = "lower the learning rate, or clip the gradients with clip_norm=1.0"
            raise not_finite(self.count, f"the loss is {float(loss)}", help)
        return loss

    def _on_all_ranks(self, runner: _Runner, given: dict[str, np.ndarray]) -> dict[str, Any]:
        results: dict[int, dict[str, Any]] = {}
        errors: list[BaseException] = []

        def run(rank: int) -> None:
            here = Rank(self.mesh, rank, self.post)
            here.where = f"step {self.count + 1}"
            try:
                with running_as(here):
                    results[rank] = runner(runner.parts(given, rank), rank)
            except BaseException as error:  # the other ranks of this worker wait for this one
                cause = here.error or error
                errors.append(cause)
                self.post.fail(cause)

        if len(self.ranks) == 1:
            run(self.ranks[0])
        else:
            threads = [threading.Thread(target=run, args=(rank,), name=f"rank {rank}") for rank in self.ranks]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if errors:
            raise errors[0]
        return results[self.ranks[0]]

    def _in_order(self, batch: tuple, named: dict) -> dict[str, np.ndarray]:
        values = by_name(self.batch, batch, named)
        types = self.plan.loss.types()
        out = {}
        for name in self.batch:
            value = np.asarray(values[name])
            if tuple(value.shape) != tuple(types[name].shape):
                raise wrong_input(
                    f"`{name}` has the shape {value.shape}, and the step was made for {tuple(types[name].shape)}",
                    "give whole batches of that size on every worker: relay.train.Batches(.., drop_last=True)",
                )
            out[name] = value.astype(str(types[name].dtype), copy=False)
        return out

    # --- state --------------------------------------------------------------------------------------------------------
    @property
    def count(self) -> int:
        """The number of updates so far."""
        return int(self.parts[self.ranks[0]][STEP])

    @property
    def module(self) -> IRModule:
        """The program that each rank runs."""
        return self.divided.module

    @property
    def divided(self) -> Partitioned:
        """The divided program of a step, or of its last micro-batch. `moved` lists the collectives before small ones
        were merged."""
        return self._runners[0].divided

    @property
    def report(self):
        """The compiler's report of a rank's program."""
        return self._runners[0].compiled.report

    @property
    def micro(self) -> int:
        """The number of micro-batches since the last update."""
        return int(self.parts[self.ranks[0]][MICRO]) if MICRO in self.shapes else 0

    @property
    def layout_text(self) -> str:
        """The part of the layout on which bits depend."""
        return str(self.mesh)

    @property
    def tensors(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """The element types and shapes of all whole parameters and state, by name."""
        own = self.parts[self.ranks[0]]
        return {name: (own[name].dtype.name, shape) for name, shape in self.shapes.items()}

    def owned(self, rank: int) -> dict[str, np.ndarray]:
        """Returns the parts of tensors that a rank of this worker has and no lower rank."""
        return {name: value for name, value in self.parts[rank].items() if self.shardings[name].owns(self.mesh, rank)}

    def restore(self, tensor: Callable[[str], np.ndarray], count: int, calls: int) -> None:
        """Replaces all parameters and state by tensor(name), a whole tensor, after this many updates and calls."""
        for name, shape in self.shapes.items():
            value = tensor(name).reshape(shape)
            for rank in self.ranks:
                self.parts[rank][name][...] = self.shardings[name].part(value, self.mesh, rank)
        self.calls = calls

    def gathered(self, names: list[str] | None = None) -> dict[str, np.ndarray]:
        """Returns whole tensors by name, of all ranks of all workers. All workers must call it."""
        names = list(self.shapes) if names is None else names
        mine = {rank: {name: value for name, value in self.owned(rank).items() if name in names} for rank in self.ranks}
        everyone = self.link.gathered(mine)
        out = {name: np.empty(self.shapes[name], self.parts[self.ranks[0]][name].dtype) for name in names}
        for worker in everyone:
            for rank, owned in worker.items():
                for name, value in owned.items():
                    out[name][self.shardings[name].place(self.shapes[name], self.mesh, rank)] = value
        return out

    @property
    def params(self) -> Any:
        """Copies of the whole parameters, nested as they were given. All workers must ask for them."""
        return rebuilt(self._nested, self.gathered(list(self.plan.types)))

    @property
    def bytes(self) -> dict[int, int]:
        """The bytes of parameters and state on each rank of this worker."""
        return {rank: sum(value.nbytes for value in own.values()) for rank, own in self.parts.items()}

    def explain(self, *batch: Any, **named: Any) -> str:
        """Returns a sentence about the first value of the loss of a batch that is not finite."""
        values = self.gathered() | self._in_order(batch, named)
        if KEY in values:
            values[RNG] = values[KEY]
        return first_not_finite(self.plan.loss, {name: values.get(name) for name in self.plan.loss.inputs})
