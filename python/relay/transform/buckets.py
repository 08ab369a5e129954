"""Programs for sizes that are unknown before the run, assembled from programs for several known sizes."""

from __future__ import annotations

from .._core import Any, Call, Function, GlobalVar, If, IRModule, TensorType, Tuple, TupleGetItem, TupleType, Var
from ..ir.expr import const
from ..ir.pass_infra import Pass, PassInfo, UserPass, run_passes
from ..op.make import named_op
from .rewrites import ChangeBatch

__all__ = ["FlexibleShapeDispatch"]


def FlexibleShapeDispatch(
    buckets: list[int],
    axis: int = 0,
    auto_pad: bool = False,
    pad_value: float = 0,
    input_indices: list[int] | None = None,
    affects_output: bool = True,
) -> Pass:
    """Makes @main accept any extent along an axis. It calls @main_B, which is compiled for the extent B, if B is one of
    `buckets`.

    auto_pad: for other extents, call the function of the next larger bucket on inputs padded with pad_value, and cut
    its outputs (affects_output: the outputs have the axis too). Without auto_pad, the entry checks of the last bucket
    refuse other extents. input_indices: the parameters that have the axis, by default all tensors.
    """
    sizes = sorted(set(map(int, buckets)))
    if not sizes or sizes[0] < 1:
        raise ValueError("buckets must be a non-empty list of extents of at least 1")

    def run(mod, ctx):
        return _dispatching(mod, sizes, axis, auto_pad, pad_value, input_indices, affects_output)

    return UserPass(run, PassInfo(0, "FlexibleShapeDispatch"), False)


def _with_extent(type_: TensorType, axis: int, extent) -> TensorType:
    shape = list(type_.shape)
    shape[axis] = extent
    return TensorType(shape, type_.dtype)


def _dispatching(mod, sizes, axis, auto_pad, pad_value, input_indices, affects_output) -> IRModule:
    mod = run_passes(mod, ["infer_type"])
    main = mod["main"]
    if input_indices is None:
        input_indices = [i for i, p in enumerate(main.params) if isinstance(p.checked_type, TensorType)]
    if not input_indices or any(not 0 <= i < len(main.params) for i in input_indices):
        raise ValueError(f"input_indices are numbers of the {len(main.params)} parameters, at least one")
    out = mod.clone()
    results = {}
    for size in sizes:
        fixed = ChangeBatch({main.params[i].name_hint: axis for i in input_indices}, size)(mod)["main"]
        out[f"main_{size}"] = fixed
        results[size] = fixed.checked_type.ret_type
    params = [
        Var(p.name_hint, _with_extent(p.checked_type, axis, Any()) if i in input_indices else p.checked_type)
        for i, p in enumerate(main.params)
    ]
    first = params[input_indices[0]]
    extent = named_op("take")(named_op("shape_of")(first, dtype="int32"), const(axis, "int32"))
    body = None
    if auto_pad:  # a longer input is refused at run time
        bounded = named_op("annotation.bounded")
        inputs = [bounded(p, axis=axis, most=sizes[-1]) if i in input_indices else p for i, p in enumerate(params)]
    else:
        inputs = params
    for size in reversed(sizes):
        result = _one_size(
            inputs, main, size, extent, axis, auto_pad, pad_value, input_indices, affects_output, results
        )
        holds = named_op("less_equal" if auto_pad else "equal")(extent, const(size, "int32"))
        body = result if body is None else If(holds, result, body)
    out["main"] = Function(params, body)
    return run_passes(out, ["infer_type"])


def _one_size(params, main, size, extent, axis, auto_pad, pad_value, input_indices, affects_output, results):
    """Returns a call of @main_SIZE. Its result has size `?` along the axis."""
    args = []
    for i, param in enumerate(params):
        if i not in input_indices:
            args.append(param)
            continue
        shape = [size if place == axis else n for place, n in enumerate(main.params[i].checked_type.shape)]
        value = _padded(param, main.params[i].checked_type, size, extent, axis, pad_value) if auto_pad else param
        args.append(named_op("reshape")(value, newshape=shape))
    call = Call(GlobalVar(f"main_{size}"), args)
    return _cut(call, results[size], extent, axis) if affects_output else call


def _padded(param, type_, size, extent, axis, pad_value):
    rank, dtype = len(type_.shape), type_.dtype
    more = named_op("reshape")(named_op("subtract")(const(size, "int32"), extent), newshape=[1, 1])
    place = named_op("one_hot")(const([axis * 2 + 1], "int32"), const(1), const(0), rank * 2, -1, "int32")
    widths = named_op("reshape")(named_op("multiply")(more, place), newshape=[rank, 2])
    return named_op("dyn.nn.pad")(param, widths, const(pad_value, dtype))


def _cut(value, type_, extent, axis):
    """Returns the first `extent` positions along the axis, for every tensor in a tuple."""
    if isinstance(type_, TupleType):
        return Tuple([_cut(TupleGetItem(value, i), field, extent, axis) for i, field in enumerate(type_.fields)])
    shape = list(map(int, type_.shape))
    if axis >= len(shape):
        return value
    place = named_op("one_hot")(const([axis], "int32"), const(1), const(0), len(shape), -1, "int32")
    fixed = const([0 if i == axis else n for i, n in enumerate(shape)], "int32")
    ends = named_op("add")(named_op("reshape")(named_op("multiply")(extent, place), newshape=[len(shape)]), fixed)
    zeros, ones = const([0] * len(shape), "int32"), const([1] * len(shape), "int32")
    return named_op("dyn.strided_slice")(value, zeros, ends, ones)
