"""Trains a small network on several workers; each of them may be killed.

relay train --workers 4 examples/train_on_workers.py FOLDER
"""

import sys

import numpy as np
import relay.distribute as distribute
import relay.train as train

import relay

rng = np.random.default_rng(0)
x = rng.standard_normal((4096, 16), dtype="float32")
y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype("int64")
params = {
    "up": rng.standard_normal((64, 16), dtype="float32") / 4,
    "down": rng.standard_normal((2, 64), dtype="float32") / 8,
}


def loss(p, x, y):
    scores = relay.nn.dense(relay.tanh(relay.nn.dense(x, p["up"])), p["down"])
    return relay.nn.nll_loss(relay.nn.log_softmax(scores), y, relay.ones(shape=[2], dtype="float32"))


mesh, types = distribute.Mesh(data=4), {"x": (128, 16), "y": ((128,), "int64")}
step = distribute.Step(loss, params, types, train.AdamW(3e-3), mesh=mesh, zero=1, report=print)
data = train.Batches({"x": x, "y": y}, 128, seed=1)
checkpoints = distribute.ShardedCheckpoints(sys.argv[1])
run = train.fit(step, data, epochs=5, checkpoints=checkpoints, progress=step.me == 0)
if step.me == 0:
    print(f"step {step.count}: loss {run.loss:.3f}")
