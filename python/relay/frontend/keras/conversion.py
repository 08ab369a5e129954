"""The view that a converter has of a call of a layer: its arguments, configuration and weights, and methods to make
expressions or to refuse."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._core import Expr
from ..shared.expressions import (
    GIVE_SHAPES,
    MOST_ELEMENTS,
    axes_of,
    axis_of,
    bounded,
    cast,
    dtype_of,
    is_float,
    is_known,
    known,
    new_shape,
    number,
    numpy_type,
    shape_of,
)
from ..shared.node import FirstInput
from ..shared.problems import Refused
from .config import Layer, layer_of

__all__ = [
    "GIVE_SHAPES", "MOST_COPIES", "MOST_ELEMENTS", "Conversion", "Value", "axes_of", "axis_of", "bounded", "cast",
    "dtype_of", "each", "is_float", "is_known", "known", "new_shape", "number", "policy", "shape_of", "tensors",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Value:
    """A tensor of the network. `mask`: bool, (batch, steps), false for steps to be skipped; None if it has none."""

    expr: Expr
    mask: Expr | None = None


@dataclasses.dataclass(frozen=True)
class Text(Value):
    """A tensor of texts: their numbers (shared/texts.py), int64."""


def tensors(structure) -> list[Value]:
    """Returns the tensors in lists and dicts, in order."""
    if isinstance(structure, Value):
        return [structure]
    if isinstance(structure, dict):
        return [one for part in structure.values() for one in tensors(part)]
    return [one for part in structure for one in tensors(part)] if isinstance(structure, (list, tuple)) else []


MOST_COPIES = 10_000  # steps or parts, each of which is imported


def each(value, count: int) -> list[int]:
    """Returns a number for each axis: `value` is one for all of them, or a list."""
    found = [value] * count if isinstance(value, (int, float)) else value
    if not isinstance(found, (list, tuple)) or len(found) != count or not all(type(one) is int for one in found):
        raise Refused(f"{value!r} are not {count} whole numbers")
    return list(found)


def policy(dtype) -> str:
    """Returns the type in which a layer computes, from the `dtype` of its configuration."""
    if isinstance(dtype, dict):
        inner = dtype.get("config") if isinstance(dtype.get("config"), dict) else {}
        if "uantized" in str(dtype.get("class_name")):
            raise Refused("its weights are quantised", "save the model before model.quantize()")
        dtype = inner.get("name")
    dtype = "float32" if dtype is None else dtype
    dtype = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}.get(dtype, dtype)
    known_types = ("bool", "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
                   "uint8", "uint16", "uint32", "uint64")  # fmt: skip
    if dtype not in known_types:
        raise Refused(f"its data have the type {dtype!r}", f"use one of {', '.join(known_types)}")
    return dtype


class Conversion(FirstInput):
    """A call of a layer. c("units") is a value of the configuration, c.x the (first) input."""

    def __init__(self, importer, layer: Layer, weights, args: list, kwargs: dict, place: str):
        self.importer, self.layer, self.place = importer, layer, place
        self._weights, self.args, self.kwargs = weights, args, kwargs
        self.compute = policy(layer.config.get("dtype"))

    # --- configuration ------------------------------------------------------------------------------------------------
    def __call__(self, key: str, otherwise=None):
        """Returns a value of the configuration; `otherwise` if it is missing or null."""
        found = self.layer.config.get(key)
        return otherwise if found is None else found

    def number_of(self, key: str, otherwise=None) -> float:
        found = self(key, otherwise)
        if not isinstance(found, (int, float)) or isinstance(found, bool):
            raise Refused(f"`{key}` is {found!r}, not a number")
        return found

    def int_of(self, key: str, otherwise=None) -> int:
        found = self(key, otherwise)
        if type(found) is not int:
            raise Refused(f"`{key}` is {found!r}, not a whole number")
        return found

    def each(self, key: str, count: int, otherwise=1) -> list[int]:
        try:
            return each(self(key, otherwise), count)
        except Refused as reason:
            raise Refused(f"`{key}`: {reason}") from reason

    @property
    def is_keras_2(self) -> bool:
        return self.importer.is_keras_2

    @property
    def channels_first(self) -> bool:
        return self("data_format", "channels_last") == "channels_first"

    # --- inputs -------------------------------------------------------------------------------------------------------
    @property
    def inputs(self) -> list[Value]:
        """The tensors of the first argument: one, or those of a layer that merges several."""
        return tensors(self.args[:1])

    @property
    def value(self) -> Value:
        if not self.inputs:
            raise Refused("its input is not a tensor")
        return self.inputs[0]

    @property
    def x(self) -> Expr:
        return self.value.expr

    @property
    def mask(self) -> Expr | None:
        given = self.kwargs.get("mask")
        return given.expr if isinstance(given, Value) else self.value.mask

    def argument(self, key: str, position: int):
        """Returns an argument by name or position; None if it is missing."""
        return self.kwargs.get(key, self.args[position] if position < len(self.args) else None)

    # --- weights ------------------------------------------------------------------------------------------------------
    def array(self, name: str, shape: list | None = None) -> np.ndarray:
        """Returns the next weight. `shape`: the shape it must have; None stands for any size."""
        try:
            return self._taken(name, shape)
        except Refused as reason:
            return self.importer.stand_ins.zeros(
                reason, self.layer.kind, self.place, [None] if shape is None else shape
            )

    def _taken(self, name: str, shape: list | None) -> np.ndarray:
        found = self._weights.take(name)
        wanted = list(found.shape) if shape is None else list(shape)
        if len(wanted) != found.ndim or any(
            is_known(a) and a != b for a, b in zip(wanted, found.shape, strict=True) if a is not None
        ):
            sizes = ", ".join("any" if one is None else str(one) for one in wanted)
            raise Refused(
                f"the weight `{name}` has the shape {found.shape}, not ({sizes})",
                "the weights belong to another configuration: save the model again",
            )
        return found

    def weight(self, name: str, shape: list | None = None) -> Expr:
        """Returns the next weight as a constant of the layer's type."""
        return self.constant(self.array(name, shape))

    def left(self) -> int:
        return self._weights.left()

    def constant(self, array: np.ndarray, dtype: str | None = None) -> Expr:
        """Returns a constant. A layer that is called again shares its constants."""
        made = np.ascontiguousarray(np.asarray(array).astype(numpy_type(dtype or self.compute)))
        return self.importer.shared(self.layer, made)

    # --- inner layers -------------------------------------------------------------------------------------------------
    def inner(self, config, part: tuple[str, ...], args: list, kwargs: dict | None = None):
        """Calls a layer that this one contains, on these tensors. part: names of its weights in a .keras file."""
        layer = config if isinstance(config, Layer) else self.inner_layer(config)
        return self.importer.convert(
            layer, self._weights.part(*part), args, kwargs or {}, f"{self.place} / {layer.kind}"
        )

    def inner_layer(self, config) -> Layer:
        """Returns the layer of a configuration, the same one for each call."""
        return self.importer.inner_layer(self.layer, config, layer_of)

    def part(self, *names: str) -> Conversion:
        """Returns the view of this layer with the weights of an object that it contains."""
        made = Conversion(self.importer, self.layer, self._weights.part(*names), self.args, self.kwargs, self.place)
        made.compute = self.compute
        return made

    def of(self, layer: Layer, args: list, kwargs: dict, *part: str) -> Conversion:
        """Returns the view of an inner layer."""
        return Conversion(self.importer, layer, self._weights.part(*part), args, kwargs, self.place)
