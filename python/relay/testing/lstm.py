"""A recurrent network of LSTM cells, unrolled. Each step calls a function with weights of its own."""

from .._core import Call, Function, Tuple, TupleGetItem, TupleType, Var, free_vars
from ..ir.scope_builder import ScopeBuilder
from ..ir.ty import TensorType
from ..op import sigmoid, split, tanh, zeros
from .init import Xavier, create_workload
from .layers import dense_add_bias


def _types(num_hidden, batch_size, dtype):
    """Returns the types of a step's input, of its two states, and of its weights and biases."""
    value = TensorType((batch_size, num_hidden), dtype)
    gates = TensorType((4 * num_hidden, num_hidden), dtype)
    return value, TupleType([value, value]), gates, TensorType((4 * num_hidden,), dtype)


def lstm_cell(num_hidden, batch_size=1, dtype="float32", name=""):
    """fn (inputs, states, i2h_weight, i2h_bias, h2h_weight, h2h_bias) -> (out, (out, cell))"""
    value, states_type, weight, bias = _types(num_hidden, batch_size, dtype)
    inputs, states = Var("inputs", value), Var("states", states_type)
    weights = [
        Var(f"{part}_{kind}", {"weight": weight, "bias": bias}[kind])
        for part in ("i2h", "h2h")
        for kind in ("weight", "bias")
    ]
    sb = ScopeBuilder()
    i2h = sb.let("i2h", dense_add_bias(inputs, *weights[:2], units=4 * num_hidden, name=f"{name}i2h"))
    h2h = sb.let("h2h", dense_add_bias(TupleGetItem(states, 0), *weights[2:], units=4 * num_hidden, name=f"{name}h2h"))
    gates = sb.let("gates", i2h + h2h)
    parts = split(gates, 4, axis=1)
    into = sb.let("in_gate", sigmoid(parts[0]))
    forget = sb.let("forget_gate", sigmoid(parts[1]))
    new = sb.let("in_transform", tanh(parts[2]))
    out = sb.let("out_gate", sigmoid(parts[3]))
    cell = sb.let("next_c", forget * TupleGetItem(states, 1) + into * new)
    hidden = sb.let("next_h", out * tanh(cell))
    sb.ret(Tuple([hidden, Tuple([hidden, cell])]))
    return Function([inputs, states, *weights], sb.get(), TupleType([value, states_type]))


def get_net(iterations, num_hidden, batch_size=1, dtype="float32"):
    """Returns the network as a function of the inputs of all steps and their weights."""
    value, _, weight, bias = _types(num_hidden, batch_size, dtype)
    sb = ScopeBuilder()
    start = sb.let("zeros", zeros((batch_size, num_hidden), dtype))
    states, out = sb.let("init_states", Tuple([start, start])), start
    for step in range(iterations):
        names = [f"i2h_{step}_weight", f"i2h_{step}_bias", f"h2h_{step}_weight", f"h2h_{step}_bias"]
        weights = [Var(name, weight if name.endswith("weight") else bias) for name in names]
        cell = lstm_cell(num_hidden, batch_size, dtype, f"lstm_{step}")
        call = sb.let(f"call_{step}", Call(cell, [Var(f"inputs_{step}", value), states, *weights]))
        out = sb.let(f"out_{step}", TupleGetItem(call, 0))
        states = sb.let(f"states_{step}", TupleGetItem(call, 1))
    sb.ret(out)
    body = sb.get()
    return Function(free_vars(body), body, value)


class _WithInputs(Xavier):
    def __call__(self, name, array):
        if not name.startswith("inputs"):
            super().__call__(name, array)


def get_workload(iterations, num_hidden, batch_size=1, dtype="float32"):
    """Returns the network as a module, and its weights, which include zeros for the inputs of the steps."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype), _WithInputs())
