"""The cases of ONNX's backend suite: models, inputs, what they must give, and how results are compared."""

import dataclasses
import os
import re
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")

# Inputs that decide ranks, axes or sizes, by operator. In (b) they are constants. Sequences decide how many tensors
# there are: in (b) the shapes of their tensors are told.
REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
DECIDING = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "If": (0,),
    "Loop": (0, 1),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "NonMaxSuppression": (2,),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "SequenceAt": (1,),
    "SequenceErase": (1,),
    "SequenceInsert": (2,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1, 2),
    "TopK": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
} | {f"Reduce{name}": (1,) for name in REDUCTIONS}


@dataclasses.dataclass(frozen=True)
class Case:
    """`op`: what it is an example of; `deciding`: names of the graph's inputs that decide ranks, axes or sizes."""

    name: str
    kind: str
    model: onnx.ModelProto
    test: object  # onnx's own
    op: str
    deciding: tuple

    rtol = property(lambda self: self.test.rtol)
    atol = property(lambda self: self.test.atol)


def _deciding(model):
    names = set()
    for node in model.graph.node:
        for place in DECIDING.get(node.op_type, ()) if node.domain == "" else ():
            if place < len(node.input):
                names.add(node.input[place])
    weights = {tensor.name for tensor in model.graph.initializer}
    return tuple(port.name for port in model.graph.input if port.name in names - weights or _is_list(port))


def _is_list(port):
    """True if the input is a sequence or optional."""
    return port.type.WhichOneof("value") in ("sequence_type", "optional_type")


def list_shapes(model, given):
    """The shapes of the tensors in each sequence, and the presence of optional inputs, in the form of relay.load()."""
    shapes = {}
    for port in model.graph.input:
        if _is_list(port):
            value = given[port.name]
            tensors = value if isinstance(value, list) else [] if value is None else [value]
            shapes[port.name] = [tensor.shape for tensor in tensors]
    return shapes


def list_ranks(model, given, results):
    """The numbers of axes of the tensors in sequences and optional inputs, if the model does not state them. An empty
    sequence has the number of a tensor that the model puts into one."""
    shapes = {}
    made = [one[0] for one in results if isinstance(one, list) and one]
    for port in model.graph.input:
        value = given.get(port.name)
        tensors = value or made if isinstance(value, list) else [value]
        if _is_list(port) and tensors and tensors[0] is not None:
            shapes[f"{port.name}.*"] = (-1,) * tensors[0].ndim
    return shapes


def find_cases():
    """Collects all examples. An expanded function has the operator and the deciding inputs of its unexpanded form."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # they divide by zero on purpose
        found = [(kind, test) for kind in KINDS for test in load_model_tests(kind=kind)]
    models = {
        test.name: test.model if test.model is not None else onnx.load(os.path.join(test.model_dir, "model.onnx"))
        for _, test in found
    }
    cases = []
    for kind, test in found:
        model = models.get(re.sub(r"_expanded(_ver\d+)?$", "", test.name), models[test.name])
        node = model.graph.node[0] if len(model.graph.node) == 1 else model.graph.node[-1]
        op = f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
        cases.append(Case(test.name, kind, models[test.name], test, op if kind == "node" else "", _deciding(model)))
    return cases


# --- values -----------------------------------------------------------------------------------------------------------
def _value(value, port):
    """An array, a list of them, or None."""
    if isinstance(value, bytes):
        kind = port.type.WhichOneof("value")
        value = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(
            kind, onnx.TensorProto
        ).FromString(value)
    if isinstance(value, onnx.SequenceProto):
        return numpy_helper.to_list(value)
    if isinstance(value, onnx.OptionalProto):
        return numpy_helper.to_optional(value)
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, list | tuple):
        return [_value(one, port) for one in value]
    return None if value is None else np.asarray(value)


def _of_files(folder, what):
    count = len([file for file in os.listdir(folder) if file.startswith(what)])
    values = []
    for i in range(count):
        with open(os.path.join(folder, f"{what}_{i}.pb"), "rb") as file:
            values.append(file.read())
    return values


def data_sets(case):
    """(inputs by name, expected outputs) of each set of data."""
    graph = case.model.graph
    weights = {tensor.name for tensor in graph.initializer}
    sets = case.test.data_sets
    if sets is None:
        folders = sorted(f for f in os.listdir(case.test.model_dir) if f.startswith("test_data_set"))
        folders = [os.path.join(case.test.model_dir, folder) for folder in folders]
        sets = [(_of_files(folder, "input"), _of_files(folder, "output")) for folder in folders]
    for inputs, outputs in sets:
        ports = list(graph.input)
        if len(inputs) != len(ports):
            ports = [port for port in ports if port.name not in weights]
        given = {port.name: _value(value, port) for port, value in zip(ports, inputs, strict=False)}
        yield given, [_value(value, port) for value, port in zip(outputs, graph.output, strict=True)]


def specialised(case, given):
    """The model with deciding inputs as constants, and the inputs that are left."""
    now = onnx.ModelProto()
    now.CopyFrom(case.model)
    left = {}
    for name, value in given.items():
        port = next(port for port in case.model.graph.input if port.name == name)
        if name not in case.deciding or _is_list(port):
            left[name] = value
            continue
        now.graph.initializer.append(numpy_helper.from_array(value, name))
        port = next(port for port in now.graph.input if port.name == name)
        now.graph.input.remove(port)
    return now, left


def arguments(model, given, told=True):
    """In the order of the graph's inputs, without weights. Where the lengths of sequences are not told, they are lists,
    and what is optional is a value that says whether it is there."""
    if told:
        values = [given[port.name] for port in model.graph.input if given.get(port.name) is not None]
        return [tuple(value) if isinstance(value, list) else value for value in values]
    return [_untold(port, given[port.name]) for port in model.graph.input if port.name in given]


def _untold(port, value):
    import relay

    if port.type.WhichOneof("value") != "optional_type":
        return value
    return relay.Data("None") if value is None else relay.Data("Some", value)


# --- comparing --------------------------------------------------------------------------------------------------------
def is_random(case):
    """True if the case draws random numbers, so that only types and shapes can be compared."""
    return case.name.startswith(("test_bernoulli", "test_training_dropout")) and "zero_ratio" not in case.name


def equal(got, expected, case):
    """None, or what differs."""
    if len(got) != len(expected):
        return f"gives {len(got)} results, not {len(expected)}"
    return next((wrong for g, e in zip(got, expected, strict=True) if (wrong := _differs(g, e, case))), None)


def _differs(got, expected, case):
    if expected is None or isinstance(expected, list):
        return _list_differs(got, expected, case)
    got = np.asarray(got)
    if got.dtype != expected.dtype:
        return f"gives {got.dtype}, not {expected.dtype}"
    if got.shape != expected.shape:
        return "gives another shape"
    if is_random(case):
        return None
    if got.dtype.kind in "iub":
        return None if np.array_equal(got, expected) else "gives other values"
    if re.fullmatch(r"float[48]_.*|u?int[24]", expected.dtype.name):
        same = np.array_equal(got.astype(float), expected.astype(float), equal_nan=True)
        return None if same else "gives other values"
    try:
        unit = np.finfo(expected.dtype).eps
    except ValueError:
        import ml_dtypes

        unit = ml_dtypes.finfo(expected.dtype).eps
    got, wanted = got.astype(float), expected.astype(float)
    # Sums that come close to zero carry the rounding of their terms, which are as large as other elements.
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
    rtol, atol = max(case.rtol, float(unit)), max(case.atol, 4 * float(unit) * largest)
    return None if np.allclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True) else "gives other values"


def _list_differs(got, expected, case):
    if isinstance(expected, list):  # a sequence is a tuple, and one of one tensor the tensor
        got = list(got) if isinstance(got, tuple | list) else [got]
    if expected is None or not isinstance(got, list):
        return None if got is expected else "gives a value of another kind"
    return equal(got, expected, case)
