"""Names of TVM that Relay lacks, and their replacements.

A name in the table can be imported, so that the rest of a file runs. Using it is an error.
"""

from __future__ import annotations

import types

_SCHEDULES = "schedules are data in Relay: see `relay opt --emit schedule` and docs/tour.md"
_KERNELS = "the file of an operator contains its computation: see docs/add-an-operator.md"
_TUNING = "relay.tune() measures the kernels of a whole model, and has no search spaces to define: see docs/tuning.md"
ONE_DEVICE = "the processor is the only device: tvm.cpu()"

# By the beginning of the name; the longest prefix counts.
REPLACEMENTS = {
    "tvm.auto_scheduler": _TUNING,
    "tvm.autotvm": _TUNING,
    "tvm.build_config": f"the loop language is internal ({_SCHEDULES})",
    "tvm.contrib": "only tvm.contrib.graph_executor and tvm.contrib.utils exist",
    "tvm.contrib.debugger": "relay.compile(...).profile(inputs) times the kernels of one run",
    "tvm.driver": "the command line is `relay`: see docs/cli.md",
    "tvm.driver.tvmc": "the command line is `relay`: see docs/cli.md",
    "tvm.get_global_func": "the registry contains only functions of tvm.register_func(), none of TVM itself",
    "tvm.ir.analysis": "relay.analysis",
    "tvm.ir.make_node": "create nodes with their classes: relay.Call(...), relay.Function(...)",
    "tvm.ir.register_intrin_lowering": _KERNELS,
    "tvm.ir.register_op_attr": _KERNELS,
    "tvm.meta_schedule": _TUNING,
    "tvm.micro": "use artifacts and the C interface of src/relay/runtime/relay_c.h instead: see docs/runtime.md",
    "tvm.parser": "relay.parse(text)",
    "tvm.relax": "this is Relay",
    "tvm.relay._ffi_api": "there is no registry of functions by name",
    "tvm.relay.analysis.feature": "relay.analysis.Feature and detect_feature",
    "tvm.relay.analysis.operations_distribution": "relay.analysis.analyze_operations_distribution",
    "tvm.relay.backend": "relay.compile() compiles; relay.create_executor() runs programs",
    "tvm.relay.debug": "relay.evaluate() returns values; relay.analysis.extract_intermediate_expr() extracts one",
    "tvm.relay.frontend": "import models from Caffe, Caffe2, Core ML, DarkNet, Keras, MXNet, OneFlow, ONNX, "
    "PaddlePaddle, PyTorch, TensorFlow or TFLite: tvm.relay.frontend.from_caffe, from_caffe2, from_coreml, "
    "from_darknet, from_keras, from_mxnet, from_oneflow, from_onnx, from_paddle, from_pytorch, from_tensorflow, "
    "from_tflite",
    "tvm.relay.frontend.change_datatype": "relay.transform.ChangeDatatype",
    "tvm.relay.op.contrib": "define your own pattern tables: relay.byoc.register_pattern_table",
    "tvm.relay.op.memory": "memory is planned when a program is built",
    "tvm.relay.op.op": _KERNELS,
    "tvm.relay.op.reg": _KERNELS,
    "tvm.relay.op.strategy": _SCHEDULES,
    "tvm.relay.param_dict": "tvm.runtime.save_param_dict and load_param_dict",
    "tvm.relay.parser": "relay.parse(text)",
    "tvm.relay.std": "mod.import_from_std('prelude')",
    "tvm.relay.transform.fake_quantization_to_integer": "the rules are a table: src/relay/transform/algebra/affine.cpp",
    "tvm.relay.transform.infer_layout_utils": "LayoutConverter of src/relay/transform/layout/layouts.h",
    "tvm.relay.transform.recast": "relay.transform.recast",
    "tvm.rpc": "build an artifact and copy it: relay.compile(...).save(path); relay.load(path) there",
    "tvm.runtime": "relay.load(path) loads an artifact; relay.compile(...) returns a callable",
    "tvm.script": "programs are text: relay.parse(text)",
    "tvm.target": "targets are names: 'llvm', 'llvm -mcpu=haswell'",
    "tvm.te": _SCHEDULES,
    "tvm.tir": f"the loop language is internal ({_SCHEDULES})",
    "tvm.topi": _KERNELS,
}


def explain(name: str) -> str:
    """Returns the reason why there is no `name`, and its replacement."""
    reason = _reason(name)
    return (
        f"Relay has no {name}: {reason}"
        if reason
        else f"Relay has no {name}; docs/from-tvm.md lists the supported names"
    )


def _reason(name: str) -> str | None:
    for prefix in sorted(REPLACEMENTS, key=len, reverse=True):
        if name == prefix or name.startswith(prefix + "."):
            return REPLACEMENTS[prefix]
    return None


def is_outside(name: str) -> bool:
    """Returns true if a replacement of `name` is known."""
    return _reason(name) is not None


class Outside:
    """Stands for a missing name, so that a file can import it. Every use raises the reason."""

    def __init__(self, name: str, reason: str | None = None):
        self.__name__ = name
        self._reason = reason

    def _refuse(self, *args, **named):
        raise NotImplementedError(self._reason or explain(self.__name__))

    __call__ = __getitem__ = __iter__ = __len__ = __bool__ = __enter__ = __exit__ = __mro_entries__ = _refuse

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        return Outside(f"{self.__name__}.{name}", self._reason)

    def __instancecheck__(self, value) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<{self._reason or explain(self.__name__)}>"


class OutsideModule(types.ModuleType):
    """A module of missing names."""

    __all__ = ()

    def _refuse(self, *args, **named):
        raise NotImplementedError(explain(self.__name__))

    __call__ = __getitem__ = _refuse

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return Outside(f"{self.__name__}.{name}")


def missing(module: str):
    """Returns a __getattr__ for a module. Imports never fail, and using a missing name raises an error with the
    replacement."""

    def __getattr__(name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return Outside(f"{module}.{name}")

    return __getattr__
