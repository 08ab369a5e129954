"""Imports a network of Caffe2: the operators that make its weights, then those of the network."""

from __future__ import annotations

from ..._core import IRModule
from ..shared.expressions import GIVE_SHAPES
from ..shared.network import NetworkImporter
from ..shared.node import Node
from ..shared.problems import Refused
from .conversion import Operator
from .net import Net
from .table import OPERATORS, RANDOM

WAY_OUT = (
    "use operators that are imported (docs/front-ends.md), or give converters: custom_operators={'Type': function}"
)
# Arguments of any operator that choose an implementation, or have an effect in training only.
_HARMLESS = {
    "exhaustive_search", "ws_nbytes_limit", "cudnn_exhaustive_search", "deterministic", "use_cudnn",
        "no_gradient_needed",
    "engine", "shared_buffer", "init_params", "float16_compute", "convolution_transform_strategy", "is_test", "order",
    "enable_tensor_core", "training_mode", "debug_info", "net_position", "allow_broadcast_fastpath", "broadcast",
}  # fmt: skip


class Importer(NetworkImporter):
    """The import of a network of Caffe2."""

    conversion = Operator
    harmless = frozenset(_HARMLESS)

    def __init__(self, shapes: dict, dtypes: dict, custom: dict):
        super().__init__("the Caffe2 network", WAY_OUT, {**OPERATORS, **RANDOM}, shapes, custom)
        self._dtypes = dtypes

    def network(self, init: Net, predict: Net) -> IRModule:
        for number, one in enumerate(init.operators):
            self._operator(init, number, one)
        weights = set(self.values)
        inputs = [name for name in predict.inputs if name not in weights]
        computed = {name for one in predict.operators for name in one.outputs}
        inputs = [name for name in inputs if name not in computed or _is_read_first(predict, name)]
        self.check_given(inputs)
        for name in inputs:
            try:
                if name not in self.shapes:
                    raise Refused(
                        f"the input `{name}` has no shape in the model, and the init network does not make it",
                        f"{GIVE_SHAPES}; if it is a weight, take the init network of this network",
                    )
                self.input(name, None, self._dtypes.get(name, "float32"))
            except Refused as reason:
                self.problems.record(str(reason), "", reason.help)
                self.values[name] = None
        for number, one in enumerate(predict.operators):
            self._operator(predict, number, one)
        return self.module(predict.outputs)

    def _operator(self, net: Net, number: int, one) -> None:
        made = f" that computes '{one.outputs[0]}'" if one.outputs else ""
        place = f"{one.kind} '{one.name}'" if one.name else f"{one.kind} #{number}{made}"
        self.add(Node(one.kind, place, one.inputs, one.outputs, one.arguments))


def _is_read_first(net: Net, name: str) -> bool:
    """Returns true if an operator reads the tensor before another one computes it."""
    for one in net.operators:
        if name in one.inputs:
            return True
        if name in one.outputs:
            return False
    return False
