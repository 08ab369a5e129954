"""Hostile Keras models, made with the writer of the Keras tests and then changed."""

import functools
import pathlib
import sys

from harness import OTHER_FILES, Kinds, either, fine, refused

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python" / "keras"))
try:
    import numpy as np
    from keras_files import archive, called, dense, functional, input_layer, layer, old_file, sequential, tensor
except ImportError:  # then their making says so
    pass

kinds = Kinds("keras")

CORRUPT = "R0402 R0403 R0404 R0504 R0601"


@functools.cache
def samples():
    """The same network as an archive and as an HDF5 file: a convolution, a pool, a matrix."""
    config = sequential(
        input_layer("x", 6, 6, 2), layer("Conv2D", "c", filters=3, kernel_size=[3, 3], padding="same"),
        layer("MaxPooling2D", "p", pool_size=[2, 2]), layer("Flatten", "f"), dense("d", 4),
    )  # fmt: skip
    kernel, bias = np.ones((3, 3, 2, 3), np.float32), np.ones(3, np.float32)
    matrix, added = np.ones((27, 4), np.float32), np.ones(4, np.float32)
    new = archive(config, {"layers/conv2d": [kernel, bias], "layers/dense": [matrix, added]})
    old = old_file(config, {"c": [("kernel", kernel), ("bias", bias)], "d": [("kernel", matrix), ("bias", added)]})
    return new, old


def run(v, content, *arguments, verb="run"):
    return v.run(verb, v.write("m.keras", content), *arguments)


def flipped(v):
    content = bytearray(v.one_of(samples()))
    for _ in range(v.size(1, 40)):
        content[v.rng.randrange(8, len(content))] ^= 1 << v.rng.randrange(8)
    return bytes(content)


def nested(v, depth, calls):
    """Models inside models, each of which calls the next one several times."""
    made = sequential(input_layer("x", 4), layer("ReLU", "r"), name="m")
    for place in range(depth):
        joined = called(layer("Add", "a"), [[tensor("m", one) for one in range(calls)]])
        inner = called({**made, "name": "m"}, *[tensor("x")] * calls)
        made = functional([input_layer("x", 4), inner, joined], ["x"], ["a"], name=f"m{place}")
    return run(v, archive(made, {}))


kinds("sound", "the model that the kinds change is sound itself", fine(), lambda v: run(v, v.one_of(samples())))
kinds("cut", "cut anywhere", refused("R04 R05"),
      lambda v: run(v, samples()[0][: v.rng.randrange(8, len(samples()[0]) - 1)]))  # fmt: skip
kinds("cut-hdf5", "an HDF5 file cut anywhere", either("R03 R04 R05"),
      lambda v: run(v, samples()[1][: v.rng.randrange(8, len(samples()[1]) - 1)]))  # fmt: skip
kinds("flipped", "any bits changed", either("R02 R03 R04 R05 R06"), lambda v: run(v, flipped(v)))
kinds("doubling", "models that call models, 2^20 layers or more in all", refused("R0405", "more than"),
      lambda v: nested(v, v.size(20, 22), 2))  # fmt: skip
kinds("deep", "models inside models", refused("R04", "nested"), lambda v: nested(v, v.size(25, 60), 1))
kinds("steps", "a cell that is imported step by step, for 2^30 steps", refused("R0403", "steps"),
      lambda v: run(v, archive(sequential(input_layer("x", 1 << 30, 4), layer("LSTM", "l", units=1, activation="selu")),
                               {"layers/lstm/cell": [np.ones((4, 4)), np.ones((1, 4)), np.ones(4)]})))  # fmt: skip
kinds("other", "what is no model, under this extension", refused("R04 R05"), lambda v: run(v, v.one_of(OTHER_FILES)))
kinds("cycle", "layers that need their own results", refused("R0404", "its own result"),
      lambda v: run(v, archive(functional([input_layer("x", 4), called(layer("Add", "a"), [tensor("x"), tensor("b")]),
                                           called(layer("ReLU", "b"), tensor("a"))], ["x"], ["b"]), {})))  # fmt: skip
kinds("weights", "weights that are missing, or of another shape", refused("R0403", "kernel"),
      lambda v: run(v, archive(sequential(input_layer("x", 4), dense("d", 3)), v.one_of(({}, {
          "layers/dense": [np.ones((5, 3), np.float32)]})))))  # fmt: skip
