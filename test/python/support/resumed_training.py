"""A training that a test kills: resumed_training.py FOLDER STEPS. Writes FOLDER/final.npz at the end."""

import pathlib
import sys
import time

import numpy as np
import relay.train as train

import relay


def made():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 8)).astype("float32"), rng.standard_normal((40, 2)).astype("float32")

    def loss(p, x, y):
        error = relay.nn.dense(relay.nn.dropout(x, rate=0.2), p["w"]) - y
        return relay.mean(error * error)

    start = {"w": rng.standard_normal((2, 8)).astype("float32")}
    step = train.Step(loss, start, {"x": (7, 8), "y": (7, 2)}, train.Adam(1e-2), threads=1, ema=0.9)
    return step, train.Batches((x, y), 7, seed=3, drop_last=True)


def go(folder, steps, pause):
    step, data = made()
    store = train.Checkpoints(folder, keep=2, shard_bytes=100)
    train.fit(
        step, data, steps=steps, checkpoints=store, save_every=3, progress=False, hooks=[lambda run: time.sleep(pause)]
    )
    return {name: value.copy() for name, value in step.arrays.items()}


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1])
    np.savez(
        place / "final.npz", **{name.replace("/", ":"): one for name, one in go(place, int(sys.argv[2]), 0.01).items()}
    )
