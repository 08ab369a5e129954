"""Shardings in programs: attributes of @main, and annotations of values inside.

def @main(%x: .., %w: .., mesh="data=2", shardings="x: {data}, {}; =0: {data}, {}")     =0: result number 0
distribute.sharding(%h, sharding="{data}, {}")
"""

from __future__ import annotations

from .. import _core, op, te
from .._core import Function, IRModule, TensorType, TupleType
from ..errors import wrong_input
from ..ir.pass_infra import run_passes
from .mesh import Mesh, Sharding, as_sharding

ANNOTATION = "distribute.sharding"
PRODUCED = "distribute.produced"  # within propagate_shardings: gives a number to a value

shard = op.define(
    ANNOTATION,
    inputs=["x"],
    attributes={"sharding": ""},
    relation=lambda x, sharding: x,
    compute=lambda x, sharding: te.compute(x.shape, lambda *i: x[i]),
    gradient=lambda x, result, seed, sharding: _core.call(ANNOTATION, [seed], {"sharding": sharding}),
    fusion="elementwise",
    doc="The tensor itself, which is to be divided by this sharding.",
)

_identity = op.define(
    PRODUCED,
    inputs=["x"],
    attributes={"number": 0},
    relation=lambda x, number: x,
    compute=lambda x, number: te.compute(x.shape, lambda *i: x[i]),
    fusion="elementwise",
    doc="The tensor itself, with a number by which a pass finds it again.",
)


def result_types(module: IRModule) -> list[TensorType]:
    """Returns the types of @main's results, which must be tensors."""
    type_ = module["main"].body.checked_type
    types = list(type_.fields) if isinstance(type_, TupleType) else [type_]
    if not all(isinstance(one, TensorType) for one in types):
        raise wrong_input(f"@main returns {type_}, and only tensors can be divided", "return a tuple of tensors")
    return types


def annotate(module: IRModule | Function, mesh: Mesh, shardings: dict[str, Sharding | str]) -> IRModule:
    """Returns the module with the shardings of @main's parameters, by name, and results, "=0", in its attributes."""
    module = module if isinstance(module, IRModule) else IRModule.from_expr(module)
    module = run_passes(module, ["infer_type"])
    main = module["main"]
    shapes = {param.name_hint: param.checked_type.shape for param in main.params}
    shapes |= {f"={i}": type_.shape for i, type_ in enumerate(result_types(module))}
    kept = {}
    for name, given in shardings.items():
        if name not in shapes:
            raise wrong_input(f"@main has no parameter or result `{name}`", f"it has: {', '.join(shapes)}")
        kept[name] = as_sharding(given)
        kept[name].check(name, tuple(shapes[name]), mesh)
        if kept[name].partial:
            raise wrong_input(
                f"the sharding {kept[name]} of `{name}` is partial", "parameters and results are divided or whole"
            )
    text = "; ".join(f"{name}: {one}" for name, one in kept.items() if any(one.dims))
    out = module.clone()
    out["main"] = main.with_attr("mesh", str(mesh)).with_attr("shardings", text)
    return out


def annotations(module: IRModule) -> tuple[Mesh, dict[str, Sharding]]:
    """Returns the mesh and the shardings in a module's attributes."""
    attrs = module["main"].attrs
    if not attrs or "mesh" not in attrs:
        raise wrong_input("@main has no mesh", "annotate it: relay.distribute.annotate(module, mesh, shardings)")
    found = {}
    for one in str(attrs["shardings"] if "shardings" in attrs else "").split(";"):
        name, colon, text = one.rpartition(":")
        if colon:
            found[name.strip()] = Sharding.parse(text)
    return Mesh.parse(str(attrs["mesh"])), found
