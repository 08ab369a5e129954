"""Imports a network: inputs, the calls of layers in order, results. All problems are in one diagnostic."""

from __future__ import annotations

import numpy as np

from ..._core import Constant, Expr, IRModule, infer_expr
from ...data.arrays import array
from ...errors import CompileError
from ...ir.expr import var
from ..shared.missing import StandIns
from ..shared.module import check_names, given_sizes, module_of, named, without_shape
from ..shared.problems import Problems, Refused
from ..shared.provenance import Fates
from ..shared.texts import Words
from ..shared.windows import to_first, to_last
from . import options
from .config import Call, Layer, Network, Tensor, malformed, tensors_in
from .conversion import Conversion, Text, Value, cast, dtype_of, is_float, policy, shape_of, tensors
from .file import beyond
from .table import CASTS_NOTHING, KEEPS_MASK, NO_STRINGS, TAKES_TEXTS, converter_of, way_out
from .weights import Listed

OTHER = (
    "build the model from layers that are imported (docs/front-ends.md), or give converters: "
    "custom_layers={'Class': function}"
)


MOST_CALLS = 50_000


class NamedAlready(Exception):
    """Raised if an operand failed, whose problem is reported already."""


class Importer:
    """The import of one model. shapes: sizes of inputs by name, with the batch, in Keras's order of axes. custom:
    functions by class or layer name. channels_first: true if images are inputs and results in the order (N, C, ..)."""

    def __init__(self, version: str, shapes: dict, custom: dict, channels_first: bool = False):
        self.is_keras_2 = version.split(".")[0] in ("0", "1", "2")
        self.is_newer = options.is_newer(version)
        self.shapes, self.custom, self.channels_first = shapes, custom, channels_first
        self.problems, self.fates = Problems("the Keras model", OTHER), Fates()
        self.stand_ins = StandIns(self.problems)
        self.params, self.states = [], []  # states: (parameter, name, result)
        self.words = Words()
        self._constants, self._inner, self._calls = {}, {}, 0

    # --- what conversions share ---------------------------------------------------------------------------------------
    def shared(self, layer: Layer, made: np.ndarray) -> Expr:
        """Returns the constant with these elements that an earlier call of the layer made, or a new one."""
        known = self._constants.setdefault(id(layer), [])
        for held, constant in known:
            if held.dtype == made.dtype and held.shape == made.shape and _is_same(held, made):
                return constant
        known.append((made, Constant.sharing(array(made))))
        return known[-1][1]

    def inner_layer(self, layer: Layer, config, read) -> Layer:
        known = self._inner.setdefault(id(layer), [])
        for held, made in known:
            if held is config:
                return made
        known.append((config, read(config)))
        return known[-1][1]

    def state(self, name: str, sizes: list, dtype: str) -> Expr:
        """Returns a state as a parameter of @main, after the model's inputs."""
        if any(name == held for _, held, _ in self.states):
            raise Refused("a layer with states is called more than once")
        made = var(name, shape=sizes, dtype=dtype)
        self.states.append([made, name, None])
        return made

    def set_state(self, state: Expr, result: Expr) -> None:
        next(one for one in self.states if one[0] is state)[2] = result

    # --- networks -----------------------------------------------------------------------------------------------------
    def run(self, network: Network, weights, inputs: list[Value], within: str = ""):
        """Returns the outputs of a network: Values in the structure of its outputs."""
        values: dict[Tensor, Value | None] = {}
        if len(inputs) != len(network.inputs):
            raise Refused(f"the model `{network.name}` is called with {len(inputs)} inputs, not {len(network.inputs)}")
        held = weights.of_layers(network.layers)
        given = dict(zip(network.inputs, inputs, strict=True))
        for layer, call in order(network):
            at = Tensor(layer.name, call, 0)
            if at in given:
                values[at] = given[at]
                continue
            own = held.get(layer.name, Listed([]) if layer.is_operation else None)
            own = None if own is None else own.again()
            results = self._call(layer, call, own, values, within)
            for place, one in enumerate(results):
                values[Tensor(layer.name, call, place)] = one
        return _resolved(network.outputs, values)

    def _call(self, layer: Layer, number: int, weights, values: dict, within: str) -> list[Value]:
        """Returns the results of a call; none if it fails, or if an input of it has failed."""
        place = f"{within}{layer.name}"
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise beyond(f"more than {MOST_CALLS} layers are called, counted in each call of a nested model")
        try:
            if layer.kind == "InputLayer":
                raise malformed(f"the input layer `{place}` is not among the model's inputs")
            call = layer.calls[number - layer.first_call]
            try:
                args, kwargs = _resolved(call.args, values), _resolved(call.kwargs, values)
            except NamedAlready:
                if layer.network is None and not self.custom_of(layer) and converter_of(layer) is None:
                    raise self._missing(layer) from None
                return []
            with self.fates.of(f"{layer.kind} '{place}'"):
                made = self.convert(layer, weights, args, kwargs, place)
            results = tensors(made)
            if layer.network is None:
                operands = [one.expr for one in tensors([args, kwargs])]
                self.fates.converted(f"{layer.kind} '{place}'", [one.expr for one in results], operands, False)
            return results
        except NamedAlready:
            return []
        except Refused as reason:
            about = f"{reason}" if isinstance(reason, _Missing) else f"{layer.kind}: {reason}"
            self.problems.record(about, f", first in `{place}`", reason.help)
            return []

    def custom_of(self, layer: Layer):
        return self.custom.get(layer.name) or self.custom.get(layer.kind)

    def convert(self, layer: Layer, weights, args: list, kwargs: dict, place: str):
        """Returns the results of a layer on these tensors: Values in lists and dicts."""
        if weights is None:
            raise Refused("its weights are not in the model")
        if layer.network is not None and not self.custom_of(layer):
            inputs = tensors(args[:1])
            return self.run(layer.network, weights, inputs, f"{place}/")
        convert = _adapted(self.custom_of(layer)) if self.custom_of(layer) else converter_of(layer)
        if convert is None:
            raise self._missing(layer)
        if self.is_newer and not layer.is_operation and not self.custom_of(layer):
            _check_options(layer)
        if layer.kind not in TAKES_TEXTS and any(isinstance(one, Text) for one in tensors([args, kwargs])):
            raise Refused(*NO_STRINGS)
        try:
            c = Conversion(self, layer, weights, args, kwargs, place)
            if not layer.is_operation and layer.kind not in CASTS_NOTHING and is_float(c.compute):
                c.args, c.kwargs = _cast(args, c.compute), _cast(kwargs, c.compute)
            made = convert(c)
            mask = _common_mask(c) if layer.kind in KEEPS_MASK or layer.is_operation else None
            return _valued(made, mask)
        except CompileError as error:
            if error.diagnostics and error.diagnostics[0].kind in ("corrupt_file", "bad_model", "limit_exceeded"):
                raise
            first = error.diagnostics[0]
            raise Refused(first.message, first.help or OTHER) from error
        except (Refused, NamedAlready):
            raise
        except Exception as error:  # any failure of a converter on a configuration that Keras cannot have written
            what = f"its configuration cannot be imported ({type(error).__name__}: {error})"
            raise Refused(what, "save the model again; if Keras loads it, report it as a bug in Relay") from error

    def _missing(self, layer: Layer) -> Refused:
        what = f"the operation {layer.kind}" if layer.is_operation else f"the layer {layer.kind}"
        reason = way_out(layer)
        return _Missing(what if reason is None else f"{what}: {reason[0]}", reason[1] if reason else OTHER)

    # --- the module ---------------------------------------------------------------------------------------------------
    def module(self, network: Network, weights) -> IRModule:
        """Returns the module of the whole model."""
        layers = {layer.name: layer for layer in network.layers}
        for tensor in network.inputs:
            if tensor.layer not in layers or layers[tensor.layer].kind != "InputLayer":
                raise malformed(f"the input `{tensor.layer}` is not an input layer")
        names = [tensor.layer for tensor in network.inputs]
        check_names(self.shapes, names)
        try:
            inputs = [self._input(layers[name]) for name in names]
            outputs = self.run(network, weights, inputs)
        except NamedAlready:
            outputs = None
        except Refused as reason:
            self.problems.record(str(reason), "", reason.help)
        self.problems.tell()
        results = [self._ordered(one.expr, to_keras=False) for one in tensors(outputs)]
        for one in [*results, *(result for _, _, result in self.states)]:
            infer_expr(one)
        return module_of(self.params, results, self.states, self.fates, attrs=self.words.attrs())

    def _input(self, layer: Layer) -> Value:
        shape = layer.config.get("batch_shape") or layer.config.get("batch_input_shape")
        given = self.shapes.get(layer.name)
        if shape is None and given is None:
            raise without_shape(layer.name)
        if shape is not None:
            _check_shape(layer.name, shape)
        if given is not None:
            given = given_sizes(layer.name, given, shape, 1)
        if layer.config.get("ragged") or layer.config.get("sparse"):
            raise Refused(f"the input `{layer.name}` is ragged or sparse", "pass dense arrays")
        sizes = named(layer.name, given or shape)
        is_text = layer.config.get("dtype") == "string"
        made = var(
            layer.name, shape=self._sizes(sizes), dtype="int64" if is_text else policy(layer.config.get("dtype"))
        )
        self.params.append(made)
        if is_text:
            self.words.inputs.append(layer.name)
            return Text(made)
        return Value(self._ordered(made, to_keras=True))

    def _sizes(self, sizes: list) -> list:
        return [sizes[0], sizes[-1], *sizes[1:-1]] if self.channels_first and len(sizes) in (4, 5) else sizes

    def _ordered(self, value: Expr, to_keras: bool) -> Expr:
        """Returns images in Keras's order of axes, from that of the module; or the reverse."""
        if not self.channels_first or len(shape_of(value)) not in (4, 5):
            return value
        return to_last(value) if to_keras else to_first(value)


def _is_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Returns true if two arrays of one type and shape have the same bits."""
    return np.array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8))


def _check_options(layer: Layer) -> None:
    newer = options.unknown(layer.kind, layer.config)
    if newer:
        known = ".".join(map(str, options.KNOWN))
        raise Refused(
            f"it has the option `{newer[0]}`, which its class does not have in Keras {known}",
            "leave the option out, or give the layer's meaning: custom_layers={'Class': function}",
        )


class _Missing(Refused):
    """A layer that the table lacks. The text names it."""


def _check_shape(name: str, shape) -> None:
    sizes = shape if isinstance(shape, list) else [""]
    if not all(one is None or (type(one) is int and one > 0) for one in sizes) or len(sizes) > 16:
        raise malformed(f"the shape of the input `{name}` is {shape!r}")


def _resolved(value, values: dict):
    """Returns a structure with Values in place of tensors."""
    if isinstance(value, Tensor):
        found = values.get(value)
        if found is None:
            raise NamedAlready
        return found
    if isinstance(value, list):
        return [_resolved(one, values) for one in value]
    if isinstance(value, dict):
        return {key: _resolved(one, values) for key, one in value.items()}
    return value


def order(network: Network) -> list[tuple[Layer, int]]:
    """Returns the calls that the outputs need, each after those that compute its inputs. Refuses a cycle."""
    layers = {layer.name: layer for layer in network.layers}
    done, open_, sorted_ = set(), set(), []
    pending = [(one.layer, one.call, False) for one in reversed(tensors_in(network.outputs))]
    while pending:
        name, number, is_ready = pending.pop()
        if is_ready:
            open_.discard((name, number))
            done.add((name, number))
            sorted_.append((layers[name], number))
            continue
        if (name, number) in done:
            continue
        if (name, number) in open_:
            raise malformed(f"the layer `{name}` needs its own result")
        layer = layers.get(name)
        place = number - (layer.first_call if layer else 0)
        if layer is None or not 0 <= place < len(layer.calls):
            raise malformed(f"there is no call {number} of a layer `{name}`, whose result is used")
        open_.add((name, number))
        pending.append((name, number, True))
        call: Call = layer.calls[place]
        needed = [one for one in tensors_in([call.args, call.kwargs]) if (one.layer, one.call) not in done]
        pending += [(one.layer, one.call, False) for one in reversed(needed)]
    return sorted_


def _cast(value, dtype: str):
    """Returns a structure whose floats have this type, as layers convert their inputs."""
    if isinstance(value, Value):
        found = dtype_of(value.expr)
        return (
            value
            if isinstance(value, Text)
            else Value(cast(value.expr, dtype), value.mask)
            if is_float(found) and found != dtype
            else value
        )
    if isinstance(value, list):
        return [_cast(one, dtype) for one in value]
    return {key: _cast(one, dtype) for key, one in value.items()} if isinstance(value, dict) else value


def _common_mask(c: Conversion):
    """Returns the mask of the (only) masked input."""
    masks = [one.mask for one in tensors(c.args) if one.mask is not None]
    return masks[0] if masks else None


def _valued(made, mask):
    """Returns a converter's result with Values in place of expressions."""
    if isinstance(made, Value):
        infer_expr(made.expr)
        return made
    if isinstance(made, (list, tuple)):
        return [_valued(one, mask) for one in made]
    if isinstance(made, dict):
        return {key: _valued(one, mask) for key, one in made.items()}
    infer_expr(made)
    return Value(made, mask)


def _adapted(function):
    def convert(c: Conversion):
        weights = [c.array(f"weight {place}") for place in range(c.left())]
        made = function([one.expr for one in tensors(c.args)], c.layer.config, weights)
        if made is None:
            raise Refused("its converter returned None", "return the expression, or a tuple of expressions")
        return made

    return convert
