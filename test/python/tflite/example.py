"""Writes examples/tour/dense.tflite, the model of docs/front-ends.md."""

import pathlib

import numpy as np
from writer import Model

PATH = pathlib.Path(__file__).resolve().parents[3] / "examples" / "tour" / "dense.tflite"


def content():
    """A matrix and a softmax, for any number of rows."""
    m = Model()
    x = m.input("x", [1, 4], signature=[-1, 4])
    w = m.constant("w", np.float32([[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 3]]))
    scores = m.op("FULLY_CONNECTED", [x, w], [m.tensor("scores", [1, 3], signature=[-1, 3])])
    m.outputs(m.op("SOFTMAX", [scores], [m.tensor("y", [1, 3], signature=[-1, 3])], beta=1.0))
    return m.bytes()


if __name__ == "__main__":
    PATH.write_bytes(content())
