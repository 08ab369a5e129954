"""Small models, each of an operator or a form of one, with inputs and with values derived in numpy: the parts that the
lists of them share (*_cases.py).

test_tflite.py runs them against the derived values, test/frontends/tflite_run.py against LiteRT.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from writer import Model

CASES = []


@dataclasses.dataclass
class Case:
    name: str
    build: Callable  # (model, generator) -> [inputs as arrays]
    expect: Callable | None  # (*inputs) -> the result or a tuple of them; None: only LiteRT says
    exact: bool = False  # integers, or floats that are moved
    step: bool = False  # integers that stand for reals
    states: list = dataclasses.field(default_factory=list)  # values of variables before the run

    def model(self):
        """Returns the bytes of the model and its inputs."""
        model, rng = Model(), np.random.default_rng(7)
        inputs = self.build(model, rng)
        return model.bytes(), inputs


def case(name, build, expect=None, exact=False):
    CASES.append(Case(name, build, expect, exact))


def floats(rng, shape, low=-2, high=2):
    return rng.uniform(low, high, shape).astype(np.float32)


def one(
    op, shapes, result, expect, *, low=-2, high=2, dtype="float32", result_type=None, exact=False, name=None, **options
):
    """A case of one operator of inputs of these shapes."""

    def build(model, rng):
        arrays = [floats(rng, shape, low, high).astype(dtype) for shape in shapes]
        inputs = [model.input(f"x{i}", shape, dtype) for i, shape in enumerate(shapes)]
        model.outputs(model.op(op, inputs, [model.tensor("y", result, result_type or dtype)], **options))
        return arrays

    case(name or op, build, expect, exact)


def with_constants(
    op,
    shape,
    constants,
    results,
    expect,
    *,
    dtype="float32",
    result_type=None,
    exact=True,
    name=None,
    first=True,
    high=2,
    **options,
):
    """A case of one operator of an input and constants (`first`: the input comes before them)."""

    def build(model, rng):
        array = floats(rng, shape, -high, high).astype(dtype)
        x = model.input("x", shape, dtype)
        rest = [model.constant(f"c{i}", np.asarray(c)) for i, c in enumerate(constants)]
        outs = [model.tensor(f"y{i}", result, result_type or dtype) for i, result in enumerate(results)]
        model.op(op, [x, *rest] if first else [*rest, x], outs, **options)
        model.outputs(*outs)
        return [array]

    case(name or op, build, expect, exact)


def i32(*values):
    return np.array(values, np.int32)
