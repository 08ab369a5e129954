"""Computes the results of TensorFlow for the models of tensorflow_packages.py."""

from __future__ import annotations

import pathlib

import tensorflow as tf
from tensorflow_packages import Model


def wanted(model: Model, path: pathlib.Path) -> list:
    """Returns the results that TensorFlow computes."""
    if model.outputs is None:
        signature = tf.saved_model.load(str(path)).signatures["serving_default"]
        made = signature(**{name: tf.constant(one) for name, one in model.inputs.items()})
        return [made[name].numpy() for name in sorted(made)]
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(_graph_def(model, path), name="")
    with tf.compat.v1.Session(graph=graph) as session:
        feeds = {f"{name}:0": one for name, one in model.inputs.items()}
        return session.run([f"{name}:0" for name in model.outputs], feeds)


def _graph_def(model: Model, path: pathlib.Path):
    """The graph of a file. Of a training graph, the part that the outputs need, with its variables as constants."""
    if path.name.endswith(".pb"):
        graph = tf.compat.v1.GraphDef()
        graph.ParseFromString(path.read_bytes())
        return graph
    meta = tf.compat.v1.MetaGraphDef()
    meta.ParseFromString(path.read_bytes())
    values = tf.compat.v1.train.NewCheckpointReader(str(path).removesuffix(".meta"))
    nodes = {one.name: one for one in meta.graph_def.node}
    needed, pending = set(), list(model.outputs)
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            if nodes[name].op != "VariableV2":
                pending += [one.lstrip("^").partition(":")[0] for one in nodes[name].input]
    graph = tf.compat.v1.GraphDef()
    for one in meta.graph_def.node:
        if one.name in needed:
            _add(graph.node.add(), one, values)
    return graph


def _add(made, node, values) -> None:
    made.CopyFrom(node)
    for name in ("_class", "_output_shapes"):
        made.attr.pop(name, None)
    made.op = {"RefSwitch": "Switch", "RefMerge": "Merge"}.get(node.op, node.op)
    if node.op == "VariableV2":
        value = values.get_tensor(node.name)
        made.Clear()
        made.name, made.op = node.name, "Const"
        made.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
        made.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
