"""Gemma 1, 2 (caps, windows in each second layer) and 3 (windows in five of six layers; text only).

The norms of config.json's models multiply with 1 + weight; GGUF stores the sum.
"""

from __future__ import annotations

import math

import numpy as np

from ..config import Config, Rotation, Weights
from ..rotation import rotation
from ..settings import Settings
from .common import NAMES as COMMON
from .common import layers_of, sizes, windows, with_windows

_FIRST = {**COMMON}
_LATER = {
    **COMMON,
    "blk.{i}.post_attention_norm": "model.layers.{i}.post_attention_layernorm",
    "blk.{i}.ffn_norm": "model.layers.{i}.pre_feedforward_layernorm",
    "blk.{i}.post_ffw_norm": "model.layers.{i}.post_feedforward_layernorm",
}
_EVERY = {"gemma2": 2, "gemma3": 6}  # each such layer sees everything
_LOCAL_BASE = 10000.0  # of the rotations of Gemma 3's layers with a window; GGUF does not store it
_LARGEST = {"gemma2": 46, "gemma3": 62}  # the layers of the models of 27 billion weights


def _version(family: str) -> str:
    return family.removesuffix("_text")


def names(settings: Settings) -> dict[str, str]:
    """Returns the names of weights."""
    return _FIRST if settings.family == "gemma" else _LATER


def adapted(name: str, array: np.ndarray) -> np.ndarray:
    """Returns a weight of config.json's models in GGUF's form."""
    return array + 1 if name.endswith("norm.weight") else array


def _score_scale(settings: Settings, found: dict, layers: int) -> float:
    """Returns the factor of the scores. GGUF does not store it: the largest models have that of width / heads."""
    if not settings.is_gguf:
        return settings.number("", "query_pre_attn_scalar", float(found["head_width"])) ** -0.5
    largest = _LARGEST.get(_version(settings.family)) == layers
    return (found["width"] / found["heads"] if largest else found["head_width"]) ** -0.5


def _cap(settings: Settings, name: str, of_gemma2: float) -> float:
    """Returns a cap, 0 for none."""
    usual = of_gemma2 if settings.family == "gemma2" and not settings.is_null(name) else 0.0
    return settings.number(name, name, usual)


def config(settings: Settings, weights: Weights) -> Config:
    """Returns the description of a model."""
    version, layers, found = _version(settings.family), layers_of(settings), sizes(settings)
    activation = settings.text("", "hidden_activation", settings.text("", "hidden_act", "gelu_pytorch_tanh"))
    settings.one_of("the activation", activation, ("gelu_pytorch_tanh",))
    windowed = [0] * layers if version == "gemma" else windows(settings, layers, _EVERY[version])
    rotations, places = [rotation(settings, found["head_width"], weights, "full_attention")], 0
    if version == "gemma3":
        local = Rotation(_LOCAL_BASE ** (-np.arange(0, found["head_width"], 2) / found["head_width"]))
        if not settings.is_gguf and "sliding_attention" in settings.mapping("rope_parameters"):
            local = rotation(settings, found["head_width"], weights, "sliding_attention")
        rotations.append(local)
        places = [1 if window else 0 for window in windowed]
    return Config(
        settings.family,
        vocabulary=weights.shape("token_embd.weight")[0],
        layers=with_windows(windowed, places),
        rotations=tuple(rotations),
        activation="gelu_tanh",
        score_scale=_score_scale(settings, found, layers),
        score_cap=_cap(settings, "attn_logit_softcapping", 50.0),
        logit_cap=_cap(settings, "final_logit_softcapping", 30.0),
        embedding_scale=math.sqrt(found["width"]),
        **found,
    )
