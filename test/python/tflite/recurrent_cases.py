"""Recurrent operators, whose states are variable tensors: here one run from states of zeros."""

import numpy as np
from lite_cases import CASES, Case, floats

BATCH, TIME, IN, UNITS = 2, 6, 5, 4


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Network:
    """Weights as constants of a model, in order; absent ones are -1."""

    def __init__(self, model, rng):
        self.model, self.rng, self.arrays = model, rng, []

    def weight(self, *shape):
        self.arrays.append(floats(self.rng, shape, -0.8, 0.8))
        return self.model.constant(f"w{len(self.arrays)}", self.arrays[-1])

    def state(self, *shape):
        self.arrays.append(None)
        return self.model.tensor(f"state{len(self.arrays)}", shape, variable=True)


def recurrent(name, op, build, expect, states, results, shape=(BATCH, TIME, IN), more=(), **options):
    """`build(network)` returns the inputs after the data; `expect(arrays of the network, x, ..)` the results."""
    known = []

    def make(model, rng):
        xs = [model.input(f"x{i}", s) for i, s in enumerate((shape, *more))]
        network = Network(model, rng)
        inputs = build(network, xs)
        known[:] = network.arrays
        model.outputs(*model.op(op, inputs, [model.tensor(f"y{i}", r) for i, r in enumerate(results)], **options)
                      if len(results) > 1
                      else [model.op(op, inputs, [model.tensor("y0", results[0])], **options)])  # fmt: skip
        return [floats(rng, s) for s in (shape, *more)]

    zeros = [np.zeros(s, np.float32) for s in states]
    CASES.append(Case(name, make, lambda *xs: expect(known, *xs) if expect else None, states=zeros))
    if not expect:
        CASES[-1].expect = None


def rnn(arrays, x, h=None, act=np.tanh, extra=None, y=None):
    """Outputs (N, T, units) of weights W, R, b."""
    w, r, b = arrays[:3]
    h, out = np.zeros([len(x), len(w)]), []
    for t in range(x.shape[1]):
        h = act(x[:, t] @ w.T + h @ r.T + b + (y[:, t] @ extra.T if extra is not None else 0))
        out.append(h)
    return np.stack(out, 1).astype(np.float32)


def one_gate(n, units=UNITS, size=IN):
    return [n.weight(units, size), n.weight(units, units), n.weight(units), n.state(BATCH, units)]


recurrent("RNN", "RNN", lambda n, xs: [*xs, *one_gate(n)], lambda w, x: rnn(w, x[:, None])[:, 0],
          [[BATCH, UNITS]], [[BATCH, UNITS]], shape=(BATCH, IN), fused_activation_function=4)  # fmt: skip
recurrent("UNIDIRECTIONAL_SEQUENCE_RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", lambda n, xs: [*xs, *one_gate(n)],
          lambda w, x: rnn(w, x), [[BATCH, UNITS]], [[BATCH, TIME, UNITS]], fused_activation_function=4)  # fmt: skip
recurrent("UNIDIRECTIONAL_SEQUENCE_RNN by time", "UNIDIRECTIONAL_SEQUENCE_RNN", lambda n, xs: [*xs, *one_gate(n)],
          lambda w, x: rnn(w, x.swapaxes(0, 1), act=lambda v: np.clip(v, 0, 6)).swapaxes(0, 1), [[BATCH, UNITS]],
          [[TIME, BATCH, UNITS]], shape=(TIME, BATCH, IN), fused_activation_function=3, time_major=True)  # fmt: skip


def _both_ways(w, x, y=None):
    second = x if y is None else y
    return rnn(w[:3], x), rnn(w[4:7], second[:, ::-1])[:, ::-1]


for merged in (False, True):
    recurrent(f"BIDIRECTIONAL_SEQUENCE_RNN {merged}", "BIDIRECTIONAL_SEQUENCE_RNN",
              lambda n, xs: [*xs, *one_gate(n), *one_gate(n), -1, -1, -1],
              (lambda w, x: np.concatenate(_both_ways(w, x), 2)) if merged else _both_ways, [[BATCH, UNITS]] * 2,
              [[BATCH, TIME, 2 * UNITS]] if merged else [[BATCH, TIME, UNITS]] * 2,
              fused_activation_function=4, merge_outputs=merged)  # fmt: skip
recurrent("BIDIRECTIONAL_SEQUENCE_RNN of two", "BIDIRECTIONAL_SEQUENCE_RNN",
          lambda n, xs: [xs[0], *one_gate(n), *one_gate(n), xs[1], n.weight(UNITS, IN), n.weight(UNITS, IN)], None,
          [[BATCH, UNITS]] * 2, [[BATCH, TIME, UNITS]] * 2, more=[(BATCH, TIME, IN)],
          fused_activation_function=4)  # fmt: skip

# --- LSTM ------------------------------------------------------------------------------------------------------------


def lstm_weights(n, *, cifg=False, peephole=False, projection=0, projection_bias=False, norm=False, states=True,
                 size=IN):  # fmt: skip
    """The inputs from 1 on, as those of UNIDIRECTIONAL_SEQUENCE_LSTM."""
    out = projection or UNITS
    first = (lambda *shape: -1) if cifg else n.weight
    inputs = [first(UNITS, size), *(n.weight(UNITS, size) for _ in range(3))]
    inputs += [first(UNITS, out), *(n.weight(UNITS, out) for _ in range(3))]
    inputs += [(first if i == 0 else n.weight)(UNITS) if peephole else -1 for i in range(3)]
    inputs += [first(UNITS), *(n.weight(UNITS) for _ in range(3))]
    inputs += [n.weight(out, UNITS) if projection else -1, n.weight(out) if projection_bias else -1]
    if states:
        inputs += [n.state(BATCH, out), n.state(BATCH, UNITS)]
    if norm:
        inputs += [first(UNITS), *(n.weight(UNITS) for _ in range(3))]
    return inputs


def lstm(arrays, x):
    """The plain form, batch first."""
    w, r, b = arrays[:4], arrays[4:8], arrays[8:12]
    h, c, out = np.zeros([len(x), UNITS]), np.zeros([len(x), UNITS]), []
    for t in range(x.shape[1]):
        i, f, g, o = (x[:, t] @ w[k].T + h @ r[k].T + b[k] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.stack(out, 1).astype(np.float32)


def sequence(name, expect=None, *, shape=(BATCH, TIME, IN), options=None, **form):
    out = form.get("projection") or UNITS
    recurrent(f"UNIDIRECTIONAL_SEQUENCE_LSTM {name}", "UNIDIRECTIONAL_SEQUENCE_LSTM",
              lambda n, xs: [*xs, *lstm_weights(n, **form)], expect, [[BATCH, out], [BATCH, UNITS]],
              [[*shape[:2], out]], shape=shape, fused_activation_function=4, **(options or {}))  # fmt: skip


sequence("plain", lstm)
sequence("by time", lambda w, x: lstm(w, x.swapaxes(0, 1)).swapaxes(0, 1), shape=(TIME, BATCH, IN),
         options={"time_major": True})  # fmt: skip
sequence("without an input gate", cifg=True)
sequence("peepholes", peephole=True)
sequence("peepholes without an input gate", peephole=True, cifg=True)
sequence("projection", projection=3)
sequence("projection with a bias", projection=3, projection_bias=True)
sequence("clips", projection=3, options={"cell_clip": 0.3, "proj_clip": 0.2})
sequence("norms", norm=True)
sequence("norms, peepholes, no input gate", norm=True, peephole=True, cifg=True)
recurrent("LSTM", "LSTM", lambda n, xs: [*xs, *lstm_weights(n)], lambda w, x: lstm(w, x[:, None])[:, 0],
          [[BATCH, UNITS]] * 2, [[BATCH, UNITS]], shape=(BATCH, IN), fused_activation_function=4)  # fmt: skip


def _basic(n, xs):
    x, = xs  # fmt: skip
    h = n.state(BATCH, UNITS)
    return [x, h, n.weight(4 * UNITS, IN + UNITS), n.weight(4 * UNITS), n.state(BATCH, UNITS)]


recurrent("LSTM basic", "LSTM", _basic, None, [[BATCH, UNITS]] * 2,
          [[BATCH, UNITS], [BATCH, UNITS], [BATCH, IN + UNITS], [BATCH, 4 * UNITS]], shape=(BATCH, IN),
          fused_activation_function=4, kernel_type=1)  # fmt: skip


def _two_directions(n, xs, extra=False):
    weights = [*lstm_weights(n, states=False), *lstm_weights(n, states=False)]
    states = [n.state(BATCH, UNITS) for _ in range(4)]
    more = [n.weight(UNITS, IN) for _ in range(8)] if extra else [-1] * 8
    return [xs[0], *weights, *states, xs[1] if len(xs) > 1 else -1, *more]


recurrent("BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM", _two_directions,
          lambda w, x: (lstm(w[:12], x), lstm(w[12:24], x[:, ::-1])[:, ::-1]), [[BATCH, UNITS]] * 4,
          [[BATCH, TIME, UNITS]] * 2, fused_activation_function=4, time_major=False)  # fmt: skip
recurrent("BIDIRECTIONAL_SEQUENCE_LSTM merged", "BIDIRECTIONAL_SEQUENCE_LSTM", _two_directions, None,
          [[BATCH, UNITS]] * 4, [[TIME, BATCH, 2 * UNITS]], shape=(TIME, BATCH, IN), fused_activation_function=4,
          merge_outputs=True)  # fmt: skip
recurrent("BIDIRECTIONAL_SEQUENCE_LSTM of two", "BIDIRECTIONAL_SEQUENCE_LSTM",
          lambda n, xs: _two_directions(n, xs, True), None, [[BATCH, UNITS]] * 4, [[BATCH, TIME, UNITS]] * 2,
          more=[(BATCH, TIME, IN)], fused_activation_function=4, time_major=False)  # fmt: skip

# --- SVDF ------------------------------------------------------------------------------------------------------------

RANK, MEMORY = 2, 5


def _svdf(n, xs, bias=True):
    filters = RANK * UNITS
    weights = [n.weight(filters, IN), n.weight(filters, MEMORY), n.weight(UNITS) if bias else -1]
    return [*xs, *weights, n.state(BATCH, filters * MEMORY)]


def _svdf_of_zeros(w, x):
    feature = x @ w[0].T
    units = (feature * w[1][:, -1]).reshape(BATCH, UNITS, RANK).sum(2)
    return np.maximum(units + w[2], 0).astype(np.float32)


recurrent("SVDF", "SVDF", _svdf, _svdf_of_zeros, [[BATCH, RANK * UNITS * MEMORY]], [[BATCH, UNITS]],
          shape=(BATCH, IN), rank=RANK, fused_activation_function=1)  # fmt: skip
recurrent("SVDF without bias", "SVDF", lambda n, xs: _svdf(n, xs, False), None, [[BATCH, RANK * UNITS * MEMORY]],
          [[BATCH, UNITS]], shape=(BATCH, IN), rank=RANK)  # fmt: skip
