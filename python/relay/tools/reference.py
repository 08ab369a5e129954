"""Computes values of an ONNX model with another engine, for `relay verify --reference` and `relay bisect --reference`.
Imports nothing of relay.

    reference.py values ENGINE REQUEST.json INPUTS.npz VALUES.npz
    reference.py node   ENGINE REQUEST.json INPUTS.npz FOLDER

REQUEST contains the path of the model, the names of its inputs (arrays in INPUTS are named by their position), and the
names of values. `values` writes the values that the engine has, named by their position. `node` writes a model of the
single node that computes the first of the names, with the values of its inputs, and the command that bisects it.
"""

import json
import pathlib
import sys

import numpy as np
import onnx


def exposed(model, names):
    """Returns the model with these values as its outputs. Names that no node computes are left out."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    given = {name for node in copy.graph.node for name in node.output if name}
    typed = {info.name: info for info in [*model.graph.output, *model.graph.value_info]}
    del copy.graph.output[:]
    for name in names:
        if name in given:
            copy.graph.output.append(typed.get(name, onnx.ValueInfoProto(name=name)))
    return copy


def onnxruntime_values(model, inputs, names):
    """Runs the model in ONNX Runtime without the optimiser, which would remove nodes."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        exposed(model, names).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    wanted = [port.name for port in session.get_outputs()]
    takes = {port.name for port in session.get_inputs()}
    return dict(zip(wanted, session.run(wanted, {k: v for k, v in inputs.items() if k in takes}), strict=True))


def onnx_values(model, inputs, names):
    from onnx.reference import ReferenceEvaluator

    shown = exposed(model, names)
    results = ReferenceEvaluator(shown).run(None, inputs)
    return dict(zip([info.name for info in shown.graph.output], results, strict=True))


ENGINES = {"onnxruntime": onnxruntime_values, "onnx": onnx_values}


def read(request, inputs):
    said = json.loads(pathlib.Path(request).read_text())
    with np.load(inputs) as stored:
        arrays = {name: stored[str(i)] for i, name in enumerate(said["inputs"])}
    return onnx.load(said["model"]), said["names"], arrays


def tensors(values):
    """Returns the arrays of numbers, without sequences and strings."""
    return {name: a for name, a in values.items() if isinstance(a, np.ndarray | np.generic) and a.dtype.kind in "fiub"}


def write_values(engine, request, inputs, output):
    model, names, arrays = read(request, inputs)
    found = tensors(ENGINES[engine](model, arrays, names))
    np.savez(output, **{str(i): found[name] for i, name in enumerate(names) if name in found})


def write_node(engine, request, inputs, folder):
    model, (name, *_), arrays = read(request, inputs)
    node = next(n for n in model.graph.node if name in n.output)
    weights = {w.name: w for w in model.graph.initializer}
    taken = set(outside(node)) - set(weights)
    known = arrays | tensors(ENGINES[engine](model, arrays, sorted(taken)))
    dtype = onnx.helper.np_dtype_to_tensor_dtype
    graph = onnx.helper.make_graph(
        [node],
        "node",
        [
            onnx.helper.make_tensor_value_info(v, dtype(known[v].dtype), known[v].shape)
            for v in sorted(taken & set(known))
        ],
        [onnx.ValueInfoProto(name=v) for v in node.output if v],
        [weights[v] for v in outside(node) if v in weights],
    )
    small = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    small.functions.extend(model.functions)
    place = pathlib.Path(folder)
    onnx.save(small, place / "node.onnx")
    words = ["relay bisect node.onnx", f"--reference {engine}"]
    for i, port in enumerate(graph.input):
        np.save(place / f"input{i}.npy", known[port.name])
        words.append(f"--input '{port.name}=input{i}.npy'")
    (place / "command.txt").write_text(" ".join(words) + "\n")


def outside(node):
    """Returns the names of values that a node uses, each once: its inputs, and values from outside that its subgraphs
    read."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in [attribute.g, *attribute.graphs]:
            own = {info.name for info in graph.input} | {w.name for w in graph.initializer}
            own |= {name for inner in graph.node for name in inner.output}
            names += [name for inner in graph.node for name in outside(inner) if name not in own]
    return list(dict.fromkeys(names))


def main(what, *arguments):
    try:
        {"values": write_values, "node": write_node}[what](*arguments)
    except Exception as error:  # any error is reported to the user by the other process
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
