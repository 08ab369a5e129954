"""Building and running with TVM's conventions: the current target as default, NDArrays as results."""

from __future__ import annotations

import relay as _relay
from relay.run import build_module as _ours
from relay.run.options import KEYWORDS

from ...outside import ONE_DEVICE, explain
from ..contrib.graph_executor import GraphModule
from ..runtime import params
from ..target import Target
from .backend.interpreter import argument, wrap


def _target(given):
    """Returns the current target if none is given. Only the processor can be a target."""
    target = Target.current() if given is None else given
    if isinstance(target, dict):
        target = next(iter(target.values()))
    kind = "llvm" if target is None else str(target).split()[0]
    if kind in ("cuda", "opencl", "vulkan", "metal", "rocm", "hexagon", "vta", "ext_dev"):
        raise _relay.CompileError(f"error: target '{kind}': {ONE_DEVICE}")
    return target


# The options of build() that relay.compile() has.
_OPTIONS = tuple(name for name in KEYWORDS if name not in ("target", "executor"))


def _executor(given) -> dict:
    """Returns relay.compile()'s name of an executor. An option that would have no effect is an error."""
    if given is None:
        return {}
    name = str(getattr(given, "name", given))
    for option, value in getattr(given, "attrs", {}).items():
        if option == "link-params" or value in (False, 0) or (option, value) == ("interface-api", "packed"):
            continue
        raise NotImplementedError(
            f"executor {name}: {option}={value} would have no effect: programs are artifacts, not C code; "
            "docs/runtime.md"
        )
    if name not in ("graph", "aot"):
        raise ValueError(f"there is no executor {name!r}: 'graph' or 'aot'")
    return {} if name == "graph" else {"executor": "aot"}


class Library(_ours.Library):
    """A library whose modules have the functions of an executor: lib["default"](dev)["run"]()."""

    def __getitem__(self, name: str):
        made = super().__getitem__(name)
        return lambda *devices: GraphModule(made(*devices))


def build(
    ir_mod,
    target=None,
    target_host=None,
    executor=None,
    runtime=None,
    workspace_memory_pools=None,
    constant_memory_pools=None,
    params=None,
    mod_name="default",
    **options,
):
    """Calls relay.build() for the current target."""
    if runtime is not None and str(getattr(runtime, "name", runtime)) != "cpp":
        raise NotImplementedError("the runtime is 'cpp': see docs/runtime.md for what ships with a model")
    if workspace_memory_pools is not None or constant_memory_pools is not None:
        raise NotImplementedError("memory is planned in one arena when a program is built: leave out pools")
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"build() has no option {name}; it has: {', '.join(_OPTIONS)}")
    mod = ir_mod if not isinstance(ir_mod, dict) else next(iter(ir_mod.values()))
    made = _ours.build(mod, _target(target), params=params, mod_name=mod_name, **_executor(executor), **options)
    return Library(made.compiled, made.module, made.name)


def optimize(mod, target=None, params=None):
    """Returns the program after the passes of build()."""
    return _ours.optimize(mod, _target(target), params=params)


class Executor(_ours.Executor):
    """An executor that returns NDArrays, lists, ConstructorValue and RefValue."""

    def _runner(self, mod):
        run = super()._runner(mod)
        types = [param.type_annotation for param in mod["main"].params]
        return lambda args: wrap(run([argument(arg, type_) for arg, type_ in zip(args, types, strict=True)]), mod)


def create_executor(kind="debug", mod=None, device=None, target=None, params=None, ctx=None) -> Executor:
    """Returns an executor. The form of 2019 is create_executor("graph", mod=mod, ctx=tvm.cpu(), target="llvm")."""
    return Executor(kind, mod, _target(target), params)


param_dict = params  # relay.param_dict


def debug(expr, debug_func=None):
    """A point where a value could be inspected. Inspection is not supported, so a Python function is refused."""
    if debug_func is not None:
        raise NotImplementedError(explain("tvm.relay.debug"))
    return _relay.op.debug(expr)
