"""relay.prelude: Prelude, and tensor arrays as objects that put themselves into it."""

from __future__ import annotations

from relay import Prelude


class TensorArrayOps:
    """Arrays of tensors of any rank: TensorArrayOps(p, "float32").register()"""

    def __init__(self, prelude: Prelude, dtype: str):
        self.prelude, self.dtype = prelude, dtype

    def register(self) -> None:
        """Puts the definitions into the prelude's module."""
        self.prelude.mod.import_from_std(f"tensor_array_{self.dtype}")


class StaticTensorArrayOps:
    """Arrays of tensors of one shape: StaticTensorArrayOps(p, "float32", (2, 3)).register()"""

    def __init__(self, prelude: Prelude, dtype: str, shape, batch_dim=None):
        if batch_dim is not None:
            raise NotImplementedError("a tensor array has no dimension that only some of its functions know")
        self.prelude, self.dtype, self.shape = prelude, dtype, tuple(shape)

    def register(self) -> None:
        """Puts the definitions into the prelude's module."""
        sizes = [str(size) if isinstance(size, int) else "any" for size in self.shape] or ["scalar"]
        self.prelude.mod.import_from_std("_".join(["tensor_array", self.dtype, *sizes]))


__all__ = ["Prelude", "StaticTensorArrayOps", "TensorArrayOps"]
