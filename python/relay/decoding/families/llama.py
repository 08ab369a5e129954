"""Llama, Mistral, SmolLM (Llama's network), SmolLM 3 (some layers do not rotate), Mixtral (experts)."""

from __future__ import annotations

from ..config import Config, Weights
from ..rotation import rotation
from ..settings import Settings
from .common import NAMES as COMMON
from .common import experts_of, layers_of, sizes, windows, with_windows

_STILL = 4  # of SmolLM 3: each fourth layer does not rotate
_OF_MIXTRAL = "model.layers.{i}.block_sparse_moe"
NAMES = {
    **COMMON,
    "blk.{i}.ffn_gate_inp": f"{_OF_MIXTRAL}.gate",
    "blk.{i}.ffn_gate.{e}": f"{_OF_MIXTRAL}.experts.{{e}}.w1",
    "blk.{i}.ffn_up.{e}": f"{_OF_MIXTRAL}.experts.{{e}}.w3",
    "blk.{i}.ffn_down.{e}": f"{_OF_MIXTRAL}.experts.{{e}}.w2",
}


def config(settings: Settings, weights: Weights) -> Config:
    """Returns the description of a model."""
    settings.one_of("the activation", settings.text("", "hidden_act", "silu"), ("silu",))
    layers, found = layers_of(settings), sizes(settings)
    rotations = [0] * layers
    if settings.family == "smollm3":
        turns = settings.by_layer("no_rope_layers", layers) or [(i + 1) % _STILL != 0 for i in range(layers)]
        rotations = [0 if turn else -1 for turn in turns]
    slides = settings.flag("use_sliding_window", True)
    return Config(
        settings.family,
        vocabulary=weights.shape("token_embd.weight")[0],
        layers=with_windows(windows(settings, layers) if slides else [0] * layers, rotations),
        rotations=(rotation(settings, found["head_width"], weights),),
        interleaved=settings.is_gguf,  # GGUF has the rows of queries and keys in another order
        experts=experts_of(settings, True),
        **found,
    )
