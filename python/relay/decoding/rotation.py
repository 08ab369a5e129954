"""Frequencies of rotary embeddings (Su et al., RoFormer, 2021): position p turns pair i by p * frequency[i] radians."""

from __future__ import annotations

import math

import numpy as np

from .config import Weights
from .settings import Settings

_KINDS = ("default", "linear", "llama3")


def _plain(base: float, width: int) -> np.ndarray:
    return base ** (-np.arange(0, width, 2, dtype=np.float64) / width)


def _llama3(settings: Settings, frequencies: np.ndarray) -> np.ndarray:
    """Divides low frequencies by a factor and leaves high ones, with a ramp between (Llama 3.1)."""
    factor, low, high = (settings.number("", name) for name in ("factor", "low_freq_factor", "high_freq_factor"))
    turns = settings.number("", "original_max_position_embeddings") * frequencies / (2 * math.pi)
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return frequencies * (kept + (1 - kept) / factor)


def frequencies(settings: Settings, head_width: int, weights: Weights, kind: str = "") -> np.ndarray:
    """Returns the frequencies of a model, float64 (pairs). `kind` selects those of a kind of layers, such as
    "full_attention", if config.json has several."""
    if settings.is_gguf:
        width = settings.count("rope.dimension_count", "", head_width)
        made = _plain(settings.number("rope.freq_base", "", 10000.0), width)
        scaling = settings.text("rope.scaling.type", "", "none")
        if settings.one_of("the scaling of positions", scaling, ("none", "linear")) == "linear":
            made = made / settings.number("rope.scaling.factor", "")
        return made / weights.array("rope_freqs.weight") if "rope_freqs.weight" in weights else made
    given = settings.mapping("rope_parameters") or settings.mapping("rope_scaling")
    inner = settings.within(given.get(kind, given) if kind else given)
    base = inner.number("", "rope_theta", settings.number("", "rope_theta", 10000.0))
    part = inner.number("", "partial_rotary_factor", settings.number("", "partial_rotary_factor", 1.0))
    made = _plain(base, int(head_width * part))
    scaling = inner.text("", "rope_type", inner.text("", "type", "default"))
    settings.one_of("the scaling of positions", scaling, _KINDS)
    if scaling == "linear":
        return made / inner.number("", "factor")
    return _llama3(inner, made) if scaling == "llama3" else made
