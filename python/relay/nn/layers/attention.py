"""Attention and the encoder layer of a transformer."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Tuple
from ...errors import bad_option
from ...ir.expr import const
from ..module import Module
from ..parameter import Parameter, xavier_uniform, zeros
from ..trace import input_type
from .activation import Dropout
from .linear import Linear
from .norm import LayerNorm


class MultiheadAttention(Module):
    """Attention with several heads. in_proj_weight: (3 E, E), in_proj_bias: (3 E,), out_proj: Linear(E, E).

    forward() returns the result only. attn_mask: a bool, True for pairs that are ignored, or floats that are added;
    (L, S), or with further axes in front.
    """

    def __init__(self, embed_dim: int, num_heads: int, bias: bool = True, batch_first: bool = False):
        super().__init__()
        if embed_dim % num_heads:
            raise bad_option(
                f"{embed_dim} features cannot be divided among {num_heads} heads", "give a divisor as num_heads"
            )
        self.embed_dim, self.num_heads, self.batch_first = embed_dim, num_heads, batch_first
        self.in_proj_weight = Parameter(shape=(3 * embed_dim, embed_dim), init=xavier_uniform)
        self.in_proj_bias = Parameter(shape=(3 * embed_dim,), init=zeros) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        if bias:
            self.out_proj.bias.init = zeros

    def forward(self, query, key=None, value=None, attn_mask=None, is_causal: bool = False):
        key = query if key is None else key
        value = key if value is None else value
        weights = op.split(self.in_proj_weight.__relay_parameter__(), indices_or_sections=3, axis=0)
        biases = (
            None
            if self.in_proj_bias is None
            else op.split(self.in_proj_bias.__relay_parameter__(), indices_or_sections=3, axis=0)
        )
        heads = [
            self._heads(x, weights[at], None if biases is None else biases[at])
            for at, x in enumerate((query, key, value))
        ]
        mask = [] if attn_mask is None else [self._mask(attn_mask)]
        out = op.nn.scaled_dot_product_attention(Tuple([*heads, *mask]), masked=bool(mask), is_causal=is_causal)
        out = op.reshape(op.transpose(out, axes=[0, 2, 1, 3]), newshape=[0, 0, self.embed_dim])
        return self.out_proj(out if self.batch_first else op.transpose(out, axes=[1, 0, 2]))

    def _heads(self, x, weight, bias):
        """Returns (N, H, L, E / H)."""
        x = x if self.batch_first else op.transpose(x, axes=[1, 0, 2])
        x = op.nn.dense(x, weight, units=self.embed_dim)
        x = x if bias is None else op.nn.bias_add(x, bias, axis=-1)
        return op.transpose(
            op.reshape(x, newshape=[0, 0, self.num_heads, self.embed_dim // self.num_heads]), axes=[0, 2, 1, 3]
        )

    def _mask(self, mask):
        if str(input_type(mask).dtype) == "bool":
            mask = op.where(mask, const(np.float32(-np.inf)), const(np.float32(0)))
        for _ in range(4 - len(input_type(mask).shape)):
            mask = op.expand_dims(mask, axis=0)
        return mask

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}, batch_first={self.batch_first}"


class TransformerEncoderLayer(Module):
    """Self-attention and a network of two linear layers, each with a residual and a LayerNorm, as in PyTorch."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
    ):
        super().__init__()
        if activation not in ("relu", "gelu"):
            raise bad_option(f"the activation is {activation!r}", "give 'relu' or 'gelu'")
        self.self_attn = MultiheadAttention(d_model, nhead, batch_first=batch_first)
        self.linear1, self.linear2 = Linear(d_model, dim_feedforward), Linear(dim_feedforward, d_model)
        self.norm1, self.norm2 = LayerNorm(d_model, layer_norm_eps), LayerNorm(d_model, layer_norm_eps)
        self.dropout, self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.activation, self.norm_first = activation, norm_first

    def forward(self, x, src_mask=None, is_causal: bool = False):
        def attended(y):
            return self.dropout1(self.self_attn(y, y, y, src_mask, is_causal))

        def widened(y):
            y = self.linear1(y)
            y = op.nn.relu(y) if self.activation == "relu" else op.nn.gelu(y)
            return self.dropout2(self.linear2(self.dropout(y)))

        if self.norm_first:
            x = op.add(x, attended(self.norm1(x)))
            return op.add(x, widened(self.norm2(x)))
        x = self.norm1(op.add(x, attended(x)))
        return self.norm2(op.add(x, widened(x)))
