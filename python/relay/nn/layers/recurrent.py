"""RNN, LSTM and GRU along a sequence."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr, Tuple, TupleGetItem
from ...errors import bad_option
from ...ir.expr import const
from ..module import Module
from ..parameter import Parameter, uniform
from ..trace import input_type


class _Recurrent(Module):
    gates, states, order = 1, 1, (0,)

    def __init__(
        self,
        input_size: int | None,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ):
        super().__init__()
        if dropout:
            raise bad_option(
                "dropout between recurrent layers", "use one layer at a time with relay.nn.Dropout between them"
            )
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.bidirectional = bias, batch_first, bidirectional
        init, directions = uniform(1 / np.sqrt(hidden_size)), 2 if bidirectional else 1
        rows = self.gates * hidden_size
        for layer in range(num_layers):
            columns = input_size if layer == 0 else hidden_size * directions
            for suffix in self._suffixes(layer):
                setattr(self, f"weight_ih_{suffix}", Parameter(shape=(rows, columns), init=init))
                setattr(self, f"weight_hh_{suffix}", Parameter(shape=(rows, hidden_size), init=init))
                if bias:
                    setattr(self, f"bias_ih_{suffix}", Parameter(shape=(rows,), init=init))
                    setattr(self, f"bias_hh_{suffix}", Parameter(shape=(rows,), init=init))

    def _suffixes(self, layer: int) -> list[str]:
        return [f"l{layer}", f"l{layer}_reverse"] if self.bidirectional else [f"l{layer}"]

    def _weights(self) -> list[Expr]:
        """Returns the weights in the order of relay's operator, with its order of gates."""
        kinds = ["weight_ih", "weight_hh"] + ["bias_ih", "bias_hh"] * self.bias
        names = [
            f"{kind}_{suffix}" for layer in range(self.num_layers) for suffix in self._suffixes(layer) for kind in kinds
        ]
        return [self._ordered(getattr(self, name).__relay_parameter__()) for name in names]

    def _ordered(self, weight: Expr) -> Expr:
        if len(self.order) == 1:
            return weight
        parts = op.split(weight, indices_or_sections=len(self.order), axis=0)
        return op.concatenate(Tuple([parts[at] for at in self.order]), axis=0)

    def _infer_inputs(self, features) -> None:
        for suffix in self._suffixes(0):
            weight = getattr(self, f"weight_ih_{suffix}")
            if not weight.is_known:
                if not isinstance(features, int):
                    raise bad_option(
                        f"{type(self).__name__} without input_size gets {features} features", "give input_size"
                    )
                weight.shape = (weight.shape[0], features)

    def forward(self, x, state=None):
        """x: (T, N, I), or (N, T, I) with batch_first. state: (L * D, N, H), for an LSTM a pair; zeros without it.

        Returns the outputs, (T, N, D * H) or (N, T, D * H), and the state after the last step.
        """
        self._infer_inputs(input_type(x).shape[-1])
        x = op.transpose(x, axes=[1, 0, 2]) if self.batch_first else x
        if state is None:
            given = self._zeros(x)
        elif self.states == 1:
            given = [state]
        else:  # an expression, or a pair of them
            given = list(state) if isinstance(state, (tuple, list)) else [made_field(state, at) for at in range(2)]
        direction = "bidirectional" if self.bidirectional else "forward"
        operator = getattr(op.nn, type(self).__name__.lower())
        made = operator(
            x,
            Tuple(self._weights()),
            Tuple(given),
            direction=direction,
            bias=self.bias,
            layers=self.num_layers,
            **self._options(),
        )
        made = made.astuple() if hasattr(made, "astuple") else made
        directions = 2 if self.bidirectional else 1
        out = op.transpose(made_field(made, 0), axes=[0, 2, 1, 3])
        out = op.reshape(out, newshape=[0, 0, directions * self.hidden_size])
        out = op.transpose(out, axes=[1, 0, 2]) if self.batch_first else out
        last = [made_field(made, 1 + at) for at in range(self.states)]
        return out, last[0] if self.states == 1 else tuple(last)

    def _options(self) -> dict:
        return {}

    def _zeros(self, x) -> list[Expr]:
        """Returns states of zeros for the number of sequences of x."""
        layers = self.num_layers * (2 if self.bidirectional else 1)
        count = input_type(x).shape[1]
        if isinstance(count, int):
            zero = op.zeros(shape=[layers, count, self.hidden_size], dtype="float32")
        else:
            row = op.multiply(
                op.mean(op.take(x, const(0), axis=0), axis=-1, keepdims=True), const(np.float32(0))
            )  # (N, 1)
            zero = op.add(op.expand_dims(row, axis=0), op.zeros(shape=[layers, 1, self.hidden_size], dtype="float32"))
        return [zero] * self.states

    def extra_repr(self) -> str:
        more = [
            f"{name}={value}"
            for name, value, usual in (
                ("num_layers", self.num_layers, 1),
                ("batch_first", self.batch_first, False),
                ("bidirectional", self.bidirectional, False),
                ("bias", self.bias, True),
            )
            if value != usual
        ]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *more])


def made_field(value: Expr, at: int) -> Expr:
    """Returns a field of a tuple."""
    return TupleGetItem(value, at)


class RNN(_Recurrent):
    """h' = tanh(W x + b + R h + c). weight_ih_l0: (H, I), weight_hh_l0: (H, H), bias_ih_l0, bias_hh_l0: (H,). Further
    layers have _l1, .., the reverse direction _reverse. input_size may be None."""


class LSTM(_Recurrent):
    """Long short-term memory, with the gates i, f, g, o. weight_ih_l0: (4 H, I), weight_hh_l0: (4 H, H), biases:
    (4 H,). input_size may be None."""

    gates, states, order = 4, 2, (0, 3, 1, 2)


class GRU(_Recurrent):
    """Gated recurrent units, with the gates r, z, n. weight_ih_l0: (3 H, I), weight_hh_l0: (3 H, H), biases: (3 H,).
    input_size may be None."""

    gates, states, order = 3, 1, (1, 0, 2)

    def _options(self) -> dict:
        return {"linear_before_reset": True}
