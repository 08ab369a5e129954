"""Passes: programs to programs.

    relay.run_passes(mod, ["infer_type", "fold_constant"])        # by name, in this order; see relay.passes()

    seq = relay.transform.Sequential([                            # as objects
        relay.transform.InferType(),
        relay.transform.FoldConstant(),
        relay.transform.EliminateCommonSubexpr(),
    ])
    with relay.transform.PassContext(opt_level=3):
        mod = seq(mod)

A pass of your own is a function of a module or of each function, with a decorator:

    @relay.transform.function_pass(opt_level=1)
    def without_relu(func, mod, ctx):
        return DropRelu().visit(func)
"""

from __future__ import annotations

import functools
import sys
import threading
import time

from . import _core, byoc
from ._core import Function, GlobalVar, IRModule

__all__ = [
    "Pass",
    "PassContext",
    "PassInfo",
    "PassTimingInstrument",
    "BatchingOps",
    "PrintIR",
    "Sequential",
    "function_pass",
    "infer_expr",
    "module_pass",
    "pass_instrument",
    "run_passes",
]


def run_passes(module: IRModule, passes: list[str] | str, *, options: dict[str, int] | None = None) -> IRModule:
    """The module after the passes in the given order; types are inferred before the first and after each.

    `options` of passes, as {"fuse_ops.max_group": 8}. See relay.passes().
    """
    return _core.transform(module, [passes] if isinstance(passes, str) else list(passes), options or {})


def infer_expr(expr, module: IRModule | None = None):
    """The same expression, with types; its free variables need annotations."""
    return _core.infer_expr(expr, module)


class PassInfo:
    """Name, the level from which Sequential runs a pass, and the passes that must have run before it."""

    def __init__(self, opt_level: int, name: str, required: list[str] | None = None):
        self.opt_level = opt_level
        self.name = name
        self.required = list(required or [])

    def __repr__(self) -> str:
        return f"PassInfo({self.name!r}, opt_level={self.opt_level}, required={self.required})"


# What the options of passes are called in PassContext(config=...).
_CONFIG = {"relay.FuseOps.max_depth": "fuse_ops.max_group"}


class PassContext:
    """Settings for the passes within: with PassContext(opt_level=3, disabled_pass=["FuseOps"]): ...

    config holds options of passes: {"fuse_ops.max_group": 8} or {"relay.FuseOps.max_depth": 8}.
    """

    _local = threading.local()

    def __init__(self, opt_level=2, required_pass=None, disabled_pass=None, instruments=None, config=None, trace=None):
        self.opt_level = opt_level
        self.required_pass = list(required_pass or [])
        self.disabled_pass = list(disabled_pass or [])
        self.instruments = list(instruments or [])
        self.config = dict(config or {})
        passes = {name for name, _ in _core.passes()}
        for name in self.config:
            if name not in _CONFIG and name.partition(".")[0] not in passes:
                known = ", ".join(_CONFIG)
                raise ValueError(
                    f"there is no setting {name}; there are: {known}, and options of passes (fuse_ops.max_group)"
                )
        self.trace = trace

    @property
    def options(self) -> dict[str, int]:
        """config, under the names that passes know."""
        return {_CONFIG.get(name, name): value for name, value in self.config.items()}

    @classmethod
    def _stack(cls) -> list[PassContext]:
        if not hasattr(cls._local, "stack"):
            cls._local.stack = [PassContext()]
        return cls._local.stack

    @classmethod
    def current(cls) -> PassContext:
        """The innermost one of this thread."""
        return cls._stack()[-1]

    @property
    def changes_compilation(self) -> bool:
        """Whether compiling is more than its level: passes are left out, added, changed or watched."""
        return bool(self.disabled_pass or self.required_pass or self.instruments or self.config or self.trace)

    def optimised(self, module: IRModule, level: int) -> IRModule:
        """The module after the passes that relay.compile runs at a level: without those that are disabled, with those
        that are required and not among them (before fuse_ops), each of them seen by the instruments and the trace."""
        names, options = _core.pipeline(level)
        required = [_core_name(one) for one in self.required_pass]
        if None in required:
            raise ValueError(f"there is no pass {self.required_pass[required.index(None)]} that could be required")
        names[names.index("fuse_ops") : names.index("fuse_ops")] = [one for one in required if one not in names]
        disabled = {_core_name(one) for one in self.disabled_pass}
        for name in names:
            if name in disabled and name not in required:
                continue
            usual = {key: value for key, value in options.items() if key.startswith(name + ".")}
            own = {key: value for key, value in usual.items() if key not in self.options}
            module = _CorePass(PassInfo(_LEVELS.get(name, 0), _python_name(name)), name, own)(module)
        return module

    def enabled(self, info: PassInfo) -> bool:
        """Whether Sequential runs this pass."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def __enter__(self) -> PassContext:
        entered = []
        for instrument in self.instruments:
            try:
                _hook(instrument, "enter_pass_ctx")
            except BaseException:
                for earlier in entered:
                    _hook(earlier, "exit_pass_ctx")
                self.instruments = []
                raise
            entered.append(instrument)
        self._stack().append(self)
        return self

    def __exit__(self, *exception) -> None:
        self._stack().pop()
        for instrument in self.instruments:
            _hook(instrument, "exit_pass_ctx")


def _hook(instrument, name: str, *args):
    method = getattr(instrument, name, None)
    return method(*args) if method is not None else None


class Pass:
    """A function from a module to a module, with a PassInfo. Calling one runs it, whatever the level is."""

    def __init__(self, info: PassInfo):
        self.info = info

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """What the pass does."""
        raise NotImplementedError

    def __call__(self, mod: IRModule) -> IRModule:
        ctx = PassContext.current()
        if not isinstance(mod, IRModule):
            raise TypeError(
                f"a pass takes a module, not {type(mod).__name__}: relay.IRModule.from_expr(expr) makes one"
            )
        if not all(_hook(one, "should_run", mod, self.info) in (None, True) for one in ctx.instruments):
            return mod
        if ctx.trace is not None:
            ctx.trace(mod, self.info, True)
        for instrument in ctx.instruments:
            _hook(instrument, "run_before_pass", mod, self.info)
        after = self.run(mod, ctx)
        if ctx.trace is not None:
            ctx.trace(after, self.info, False)
        for instrument in ctx.instruments:
            _hook(instrument, "run_after_pass", after, self.info)
        return after

    def __repr__(self) -> str:
        return f"<relay pass {self.info.name}>"


class _CorePass(Pass):
    """A pass of the compiler."""

    def __init__(self, info: PassInfo, core_name: str, options: dict | None = None):
        super().__init__(info)
        self.core_name = core_name
        self._options = options or {}

    def run(self, mod, ctx):
        mine = {name: value for name, value in ctx.options.items() if name.startswith(self.core_name + ".")}
        return run_passes(mod, [self.core_name], options={**mine, **self._options})


class Sequential(Pass):
    """Several passes, one after another: those that the context enables."""

    def __init__(self, passes: list[Pass], opt_level: int = 0, name: str = "sequential", required=None):
        super().__init__(PassInfo(opt_level, name, required))
        self.passes = list(passes)

    def run(self, mod, ctx):
        for one in self.passes:
            if not ctx.enabled(one.info):
                continue
            for name in one.info.required:
                mod = _by_name(name)(mod)
            mod = one(mod)
        return mod


class _UserPass(Pass):
    def __init__(self, function, info: PassInfo, of_functions: bool):
        super().__init__(info)
        self._function = function
        self._of_functions = of_functions

    def run(self, mod, ctx):
        if not self._of_functions:
            out = self._function(mod, ctx)
            if not isinstance(out, IRModule):
                raise TypeError(f"pass {self.info.name} gave {type(out).__name__}, not a module")
            return out
        out = mod.clone()
        for var, function in mod.functions.items():
            if function.attrs.get("SkipOptimization"):
                continue
            changed = self._function(function, mod, ctx)
            if not isinstance(changed, Function):
                raise TypeError(f"pass {self.info.name} gave {type(changed).__name__}, not a function")
            out[var] = changed
        return run_passes(out, ["infer_type"])


def _decorator(method: str, of_functions: bool, pass_func, opt_level, name, required):
    def wrap(target):
        info_name = name or target.__name__
        info = PassInfo(0 if opt_level is None else opt_level, info_name, required)
        if not isinstance(target, type):
            return _UserPass(target, info, of_functions)

        @functools.wraps(target, updated=())
        def construct(*args, **named):
            return _UserPass(getattr(target(*args, **named), method), info, of_functions)

        return construct

    return wrap if pass_func is None else wrap(pass_func)


def module_pass(pass_func=None, opt_level=None, name=None, required=None):
    """Makes a pass of f(mod, ctx) -> mod, or of a class with transform_module(self, mod, ctx)."""
    return _decorator("transform_module", False, pass_func, opt_level, name, required)


def function_pass(pass_func=None, opt_level=None, name=None, required=None):
    """Makes a pass of f(func, mod, ctx) -> func, or of a class with transform_function(self, func, mod, ctx)."""
    return _decorator("transform_function", True, pass_func, opt_level, name, required)


class PrintIR(Pass):
    """Prints the module as it is there, on stderr."""

    def __init__(self, header: str = "", show_meta_data: bool = False):
        super().__init__(PassInfo(0, "PrintIR"))
        self._header, self._show_meta_data = header, show_meta_data

    def run(self, mod, ctx):
        print(f"PrintIR({self._header}):\n{mod.astext(self._show_meta_data)}", file=sys.stderr)
        return mod


# --- instruments ------------------------------------------------------------------------------------------------------
def pass_instrument(cls):
    """Marks a class with any of enter_pass_ctx(), exit_pass_ctx(), should_run(mod, info), run_before_pass(mod, info)
    and run_after_pass(mod, info); PassContext(instruments=[cls()]) calls them."""
    return cls


class PassTimingInstrument:
    """Times the passes: with PassContext(instruments=[timing]): ...; print(timing.render())"""

    def __init__(self):
        self._started: list[tuple[str, float]] = []
        self.times: list[tuple[int, str, float]] = []  # depth, name, seconds

    def run_before_pass(self, mod, info):
        self._started.append((info.name, time.perf_counter()))
        self.times.append((len(self._started) - 1, info.name, 0.0))

    def run_after_pass(self, mod, info):
        name, begin = self._started.pop()
        at = max(i for i, one in enumerate(self.times) if one[:2] == (len(self._started), name))
        self.times[at] = (len(self._started), name, time.perf_counter() - begin)

    def render(self) -> str:
        """A line a pass: its time in microseconds."""
        return "\n".join(f"{'  ' * depth}{name}: {seconds * 1e6:.0f}us" for depth, name, seconds in self.times) + "\n"


# --- the compiler's passes --------------------------------------------------------------------------------------------
# Names that differ from those of the compiler, and the level from which Sequential runs a pass (else 0).
_NAMES = {
    "common_subexpr": "EliminateCommonSubexpr",
    "combine_parallel_conv2d": "CombineParallelConv2D",
    "dead_code": "DeadCodeElimination",
    "inline_calls": "Inline",
}
_LEVELS = {
    "common_subexpr": 3,
    "eta_expand": 1,
    "fold_constant": 2,
    "lambda_lift": 1,
    "to_a_normal_form": 1,
    "to_graph_normal_form": 1,
}


def _publish() -> None:
    for core_name, doc in _core.passes():
        name = _python_name(core_name)
        globals().setdefault(name, _constructor(core_name, name, doc))
        __all__.append(name)


def _constructor(core_name: str, name: str, doc: str):
    def construct() -> Pass:
        return _CorePass(PassInfo(_LEVELS.get(core_name, 0), name), core_name)

    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = doc
    return construct


def _by_name(name: str) -> Pass:
    return globals()[name]()


def _python_name(core_name: str) -> str:
    return _NAMES.get(core_name, "".join(word.capitalize() for word in core_name.split("_")))


def _core_name(name: str) -> str | None:
    """The compiler's name of a pass under either of its names; None: there is no such pass."""
    return next((core for core, _ in _core.passes() if name in (core, _python_name(core))), None)


def FuseOps(fuse_opt_level: int = -1) -> Pass:
    """Groups calls of operators into primitive functions. Level 0: each call alone."""
    options = {"fuse_ops.max_group": 1} if fuse_opt_level == 0 else {}
    return _CorePass(PassInfo(0, "FuseOps"), "fuse_ops", options)


def DeadCodeElimination(inline_once: bool = False, ignore_impurity: bool = False) -> Pass:
    """Drops let-bound values that nothing uses; inline_once: those that are used once stand where they are used. What
    has effects stays."""
    if ignore_impurity:
        raise NotImplementedError("what has effects stays: ignore_impurity is not there")
    return _CorePass(PassInfo(1, "DeadCodeElimination"), "dead_code", {"dead_code.inline_once": int(inline_once)})


def _combine(name: str, core_name: str, min_num_branches: int) -> Pass:
    return _CorePass(PassInfo(4, name), core_name, {f"{core_name}.min_branches": min_num_branches})


def CombineParallelConv2D(min_num_branches: int = 3) -> Pass:
    """Makes one convolution of several that have the same data, and splits its result."""
    return _combine("CombineParallelConv2D", "combine_parallel_conv2d", min_num_branches)


def CombineParallelDense(min_num_branches: int = 3, to_batch: bool = True) -> Pass:
    """Makes one dense layer of several that have the same data, and splits its result. It is a wide layer whatever
    to_batch says: a batch of products would read the same data once for each."""
    return _combine("CombineParallelDense", "combine_parallel_dense", min_num_branches)


def CombineParallelBatchMatmul(min_num_branches: int = 3) -> Pass:
    """Makes one product of several that have the same left-hand side, and splits its result."""
    return _combine("CombineParallelBatchMatmul", "combine_parallel_batch_matmul", min_num_branches)


def BatchingOps() -> Pass:
    """The three CombineParallel passes."""

    def run(mod, ctx):
        for one in (CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul()):
            mod = one(mod)
        return mod

    return _UserPass(run, PassInfo(4, "BatchingOps"), False)


def EliminateCommonSubexpr(fskip=None) -> Pass:
    """Computes equal calls of operators once."""
    if fskip is not None:
        raise NotImplementedError("EliminateCommonSubexpr takes no function that says what to skip")
    return _CorePass(PassInfo(_LEVELS["common_subexpr"], "EliminateCommonSubexpr"), "common_subexpr")


def EtaExpand(expand_constructor: bool = False, expand_global_var: bool = False) -> Pass:
    """Makes a function that calls it of every constructor, or global function, that is a value."""
    options = {"eta_expand.constructor": int(expand_constructor), "eta_expand.global_var": int(expand_global_var)}
    return _CorePass(PassInfo(1, "EtaExpand"), "eta_expand", options)


def RemoveUnusedFunctions(entry_functions: list[str] | None = None) -> Pass:
    """Drops the functions that @main, or the given ones, do not reach."""
    info = PassInfo(1, "RemoveUnusedFunctions")
    if entry_functions in (None, ["main"]):
        return _CorePass(info, "remove_unused_functions")
    return _UserPass(lambda mod, ctx: _reached(mod, entry_functions), info, False)


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


# --- for compilers of others; relay.byoc ------------------------------------------------------------------------------
class _PartitionPass(Pass):
    def __init__(self, name: str, core_name: str, composites=(), compilers=(), module_name="default", bind=True):
        super().__init__(PassInfo(0, name))
        self._arguments = core_name, list(composites), list(compilers), module_name, bind

    def run(self, mod, ctx):
        return _core.partition_pass(mod, *self._arguments)


def MergeComposite(pattern_table: list[tuple]) -> Pass:
    """Makes a function, marked Composite=name, of each match of the patterns: (name, pattern) or (name, pattern,
    check), where check(expr) may refuse a match. Those in front go first."""
    rows = []
    for row in pattern_table:
        if len(row) not in (2, 3):
            raise ValueError(f"a row of a pattern table is (name, pattern) or (name, pattern, check), not {row!r}")
        rows.append((row[0], row[1]._core, row[2] if len(row) == 3 else None))
    return _PartitionPass("MergeComposite", "merge_composite", composites=rows)


def AnnotateTarget(targets: str | list[str], include_non_call_ops: bool = True) -> Pass:
    """Marks what the compilers take, by annotation.compiler_begin and compiler_end: composite functions "compiler.name"
    and what relay.byoc.supports() says; all else is for "default". Tuples carry no marks of their own, whatever
    include_non_call_ops is: they keep no two regions apart."""
    names = [targets] if isinstance(targets, str) else list(targets)
    takes = [(name, functools.partial(byoc.takes, name)) for name in names]
    return _PartitionPass("AnnotateTarget", "annotate_target", compilers=takes)


def PartitionGraph(mod_name: str = "default", bind_constants: bool = True) -> Pass:
    """Makes a global function of each marked region; constants are part of it, or arguments."""
    return _PartitionPass("PartitionGraph", "partition_graph", module_name=mod_name, bind=bind_constants)


def __getattr__(name: str):
    if name.startswith("_"):
        raise AttributeError(name)
    raise AttributeError(
        f"there is no pass {name}; there are: {', '.join(n for n in sorted(__all__) if n[0].isupper())}"
    )


_publish()
