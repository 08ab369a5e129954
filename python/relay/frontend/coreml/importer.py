"""Imports a model of Core ML: its inputs, the networks and programs inside of it one after another, its outputs."""

from __future__ import annotations

import contextlib
import pathlib

import numpy as np

from ..._core import Expr, IRModule
from ...errors import told
from ..shared.expressions import cast, dtype_of
from ..shared.folded import folded
from ..shared.network import NetworkImporter
from ..shared.problems import Refused
from ..shared.values import Known
from . import features, network, program
from .blobs import AGAIN, Constants
from .conversion import Operation
from .elements import fold
from .schema import KINDS
from .table import LAYERS

WAY_OUT = "use what is imported (docs/front-ends.md), or give converters: custom_operators={'kind': function}"
MOST_MODELS, MOST_DEPTH = 1000, 20
_NETWORKS = ("neuralNetwork", "neuralNetworkClassifier", "neuralNetworkRegressor")
_PIPELINES = ("pipeline", "pipelineClassifier", "pipelineRegressor")


class Importer(NetworkImporter):
    """The import of a model. folder: that of its file, in which a program's weights are; None if there is none.

    function: the name of the program's function; the default one if empty.
    """

    def __init__(self, folder: pathlib.Path | None, shapes: dict, custom: dict, function: str = ""):
        super().__init__("the Core ML model", WAY_OUT, LAYERS, shapes, custom)
        self.constants, self.function = Constants(folder), function
        self.held: dict[str, Expr] = {}  # values of states, and the parameters with those before the run
        self.held_params: dict[str, Expr] = {}
        self.labels: list | None = None
        self.compact: set[str] = set()  # tensors of a network without the axis of their batch
        self.is_compact = False  # true if the network's arrays have five axes
        self._folded, self._models = {}, 0

    def model(self, model) -> IRModule:
        description = model.description
        if description is None:
            raise told("bad_model", "the file has no description of a model", AGAIN)
        described = features.of_function(model, self.function)
        self.check_given([one.name for one in described.input])
        inputs = {}
        for one in described.input:
            inputs[one.name] = self._guarded(lambda one=one: features.make_input(self, one, model))
        for one in described.state:
            self._guarded(lambda one=one: self._make_state(one))
        results = self.run(model, inputs, 0)
        names = [one.name for one in described.output if features.is_tensor(one) or one.name in results]
        self.problems.tell()
        for name in names:
            self.values[name] = results.get(name)
        found = [name for name in names if name in results]
        label = described.predictedFeatureName  # of a classifier: its labels are an attribute of the module
        missing = [name for name in names if name not in results and not (self.labels and name == label)]
        if missing:
            raise told("bad_model", f"nothing computes the output `{missing[0]}`", AGAIN)
        if not found:
            raise told("bad_model", "the model has no output that is a tensor", AGAIN)
        for name, param in self.held_params.items():
            self.states.append((param, name, cast(self.held[name], dtype_of(param))))
        made = self.module([*found])
        return self._with_labels(made)

    def _with_labels(self, made: IRModule) -> IRModule:
        if self.labels is None:
            return made
        functions = {one.name_hint: made[one.name_hint] for one in made.get_global_vars()}
        functions["main"] = functions["main"].with_attr("class_labels", [str(one) for one in self.labels])
        return IRModule(functions, attrs=dict(made.attrs or {}))

    def _guarded(self, make):
        try:
            return make()
        except Refused as reason:
            self.problems.record(str(reason), "", reason.help)
            return None

    def run(self, model, inputs: dict, depth: int) -> dict:
        """Returns the outputs of a model, or of one inside of it, by name."""
        self._models += 1
        if self._models > MOST_MODELS or depth > MOST_DEPTH:
            raise told("limit_exceeded", f"the model has more than {MOST_MODELS} models inside", "split the model")
        kind = next((one for one in KINDS if model.has(one)), None)
        if kind in _NETWORKS:
            return network.run(self, getattr(model, kind), kind, model, inputs)
        if kind == "mlProgram":
            return program.run(self, model.mlProgram, features.function_name(model, self.function), inputs)
        if kind in _PIPELINES:
            return self._pipeline(getattr(model, kind), kind, inputs, depth)
        what = "model of a kind that is not known" if kind is None else kind
        self.problems.record(
            f"it is or contains a {what}, which is not imported",
            "",
            "import the neural network alone; models of scikit-learn and XGBoost: convert them to ONNX",
        )
        return {}

    def _pipeline(self, found, kind: str, inputs: dict, depth: int) -> dict:
        found = found if kind == "pipeline" else found.pipeline
        values = dict(inputs)
        for number, one in enumerate(found.models if found is not None else []):
            if one.description is None:
                raise told("bad_model", f"model {number} of the pipeline has no description", AGAIN)
            given = {}
            for feature in one.description.input:
                if feature.name not in values and not feature.type.isOptional:
                    self.problems.record(f"nothing computes the input `{feature.name}` of model {number}", "", AGAIN)
                given[feature.name] = values.get(feature.name)
            values.update(self.run(one, given, depth + 1))
        return {name: one for name, one in values.items() if name not in inputs}

    def converter(self, node):
        """Returns the converter of a node; that of an operation computes what is known at import."""
        found = super().converter(node)
        if node.kind in self.custom or self.conversion is not Operation:
            return found

        def convert(c):
            made = fold(c)
            return found(c) if made is None else made

        return convert

    def check_result(self, value) -> None:
        if isinstance(value, Expr):
            super().check_result(value)

    def conversion_of(self, node, operands: list):
        if node.kind in self.custom:  # the user's function takes expressions
            operands = [self.as_expr(one) for one in operands]
        return super().conversion_of(node, operands)

    # --- scopes -------------------------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def using(self, table, conversion, values: dict):
        """Imports nodes with these converters, on these values."""
        before = self.table, self.conversion, self.values
        self.table, self.conversion, self.values = table, conversion, values
        try:
            yield values
        finally:
            self.table, self.conversion, self.values = before

    def as_expr(self, value) -> Expr | None:
        if isinstance(value, Known):
            return value.expr() if value.dtype != "string" else None
        return value if isinstance(value, Expr) else None

    def folded(self, value: Expr) -> np.ndarray | None:
        """Returns the elements of an expression that depends on no input; None for others."""
        return folded(value, self._folded)

    def block(self, node, number: int, arguments: list) -> list:
        """Returns the results of a block of an operation on these arguments."""
        return program.inlined(self, node, number, arguments)

    def network(self, node, found, values: dict) -> dict:
        """Returns all values of a network inside of a layer, by name."""
        return network.inlined(self, node, found, values)

    # --- states -------------------------------------------------------------------------------------------------------
    def _make_state(self, feature) -> None:
        about = feature.type.stateType if feature.type is not None else None
        if about is None or about.arrayType is None:
            raise Refused(f"the state `{feature.name}` has no type", AGAIN)
        sizes, dtype = features.array_type(about.arrayType, feature.name)
        if any(one is None for one in sizes):
            raise Refused(f"the state `{feature.name}` has open sizes", AGAIN)
        param = self.state(feature.name, sizes, dtype)
        self.held_params[feature.name] = param
        self.held[feature.name] = param
