"""Gradients of programs.

    mod = relay.parse(...)                                # @main returns one number: a loss
    step = relay.compile(relay.value_and_grad(mod, wrt=["weight", "bias"]))
    loss, (d_weight, d_bias) = step(x, weight, bias)

A program is a module, of which @main is differentiated, or a function. The result is a module. `wrt` (with respect to)
is a parameter's name or position, or a list of them, in which case the gradients are a tuple. Without `wrt`, the
gradients of all parameters are computed. Control flow, recursion, closures, data types and references can be
differentiated (docs/differentiation.md).
"""

from __future__ import annotations

from .. import op
from .._core import Call, Expr, Function, GlobalVar, If, IRModule, Let, TensorType, Tuple, TupleGetItem, TupleType, Var
from ..ir.expr import const
from ..ir.pass_infra import Pass, PassInfo, run_passes

__all__ = ["FirstOrderGradient", "grad", "gradient", "hessian", "hvp", "jvp", "value_and_grad", "vjp"]


def _module(program, mode: str = "inference") -> IRModule:
    if mode not in ("inference", "training"):
        raise ValueError(f"there is no mode {mode!r}: 'inference' or 'training'")
    if isinstance(program, Function):
        program = IRModule.from_expr(program)
    if not isinstance(program, IRModule):
        raise TypeError(f"expected a module or a function to differentiate, got {type(program).__name__}")
    return run_passes(program, ["infer_type"] + ["training_forms"] * (mode == "training"))


def _differentiated(module: IRModule, *, seed: bool = False, straight: bool = False) -> IRModule:
    return run_passes(module, ["gradient"], options={"gradient.seed": int(seed), "gradient.straight": int(straight)})


def _position(main: Function, which) -> int:
    names = [param.name_hint for param in main.params]
    if isinstance(which, str) and which in names:
        return names.index(which)
    if isinstance(which, int) and -len(names) <= which < len(names):
        return which % len(names)
    raise ValueError(f"wrt={which!r} is not a parameter; there are: {', '.join(names)}")


def _one_number(main: Function) -> None:
    type_ = main.body.checked_type
    if not isinstance(type_, TensorType) or len(type_.shape) or not str(type_.dtype).startswith(("float", "bfloat")):
        raise ValueError(f"the result must be one float, but is a {type_}: sum it, or use relay.vjp for other results")


def _with_main(module: IRModule, params, body: Expr) -> IRModule:
    out = module.clone()
    out["main"] = Function(params, body)
    return run_passes(out, ["infer_type"])


def _selected(module: IRModule, give) -> IRModule:
    """Returns the module with its result replaced by give(result)."""
    main, result = module["main"], Var("both")
    return _with_main(module, main.params, Let(result, main.body, give(result)))


def _choose(main: Function, wrt, gradients: Expr) -> Expr:
    if wrt is None:
        wrt = range(len(main.params))
    if isinstance(wrt, (str, int)):
        return TupleGetItem(gradients, _position(main, wrt))
    return Tuple([TupleGetItem(gradients, _position(main, one)) for one in wrt])


def value_and_grad(program: IRModule | Function, wrt=None, mode: str = "inference") -> IRModule:
    """Returns a module whose @main returns (value, gradients). The value is one float.

    mode "training": differentiate batch_norm and dropout in their training form. If the program has a dropout, @main
    gets a last parameter `rng`, the state of its generator.
    """
    module = _module(program, mode)
    main = module["main"]
    _one_number(main)
    _choose(main, wrt, Var("checked"))
    return _selected(
        _differentiated(module),
        lambda both: Tuple([TupleGetItem(both, 0), _choose(main, wrt, TupleGetItem(both, 1))]),
    )


def grad(program: IRModule | Function, wrt=None, mode: str = "inference") -> IRModule:
    """Returns a module whose @main returns only the gradients."""
    return run_passes(_selected(value_and_grad(program, wrt, mode), lambda both: TupleGetItem(both, 1)), ["dead_code"])


def vjp(program: IRModule | Function, wrt=None, mode: str = "inference") -> IRModule:
    """Returns the vector-Jacobian product. @main has a further parameter `seed`, of the type of its result (any shape,
    or a tuple), and returns (result, gradients of sum(result * seed))."""
    module = _module(program, mode)
    main = module["main"]
    _choose(main, wrt, Var("checked"))
    return _selected(
        _differentiated(module, seed=True),
        lambda both: Tuple([TupleGetItem(both, 0), _choose(main, wrt, TupleGetItem(both, 1))]),
    )


def _float_tensors(main: Function) -> list[int]:
    """Returns the positions of parameters that are tensors of floats."""
    return [
        at
        for at, param in enumerate(main.params)
        if isinstance(param.checked_type, TensorType) and str(param.checked_type.dtype).startswith(("float", "bfloat"))
    ]


def _zeros(value: Expr, type_) -> Expr:
    if isinstance(type_, TupleType):
        return Tuple([_zeros(TupleGetItem(value, at), field) for at, field in enumerate(type_.fields)])
    return op.zeros_like(value)


def jvp(program: IRModule | Function, mode: str = "inference") -> IRModule:
    """Returns the Jacobian-vector product. For each parameter that is a tensor of floats, @main has a further
    parameter, `d_` and its name: the parameter's direction of change. It returns (result, change of the result). `mode`
    is as for value_and_grad.

    The product is computed as the gradient of a gradient: the product u J of vjp is linear in u, and its own vjp with v
    is J v.
    """
    module = _module(program, mode)
    main = module["main"]
    floats = _float_tensors(main)
    if not floats:
        raise ValueError("no parameter is a tensor of floats, so there is nothing to differentiate")
    backward = _selected(
        _differentiated(module, seed=True),
        lambda both: Tuple([TupleGetItem(TupleGetItem(both, 1), at) for at in floats]),
    )
    forward = _differentiated(backward, seed=True)
    value, linear = _fresh(forward, "value"), _fresh(forward, "linear")
    out = forward.clone()
    out[linear] = forward["main"].with_attr("Inline", 1)
    out[value] = main.with_attr("Inline", 1)
    for var, function in module.functions.items():
        if var.name_hint != "main" and var not in out:
            out[var] = function
    params = [Var(param.name_hint, param.checked_type) for param in main.params]
    changes = [Var(f"d_{main.params[at].name_hint}", main.params[at].checked_type) for at in floats]
    y, both = Var("y"), Var("both")
    tangent = TupleGetItem(TupleGetItem(both, 1), len(params))
    body = Call(GlobalVar(linear), [*params, _zeros(y, main.body.checked_type), Tuple(changes)])
    body = Let(y, Call(GlobalVar(value), params), Let(both, body, Tuple([y, tangent])))
    return run_passes(_with_main(out, [*params, *changes], body), ["inline_calls", "dead_code"])


def _fresh(module: IRModule, name: str) -> str:
    while name in module:
        name += "_"
    return name


def hvp(program: IRModule | Function, wrt=0, mode: str = "inference") -> IRModule:
    """Returns the product of a vector and the Hessian with respect to one parameter. @main has a further parameter
    `seed` of that parameter's type, and returns the product. `mode` is as for value_and_grad."""
    slope = grad(program, wrt, mode)
    return run_passes(_selected(vjp(slope, wrt), lambda both: TupleGetItem(both, 1)), ["dead_code"])


def hessian(program: IRModule | Function, wrt=0, mode: str = "inference") -> IRModule:
    """Returns a module whose @main returns the second derivatives with respect to one parameter of known shape, as a
    tensor whose shape is the parameter's shape twice.

    A loop computes it row by row, with one Hessian-vector product each. `mode` is as for value_and_grad.
    """
    product = hvp(program, wrt, mode)
    main = product["main"]
    *params, _ = main.params
    type_ = params[_position(_module(program, mode)["main"], wrt)].checked_type
    if not all(isinstance(extent, int) for extent in type_.shape):
        raise ValueError(f"the parameter is a {type_}: bind its sizes first, with bind_shapes()")
    shape, elements = [int(extent) for extent in type_.shape], 1
    for extent in shape:
        elements *= extent
    times, rows = _fresh(product, "times"), _fresh(product, "rows")
    out = product.clone()
    out[times] = main
    at, so_far = Var("row", TensorType((), "int32")), Var("so_far", TensorType((elements, elements), type_.dtype))
    mine = [Var(param.name_hint, param.checked_type) for param in params]
    one, zero = const(1.0, dtype=type_.dtype), const(0.0, dtype=type_.dtype)
    basis = op.reshape(op.one_hot(at, one, zero, depth=elements, axis=-1, dtype=type_.dtype), newshape=shape)
    row = op.reshape(Call(GlobalVar(times), [*mine, basis]), newshape=[1, elements])
    more = op.scatter_nd(so_far, op.reshape(at, newshape=[1, 1]), row)
    again = Call(GlobalVar(rows), [*mine, op.add(at, const(1, dtype="int32")), more])
    body = If(op.less(at, const(elements, dtype="int32")), again, so_far)
    out[rows] = Function([*mine, at, so_far], body, so_far.type_annotation)
    params = [Var(param.name_hint, param.checked_type) for param in params]
    start = Call(
        GlobalVar(rows), [*params, const(0, dtype="int32"), op.zeros(shape=[elements, elements], dtype=type_.dtype)]
    )
    return _with_main(out, params, op.reshape(start, newshape=shape + shape))


# --- names of TVM's Relay ---------------------------------------------------------------------------------------------
def gradient(expr: Function, mod: IRModule | None = None, mode: str = "higher_order") -> Function:
    """Returns a function that returns (result, gradients of all parameters), for the sum of the result's elements.

    mode "first_order" refuses control flow, closures and references. Further functions that the result needs are added
    to `mod`.
    """
    if mode not in ("first_order", "higher_order"):
        raise ValueError(f"mode is 'first_order' or 'higher_order', not {mode!r}")
    module = IRModule.from_expr(expr) if mod is None else mod.clone()
    module["main"] = expr
    made = _differentiated(module, straight=mode == "first_order")
    if mod is not None:
        for var, function in made.functions.items():
            if var.name_hint != "main":
                mod[var] = function
    return made["main"]


class FirstOrderGradient(Pass):
    """A pass that differentiates every function of a module. Functions must not contain control flow."""

    def __init__(self):
        super().__init__(PassInfo(0, "FirstOrderGradient"))

    def run(self, mod, ctx):
        out = mod.clone()
        for var, function in mod.functions.items():
            out[var] = gradient(function, mod.clone(), "first_order")
        return out
