"""The loop around a step: progress, evaluation, checkpoints, hooks.

    history = relay.train.fit(step, data, epochs=10, evaluate=accuracy, checkpoints="runs/digits")

It is no more than `for batch in data: step(batch)` with the parts that most trainings add.
"""

from __future__ import annotations

import dataclasses
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import bad_option, wrong_input
from ..trackers import Tracker, flat
from .checkpoints import Checkpoints
from .data import Batches, as_data
from .step import NotFinite, Step


@dataclasses.dataclass
class Run:
    """The state of a training, which hooks read. A hook ends the training by `run.stop = True`."""

    step: Step
    data: Any
    steps: int | None  # the number of the last step, or None if epochs decide
    loss: float = float("nan")
    evaluation: Any = None  # the last result of `evaluate`
    samples: int = 0  # since the start of this call
    seconds: float = 0.0  # since the start of this call
    stop: bool = False
    losses: list[float] = dataclasses.field(default_factory=list)  # of each step of this call
    evaluations: list[tuple[int, Any]] = dataclasses.field(default_factory=list)  # (step, result)

    @property
    def number(self) -> int:
        """The number of the step that was just made, from 1."""
        return self.step.count

    def line(self) -> str:
        """Returns the progress as a line of text."""
        rate = self.samples / self.seconds if self.seconds else 0.0
        of = f"/{self.steps}" if self.steps is not None else ""
        left = ""
        if self.steps is not None and self.losses:
            left = f", {max(0, self.steps - self.number) * self.seconds / len(self.losses):.0f} s left"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return f"step {self.number}{of}: loss {self.loss:.4g}, {rate:.0f} samples/s{left}, {memory:.0f} MiB"


Hook = Callable[[Run], Any]


class _Interrupt:
    """Notes the first Ctrl-C, so that it can be answered between two steps. The second one interrupts at once."""

    def __init__(self):
        self.happened = False
        self._before: Any = None

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, *_):
        if self.happened:
            raise KeyboardInterrupt
        self.happened = True

    def __exit__(self, *exception):
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)


def _samples_of(batch: Any) -> int:
    """Returns the number of samples of a batch: the first extent of its first array."""
    while isinstance(batch, (dict, tuple, list)) and batch:
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    shape = getattr(batch, "shape", ())
    return int(shape[0]) if len(shape) else 1


def fit(
    step: Step,
    data: Any,
    *,
    steps: int | None = None,
    epochs: int | None = None,
    evaluate: Callable[[Any], Any] | None = None,
    evaluate_every: int | None = None,
    checkpoints: Checkpoints | str | os.PathLike | None = None,
    save_every: int | None = None,
    resume: bool = True,
    hooks: Iterable[Hook] = (),
    trackers: Iterable[Tracker] = (),
    progress: bool = True,
) -> Run:
    """Trains until step number `steps`, or for `epochs` passes over the data, and returns the run with its losses.

    data: relay.train.Batches, or any iterable of batches.
    evaluate: called with the parameters after every `evaluate_every` steps (None: after each epoch) and at the end.
    checkpoints: a folder. A training that finds one there goes on from it, unless resume is false. One is saved every
    `save_every` steps (None: after each epoch), at the end, and on Ctrl-C, which then raises KeyboardInterrupt.
    hooks: functions of the run, called after each step in this order.
    trackers: of relay.trackers.open(), each without a run; they receive loss, rate, metrics and evaluations.
    progress: write a line a second to stderr.
    """
    if (steps is None) == (epochs is None):
        raise bad_option("the length of the training is not clear", "give either steps or epochs")
    data = as_data(data)
    store = checkpoints if checkpoints is None or isinstance(checkpoints, Checkpoints) else Checkpoints(checkpoints)
    if store is not None and resume:
        store.resume(step, data)
    run = Run(step, data, steps if steps is not None else _last(step, data, epochs))
    hooks = list(hooks)
    tracked = _Tracked(run, list(trackers), {"steps": steps, "epochs": epochs})
    with _Interrupt() as interrupt, tracked:
        _Loop(run, epochs, evaluate, evaluate_every, store, save_every, [*hooks, tracked], progress, interrupt).go()
    return run


class _Tracked:
    """Passes the figures of a run on to trackers; a hook, and a context around the loop."""

    def __init__(self, run: Run, trackers: list[Tracker], length: dict[str, int | None]):
        self._run, self._trackers, self._evaluations = run, trackers, 0
        plan = run.step.plan
        self._config = {key: value for key, value in length.items() if value is not None}
        self._config |= {"parameters": len(plan.types), "accumulate": plan.accumulate}

    def __enter__(self) -> None:
        for one in self._trackers:
            one.start(self._config)

    def __call__(self, run: Run) -> None:
        if not self._trackers:
            return
        rate = run.samples / run.seconds if run.seconds else 0.0
        self._log(run.number, {"loss": run.loss, "samples_per_second": rate, **flat(dict(run.step.metrics))})
        self._log_evaluations()

    def _log_evaluations(self) -> None:
        for number, result in self._run.evaluations[self._evaluations :]:
            self._log(number, flat(result, "evaluation"))
        self._evaluations = len(self._run.evaluations)

    def _log(self, number: int, numbers: dict[str, float]) -> None:
        for one in self._trackers:
            one.log(number, numbers)

    def __exit__(self, kind, *_) -> None:
        self._log_evaluations()
        for one in self._trackers:
            one.end("finished" if kind is None else "interrupted" if kind is KeyboardInterrupt else "failed")


def _last(step: Step, data: Any, epochs: int) -> int | None:
    """Returns the number of the last step of these epochs, or None if the data have no known length."""
    if not isinstance(data, Batches):
        return None
    left = (epochs - data.epoch) * len(data) - data.number
    return step.count + max(0, left) // step.plan.accumulate


@dataclasses.dataclass
class _Loop:
    run: Run
    epochs: int | None
    evaluate: Callable[[Any], Any] | None
    evaluate_every: int | None
    store: Checkpoints | None
    save_every: int | None
    hooks: list[Hook]
    progress: bool
    interrupt: _Interrupt
    saved: int = -1
    evaluated: int = -1

    def go(self) -> None:
        run, began, shown = self.run, time.perf_counter(), time.perf_counter()
        while not self._is_done():
            before = run.step.calls
            for batch in run.data:
                run.loss = self._stepped(batch)
                run.losses.append(run.loss)
                run.samples += _samples_of(batch)
                run.seconds = time.perf_counter() - began
                for hook in self.hooks:
                    hook(run)
                self._periodic()
                if self.progress and time.perf_counter() - shown >= 1:
                    shown = time.perf_counter()
                    print(run.line(), file=sys.stderr, flush=True)
                if self.interrupt.happened:
                    self._interrupted()
                if run.stop or (self.epochs is None and run.number >= run.steps):
                    break
            if run.step.calls == before:
                raise wrong_input(
                    f"the data ended before step {run.number + 1}" + (f" of {run.steps}" if run.steps else ""),
                    "give data that can be iterated again, such as relay.train.Batches, or train for fewer steps",
                )
            if run.data.state()["epoch"] and self._at_epoch_end():
                self._periodic(epoch_ended=True)
        self._finish()
        if self.progress:
            print(run.line(), file=sys.stderr, flush=True)

    def _at_epoch_end(self) -> bool:
        state = self.run.data.state()
        return not state.get("number", state.get("taken"))

    def _is_done(self) -> bool:
        run = self.run
        return run.stop or (run.number >= run.steps if self.epochs is None else run.data.epoch >= self.epochs)

    def _stepped(self, batch: Any) -> float:
        step = self.run.step
        try:
            return float(step(batch) if len(step.batch) > 1 or isinstance(batch, dict) else step(_only(batch)))
        except NotFinite as error:
            if self.store is not None:
                self.store.wait()
            raise NotFinite(f"{error}\nnote: {step.explain(batch)}", error.diagnostics) from error

    def _periodic(self, epoch_ended: bool = False) -> None:
        run, number = self.run, self.run.number
        if self.evaluate and number and number != self.evaluated:
            if number % self.evaluate_every == 0 if self.evaluate_every else epoch_ended:
                self._evaluated()
        if self.store and run.step.calls != self.saved:
            due = (
                number % self.save_every == 0 and run.step.calls % run.step.plan.accumulate == 0
                if self.save_every
                else epoch_ended
            )
            if due:
                self._save()

    def _evaluated(self) -> None:
        run = self.run
        run.evaluation, self.evaluated = self.evaluate(run.step.params), run.number
        run.evaluations.append((run.number, run.evaluation))
        if self.progress:
            print(f"step {run.number}: evaluation {run.evaluation}", file=sys.stderr, flush=True)

    def _save(self) -> None:
        self.store.save(self.run.step, self.run.data)
        self.saved = self.run.step.calls

    def _interrupted(self) -> None:
        if self.store is not None:
            self._save()
            self.store.wait()
            print(f"interrupted after step {self.run.number}: saved in {self.store.folder}", file=sys.stderr)
        raise KeyboardInterrupt

    def _finish(self) -> None:
        if self.evaluate and self.evaluated != self.run.number:
            self._evaluated()
        if self.store is not None:
            if self.saved != self.run.step.calls:
                self._save()
            self.store.wait()


def _only(batch: Any) -> Any:
    """Returns the only part of a batch."""
    return batch[0] if isinstance(batch, (tuple, list)) and len(batch) == 1 else batch
