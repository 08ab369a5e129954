"""Qwen 2 and 2.5 (biases of queries, keys and values), Qwen 3 (norms of queries and keys)."""

from __future__ import annotations

from ..config import Config, Weights
from ..rotation import rotation
from ..settings import Settings
from .common import NAMES as NAMES
from .common import layers_of, sizes, windows, with_windows


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
        **found,
    )
