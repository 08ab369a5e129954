"""Families of decoders. A family is a module of this folder and a line of FAMILIES for each of its names.

config(settings, weights) -> Config     the description of a model, from GGUF's keys or config.json
NAMES, or names(settings)               the names of weights in folders, by those of GGUF
adapted(name, array)                    optional: a weight of a folder in GGUF's form
"""

from __future__ import annotations

from types import ModuleType

from . import gemma, gpt2, llama, phi, qwen

# By general.architecture of GGUF, or model_type of config.json.
FAMILIES: dict[str, ModuleType] = {
    "llama": llama,
    "mistral": llama,
    "mixtral": llama,
    "smollm3": llama,
    "qwen2": qwen,
    "qwen3": qwen,
    "qwen2moe": qwen,
    "qwen2_moe": qwen,
    "qwen3moe": qwen,
    "qwen3_moe": qwen,
    "gemma": gemma,
    "gemma2": gemma,
    "gemma3": gemma,
    "gemma3_text": gemma,
    "gpt2": gpt2,
    "phi3": phi,
}
