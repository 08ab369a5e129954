"""The parts of passes: contexts, sequences, instruments. The passes themselves are in relay.transform."""

from __future__ import annotations

import difflib
import functools
import re
import sys
import threading
import time
from collections.abc import Callable

from .. import _core
from .._core import Function, IRModule
from ..errors import expect, expect_module


def run_passes(module: IRModule, passes: list[str] | str, *, options: dict[str, int | str] | None = None) -> IRModule:
    """Returns the module after the passes, in the given order. Types are inferred before the first pass and after each.

    `options` are options of passes: {"fuse_ops.max_group": 8, "convert_layout.layouts": "nn.conv2d NHWC"}. See
    relay.passes() and docs/passes.md.
    """
    return _core.transform(module, [passes] if isinstance(passes, str) else list(passes), options or {})


# Names that differ from the compiler's, and the lowest level at which Sequential runs a pass (0 for the others).
_NAMES = {
    "common_subexpr": "EliminateCommonSubexpr",
    "combine_parallel_conv2d": "CombineParallelConv2D",
    "dead_code": "DeadCodeElimination",
    "inline_calls": "Inline",
    "to_cps": "ToCPS",
    "un_cps": "UnCPS",
}
LEVELS = {
    "alter_op_layout": 3,
    "backward_fold_scale_axis": 3,
    "canonicalize_cast": 3,
    "canonicalize_ops": 3,
    "combine_parallel_batch_matmul": 4,
    "combine_parallel_conv2d": 4,
    "combine_parallel_dense": 4,
    "common_subexpr": 3,
    "convert_layout": 3,
    "dead_code": 1,
    "defuse_ops": 3,
    "dynamic_to_static": 2,
    "eta_expand": 1,
    "fast_math": 4,
    "fold_constant": 2,
    "fold_scale_axis": 3,
    "forward_fold_scale_axis": 3,
    "inline_calls": 1,
    "label_ops": 1,
    "lambda_lift": 1,
    "lazy_gradient_init": 2,
    "legalize": 1,
    "limit_width": 1,
    "partial_evaluate": 1,
    "remove_unused_functions": 1,
    "to_a_normal_form": 1,
    "to_basic_block_normal_form": 1,
    "to_cps": 1,
    "to_graph_normal_form": 1,
    "un_cps": 1,
}

# Constructors of passes by name. relay.transform fills this table.
constructors: dict = {}


def python_name(core_name: str) -> str:
    return _NAMES.get(core_name, "".join(word.capitalize() for word in core_name.split("_")))


def _core_name(name: str) -> str | None:
    """Returns the compiler's name of a pass that is given by either name, or None if there is no such pass."""
    return next((core for core, _ in _core.passes() if name in (core, python_name(core))), None)


class PassInfo:
    """The name of a pass, the lowest level at which Sequential runs it, and the passes that must run before it."""

    def __init__(self, opt_level: int, name: str, required: list[str] | None = None):
        self.opt_level = opt_level
        self.name = name
        self.required = list(required or [])

    def __repr__(self) -> str:
        return f"PassInfo({self.name!r}, opt_level={self.opt_level}, required={self.required})"


# Names of pass options in PassContext(config=...).
_CONFIG = {
    "relay.FuseOps.max_depth": "fuse_ops.max_group",
    "relay.ToMixedPrecision.keep_orig_output_dtype": "to_mixed_precision.keep_output",
}


class PassContext:
    """Settings for passes: with PassContext(opt_level=3, disabled_pass=["FuseOps"]): ...

    config contains options of passes: {"fuse_ops.max_group": 8} or {"relay.FuseOps.max_depth": 8}.
    """

    _local = threading.local()

    def __init__(self, opt_level=2, required_pass=None, disabled_pass=None, instruments=None, config=None, trace=None):
        self.opt_level = opt_level
        self.required_pass = list(required_pass or [])
        self.disabled_pass = list(disabled_pass or [])
        self.instruments = list(instruments or [])
        self.config = dict(config or {})
        known = [*_CONFIG, *(name for name, _, _ in _core.pass_options())]
        for name in self.config:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(_CONFIG)}."
                raise ValueError(f"there is no setting {name}; {hint} docs/passes.md lists the options of passes")
        self.trace = trace

    @property
    def options(self) -> dict[str, int]:
        """The options in config, under the compiler's names."""
        return {_CONFIG.get(name, name): value for name, value in self.config.items()}

    @classmethod
    def _stack(cls) -> list[PassContext]:
        if not hasattr(cls._local, "stack"):
            cls._local.stack = [PassContext()]
        return cls._local.stack

    @classmethod
    def current(cls) -> PassContext:
        """Returns the innermost context of this thread."""
        return cls._stack()[-1]

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """Returns the settings that config accepts, with the type of each."""
        kinds = {name: "int" if isinstance(value, int) else "str" for name, value, _ in _core.pass_options()}
        known = [*_CONFIG, *kinds]
        return {name: {"type": kinds[_CONFIG.get(name, name)]} for name in known}

    def override_instruments(self, instruments) -> None:
        """Replaces the instruments: exits the current ones and enters the new ones."""
        for instrument in self.instruments:
            _hook(instrument, "exit_pass_ctx")
        self.instruments = list(instruments or [])
        self._enter_instruments()

    @property
    def changes_compilation(self) -> bool:
        """True if the context changes more than the optimization level (0 to 3): if passes are disabled, required,
        configured or observed."""
        changes = self.disabled_pass or self.required_pass or self.instruments or self.config or self.trace
        return bool(changes) or self.opt_level >= LEVELS["fast_math"]

    def optimised(self, module: IRModule, level: int, mode: str = "inference") -> IRModule:
        """Returns the module after the passes that relay.compile runs at a level. Disabled passes are left out, and
        required passes that are not among them run before fuse_ops. Instruments and the trace observe every pass."""
        names, options = _core.pipeline(level, mode)
        required = [_core_name(one) for one in self.required_pass]
        if None in required:
            raise ValueError(f"there is no pass {self.required_pass[required.index(None)]} that could be required")
        disabled = {_core_name(one) for one in self.disabled_pass}
        if self.opt_level >= LEVELS["fast_math"] and "fast_math" not in disabled:
            required.append("fast_math")
        names[names.index("fuse_ops") : names.index("fuse_ops")] = [one for one in required if one not in names]
        for name in names:
            if name in disabled and name not in required:
                continue
            usual = {key: value for key, value in options.items() if key.startswith(name + ".")}
            own = {key: value for key, value in usual.items() if key not in self.options}
            module = CorePass(PassInfo(LEVELS.get(name, 0), python_name(name)), name, own)(module)
        return module

    def enabled(self, info: PassInfo) -> bool:
        """Returns true if Sequential runs this pass."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def _enter_instruments(self) -> None:
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

    def __enter__(self) -> PassContext:
        self._enter_instruments()
        self._stack().append(self)
        return self

    def __exit__(self, *exception) -> None:
        self._stack().pop()
        try:
            for instrument in self.instruments:
                _hook(instrument, "exit_pass_ctx")
        except BaseException:
            self.instruments = []
            raise


def _hook(instrument, name: str, *args):
    method = getattr(instrument, name, None)
    return method(*args) if method is not None else None


class Pass:
    """A function from module to module, with a PassInfo. Calling a pass runs it at any level."""

    def __init__(self, info: PassInfo):
        self.info = info

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Returns the transformed module."""
        raise NotImplementedError

    def __call__(self, mod: IRModule) -> IRModule:
        ctx = PassContext.current()
        expect_module(mod)
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


class CorePass(Pass):
    """A pass of the compiler."""

    def __init__(self, info: PassInfo, core_name: str, options: dict | None = None, hooks: dict | None = None):
        super().__init__(info)
        self.core_name = core_name
        self._options = options or {}
        self._hooks = {name: hook for name, hook in (hooks or {}).items() if hook is not None}

    def run(self, mod, ctx):
        mine = {name: value for name, value in ctx.options.items() if name.startswith(self.core_name + ".")}
        return _core.transform(mod, [self.core_name], {**mine, **self._options}, self._hooks)


class Sequential(Pass):
    """A sequence of passes. The context decides which of them run."""

    def __init__(self, passes: list[Pass], opt_level: int = 0, name: str = "sequential", required=None):
        super().__init__(PassInfo(opt_level, name, required))
        self.passes = list(passes)

    def run(self, mod, ctx):
        for one in self.passes:
            if not ctx.enabled(one.info):
                continue
            for name in one.info.required:
                mod = constructors[name]()(mod)
            mod = one(mod)
        return mod


class UserPass(Pass):
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
        wanted = f"a function, or a class with {method}(),"
        if isinstance(target, type):
            if not hasattr(target, method):
                raise TypeError(f"expected {wanted} to make a pass, got the class {target.__name__}")
        else:
            expect(target, Callable, f"{wanted} to make a pass")
        info_name = name or getattr(target, "__name__", type(target).__name__)
        info = PassInfo(0 if opt_level is None else opt_level, info_name, required)
        if not isinstance(target, type):
            return UserPass(target, info, of_functions)

        @functools.wraps(target, updated=())
        def construct(*args, **named):
            return UserPass(getattr(target(*args, **named), method), info, of_functions)

        return construct

    return wrap if pass_func is None else wrap(pass_func)


def module_pass(pass_func=None, opt_level=None, name=None, required=None):
    """Makes a pass from f(mod, ctx) -> mod, or from a class with transform_module(self, mod, ctx)."""
    return _decorator("transform_module", False, pass_func, opt_level, name, required)


def function_pass(pass_func=None, opt_level=None, name=None, required=None):
    """Makes a pass from f(func, mod, ctx) -> func, or from a class with transform_function(self, func, mod, ctx)."""
    return _decorator("transform_function", True, pass_func, opt_level, name, required)


class PrintIR(Pass):
    """Prints the current module to stderr."""

    def __init__(self, header: str = "", show_meta_data: bool = False):
        super().__init__(PassInfo(0, "PrintIR"))
        self._header, self._show_meta_data = header, show_meta_data

    def run(self, mod, ctx):
        print(f"PrintIR({self._header}):\n{mod.astext(self._show_meta_data)}", file=sys.stderr)
        return mod


def ApplyPassToFunction(transform: Pass, func_name_regex: str, error_if_no_match_function: bool = False) -> Pass:
    """Applies a pass to the functions whose whole names match. Other functions and their types stay unchanged."""

    def run(mod, ctx):
        names = [var.name_hint for var in mod.get_global_vars() if re.fullmatch(func_name_regex, var.name_hint)]
        if not names:
            if error_if_no_match_function:
                raise ValueError(f"no function's name matches {func_name_regex}")
            return mod
        changed, out = transform(mod), mod.clone()
        for name in names:
            if name in changed:
                out[name] = changed[name]
        return run_passes(out, ["infer_type"])

    return UserPass(run, PassInfo(0, f"ApplyPassTo{func_name_regex}"), False)


# --- instruments ------------------------------------------------------------------------------------------------------
def pass_instrument(cls):
    """Marks a class as an instrument. It may define enter_pass_ctx(), exit_pass_ctx(), should_run(mod, info),
    run_before_pass(mod, info) and run_after_pass(mod, info), which are called under PassContext(instruments=[cls()]).
    """
    return cls


class PassPrintingInstrument:
    """Prints the module before and after the passes with these names, to stdout."""

    def __init__(self, print_before_pass_names=(), print_after_pass_names=()):
        self._before, self._after = list(print_before_pass_names or []), list(print_after_pass_names or [])

    def run_before_pass(self, mod, info):
        if info.name in self._before:
            print(f"Print IR before: {info.name}\n{mod}\n")

    def run_after_pass(self, mod, info):
        if info.name in self._after:
            print(f"Print IR after: {info.name}\n{mod}\n")


class PrintBeforeAll:
    """Prints the module before every pass, to stdout."""

    def run_before_pass(self, mod, info):
        print(f"Print IR before: {info.name}\n{mod}\n")


class PrintAfterAll:
    """Prints the module after every pass, to stdout."""

    def run_after_pass(self, mod, info):
        print(f"Print IR after: {info.name}\n{mod}\n")


class PassTimingInstrument:
    """Times passes: with PassContext(instruments=[timing]): ...; print(timing.render())"""

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
        """Returns a line for each pass, with its time in microseconds."""
        return "\n".join(f"{'  ' * depth}{name}: {seconds * 1e6:.0f}us" for depth, name, seconds in self.times) + "\n"
