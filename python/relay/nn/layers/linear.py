"""Linear layers and embeddings."""

from __future__ import annotations

from ... import op
from ..module import Module
from ..parameter import Parameter, bias_of, kaiming_uniform, normal


class Linear(Module):
    """x W^T + b along the last axis. weight: (out_features, in_features), bias: (out_features,).

    in_features may be None: it is inferred.
    """

    def __init__(self, in_features: int | None = None, out_features: int | None = None, bias: bool = True):
        super().__init__()
        if out_features is None:  # Linear(16): only the outputs
            in_features, out_features = None, in_features
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(shape=(out_features, in_features), init=kaiming_uniform)
        self.bias = Parameter(shape=(out_features,), init=bias_of(self.weight)) if bias else None

    def forward(self, x):
        x = op.nn.dense(x, self.weight, units=self.out_features)
        return x if self.bias is None else op.nn.bias_add(x, self.bias, axis=-1)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[1] or 'None'}, {self.out_features}" + ("" if self.bias else ", bias=False")


class Embedding(Module):
    """Rows of a table at integer indices. weight: (num_embeddings, embedding_dim). An index out of range ends the
    run."""

    def __init__(self, num_embeddings: int, embedding_dim: int):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.weight = Parameter(shape=(num_embeddings, embedding_dim), init=normal)

    def forward(self, indices):
        return op.take(self.weight, indices, axis=0, mode="checked")

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"
