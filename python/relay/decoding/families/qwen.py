"""Qwen 2 and 2.5 (biases of queries, keys and values), Qwen 3 (norms of queries and keys), both also with experts."""

from __future__ import annotations

import numpy as np

from ..config import Config, Weights
from ..rotation import rotation
from ..settings import Settings
from .common import NAMES as COMMON
from .common import experts_of, layers_of, sizes, windows, with_windows

_PARTS = ("gate", "up", "down")
_SHARED = "blk.{i}.ffn_gate_inp_shexp"  # of Qwen 2: the gate of the expert that every token uses
NAMES = {
    **COMMON,
    "blk.{i}.ffn_gate_inp": "model.layers.{i}.mlp.gate",
    _SHARED: "model.layers.{i}.mlp.shared_expert_gate",
    **{f"blk.{{i}}.ffn_{part}.{{e}}": f"model.layers.{{i}}.mlp.experts.{{e}}.{part}_proj" for part in _PARTS},
    **{f"blk.{{i}}.ffn_{part}_shexp": f"model.layers.{{i}}.mlp.shared_expert.{part}_proj" for part in _PARTS},
}


def adapted(name: str, array: np.ndarray) -> np.ndarray:
    """Returns a weight of config.json's models in GGUF's form."""
    return array.reshape(-1) if name.endswith(_SHARED.rpartition(".")[2] + ".weight") else array


def config(settings: Settings, weights: Weights) -> Config:
    """Returns the description of a model."""
    settings.one_of("the activation", settings.text("", "hidden_act", "silu"), ("silu",))
    layers, found = layers_of(settings), sizes(settings)
    slides = settings.flag("use_sliding_window", False)
    return Config(
        settings.family,
        vocabulary=weights.shape("token_embd.weight")[0],
        layers=with_windows(windows(settings, layers) if slides else [0] * layers),
        rotations=(rotation(settings, found["head_width"], weights),),
        experts=experts_of(settings, settings.family == "qwen3moe"),
        **found,
    )
