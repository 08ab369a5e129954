"""The prelude: lists, options, trees and functions over them, put into a module.

    mod = relay.IRModule()
    p = relay.Prelude(mod)
    mod["main"] = relay.Function([xs], p.length(p.map(f, xs)))

Parts can be had alone: mod.import_from_std("list"), or `import "list"` in text.
"""

from __future__ import annotations

from ._core import Constructor, GlobalTypeVar, GlobalVar, IRModule

# Names that differ from those in the text.
_TYPES = {"l": "List", "optional": "Option", "tree": "Tree"}
_CONSTRUCTORS = {"cons": "Cons", "nil": "Nil", "some": "Some", "none": "None", "rose": "Rose"}


class Prelude:
    """The prelude of a module: its functions as GlobalVars (p.map, p.foldl, ...), its types (p.l, p.optional, p.tree)
    and their constructors (p.cons, p.nil, p.some, p.none, p.rose)."""

    def __init__(self, mod: IRModule | None = None):
        self.mod = IRModule() if mod is None else mod
        self.mod.import_from_std("prelude")

    def get_var(self, name: str, dtype: str) -> GlobalVar | GlobalTypeVar | Constructor:
        """Of tensor arrays of this element type: get_var("tensor_array_write", "float32")."""
        self.mod.import_from_std(f"tensor_array_{dtype}")
        full = f"tensor_{dtype}_t" if name == "tensor_t" else f"{name}_{dtype}"
        if full in self.mod:
            return self.mod.get_global_var(full) if name != "tensor_t" else self.mod.get_global_type_var(full)
        return next(c for c in self.mod[f"tensor_{dtype}_t"].constructors if c.name_hint == full)

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
