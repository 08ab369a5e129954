"""relay.prelude: Prelude, and tensor arrays as objects that put themselves into it."""

from __future__ import annotations

import relay as _relay
from relay import Constructor, GlobalTypeVar, GlobalVar, TensorType


def _extents(shape) -> str:
    return "_".join([str(size) if isinstance(size, int) else "any" for size in shape] or ["scalar"])


class Prelude(_relay.Prelude):
    """relay.Prelude with the names of tensor arrays: get_name("tensor_array", "int32") is "tensor_array_int32"."""

    def _import(self, dtype: str, shape=None) -> None:
        self.mod.import_from_std("_".join(["tensor_array", dtype] + ([] if shape is None else [_extents(shape)])))

    def get_name(self, canonical: str, dtype: str) -> str:
        """Of a definition for tensors of any rank."""
        return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"

    def get_global_var(self, canonical: str, dtype: str) -> GlobalVar:
        """A function of tensor arrays."""
        self._import(dtype)
        return self.mod.get_global_var(self.get_name(canonical, dtype))

    def get_type(self, canonical: str, dtype: str) -> GlobalTypeVar:
        """A type: "tensor_t"."""
        self._import(dtype)
        return self.mod.get_global_type_var(self.get_name(canonical, dtype))

    def get_ctor(self, ty_name: str, canonical: str, dtype: str) -> Constructor:
        """A constructor of a type: get_ctor("tensor_float32_t", "tensor1", "float32")."""
        self._import(dtype)
        return self._constructor(ty_name, self.get_name(canonical, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Constructor:
        """A constructor of tensors: "tensor_nil", "tensor0", ..."""
        return self.get_ctor(self.get_name("tensor_t", dtype), canonical, dtype)

    def _constructor(self, type_name: str, name: str) -> Constructor:
        known = self.mod[type_name].constructors
        for one in known:
            if one.name_hint == name:
                return one
        raise ValueError(f"{type_name} has no constructor {name}; it has: {', '.join(c.name_hint for c in known)}")

    def get_name_static(self, canonical: str, dtype: str, shape, batch_dim=None) -> str:
        """Of a definition for tensors of one shape."""
        if batch_dim is not None:
            raise NotImplementedError("a tensor array has no dimension that only some of its functions know")
        suffix = f"{dtype}_{_extents(shape)}"
        return f"static_tensor_{suffix}_t" if canonical == "tensor_t" else f"{canonical}_{suffix}"

    def get_global_var_static(self, canonical: str, dtype: str, shape, batch_dim=None) -> GlobalVar:
        """A function of tensor arrays of one shape."""
        self._import(dtype, shape)
        return self.mod.get_global_var(self.get_name_static(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical: str, dtype: str, shape) -> GlobalTypeVar:
        """A type: "tensor_t"."""
        self._import(dtype, shape)
        return self.mod.get_global_type_var(self.get_name_static(canonical, dtype, shape))

    def get_ctor_static(self, ty_name: str, name: str, dtype: str, shape) -> Constructor:
        """A constructor of a type, "tensor_t": "tensor_nil", "tensor_constructor"."""
        self._import(dtype, shape)
        type_name = self.get_name_static(ty_name, dtype, shape)
        return self._constructor(type_name, self.get_name_static(name, dtype, shape))

    def get_tensor_ctor_static(self, name: str, dtype: str, shape) -> Constructor:
        """A constructor of tensors."""
        return self.get_ctor_static("tensor_t", name, dtype, shape)


def get_tensor_array_shape(expr, dtype: str, prelude: Prelude):
    """The shape of the tensors of an array, a typed expression of List[...]; None: of any."""
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
        self.prelude.mod.import_from_std(f"tensor_array_{self.dtype}_{_extents(self.shape)}")


__all__ = ["Prelude", "StaticTensorArrayOps", "TensorArrayOps", "get_tensor_array_shape"]
