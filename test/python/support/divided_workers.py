"""A training that several workers run, and that tests kill: divided_workers.py FOLDER STEPS [--option value ..].

Writes FOLDER/final.npz at the end, and FOLDER/pid-N with the process of each worker.
"""

import argparse
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import divided_training
import numpy as np
import relay.distribute as distribute
import relay.train as train
from relay.distribute.pipeline import Pipeline

KINDS = {
    "data": {"mesh": {"data": 4}},
    "zero1": {"mesh": {"data": 4}, "zero": 1},
    "zero3": {"mesh": {"data": 4}, "zero": 3},
    "tensor": {"mesh": {"model": 4}, "shardings": divided_training.GPT_TENSOR},
    "both": {"mesh": {"data": 2, "model": 2}, "shardings": divided_training.GPT_TENSOR, "zero": 1},
    "mlp": {"mesh": {"data": 4}, "zero": 1},
}


class Steps:
    """Batches by the number of a step."""

    def __init__(self, batch):
        self.batch, self.number, self.epoch = batch, 0, 0

    def __iter__(self):
        while True:
            self.number += 1
            yield self.batch(self.number - 1)

    def state(self):
        return {"number": self.number, "epoch": 0}

    def restore(self, state):
        self.number = state["number"]


def made(kind, limit=20.0, slow=5.0, report=None):
    loss, params, types, batch = divided_training.mlp() if kind == "mlp" else divided_training.gpt()
    options = dict(KINDS[kind], mesh=distribute.Mesh(**KINDS[kind]["mesh"]))
    step = distribute.Step(loss, params, types, train.AdamW(1e-2), limit=limit, slow=slow, report=report, **options)
    return step, Steps(batch)


def disturbed(given, me, step):
    """Does what the arguments say at a step: each once, marked by a file."""
    for what in ("kill", "stop", "sleep", "fail"):
        asked = getattr(given, what)
        mark = pathlib.Path(given.folder) / f"{what}-done"
        if asked and [int(part) for part in asked.split(":")[:2]] == [me, step.count] and not mark.exists():
            mark.touch()
            if what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif what == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            elif what == "sleep":
                time.sleep(float(asked.split(":")[2]))
            else:
                raise RuntimeError("the worker's own mistake")


def run_pipeline(folder, steps):
    loss, params, types, batch = divided_training.gpt(4)
    step = Pipeline(loss, params, types, train.Adam(1e-2), ranks=4, micros=4)
    for i in range(steps):
        parts = [batch(4 * i + k) for k in range(4)]
        step(*(np.concatenate(one) for one in zip(*parts, strict=True)))
    params = train.flatten(step.params)
    if step.me == 0:
        np.savez(folder / "final.npz", **params)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("steps", type=int)
    parser.add_argument("--kind", default="mlp")
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--slow", type=float, default=5.0)
    parser.add_argument("--pause", type=float, default=0.0)
    for what in ("kill", "stop", "sleep", "fail"):
        parser.add_argument(f"--{what}", help="WORKER:STEP[:SECONDS]")
    given = parser.parse_args()
    folder = pathlib.Path(given.folder)
    if given.kind == "pipeline":
        return run_pipeline(folder, given.steps)
    step, data = made(given.kind, given.limit, given.slow, lambda line: print(line, file=sys.stderr, flush=True))
    (folder / f"pid-{step.me}").write_text(str(os.getpid()))
    store = distribute.ShardedCheckpoints(folder, keep=2)
    hooks = [lambda run: disturbed(given, step.me, step), lambda run: time.sleep(given.pause)]
    train.fit(step, data, steps=given.steps, checkpoints=store, save_every=3, progress=False, hooks=hooks)
    whole = step.gathered()
    if step.me == 0:
        np.savez(folder / "final.npz", **{name.replace("/", ":"): value for name, value in whole.items()})


if __name__ == "__main__":
    main()
