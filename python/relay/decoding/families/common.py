"""Parts of families that many of them share."""

from __future__ import annotations

from ..config import Experts, Layer
from ..settings import Settings

MOST_LAYERS = 4096
MOST_EXPERTS = 1024  # of a layer
# The names of config.json's models for those of GGUF; {i} is a layer. Endings .weight and .bias are added.
NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "blk.{i}.attn_norm": "model.layers.{i}.input_layernorm",
    "blk.{i}.attn_q": "model.layers.{i}.self_attn.q_proj",
    "blk.{i}.attn_k": "model.layers.{i}.self_attn.k_proj",
    "blk.{i}.attn_v": "model.layers.{i}.self_attn.v_proj",
    "blk.{i}.attn_output": "model.layers.{i}.self_attn.o_proj",
    "blk.{i}.attn_q_norm": "model.layers.{i}.self_attn.q_norm",
    "blk.{i}.attn_k_norm": "model.layers.{i}.self_attn.k_norm",
    "blk.{i}.ffn_norm": "model.layers.{i}.post_attention_layernorm",
    "blk.{i}.ffn_gate": "model.layers.{i}.mlp.gate_proj",
    "blk.{i}.ffn_up": "model.layers.{i}.mlp.up_proj",
    "blk.{i}.ffn_down": "model.layers.{i}.mlp.down_proj",
}


def sizes(settings: Settings) -> dict[str, int | float]:
    """Returns the fields of Config that nearly all families describe in the same way."""
    width = settings.count("embedding_length", "hidden_size")
    heads = settings.count("attention.head_count", "num_attention_heads")
    return {
        "width": width,
        "heads": heads,
        "key_heads": settings.count("attention.head_count_kv", "num_key_value_heads", heads),
        "head_width": settings.count("attention.key_length", "head_dim", max(1, width // heads)),
        "context": settings.count("context_length", "max_position_embeddings"),
        "epsilon": settings.number("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    }


def layers_of(settings: Settings) -> int:
    """Returns the number of layers."""
    return settings.count("block_count", "num_hidden_layers", most=MOST_LAYERS)


def experts_of(settings: Settings, normalised: bool) -> Experts | None:
    """Returns the experts of the layers that have some, or None. `normalised`: that of Experts, unless config.json has
    `norm_topk_prob`."""
    none = settings.count("", "num_local_experts", 0, MOST_EXPERTS, least=0)
    count = settings.count("expert_count", "num_experts", none, MOST_EXPERTS, least=0)
    if not count:
        return None
    used = settings.count("expert_used_count", "num_experts_per_tok", most=count)
    return Experts(count, used, settings.flag("norm_topk_prob", normalised))


def windows(settings: Settings, layers: int, every: int = 1) -> list[int]:
    """Returns the window of each layer, 0 for none. Without layer types in config.json, each layer whose number from 1
    is a multiple of `every` sees everything; with `every` = 1, all layers have the window."""
    window = settings.count("attention.sliding_window", "sliding_window", _NO_WINDOW)
    if window == _NO_WINDOW:
        return [0] * layers
    kinds = settings.by_layer("layer_types", layers)
    if kinds:
        known = ("sliding_attention", "full_attention")
        return [window if settings.one_of("the layer type", kind, known) == known[0] else 0 for kind in kinds]
    return [0 if every > 1 and i % every == every - 1 else window for i in range(layers)]


_NO_WINDOW = (1 << 31) - 1


def with_windows(found: list[int], rotations: list[int] | int = 0) -> tuple[Layer, ...]:
    """Returns layers of these windows and rotations."""
    places = [rotations] * len(found) if isinstance(rotations, int) else rotations
    return tuple(Layer(rotation, window) for rotation, window in zip(places, found, strict=True))
