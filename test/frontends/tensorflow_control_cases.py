"""Small graphs of TensorFlow with control flow, lists of tensors and variables, for tensorflow_run.py."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tensorflow_cases import case, f, i

_one = np.array(1, np.int32)


@case("PartitionedCall", [f(3, 4)])
def _call(x):
    @tf.function
    def inner(y):
        return tf.nn.relu(y) + 1.0

    return inner(x) * inner(x + 1.0)


@case("If", [f(3), np.array(True)], saved=True)
def _if(x, flag):
    return tf.cond(flag, lambda: x * 2.0, lambda: x - 1.0)


@case("If of sizes", [f(3), np.array(False)])
def _if_sizes(x, flag):
    return tf.cond(flag, lambda: x[:2], lambda: x)


@case("Case", [f(3), np.array(2, np.int32)])
def _case(x, n):
    return tf.switch_case(n, [lambda: x, lambda: x * 2.0, lambda: x * 3.0])


@case("While", [f(3), np.array(4, np.int32)], saved=True)
def _while(x, n):
    _, made = tf.while_loop(lambda k, y: k < n, lambda k, y: (k + 1, y * 0.5 + 1.0), (0, x))
    return made


@case("While of lists", [f(5, 2, 3)])
def _while_list(x):
    weights = tf.constant(f(3, 3))

    def step(k, state, array):
        state = tf.tanh(tf.matmul(state, weights) + x[k])
        return k + 1, state, array.write(k, state)

    array = tf.TensorArray(tf.float32, 5)
    _, last, array = tf.while_loop(lambda k, *_: k < 5, step, (0, tf.zeros((2, 3)), array))
    return last, array.stack()


@case("While in a while", [f(3)])
def _nested(x):
    def outer(k, y):
        _, y = tf.while_loop(lambda j, z: j < 3, lambda j, z: (j + 1, z + tf.cast(j + k, tf.float32)), (0, y))
        return k + 1, y

    return tf.while_loop(lambda k, y: k < 2, outer, (0, x))[1]


@case("TensorArray read, gather, scatter, size", [f(4, 3)])
def _array(x):
    array = tf.TensorArray(tf.float32, 4, clear_after_read=False).unstack(x)
    array = array.write(2, x[0] * 2.0)
    return array.read(1), array.gather([0, 2]), array.stack(), array.size()


@case("TensorArray of rows", [f(4, 3)])
def _rows(x):
    array = tf.TensorArray(tf.float32, 4).unstack(x)
    return array.stack()


@case("TensorListPushBack in a loop", [f(3)])
def _push(x):
    items = tf.raw_ops.EmptyTensorList(element_shape=tf.constant([3]), max_num_elements=-1, element_dtype=tf.float32)
    for _ in range(3):
        items = tf.raw_ops.TensorListPushBack(input_handle=items, tensor=x)
    items, last = tf.raw_ops.TensorListPopBack(input_handle=items, element_shape=[3], element_dtype=tf.float32)
    count = tf.raw_ops.TensorListLength(input_handle=items)
    return last, count, tf.raw_ops.TensorListStack(input_handle=items, element_shape=[3], element_dtype=tf.float32)


@case("TensorListFromTensor, GetItem, Gather, Concat", [f(4, 2, 3)])
def _list(x):
    items = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=[2, 3])
    part = tf.raw_ops.TensorListGetItem(input_handle=items, index=2, element_shape=[2, 3], element_dtype=tf.float32)
    some = tf.raw_ops.TensorListGather(
        input_handle=items, indices=[0, 3], element_shape=[2, 3], element_dtype=tf.float32
    )
    whole = tf.raw_ops.TensorListConcatV2(
        input_handle=items, element_shape=[2, 3], leading_dims=np.zeros(0, np.int64), element_dtype=tf.float32
    )
    return part, some, whole[0]


@case("TensorListReserve, SetItem, Resize, ScatterV2, ConcatLists", [f(4, 3)])
def _list_more(x):
    items = tf.raw_ops.TensorListReserve(element_shape=[3], num_elements=3, element_dtype=tf.float32)
    items = tf.raw_ops.TensorListSetItem(input_handle=items, index=1, item=x[0])
    more = tf.raw_ops.TensorListScatterV2(tensor=x, indices=[3, 2, 1, 0], element_shape=[3], num_elements=-1)
    items = tf.raw_ops.TensorListConcatLists(input_a=items, input_b=more, element_dtype=tf.float32)
    items = tf.raw_ops.TensorListResize(input_handle=items, size=9)
    return tf.raw_ops.TensorListStack(input_handle=items, element_shape=[3], element_dtype=tf.float32)


@case("TensorListSplit", [f(6, 3)])
def _list_split(x):
    items = tf.raw_ops.TensorListSplit(tensor=x, element_shape=[2, 3], lengths=np.array([2, 2, 2], np.int64))
    return tf.raw_ops.TensorListStack(input_handle=items, element_shape=[2, 3], element_dtype=tf.float32)


@case("TensorListConcat, TensorListElementShape, TensorListScatter", [f(4, 2, 3)])
def _list_old(x):
    items = tf.raw_ops.TensorListScatter(tensor=x, indices=[0, 1, 2, 3], element_shape=[2, 3])
    whole = tf.raw_ops.TensorListConcat(input_handle=items, element_dtype=tf.float32, element_shape=[2, 3])
    return whole[0], tf.raw_ops.TensorListElementShape(input_handle=items, shape_type=tf.int32)


@case("Assert", [f(3, low=0.1)])
def _assert(x):
    with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(x > 0), [x])]):
        return tf.identity(x) * 2.0


@case("RandomUniform, RandomStandardNormal, RandomUniformInt", [f(3)])
def _random(x):
    """Keeps a part of random numbers that is always the same."""
    numbers = tf.random.uniform([3], maxval=1, dtype=tf.int32)
    return x + tf.floor(tf.random.uniform([3])), numbers, x + 0.0 * tf.random.normal([3])


_table = f(7, 4)


class Variables(tf.Module):
    """Holds the variable of the cases."""

    def __init__(self):
        super().__init__()
        self.table = tf.Variable(_table, name="table")


VARIABLES = Variables()


@case("VarHandleOp, ReadVariableOp, ResourceGather", [i(2, 3, low=0, high=7)])
def _variables(indices):
    table = VARIABLES.table
    pairs = tf.raw_ops.ResourceGatherNd(resource=table.handle, indices=tf.expand_dims(indices, -1), dtype=tf.float32)
    return tf.gather(table, indices), tf.reduce_sum(table), pairs


@case("If of variables", [f(4), np.array(True)])
def _if_of_variables(x, flag):
    return tf.cond(flag, lambda: x + VARIABLES.table[0], lambda: x * VARIABLES.table[1])


@case("Case of variables", [f(4), np.array(1, np.int32)])
def _case_of_variables(x, n):
    return tf.switch_case(n, [lambda: x, lambda: x + VARIABLES.table[0], lambda: x * VARIABLES.table[1]])


@case("While of variables", [f(4)])
def _while_of_variables(x):
    return tf.while_loop(lambda k, y: k < 7, lambda k, y: (k + 1, y * 0.5 + VARIABLES.table[k]), (0, x))[1]


_READ_VARIABLES = {
    "VarHandleOp, ReadVariableOp, ResourceGather",
    "If of variables",
    "Case of variables",
    "While of variables",
}


def module_of(name: str):
    """The module whose variables a case reads, or None."""
    return VARIABLES if name in _READ_VARIABLES else None


# --- variables that a run changes -------------------------------------------------------------------------------------
class _Sums(tf.Module):
    """The sum of all inputs so far."""

    def __init__(self):
        super().__init__()
        self.total = tf.Variable(tf.ones(3))

    def run(self, x):
        before = self.total.read_value()
        self.total.assign_add(x)
        return {"before": before, "after": self.total * 2.0}


class _Means(tf.Module):
    """A running mean that each second input is left out of."""

    def __init__(self):
        super().__init__()
        self.mean, self.count = tf.Variable(tf.zeros(3)), tf.Variable(0)

    def run(self, x):
        self.count.assign_add(1)
        if self.count % 2 == 1:
            self.mean.assign(0.75 * self.mean + 0.25 * x)
        return {"apart": x - self.mean}


class _Loops(tf.Module):
    """A sum that a loop adds to three times."""

    def __init__(self):
        super().__init__()
        self.total = tf.Variable(tf.zeros(3))

    def run(self, x):
        for place in tf.range(3):
            self.total.assign_sub(x * tf.cast(place, tf.float32))
        return {"total": self.total + 0.0}


# By name: a module whose run changes its variables.
STATEFUL = {"sums": _Sums, "means in a branch": _Means, "sums in a loop": _Loops}


# --- TensorFlow 1 -----------------------------------------------------------------------------------------------------
def graphs_of_tensorflow_1():
    """Yields (name, GraphDef, inputs by name, outputs) of graphs with Switch, Merge, Enter, Exit and TensorArrayV3."""
    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    try:
        for name, build in _TF1.items():
            graph = tf.Graph()
            with graph.as_default():
                inputs, outputs = build(v1)
            names = [one.name.removesuffix(":0") for one in outputs]
            yield name, graph, inputs, names
    finally:
        v1.enable_control_flow_v2()


def _holder(v1, array, name):
    return v1.placeholder(array.dtype, array.shape, name=name)


def _tf1_cond(v1):
    x, flag = f(3), np.array(True)
    a, p = _holder(v1, x, "x"), _holder(v1, flag, "flag")
    made = v1.cond(p, lambda: a * 2.0, lambda: v1.cond(a[0] > 0, lambda: a + 1.0, lambda: a - 1.0))
    return {"x": x, "flag": flag}, [tf.identity(made, "made")]


def _tf1_cond_of_constants(v1):
    flag = np.array(False)
    p = _holder(v1, flag, "flag")
    return {"flag": flag}, [tf.identity(v1.cond(p, lambda: tf.constant(1.0), lambda: tf.constant(2.0)), "made")]


def _tf1_while(v1):
    x = f(3)
    a = _holder(v1, x, "x")
    _, made = v1.while_loop(lambda k, y: k < 4, lambda k, y: (k + 1, y * 0.5 + a), (tf.constant(0), a))
    return {"x": x}, [tf.identity(made, "made")]


def _tf1_nested(v1):
    x = f(3)
    a = _holder(v1, x, "x")

    def outer(k, y):
        _, y = v1.while_loop(
            lambda j, z: j < 3, lambda j, z: (j + 1, z + tf.cast(j + k, tf.float32) * a), (tf.constant(0), y)
        )
        return k + 1, y

    return {"x": x}, [tf.identity(v1.while_loop(lambda k, y: k < 2, outer, (tf.constant(0), a))[1], "made")]


def _tf1_array(v1):
    x = f(5, 2, 3)
    a, weights = _holder(v1, x, "x"), tf.constant(f(3, 3))
    read = tf.TensorArray(tf.float32, 5).unstack(a)
    write = tf.TensorArray(tf.float32, 5, dynamic_size=True)

    def step(k, state, array):
        state = tf.tanh(tf.matmul(state, weights) + read.read(k))
        return k + 1, state, array.write(k, state)

    _, last, write = v1.while_loop(lambda k, *_: k < 5, step, (tf.constant(0), tf.zeros((2, 3)), write))
    return {"x": x}, [tf.identity(last, "last"), tf.identity(write.stack(), "whole"), tf.identity(write.size(), "size")]


def _tf1_default(v1):
    x = f(3)
    made = v1.placeholder_with_default(_holder(v1, x, "x") * 2.0, [3], name="default")
    return {"x": x}, [tf.identity(made, "made")]


def _tf1_cond_in_while(v1):
    x = f(3)
    a = _holder(v1, x, "x")

    def step(k, y):
        return k + 1, v1.cond(tf.equal(k % 2, 0), lambda: y + a, lambda: y * 0.5)

    return {"x": x}, [tf.identity(v1.while_loop(lambda k, y: k < 5, step, (tf.constant(0), a))[1], "made")]


def _tf1_concat(v1):
    x = f(4, 2, 3)
    a = _holder(v1, x, "x")
    array = tf.TensorArray(tf.float32, 4).unstack(a)
    split = tf.TensorArray(tf.float32, 2).split(tf.reshape(a, (8, 3)), [4, 4])
    return {"x": x}, [tf.identity(array.concat(), "joined"), tf.identity(split.stack(), "apart")]


_TF1 = {
    "Switch, Merge": _tf1_cond,
    "Switch, Merge of constants": _tf1_cond_of_constants,
    "Enter, Exit, NextIteration, LoopCond": _tf1_while,
    "Enter in a loop": _tf1_nested,
    "TensorArrayV3, ReadV3, WriteV3, ScatterV3, GatherV3, SizeV3": _tf1_array,
    "Switch in a loop": _tf1_cond_in_while,
    "PlaceholderWithDefault": _tf1_default,
    "TensorArrayConcatV3, TensorArraySplitV3": _tf1_concat,
}


def graphs_of_nodes():
    """Yields (name, GraphDef, inputs by name, outputs) of operators that only old graphs have, or that TensorFlow's own
    passes make."""
    image, values = f(2, 3, 4, 5), {name: f(5, low=0.2) for name in ("m", "v", "beta", "gamma")}
    kept = {"variance_epsilon": 0.01, "scale_after_normalization": True}
    yield _graph("BatchNormWithGlobalNormalization", {"t": image}, values, producer=5, **kept)
    yield _graph("BatchMatMul", {"x": f(2, 3, 4), "y": f(2, 4, 5)}, {}, producer=5)
    yield _graph("InTopK", {"x": f(3, 7), "y": i(3, low=0, high=7)}, {}, k=3)
    kernel, bias = {"k": f(3, 3, 5, 4)}, {"b": f(4)}
    layer = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    types = {"TArgs": [1], "num_host_args": 0}
    for activation in ("Relu", "Relu6", "Elu", "LeakyRelu"):
        names = ["BiasAdd", activation]
        yield _graph("_FusedConv2D", {"x": image}, kernel | bias, **layer, **types, num_args=1, fused_ops=names)
        yield _graph("_FusedMatMul", {"x": f(3, 5)}, {"w": f(5, 4), **bias}, num_args=1, fused_ops=names)
    norm = {name: f(4, low=0.2) for name in ("gamma", "beta", "m", "v")}
    types = {"TArgs": [1] * 4, "num_host_args": 0}
    names = ["FusedBatchNorm", "Relu"]
    yield _graph(
        "_FusedConv2D", {"x": image}, kernel | norm, **layer, **types, num_args=4, fused_ops=names, epsilon=0.01
    )


def _graph(op, inputs, constants, producer=None, **attrs):
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        for name, one in inputs.items():
            v1.placeholder(one.dtype, one.shape, name=name)
        for name, one in constants.items():
            tf.constant(one, name=name)
    message = graph.as_graph_def()
    if producer is not None:
        message.versions.producer = producer
    node = message.node.add(name="made", op=op, input=[*inputs, *constants])
    node.attr["T"].type = 3 if op == "InTopK" else 1
    for name, value in attrs.items():
        if isinstance(value, list):
            held = node.attr[name].list
            if name == "TArgs":
                held.type.extend(value)
            elif isinstance(value[0], str):
                held.s.extend(one.encode() for one in value)
            else:
                held.i.extend(value)
        elif isinstance(value, str):
            node.attr[name].s = value.encode()
        else:
            setattr(node.attr[name], {bool: "b", int: "i", float: "f"}[type(value)], value)
    made = tf.Graph()
    with made.as_default():
        tf.import_graph_def(message, name="")
    return op, made, inputs, ["made"]
