"""The prelude: lists, options, trees and functions over them, added to a module.

    mod = relay.IRModule()
    p = relay.Prelude(mod)
    mod["main"] = relay.Function([xs], p.length(p.map(f, xs)))

Single parts can be imported with mod.import_from_std("list"), or with `import "list"` in text.
"""

from __future__ import annotations

from .._core import Constructor, GlobalTypeVar, GlobalVar, IRModule

# Names that differ from those in the text.
_TYPES = {"l": "List", "optional": "Option", "tree": "Tree"}
_CONSTRUCTORS = {"cons": "Cons", "nil": "Nil", "some": "Some", "none": "None", "rose": "Rose"}


def extents(shape) -> str:
    """Returns a shape as it is written in the names of tensor arrays: "2_any", "scalar"."""
    return "_".join([str(size) if isinstance(size, int) else "any" for size in shape] or ["scalar"])


class Prelude:
    """The prelude of a module: its functions as GlobalVars (p.map, p.foldl, ...), its types (p.l, p.optional, p.tree)
    and their constructors (p.cons, p.nil, p.some, p.none, p.rose)."""

    def __init__(self, mod: IRModule | None = None):
        self.mod = IRModule() if mod is None else mod
        self.mod.import_from_std("prelude")

    def get_var(self, name: str, dtype: str) -> GlobalVar | GlobalTypeVar | Constructor:
        """Returns a function of tensor arrays of this element type: get_var("tensor_array_write", "float32")."""
        self.mod.import_from_std(f"tensor_array_{dtype}")
        full = f"tensor_{dtype}_t" if name == "tensor_t" else f"{name}_{dtype}"
        if full in self.mod:
            return self.mod.get_global_var(full) if name != "tensor_t" else self.mod.get_global_type_var(full)
        return next(c for c in self.mod[f"tensor_{dtype}_t"].constructors if c.name_hint == full)

    def _import(self, dtype: str, shape=None) -> None:
        self.mod.import_from_std("_".join(["tensor_array", dtype] + ([] if shape is None else [extents(shape)])))

    def get_name(self, canonical: str, dtype: str) -> str:
        """Returns the name of a definition for tensors of any rank."""
        return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"

    def get_global_var(self, canonical: str, dtype: str) -> GlobalVar:
        """Returns a function of tensor arrays."""
        self._import(dtype)
        return self.mod.get_global_var(self.get_name(canonical, dtype))

    def get_type(self, canonical: str, dtype: str) -> GlobalTypeVar:
        """Returns a type, such as "tensor_t"."""
        self._import(dtype)
        return self.mod.get_global_type_var(self.get_name(canonical, dtype))

    def get_ctor(self, ty_name: str, canonical: str, dtype: str) -> Constructor:
        """Returns a constructor of a type: get_ctor("tensor_float32_t", "tensor1", "float32")."""
        self._import(dtype)
        return self._constructor_of(ty_name, self.get_name(canonical, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Constructor:
        """Returns a constructor of tensors: "tensor_nil", "tensor0", ..."""
        return self.get_ctor(self.get_name("tensor_t", dtype), canonical, dtype)

    def _constructor_of(self, type_name: str, name: str) -> Constructor:
        known = self.mod[type_name].constructors
        for one in known:
            if one.name_hint == name:
                return one
        raise ValueError(f"{type_name} has no constructor {name}; it has: {', '.join(c.name_hint for c in known)}")

    def get_name_static(self, canonical: str, dtype: str, shape, batch_dim=None) -> str:
        """Returns the name of a definition for tensors of one shape."""
        if batch_dim is not None:
            raise NotImplementedError("all functions of a tensor array must know the same dimensions")
        suffix = f"{dtype}_{extents(shape)}"
        return f"static_tensor_{suffix}_t" if canonical == "tensor_t" else f"{canonical}_{suffix}"

    def get_global_var_static(self, canonical: str, dtype: str, shape, batch_dim=None) -> GlobalVar:
        """Returns a function of tensor arrays of one shape."""
        self._import(dtype, shape)
        return self.mod.get_global_var(self.get_name_static(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical: str, dtype: str, shape) -> GlobalTypeVar:
        """Returns a type, such as "tensor_t"."""
        self._import(dtype, shape)
        return self.mod.get_global_type_var(self.get_name_static(canonical, dtype, shape))

    def get_ctor_static(self, ty_name: str, name: str, dtype: str, shape) -> Constructor:
        """Returns a constructor of a type such as "tensor_t": "tensor_nil" or "tensor_constructor"."""
        self._import(dtype, shape)
        type_name = self.get_name_static(ty_name, dtype, shape)
        return self._constructor_of(type_name, self.get_name_static(name, dtype, shape))

    def get_tensor_ctor_static(self, name: str, dtype: str, shape) -> Constructor:
        """Returns a constructor of tensors."""
        return self.get_ctor_static("tensor_t", name, dtype, shape)

    def __getattr__(self, name: str) -> GlobalVar | GlobalTypeVar | Constructor:
        if name.startswith("__") or name == "mod":
            raise AttributeError(name)
        if name in _TYPES:
            return self.mod.get_global_type_var(_TYPES[name])
        if name in _CONSTRUCTORS:
            for definition in self.mod.type_definitions.values():
                for constructor in definition.constructors:
                    if constructor.name_hint == _CONSTRUCTORS[name]:
                        return constructor
        if name in self.mod:
            return self.mod.get_global_var(name)
        raise AttributeError(f"the prelude has no {name}")
