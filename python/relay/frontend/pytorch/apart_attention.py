"""The transformer encoder layer, which torch.nn calls as one operator in inference, as a function that is traced in its
place."""

from __future__ import annotations

import torch
import torch.nn.functional as F

aten = torch.ops.aten


def _allowed(mask, kind: int):
    """Returns true where a query sees a key. The mask marks the hidden keys: by query and key (0), by batch and key
    (1), or by all."""
    allowed = mask.to(torch.bool).logical_not()
    return allowed[:, None, None, :] if kind == 1 else allowed


def _attention(data, heads: int, weights: tuple, mask, kind):
    """Returns the self-attention of (batch, length, features)."""
    inner, inner_bias, outer, outer_bias = weights
    batch, length, numbers = data.shape
    parts = F.linear(data, inner, inner_bias).reshape(batch, length, 3, heads, numbers // heads)
    query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
    allowed = None if mask is None else _allowed(mask, kind)
    made = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
    return F.linear(made.transpose(1, 2).reshape(batch, length, numbers), outer, outer_bias)


def _encoder_layer(
    data, numbers, heads, inner, inner_bias, outer, outer_bias, use_gelu, norm_first, eps, first, first_bias, second,
    second_bias, up, up_bias, down, down_bias, mask=None, kind=None,
):  # fmt: skip
    def attend(data):
        return _attention(data, heads, (inner, inner_bias, outer, outer_bias), mask, kind)

    def feed(data):
        activate = F.gelu if use_gelu else F.relu
        return F.linear(activate(F.linear(data, up, up_bias)), down, down_bias)

    def norm(data, weight, bias):
        return F.layer_norm(data, (numbers,), weight, bias, eps)

    if norm_first:
        data = data + attend(norm(data, first, first_bias))
        return data + feed(norm(data, second, second_bias))
    data = norm(data + attend(data), first, first_bias)
    return norm(data + feed(data), second, second_bias)


DECOMPOSITIONS = {aten._transformer_encoder_layer_fwd.default: _encoder_layer}
