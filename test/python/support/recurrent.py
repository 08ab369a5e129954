"""The oracle of nn.rnn, nn.lstm and nn.gru: step by step, as ONNX's operators are described."""

import re

import numpy as np

ACTIVATIONS = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "softplus": lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0),
    "leaky_relu": lambda x, alpha=0.01: np.where(x < 0, alpha * x, x),
    "elu": lambda x, alpha=1.0: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x),
    "thresholded_relu": lambda x, alpha=1.0: np.where(x > alpha, x, 0),
    "affine": lambda x, alpha=1.0, beta=0.0: alpha * x + beta,
    "scaled_tanh": lambda x, alpha=1.0, beta=1.0: alpha * np.tanh(beta * x),
    "hard_sigmoid": lambda x, alpha=0.2, beta=0.5: np.clip(alpha * x + beta, 0, 1),
}


def activations_of(text, defaults, clip, directions):
    """The functions of each direction."""
    found = re.findall(r"(\w+)(?:\(([^)]*)\))?", text) or [(name, "") for name in defaults]
    functions = []
    for name, numbers in found:
        values = [float(v) for v in numbers.split(",")] if numbers else []
        functions.append(lambda x, f=ACTIVATIONS[name], v=values: f(x, *v))
    # The output's is never clipped (the third of an LSTM).
    bounded = [lambda x, f=f: f(np.clip(x, -clip, clip)) for f in functions] if clip else functions
    functions = [f if i % len(defaults) == 2 else b for i, (f, b) in enumerate(zip(functions, bounded, strict=True))]
    each = len(defaults)
    return [functions[d * each : (d + 1) * each] if len(functions) > each else functions for d in range(directions)]


def sequence(data, weights, state, direction, lengths, count, make_step, layers):
    """Outputs of all steps and the last states; make_step(d, weights) returns (x, states) -> states of a direction."""
    data, weights, state = np.asarray(data), [np.asarray(w) for w in weights], [np.asarray(s) for s in state]
    length = state[-1].astype(int) if lengths else np.full(data.shape[1], len(data))
    states = state[:-1] if lengths else state
    directions, last = 2 if direction == "bidirectional" else 1, []
    for layer in range(layers):
        rows = slice(layer * directions, (layer + 1) * directions)
        own = weights[rows.start * count : rows.stop * count]
        output, *ends = one_layer(data, own, [s[rows] for s in states], direction, length, count, make_step)
        data = output.transpose(0, 2, 1, 3).reshape(*data.shape[:2], -1)
        last.append(ends)
    return (output, *[np.concatenate(s) for s in zip(*last, strict=True)])


def one_layer(data, weights, states, direction, length, count, make_step):
    steps, rows = data.shape[:2]
    directions = 2 if direction == "bidirectional" else 1
    outputs, last = [], []
    for d in range(directions):
        step = make_step(d, weights[d * count : (d + 1) * count])
        now = [s[d] for s in states]
        out = np.zeros((steps, rows, states[0].shape[2]))
        reverse = direction == "reverse" or d == 1
        for t in reversed(range(steps)) if reverse else range(steps):
            within = (t < length)[:, None]
            now = [np.where(within, a, b) for a, b in zip(step(data[t], now), now, strict=True)]
            out[t] = np.where(within, now[0], 0)
        outputs.append(out)
        last.append(now)
    return (np.stack(outputs, 1), *[np.stack(s) for s in zip(*last, strict=True)])


def lstm(data, weights, state, direction, bias, peephole, projection, lengths, input_forget, activations, clip, layers):
    functions = activations_of(activations, ["sigmoid", "tanh", "tanh"], clip, 2)

    def make_step(d, weights):
        f, g, h = functions[d]
        parts = iter(weights)
        weight, recurrence = next(parts), next(parts)
        added = next(parts) + next(parts) if bias else 0
        holes = np.split(next(parts), 3) if peephole else [0, 0, 0]
        project = next(parts).T if projection else None

        def step(x, states):
            hidden, cell = states
            i, o, forget, fresh = np.split(x @ weight.T + hidden @ recurrence.T + added, 4, 1)
            i = f(i + holes[0] * cell)
            forget = 1 - i if input_forget else f(forget + holes[2] * cell)
            cell = forget * cell + i * g(fresh)
            out = f(o + holes[1] * cell) * h(cell)
            return [out if project is None else out @ project, cell]

        return step

    count = 2 + 2 * bias + peephole + projection
    return sequence(data, weights, state, direction, lengths, count, make_step, layers)


def gru(data, weights, state, direction, bias, lengths, linear_before_reset, activations, clip, layers):
    functions = activations_of(activations, ["sigmoid", "tanh"], clip, 2)

    def make_step(d, weights):
        f, g = functions[d]
        weight, recurrence = weights[:2]
        own, of_state = weights[2:] if bias else (np.zeros(len(weight)), np.zeros(len(weight)))

        def step(x, states):
            (hidden,) = states
            z, r, fresh = np.split(x @ weight.T + own, 3, 1)
            rz, rr, rh = np.split(recurrence, 3)
            bz, br, bh = np.split(of_state, 3)
            z, r = f(z + hidden @ rz.T + bz), f(r + hidden @ rr.T + br)
            before = r * (hidden @ rh.T + bh) if linear_before_reset else (r * hidden) @ rh.T + bh
            return [(1 - z) * g(fresh + before) + z * hidden]

        return step

    return sequence(data, weights, state, direction, lengths, 2 + 2 * bias, make_step, layers)


def rnn(data, weights, state, direction, bias, lengths, activations, clip, layers):
    functions = activations_of(activations, ["tanh"], clip, 2)

    def make_step(d, weights):
        (f,) = functions[d]
        added = weights[2] + weights[3] if bias else 0
        return lambda x, states: [f(x @ weights[0].T + states[0] @ weights[1].T + added)]

    return sequence(data, weights, state, direction, lengths, 2 + 2 * bias, make_step, layers)
