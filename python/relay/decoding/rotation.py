"""Frequencies of rotary embeddings (Su et al., RoFormer, 2021): position p turns pair i by p * frequency[i] radians.

Contexts are extended by changes of the frequencies: all are divided by a factor (linear), only the low ones are (Llama
3.1; YaRN, Peng et al., 2023), or each has a factor of its own, one for short and one for long contexts (LongRoPE, Ding
et al., 2024).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from .config import Rotation, Weights
from .settings import Settings

_KINDS = ("default", "linear", "llama3", "yarn", "longrope")
_FAST, _SLOW = 32.0, 1.0  # turns within the original context: YaRN keeps pairs that turn more often than _FAST


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


def _growth(factor: float, slope: float = 1.0) -> float:
    """Returns YaRN's factor of the queries and keys for a context that is `factor` times as long."""
    return 1.0 if factor <= 1 else 0.1 * slope * math.log(factor) + 1.0


@dataclasses.dataclass(frozen=True)
class _Yarn:
    """The parameters of YaRN. `context`: positions before the extension."""

    factor: float
    context: float
    scale: float
    fast: float = _FAST
    slow: float = _SLOW
    whole: bool = True  # True to begin and end the ramp at whole pairs

    def rotation(self, base: float, width: int) -> Rotation:
        def pair(turns: float) -> float:  # the pair that turns so often within the context
            return width * math.log(self.context / (turns * 2 * math.pi)) / (2 * math.log(base))

        first, last = pair(self.fast), pair(self.slow)
        if self.whole:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, width - 1)
        divided = np.clip((np.arange(width // 2) - first) / max(last - first, 0.001), 0, 1)
        plain = _plain(base, width)
        return Rotation(plain / self.factor * divided + plain * (1 - divided), self.scale)


def _yarn(settings: Settings, base: float, width: int) -> Rotation:
    factor = settings.number("", "factor")
    slope, of_all = (settings.number("", name, 0.0) for name in ("mscale", "mscale_all_dim"))
    scale = _growth(factor, slope) / _growth(factor, of_all) if slope and of_all else _growth(factor)
    return _Yarn(
        factor,
        settings.number("", "original_max_position_embeddings"),
        settings.number("", "attention_factor", scale),
        settings.number("", "beta_fast", _FAST),
        settings.number("", "beta_slow", _SLOW),
        settings.flag("truncate", True),
    ).rotation(base, width)


def _longrope(settings: Settings, inner: Settings, plain: np.ndarray) -> Rotation:
    context = inner.count("", "original_max_position_embeddings",
                          settings.count("", "original_max_position_embeddings"))  # fmt: skip
    factor = inner.number("", "factor", settings.count("", "max_position_embeddings") / context)
    scale = inner.number("", "attention_factor", _long_scale(factor, context))
    short, long = (_factors(inner, name, plain.size) for name in ("short_factor", "long_factor"))
    return Rotation(plain / short, scale, plain / long, context)


def _long_scale(factor: float, context: int) -> float:
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(max(context, 2)))


def _factors(settings: Settings, name: str, count: int) -> np.ndarray:
    found = settings.numbers(name)
    if found.size != count or not (found > 0).all():
        raise settings.bad(f"`{name}` has not {count} numbers above 0")
    return found


def _of_gguf(settings: Settings, head_width: int, weights: Weights) -> Rotation:
    width = _checked(settings, settings.count("rope.dimension_count", "", head_width), head_width)
    base = _above_one(settings, settings.number("rope.freq_base", "", 10000.0))
    plain = _plain(base, width)
    kind = settings.text("rope.scaling.type", "", "none")
    settings.one_of("the scaling of positions", kind, ("none", "linear", "yarn", "longrope"))
    context = settings.count("rope.scaling.original_context_length", "", settings.count("context_length", ""))
    scale = settings.number("rope.scaling.attn_factor", "", 1.0)
    if kind == "yarn":
        factor = settings.number("rope.scaling.factor", "")
        return _Yarn(factor, context, scale * _growth(factor)).rotation(base, width)
    if kind == "linear":
        plain = plain / settings.number("rope.scaling.factor", "")
    if "rope_factors_short.weight" in weights:
        short, long = (_tensor(settings, weights, f"rope_factors_{kind}.weight", plain) for kind in ("short", "long"))
        return Rotation(plain / short, scale, plain / long, context)
    if "rope_freqs.weight" not in weights:
        return Rotation(plain)
    return Rotation(plain / _tensor(settings, weights, "rope_freqs.weight", plain))


def _tensor(settings: Settings, weights: Weights, name: str, plain: np.ndarray) -> np.ndarray:
    if name not in weights or weights.shape(name) != plain.shape:
        raise settings.bad(f"`{name}` has not {plain.size} elements", "copy or download it again")
    return weights.array(name)


def rotation(settings: Settings, head_width: int, weights: Weights, kind: str = "") -> Rotation:
    """Returns the rotation of a model. `kind` selects that of a kind of layers, such as "full_attention", if
    config.json has several."""
    if settings.is_gguf:
        return _of_gguf(settings, head_width, weights)
    given = settings.mapping("rope_parameters") or settings.mapping("rope_scaling")
    if kind and isinstance(given.get(kind), dict):
        given = given[kind]
    inner = settings.within(given)
    base = _above_one(settings, inner.number("", "rope_theta", settings.number("", "rope_theta", 10000.0)))
    part = inner.number("", "partial_rotary_factor", settings.number("", "partial_rotary_factor", 1.0))
    width = _checked(settings, int(min(head_width * part, 2 * head_width)), head_width)
    scaling = inner.text("", "rope_type", inner.text("", "type", "default"))
    settings.one_of("the scaling of positions", scaling, _KINDS)
    if scaling == "yarn":
        return _yarn(inner, base, width)
    plain = _plain(base, width)
    if scaling == "longrope":
        return _longrope(settings, inner, plain)
    if scaling == "linear":
        return Rotation(plain / inner.number("", "factor"))
    return Rotation(_llama3(inner, plain) if scaling == "llama3" else plain)


def _checked(settings: Settings, width: int, head_width: int) -> int:
    """Returns the number of elements of a head that rotate."""
    if not 2 <= width <= head_width or width % 2:
        raise settings.bad(f"{width} elements of a head of {head_width} rotate, which must be an even part of it")
    return width


def _above_one(settings: Settings, base: float) -> float:
    if base <= 1:
        raise settings.bad(f"the base of the rotation's frequencies is {base}, but must be above 1")
    return base
