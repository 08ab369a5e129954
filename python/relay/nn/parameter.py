"""Parameters of layers: weights, which are trained, and buffers, which are state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from .._core import Expr, TensorType, Type, Var
from ..errors import wrong_input
from ..script.program import active

# Returns the first values of a parameter: (generator, shape) -> array.
Initialiser = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

_generator = np.random.default_rng(0)


def manual_seed(seed: int) -> None:
    """Seeds the first values of parameters that are made from now on."""
    global _generator
    _generator = np.random.default_rng(seed)


class Parameter:
    """An array that belongs to a layer. Sizes that are None are inferred when the layer is first traced.

    data: an array, or None. shape: without data. init: of the first values; without it they are zeros.
    trained: False for a buffer, such as moving averages.
    """

    version = 0  # counts replacements of arrays of all parameters, so that cached calls notice them

    def __init__(
        self,
        data: object = None,
        *,
        shape: Sequence[int | None] | None = None,
        dtype: str = "float32",
        init: Initialiser | None = None,
        trained: bool = True,
    ):
        self._data: np.ndarray | None = None
        self.shape: tuple[int | None, ...] = tuple(shape or ())
        self.dtype, self.init, self.trained = dtype, init, trained
        self.name = ""  # the path in the layer that was traced last
        if data is not None:
            self.data = data

    @property
    def is_known(self) -> bool:
        """True if all sizes are known."""
        return None not in self.shape

    @property
    def data(self) -> np.ndarray:
        """The values. They are drawn at the first access. Raises InputError while a size is not known."""
        if self._data is None:
            if not self.is_known:
                raise wrong_input(
                    f"the sizes of the parameter {self.name or ''} are not known yet: {self.shape}",
                    "call the layer, or infer them: net.infer(x)",
                )
            drawn = np.zeros(self.shape) if self.init is None else self.init(_generator, self.shape)
            self._data = np.ascontiguousarray(drawn, self.dtype)
        return self._data

    @data.setter
    def data(self, value: object) -> None:
        self._data = np.array(
            value.numpy() if hasattr(value, "detach") and hasattr(value, "numpy") else value, order="C"
        )
        self.shape, self.dtype = self._data.shape, self._data.dtype.name
        Parameter.version += 1

    def take_type(self, type_: Type) -> None:
        """Takes the sizes that inference found, if some are not known yet."""
        if self.is_known:
            return
        sizes = tuple(type_.shape)
        if not all(isinstance(size, int) for size in sizes):
            raise wrong_input(
                f"the sizes of `{self.name}` depend on the input: {type_}",
                "give the sizes of the layer, or a fixed size of the input's axis",
            )
        self.shape = sizes

    def copy_from(self, value: object, name: str) -> None:
        """Copies values of the same shape, into the array itself if it exists. Sizes that are not known yet are
        taken."""
        new = np.asarray(_numpy(value))
        fits = len(new.shape) == len(self.shape) and all(
            mine in (None, size) for mine, size in zip(self.shape, new.shape, strict=True)
        )
        if not fits:
            raise wrong_input(
                f"`{name}` has the shape {list(new.shape)}, the layer's has {list(self.shape)}",
                "load the state of a network of the same sizes",
            )
        if self._data is None:
            self.data = new.astype(self.dtype)
        else:
            self._data[...] = new

    def __relay_parameter__(self) -> Expr:
        """The variable of the parameter in the program that is traced."""
        program = active()
        if program is None:
            raise wrong_input("a parameter is used outside of a program", "use it in the forward() of a layer")
        found = program.variables.get(self)
        if found is None:
            type_ = TensorType(self.shape, self.dtype) if self.is_known else None
            found = program.variables[self] = Var(self.name or "parameter", type_)
        return found

    __relay_expr__ = __relay_parameter__

    def __array__(self, dtype=None, copy=None):
        return self.data if dtype is None else self.data.astype(dtype)

    def __repr__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{'Parameter' if self.trained else 'Buffer'}({self.dtype}[{sizes}])"


def _numpy(value: object) -> object:
    """Returns the array of a torch tensor, and other values as they are."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


def buffer(data: object = None, **named) -> Parameter:
    """Returns a parameter that is state."""
    return Parameter(data, trained=False, **named)


# --- first values, of torch.nn.init -----------------------------------------------------------------------------------
def zeros(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.zeros(shape)


def ones(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.ones(shape)


def normal(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return generator.standard_normal(shape)


@dataclasses.dataclass(frozen=True)
class constant:
    """Sets all elements to one value."""

    value: float

    def __call__(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, self.value)


@dataclasses.dataclass(frozen=True)
class uniform:
    """Draws from a uniform distribution over [-bound, bound)."""

    bound: float

    def __call__(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return generator.uniform(-self.bound, self.bound, shape)


def fan_in(shape: Sequence[int]) -> int:
    """Returns the number of inputs of an output element: that of all axes but the first."""
    return int(np.prod(shape[1:]))


def kaiming_uniform(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draws weights as torch.nn.Linear does: kaiming_uniform_ with a = sqrt(5). The bound is 1 / sqrt(fan_in)."""
    bound = 1 / np.sqrt(max(1, fan_in(shape)))
    return generator.uniform(-bound, bound, shape)


def xavier_uniform(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    bound = np.sqrt(6 / (shape[0] + shape[1]))
    return generator.uniform(-bound, bound, shape)


@dataclasses.dataclass(frozen=True)
class bias_of:
    """Draws a bias with the bound of its weight, 1 / sqrt(fan_in)."""

    weight: Parameter

    def __call__(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        bound = 1 / np.sqrt(max(1, fan_in(self.weight.shape)))
        return generator.uniform(-bound, bound, shape)
