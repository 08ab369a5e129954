"""Phi 3 and 3.5 (text, without experts): Llama's network with joint matrices for queries, keys and values, and for the
gate and its values."""

from __future__ import annotations

from ..config import Config, Weights
from ..rotation import rotation
from ..settings import Settings
from .common import NAMES as COMMON
from .common import layers_of, sizes, windows, with_windows

_SEPARATE = ("attn_q", "attn_k", "attn_v", "attn_q_norm", "attn_k_norm", "ffn_gate")
NAMES = {name: stored for name, stored in COMMON.items() if name.removeprefix("blk.{i}.") not in _SEPARATE}
NAMES["blk.{i}.attn_qkv"] = "model.layers.{i}.self_attn.qkv_proj"
NAMES["blk.{i}.ffn_up"] = "model.layers.{i}.mlp.gate_up_proj"


def config(settings: Settings, weights: Weights) -> Config:
    """Returns the description of a model."""
    settings.one_of("the activation", settings.text("", "hidden_act", "silu"), ("silu",))
    layers, found = layers_of(settings), sizes(settings)
    return Config(
        settings.family,
        vocabulary=weights.shape("token_embd.weight")[0],
        layers=with_windows(windows(settings, layers)),
        rotations=(rotation(settings, found["head_width"], weights),),
        joint_gate=True,
        **found,
    )
