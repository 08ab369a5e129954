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
    if low == high:
        raise settings.bad(f"`low_freq_factor` and `high_freq_factor` are both {low}")
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return frequencies * (kept + (1 - kept) / factor)


def frequencies(settings: Settings, head_width: int, weights: Weights, kind: str = "") -> np.ndarray:
    """Returns the frequencies of a model, float64 (pairs). `kind` selects those of a kind of layers, such as
    "full_attention", if config.json has several."""
    if settings.is_gguf:
        width = _checked(settings, settings.count("rope.dimension_count", "", head_width), head_width)
        made = _plain(settings.number("rope.freq_base", "", 10000.0), width)
        scaling = settings.text("rope.scaling.type", "", "none")
        if settings.one_of("the scaling of positions", scaling, ("none", "linear")) == "linear":
            made = made / settings.number("rope.scaling.factor", "")
        if "rope_freqs.weight" not in weights:
            return made
        if weights.shape("rope_freqs.weight") != made.shape:
            raise settings.bad(f"`rope_freqs.weight` has not {made.size} elements", "copy or download it again")
        return made / weights.array("rope_freqs.weight")
    given = settings.mapping("rope_parameters") or settings.mapping("rope_scaling")
    if kind and isinstance(given.get(kind), dict):
        given = given[kind]
    inner = settings.within(given)
    base = inner.number("", "rope_theta", settings.number("", "rope_theta", 10000.0))
    part = inner.number("", "partial_rotary_factor", settings.number("", "partial_rotary_factor", 1.0))
    made = _plain(base, _checked(settings, int(min(head_width * part, 2 * head_width)), head_width))
    scaling = inner.text("", "rope_type", inner.text("", "type", "default"))
    settings.one_of("the scaling of positions", scaling, _KINDS)
    if scaling == "linear":
        return made / inner.number("", "factor")
    return _llama3(inner, made) if scaling == "llama3" else made


def _checked(settings: Settings, width: int, head_width: int) -> int:
    """Returns the number of elements of a head that rotate."""
    if not 2 <= width <= head_width or width % 2:
        raise settings.bad(f"{width} elements of a head of {head_width} rotate, which must be an even part of it")
    return width
