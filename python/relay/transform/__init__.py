"""Passes: functions from programs to programs.

    relay.run_passes(mod, ["infer_type", "fold_constant"])        # by name, in this order; see relay.passes()

    seq = relay.transform.Sequential([                            # as objects
        relay.transform.InferType(),
        relay.transform.FoldConstant(),
        relay.transform.EliminateCommonSubexpr(),
    ])
    with relay.transform.PassContext(opt_level=3):
        mod = seq(mod)

To write a pass, decorate a function of a module, or of each function of a module:

    @relay.transform.function_pass(opt_level=1)
    def without_relu(func, mod, ctx):
        return DropRelu().visit(func)
"""

from __future__ import annotations

from .. import _core
from .._core import Function, GlobalVar, IRModule
from ..byoc.collage import CollagePartition
from ..byoc.passes import AnnotateTarget, MergeComposite, PartitionGraph
from ..errors import expect_module
from ..ir.pass_infra import (
    LEVELS,
    ApplyPassToFunction,
    CorePass,
    Pass,
    PassContext,
    PassInfo,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    PrintIR,
    Sequential,
    UserPass,
    constructors,
    function_pass,
    module_pass,
    pass_instrument,
    python_name,
    run_passes,
)
from . import spans
from .buckets import FlexibleShapeDispatch
from .forms import Defunctionalization, LiftConstants, to_cps, un_cps
from .layouts import ConvertLayout, LayoutConfig
from .mixed_precision import ToMixedPrecision
from .rewrites import (
    AlterOpLayout,
    ChangeBatch,
    ChangeDatatype,
    Conv2dToSparse,
    DenseToSparse,
    InlineCompilerFunctionsBoundTo,
    Legalize,
    MarkCompilerFunctionsAsExtern,
    OutlineCompilerFunctionsWithExistingGlobalSymbols,
    SplitArgs,
    recast,
)
from .spans import AnnotateSpans, CapturePostDfsIndexInSpans
from .weights import SimplifyFCTranspose

suffixes = spans  # tag_suffixes(mod)

__all__ = [
    "AnnotateTarget",
    "MergeComposite",
    "PartitionGraph",
    "AnnotateSpans",
    "ApplyPassToFunction",
    "CapturePostDfsIndexInSpans",
    "CollagePartition",
    "Defunctionalization",
    "FlexibleShapeDispatch",
    "LiftConstants",
    "MarkCompilerFunctionsAsExtern",
    "PassPrintingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "SimplifyFCTranspose",
    "suffixes",
    "to_cps",
    "un_cps",
    "AlterOpLayout",
    "ChangeBatch",
    "ChangeDatatype",
    "Conv2dToSparse",
    "DenseToSparse",
    "FoldConstantExpr",
    "InlineCompilerFunctionsBoundTo",
    "Legalize",
    "OutlineCompilerFunctionsWithExistingGlobalSymbols",
    "SplitArgs",
    "ToANormalFormExpr",
    "recast",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassTimingInstrument",
    "BatchingOps",
    "ConvertLayout",
    "LayoutConfig",
    "PrintIR",
    "Sequential",
    "ToMixedPrecision",
    "function_pass",
    "infer_expr",
    "module_pass",
    "pass_instrument",
    "run_passes",
]


def infer_expr(expr, module: IRModule | None = None):
    """Returns the expression with types. Its free variables need annotations."""
    return _core.infer_expr(expr, module)


def _of_expr(expr, module: IRModule | None, made: Pass):
    """Returns the expression after a pass. Its free variables need annotations."""
    inside = IRModule.from_expr(expr)
    if module is not None:
        expect_module(module)
        inside.update(IRModule({v.name_hint: f for v, f in module.functions.items() if v.name_hint != "main"}))
        inside.update(IRModule(type_definitions=module.type_definitions))
    main = made(inside)["main"]
    return main if isinstance(expr, Function) else main.body


def FoldConstantExpr(expr, mod: IRModule | None = None, fold_qnn: bool = False):
    """Runs FoldConstant on one expression."""
    return _of_expr(expr, mod, FoldConstant(fold_qnn))


def ToANormalFormExpr(expr):
    """Runs ToANormalForm on one expression."""
    return _of_expr(expr, None, _constructor("to_a_normal_form", "ToANormalForm", "")())


def _publish() -> None:
    for core_name, doc in _core.passes():
        name = python_name(core_name)
        globals().setdefault(name, _constructor(core_name, name, doc))
        if name not in __all__:
            __all__.append(name)


def _constructor(core_name: str, name: str, doc: str):
    def construct() -> Pass:
        return CorePass(PassInfo(LEVELS.get(core_name, 0), name), core_name)

    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = doc
    return construct


class _FuseOps(Pass):
    def __init__(self, level: int, max_results: int):
        super().__init__(PassInfo(0, "FuseOps"))
        self._level, self._max_results = level, max_results

    def run(self, mod, ctx):
        options = {"fuse_ops.max_results": self._max_results}
        if (ctx.opt_level if self._level < 0 else self._level) == 0:
            options["fuse_ops.max_group"] = 1
        return CorePass(self.info, "fuse_ops", options).run(mod, ctx)


def FuseOps(fuse_opt_level: int = -1, max_results: int = 1) -> Pass:
    """Groups calls of operators into primitive functions. Level 0 leaves each call alone; -1 uses the level of the
    context. By default a group has one result, as in TVM. With a higher max_results, groups that read the same data
    become one group with several results, as in the pipelines of compile()."""
    return _FuseOps(fuse_opt_level, max_results)


def DeadCodeElimination(inline_once: bool = False, ignore_impurity: bool = False) -> Pass:
    """Removes let-bound values that are not used. inline_once: inline values that are used once. Values with side
    effects are kept unless ignore_impurity is set."""
    options = {"dead_code.inline_once": int(inline_once), "dead_code.ignore_impurity": int(ignore_impurity)}
    return CorePass(PassInfo(1, "DeadCodeElimination"), "dead_code", options)


def _combine(name: str, core_name: str, min_num_branches: int) -> Pass:
    return CorePass(PassInfo(4, name), core_name, {f"{core_name}.min_branches": min_num_branches})


def CombineParallelConv2D(min_num_branches: int = 3) -> Pass:
    """Merges convolutions of the same data into one, and splits its result."""
    return _combine("CombineParallelConv2D", "combine_parallel_conv2d", min_num_branches)


def CombineParallelDense(min_num_branches: int = 3, to_batch: bool = False) -> Pass:
    """Merges dense layers of the same data into one wide layer, and splits its result. to_batch: merge layers of equal
    sizes into a batched product, which reads the data once for each layer."""
    name = "combine_parallel_dense"
    options = {f"{name}.min_branches": min_num_branches, f"{name}.to_batch": int(to_batch)}
    return CorePass(PassInfo(4, "CombineParallelDense"), name, options)


def CombineParallelBatchMatmul(min_num_branches: int = 3) -> Pass:
    """Merges products with the same left-hand side into one, and splits its result."""
    return _combine("CombineParallelBatchMatmul", "combine_parallel_batch_matmul", min_num_branches)


def BatchingOps() -> Pass:
    """Runs the three CombineParallel passes."""

    def run(mod, ctx):
        for one in (CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul()):
            mod = one(mod)
        return mod

    return UserPass(run, PassInfo(4, "BatchingOps"), False)


def _scale_options(any_weights: bool) -> dict[str, int]:
    return {f"{way}_fold_scale_axis.any_weights": int(any_weights) for way in ("forward", "backward")}


def ForwardFoldScaleAxis(any_weights: bool = False) -> Pass:
    """Multiplies weights instead of data by a constant scale of the input of a convolution or dense layer. Weights that
    are not constant would be multiplied in every run, so they are left alone without any_weights."""
    return CorePass(PassInfo(3, "ForwardFoldScaleAxis"), "forward_fold_scale_axis", _scale_options(any_weights))


def BackwardFoldScaleAxis(any_weights: bool = False) -> Pass:
    """Multiplies weights instead of results by a constant scale of a convolution or dense layer; see
    ForwardFoldScaleAxis."""
    return CorePass(PassInfo(3, "BackwardFoldScaleAxis"), "backward_fold_scale_axis", _scale_options(any_weights))


def FoldScaleAxis(any_weights: bool = False) -> Pass:
    """Runs BackwardFoldScaleAxis and ForwardFoldScaleAxis, and then FoldConstant."""

    def run(mod, ctx):
        return run_passes(mod, ["fold_scale_axis", "fold_constant"], options=_scale_options(any_weights))

    return UserPass(run, PassInfo(3, "FoldScaleAxis"), False)


def EliminateCommonSubexpr(fskip=None) -> Pass:
    """Computes equal calls of operators once, except those for which fskip(call) is true."""
    return CorePass(
        PassInfo(LEVELS["common_subexpr"], "EliminateCommonSubexpr"), "common_subexpr", hooks={"skip": fskip}
    )


def FoldConstant(fold_qnn: bool = False) -> Pass:
    """Evaluates constant expressions of up to 64 Ki elements. Calls of qnn operators need fold_qnn."""
    options = {"fold_constant.qnn": int(fold_qnn)}
    return CorePass(PassInfo(LEVELS["fold_constant"], "FoldConstant"), "fold_constant", options)


def DynamicToStatic() -> Pass:
    """Turns shapes that are constant tensors into attributes: dyn.reshape becomes reshape. A shape may also be computed
    from constants and from known sizes."""

    def run(mod, ctx):
        while True:
            after = run_passes(mod, ["fold_constant", "dynamic_to_static"])
            if after == mod:
                return after
            mod = after

    return UserPass(run, PassInfo(2, "DynamicToStatic"), False)


def EtaExpand(expand_constructor: bool = False, expand_global_var: bool = False) -> Pass:
    """Wraps constructors, or global functions, that are used as values in functions that call them."""
    options = {"eta_expand.constructor": int(expand_constructor), "eta_expand.global_var": int(expand_global_var)}
    return CorePass(PassInfo(1, "EtaExpand"), "eta_expand", options)


def FakeQuantizationToInteger(
    hard_fail: bool = False, use_qat: bool = False, softmax: bool = False, exact: bool = False
) -> Pass:
    """Replaces the float computation between qnn.dequantize and qnn.quantize by integer computation. hard_fail: make
    remaining float operators an error. use_qat: replace operators with dequantised inputs even if their results are not
    quantised. softmax: replace nn.softmax by qnn.softmax."""
    name = "fake_quantization_to_integer"
    flags = {"hard_fail": hard_fail, "qat": use_qat, "softmax": softmax, "exact": exact}
    options = {f"{name}.{flag}": int(value) for flag, value in flags.items()}
    return CorePass(PassInfo(0, "FakeQuantizationToInteger", ["DivToMul"]), name, options)


def PlanDevices(default: str = "") -> Pass:
    """Assigns a device to every value, and inserts copies between devices. Values without a constraint are on
    `default`, such as "cuda:0", or on cpu:0 if it is empty. Plans may contain kinds of devices that programs cannot be
    compiled for."""
    info = PassInfo(LEVELS.get("plan_devices", 0), "PlanDevices")
    return CorePass(info, "plan_devices", {"plan_devices.default": default} if default else None)


def RemoveUnusedFunctions(entry_functions: list[str] | None = None) -> Pass:
    """Removes the functions that @main, or the given functions, do not reach."""
    info = PassInfo(1, "RemoveUnusedFunctions")
    if entry_functions in (None, ["main"]):
        return CorePass(info, "remove_unused_functions")
    return UserPass(lambda mod, ctx: _reached(mod, entry_functions), info, False)


def _reached(mod: IRModule, names: list[str]) -> IRModule:
    out, work = mod.clone(), [name for name in names if name in mod]
    reached = set(work)

    def note(e):
        if isinstance(e, GlobalVar) and e.name_hint not in reached:
            reached.add(e.name_hint)
            work.append(e.name_hint)

    while work:
        _core.post_order_visit(mod[work.pop()], note)
    for var in mod.get_global_vars():
        if var.name_hint not in reached:
            del out[var]
    return out


def __getattr__(name: str):
    if name.startswith("_"):
        raise AttributeError(name)
    raise AttributeError(
        f"there is no pass {name}; there are: {', '.join(n for n in sorted(__all__) if n[0].isupper())}"
    )


_publish()
constructors.update({name: globals()[name] for name in __all__})
