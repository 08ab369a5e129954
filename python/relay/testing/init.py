"""Initial values of a network's parameters, by name: random weights, biases 0, scales 1."""

from __future__ import annotations

import numpy as np

from .._core import Function, IRModule
from ..ir.pass_infra import run_passes


class Initializer:
    """Fills an array in place. The end of the parameter's name determines its kind."""

    values = {"bias": 0.0, "gamma": 1.0, "beta": 0.0, "mean": 0.0, "var": 1.0}

    def __call__(self, name: str, array: np.ndarray) -> None:
        if name.endswith("weight"):
            self.weight(name, array)
            return
        for ending, value in self.values.items():
            if name.endswith(ending):
                array[...] = value
                return
        raise ValueError(f"parameter {name}: there is no default value for names with this ending")

    def weight(self, name: str, array: np.ndarray) -> None:
        """Fills a parameter named ..weight."""
        raise NotImplementedError


class Xavier(Initializer):
    """Fills an array with uniform numbers in +-sqrt(magnitude / fan). The fan is that of the inputs ("in"), of the
    outputs ("out"), or their mean ("avg").
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3):
        if rnd_type != "uniform" or factor_type not in ("in", "out", "avg"):
            raise ValueError(f"there is no initializer {rnd_type}, {factor_type}")
        self.factor_type, self.magnitude = factor_type, magnitude

    def weight(self, name, array):
        if array.ndim < 2:
            raise ValueError(f"parameter {name} has {array.ndim} axes; a weight has at least 2")
        window = float(np.prod(array.shape[2:]))
        fans = {"in": array.shape[1] * window, "out": array.shape[0] * window}
        fans["avg"] = (fans["in"] + fans["out"]) / 2
        fan = window if "depthwise" in name else fans[self.factor_type]
        scale = np.sqrt(self.magnitude / fan)
        array[...] = np.random.uniform(-scale, scale, size=array.shape)


class Constant(Initializer):
    """Fills all weights with one value."""

    def __init__(self, value: float = 0.0):
        self.value = value

    def weight(self, name, array):
        array[...] = self.value


def create_workload(
    net: Function, initializer: Initializer | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, np.ndarray]]:
    """Returns the network as a module, and values for its parameters, except `data` and those that are not tensors of
    known shape.
    """
    mod = run_passes(IRModule.from_expr(net), ["infer_type"])
    initializer = initializer or Xavier()
    np.random.seed(seed)
    params = {}
    for param in mod["main"].params:
        type_ = param.type_annotation
        if param.name_hint == "data" or not all(isinstance(size, int) for size in getattr(type_, "shape", ["?"])):
            continue
        value = np.zeros(type_.shape, type_.dtype)
        initializer(param.name_hint, value)
        params[param.name_hint] = value
    return mod, params
