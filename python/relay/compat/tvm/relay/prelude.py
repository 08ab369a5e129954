"""relay.prelude: Prelude, and tensor arrays as objects that add themselves to it."""

from __future__ import annotations

from relay import Prelude, TensorType
from relay.ir.prelude import extents as _extents


def get_tensor_array_shape(expr, dtype: str, prelude: Prelude):
    """Returns the shape of the tensors in an array, which is a typed expression of List[...], or None if they have any
    shape."""
    element = expr.checked_type.args[0]
    if element == prelude.get_type("tensor_t", dtype)() or element == prelude.get_type("tensor_t", dtype):
        return None
    header = getattr(element, "func", element)
    for constructor in prelude.mod[header].constructors:
        if constructor.inputs and isinstance(constructor.inputs[0], TensorType):
            return list(constructor.inputs[0].shape)
    raise ValueError(f"{element} is not a type of tensors in arrays")


class TensorArrayOps:
    """Arrays of tensors of any rank: TensorArrayOps(p, "float32").register()"""

    def __init__(self, prelude: Prelude, dtype: str):
        self.prelude, self.dtype = prelude, dtype

    def register(self) -> None:
        """Adds the definitions to the prelude's module."""
        self.prelude.mod.import_from_std(f"tensor_array_{self.dtype}")


class StaticTensorArrayOps:
    """Arrays of tensors of one shape: StaticTensorArrayOps(p, "float32", (2, 3)).register()"""

    def __init__(self, prelude: Prelude, dtype: str, shape, batch_dim=None):
        if batch_dim is not None:
            raise NotImplementedError("all functions of a tensor array must know the same dimensions")
        self.prelude, self.dtype, self.shape = prelude, dtype, tuple(shape)

    def register(self) -> None:
        """Adds the definitions to the prelude's module."""
        self.prelude.mod.import_from_std(f"tensor_array_{self.dtype}_{_extents(self.shape)}")


__all__ = ["Prelude", "StaticTensorArrayOps", "TensorArrayOps", "get_tensor_array_shape"]
