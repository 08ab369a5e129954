"""What TVM had and Relay has not, and what takes its place."""

from __future__ import annotations

_SCHEDULES = "how a kernel is computed is data here: see `relay opt --emit schedule` and docs/tour.md"
_KERNELS = "an operator's computation is written once, in its file: see docs/add-an-operator.md"
_TUNING = (
    "kernels are chosen by rules from the machine's numbers; one can be replaced by hand: relay.compile(schedules=...)"
)
_DEVICE = "there is one device, the processor: tvm.cpu()"

# By the beginning of the name, longest first.
REPLACEMENTS = {
    "tvm.auto_scheduler": _TUNING,
    "tvm.autotvm": _TUNING,
    "tvm.contrib": "only tvm.contrib.graph_executor and tvm.contrib.utils are there",
    "tvm.contrib.debugger": "relay.compile(...).profile(inputs) times the kernels of one run",
    "tvm.driver.tvmc": "the command line is `relay`: see docs/cli.md",
    "tvm.meta_schedule": _TUNING,
    "tvm.micro": "artifacts and the C interface of src/relay/runtime/relay_c.h are what there is: see docs/runtime.md",
    "tvm.register_func": "there is no registry of functions by name",
    "tvm.relax": "this is Relay",
    "tvm.relay.annotation": _DEVICE,
    "tvm.relay.collage": "partitioning for other compilers is not there",
    "tvm.relay.dataflow_pattern": "write a visitor: relay.ExprMutator",
    "tvm.relay.frontend": "models come as ONNX files: relay.load('model.onnx'), tvm.relay.frontend.from_onnx(model)",
    "tvm.relay.qnn": "quantised operators are not there: models with them are imported from ONNX as they compute",
    "tvm.relay.quantize": "the quantizer is not there",
    "tvm.relay.op.contrib": "partitioning for other compilers is not there",
    "tvm.relay.op.strategy": _SCHEDULES,
    "tvm.rpc": "build an artifact and copy it: relay.compile(...).save(path); relay.load(path) there",
    "tvm.runtime": "relay.load(path) loads an artifact; relay.compile(...) gives something to call",
    "tvm.script": "programs are text: relay.parse(text)",
    "tvm.target": "targets are names: 'llvm', 'llvm -mcpu=haswell'",
    "tvm.te": _SCHEDULES,
    "tvm.tir": f"loops are an inner form here ({_SCHEDULES})",
    "tvm.topi": _KERNELS,
}


def explain(name: str) -> str:
    """Why there is no `name`, and what to use."""
    for prefix in sorted(REPLACEMENTS, key=len, reverse=True):
        if name == prefix or name.startswith(prefix + "."):
            return f"Relay has no {name}: {REPLACEMENTS[prefix]}"
    return f"Relay has no {name}; docs/from-tvm.md lists what there is"


def missing(module: str):
    """A module's __getattr__ that explains."""

    def __getattr__(name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(explain(f"{module}.{name}"))

    return __getattr__
