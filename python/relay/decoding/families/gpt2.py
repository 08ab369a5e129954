"""GPT-2: learned positions, layer norms, one product for queries, keys and values."""

from __future__ import annotations

import numpy as np

from ..config import Config, Layer, Weights
from ..settings import Settings
from .common import MOST_LAYERS

NAMES = {
    "token_embd": "wte",
    "position_embd": "wpe",
    "output_norm": "ln_f",
    "output": "lm_head",
    "blk.{i}.attn_norm": "h.{i}.ln_1",
    "blk.{i}.attn_qkv": "h.{i}.attn.c_attn",
    "blk.{i}.attn_output": "h.{i}.attn.c_proj",
    "blk.{i}.ffn_norm": "h.{i}.ln_2",
    "blk.{i}.ffn_up": "h.{i}.mlp.c_fc",
    "blk.{i}.ffn_down": "h.{i}.mlp.c_proj",
}


def adapted(name: str, array: np.ndarray) -> np.ndarray:
    """Returns a weight of config.json's models in GGUF's form: matrices of the layers are (inputs, results) there."""
    return array.T if name.startswith("blk.") and array.ndim == 2 else array


def config(settings: Settings, weights: Weights) -> Config:
    """Returns the description of a model."""
    activation = settings.text("", "activation_function", "gelu_new")
    settings.one_of("the activation", activation, ("gelu_new", "gelu_pytorch_tanh", "gelu"))
    for name in ("scale_attn_by_inverse_layer_idx", "add_cross_attention"):
        if settings.flag(name, False):
            raise settings.bad(f"`{name}` is true, which is not supported", "use another GPT-2")
    width, context = settings.count("embedding_length", "n_embd"), settings.count("context_length", "n_positions")
    if "position_embd.weight" not in weights or weights.shape("position_embd.weight") != (context, width):
        raise settings.bad(f"the model has no matrix of {context} positions", "give a model with its weights")
    heads = settings.count("attention.head_count", "n_head")
    return Config(
        settings.family,
        width=width,
        heads=heads,
        key_heads=heads,
        head_width=max(1, width // heads),
        vocabulary=weights.shape("token_embd.weight")[0],
        context=context,
        epsilon=settings.number("attention.layer_norm_epsilon", "layer_norm_epsilon"),
        layers=(Layer(),) * settings.count("block_count", "n_layer", most=MOST_LAYERS),
        norm="layer",
        activation="gelu" if activation == "gelu" else "gelu_tanh",
        score_scale=1.0 if not settings.flag("scale_attn_weights", True) else 0.0,
    )
