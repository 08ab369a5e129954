"""The module of a model: its inputs as parameters of @main, and its outputs."""

from __future__ import annotations

from ..._core import Expr, Function, IRModule, Tuple, infer_expr
from ...errors import told, wrong_input
from ...ir.expr import var
from ..shared.expressions import shape_of
from ..shared.module import given_sizes, named, without_shape
from ..shared.problems import Refused
from ..shared.values import FAILED, Absent, Complex, Known, Variable
from ..shared.windows import to_first, to_last
from .file import Model
from .graph import CONTROL, Node, Ref, ref_of
from .image import is_picture
from .importer import Importer
from .tensors import dtype_name, sizes
from .texts import Text, is_text

_INPUTS = {"Placeholder", "PlaceholderV2"}
# Nodes without a result that a user wants: they are left out, though nothing reads them.
_NO_OUTPUTS = {"NoOp", "Const", "Assert", "VarHandleOp", "VariableV2", "Variable", "Placeholder", "SaveV2", "RestoreV2",
               "AssignVariableOp", "Assign", "MergeV2Checkpoints", "HashTableV2", "LookupTableImportV2"}  # fmt: skip


class Input:
    """An input. name: of the parameter. node: of the graph. shape: None if the number of axes is not known."""

    def __init__(self, name: str, ref: Ref, dtype: str, shape: list | None):
        self.name, self.ref, self.dtype, self.shape = name, ref, dtype, shape


def module_of(
    model: Model,
    shapes: dict,
    channels_first: bool,
    outputs,
    signature: str | None,
    changed: dict[str, Variable] | None = None,
) -> IRModule:
    """Returns the module of a model. shapes: sizes of inputs by name. outputs: names of results, or None. changed: the
    variables that a run changes, as an import before has found them."""
    importer = Importer(model, changed or {})
    entry = _entry(model, outputs, signature)
    params: dict[str, Expr] = {}

    def make(one: Input):
        """Makes the parameter of an input, and its value in the graph."""
        if one.dtype == "string" and is_picture(importer.graph, one.ref.name):
            one = pixels_of(one, shapes)
        param = _param(one, shapes.get(one.name), entry is not None, channels_first)
        params[one.name] = param
        if one.dtype == "string":
            importer.words.inputs.append(one.name)
            return Text(param)
        return _ordered(param, channels_first, to_model=True)

    if entry is None:
        names = outputs or _ends(importer, model)
        refs, inputs = [ref_of(name, "`outputs`") for name in names], []
        importer.make_input = lambda node: make(Input(node.name, Ref(node.name), _own_type(node), _own_shape(node)))
        for name in shapes:  # any node may be an input, if its sizes are given
            node = importer.graph.nodes.get(name)
            if node is not None and node.op not in _INPUTS:
                inputs.append(Input(name, Ref(name), _own_type(node), None))
    else:
        inputs, names, refs = entry
    for one in inputs:
        if one.ref.name not in importer.graph.nodes:
            raise told("bad_model", f"the input `{one.name}` is the node `{one.ref.name}`, which is not in the graph",
                       "save the model again with TensorFlow")  # fmt: skip
        try:
            importer.main.values[one.ref.name] = [make(one)]
        except Refused as reason:
            importer.problems.record(str(reason), "", reason.help)
            importer.main.values[one.ref.name] = FAILED
    importer.evaluate(importer.main, refs)
    importer.check_effects(refs)
    if not importer.variables.is_complete:
        return module_of(model, shapes, channels_first, outputs, signature, importer.variables.changed)
    _check_names(shapes, params, importer)
    results = [
        _result(importer, importer.main.get(ref, f"the output `{name}`"), name)
        for name, ref in zip(names, refs, strict=True)
    ]
    importer.problems.tell()
    if any(one is None for one in results):
        raise told("unsupported_operator", "an output is computed by a part of the graph that has no value here",
                   "name other outputs: outputs=[...]")  # fmt: skip
    results = [_ordered(one, channels_first, to_model=False) for one in results]
    for one in results:
        infer_expr(one)
    ordered = _in_graph_order(params, entry, importer)
    for node, state in importer.variables.states.items():
        ordered.append(state.param)
        results.append(importer.variables.begun(node))
        names = [*names, state.name]
    main = Function(ordered, results[0] if len(results) == 1 else Tuple(results))
    for name, value in (importer.words.attrs() | importer.variables.attrs()).items():
        main = main.with_attr(name, value)
    attrs = importer.fates.attrs({"main": main}) | {
        "input_names": [one.name_hint for one in ordered], "output_names": _unique(names)
    }  # fmt: skip
    return IRModule({"main": main}, attrs=attrs)


def pixels_of(one: Input, shapes: dict) -> Input:
    """Returns the input for the pixels of a picture, whose bytes the model reads."""
    if one.name not in shapes:
        raise Refused(
            f"the input `{one.name}` is the bytes of a picture",
            f"read the picture before the model, and pass its pixels: --shape {one.name}=HEIGHT,WIDTH,3",
        )
    return Input(one.name, one.ref, "uint8", [-1, -1, -1])


def _in_graph_order(params: dict, entry, importer: Importer) -> list[Expr]:
    """Returns the parameters in the order of the signature, or of the graph's nodes."""
    if entry is not None:
        return list(params.values())
    return [params[name] for name in importer.graph.nodes if name in params]


def _unique(names: list[str]) -> list[str]:
    made = []
    for name in names:
        count, own = 1, name
        while own in made:
            count, own = count + 1, f"{name}_{count + 1}"
        made.append(own)
    return made


def _result(importer: Importer, value, name: str) -> Expr | None:
    if value is FAILED:
        return None
    if is_text(value):
        importer.words.outputs.append(name)
        return importer.words.expr(value)
    if isinstance(value, Known):
        return value.expr()
    if isinstance(value, Expr):
        return value
    kind = "complex" if isinstance(value, Complex) else "not a tensor of numbers"
    kind = value.why if isinstance(value, Absent) else kind
    importer.problems.record(f"the output `{name}` is {kind}", "", "name other outputs: outputs=[...]")
    return None


# --- entries ----------------------------------------------------------------------------------------------------------
def _entry(model: Model, outputs, signature: str | None):
    """Returns (inputs, names of outputs, their results) of a signature; None for a graph without one."""
    found = {name: one for name, one in model.signatures.items() if name != "__saved_model_init_op"}
    if not found:
        if signature is not None:
            raise wrong_input(f"{model.name} has no signature `{signature}`", "leave it out: it is a graph")
        return None
    if signature is None:
        signature = "serving_default" if "serving_default" in found else next(iter(found))
    if signature not in found:
        raise wrong_input(f"{model.name} has no signature `{signature}`", f"it has {', '.join(sorted(found))}")
    chosen = found[signature]
    if chosen is None or None in (*chosen.inputs.values(), *chosen.outputs.values()):
        raise told("bad_model", f"the signature `{signature}` of {model.name} has an input or output without a tensor",
                   "save the model again with TensorFlow")  # fmt: skip
    try:
        inputs = [
            Input(name, ref_of(info.name, f"the input `{name}`"), dtype_name(info.dtype), sizes(info.tensor_shape))
            for name, info in sorted(chosen.inputs.items())
        ]
    except Refused as reason:
        what = f"the signature `{signature}` of {model.name} cannot be read: {reason}"
        raise told("unsupported_operator", what, reason.help) from reason
    names = sorted(chosen.outputs)
    refs = [ref_of(chosen.outputs[name].name, f"the output `{name}`") for name in names]
    if outputs is not None:
        names, refs = list(outputs), [
            ref_of(chosen.outputs[name].name if name in chosen.outputs else name, "`outputs`") for name in outputs
        ]  # fmt: skip
    return inputs, names, refs


def _ends(importer: Importer, model: Model) -> list[str]:
    """Returns the nodes that nothing reads."""
    nodes = importer.graph.nodes
    read = {ref.name for node in nodes.values() for ref in node.inputs}
    ends = [
        name for name, node in nodes.items()
        if name not in read and node.op not in _NO_OUTPUTS and node.op not in CONTROL
    ]  # fmt: skip
    ends += [one.name for one in importer.graph.users_of_kind("Exit") if one.name not in read]
    if not ends:
        raise told("bad_model", f"no node of {model.name} is an output", "name them: outputs=['NAME']")
    return ends


def _own_type(node: Node) -> str:
    for name in ("dtype", "T", "DstT", "out_type"):
        found = node.attrs.get(name)
        if found is not None and found.has("type"):
            return dtype_name(found.type)
    raise told("bad_model", f"{node} has no element type", "name a placeholder as the input")


def _own_shape(node: Node) -> list | None:
    found = node.attrs.get("shape") if node.op in (*_INPUTS, "PlaceholderWithDefault") else None
    shape = sizes(found.shape) if found is not None and found.has("shape") else None
    stated = node.attrs.get("_output_shapes")
    if not shape and stated is not None and stated.list is not None and stated.list.shape:
        shape = sizes(stated.list.shape[0])
    # TensorFlow 1 wrote no shape and a shape without axes alike
    return None if shape == [] and node.op == "Placeholder" and stated is None and _is_old(node) else shape


def _is_old(node: Node) -> bool:
    found = node.attrs.get("shape")
    return found is None or not found.has("shape")


def _check_names(shapes: dict, params: dict, importer: Importer) -> None:
    for name in shapes:
        if name not in params:
            hint = f"its inputs are {', '.join(params) or 'none'}"
            if name in importer.graph.nodes:
                hint = f"no output needs that node; {hint}"
            raise wrong_input(f"the model has no input `{name}`", hint)


def _param(one: Input, given, is_signature: bool, channels_first: bool) -> Expr:
    shape = None if one.shape is None else [None if size < 0 else size for size in one.shape]
    if given is not None:
        given = _in_order(list(given), channels_first)
        shape = given_sizes(one.name, given, shape, 0)
    if shape is None:
        raise without_shape(one.name)
    if one.dtype in ("resource", "variant", "complex64", "complex128"):
        raise Refused(f"the input `{one.name}` is of the type {one.dtype}", "compute it before the model: pass numbers")
    dims = named(one.name, shape, is_signature)
    if channels_first and len(dims) in (4, 5):
        dims = [dims[0], dims[-1], *dims[1:-1]]
    return var(one.name, shape=dims, dtype="int64" if one.dtype == "string" else one.dtype)


def _in_order(sizes_: list, channels_first: bool) -> list:
    """Returns sizes that the user gives in TensorFlow's order of axes."""
    if channels_first and len(sizes_) in (4, 5):
        return [sizes_[0], *sizes_[2:], sizes_[1]]
    return sizes_


def _ordered(value: Expr, channels_first: bool, to_model: bool) -> Expr:
    """Returns images in TensorFlow's order of axes, from that of the module; or the reverse."""
    if not channels_first or len(shape_of(value)) not in (4, 5):
        return value
    return to_last(value) if to_model else to_first(value)
