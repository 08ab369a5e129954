"""Hugging Face transformers models that run in Relay's kernels, with their own classes, pipelines and generate().

import relay.hf
model = relay.hf.load("folder or id")
transformers.pipeline("text-classification", model=model, tokenizer=tokenizer)("a fine day")
"""

from __future__ import annotations

import os
import types

from . import torch as relay_torch
from .errors import wrong_input

__all__ = ["load"]


def _transformers():
    try:
        import transformers
    except ImportError as error:
        message = "Hugging Face models need transformers, which is not installed"
        raise wrong_input(message, "pip install transformers") from error
    return transformers


def _class_of(transformers, name: str):
    """Returns the class that the configuration names, or the class without a head."""
    try:
        config = transformers.AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:  # raised by transformers for models that it cannot find or read
        raise wrong_input(
            f"{name} is not a model of transformers: {str(error).splitlines()[0]}",
            "give a folder written by save_pretrained, or the id of a model on the hub",
        ) from error
    found = (getattr(transformers, one, None) for one in config.architectures or ())
    return next((one for one in found if one is not None), transformers.AutoModel)


_ASSISTED = ("assistant_model", "prompt_lookup_num_tokens", "assistant_early_exit")


def generate(self, *args, **named):
    """Calls transformers' generate(), with a cache of fixed size unless another cache is chosen.

    The function has the name of the method, so that pickles of the model find the method.
    """
    config = named.get("generation_config") or self.generation_config
    # Assisted generation steps back in the cache, which must not be static.
    assisted = any(named.get(one, getattr(config, one, None)) is not None for one in _ASSISTED)
    if named.get("past_key_values") is None and config.cache_implementation is None and not assisted:
        named.setdefault("cache_implementation", "static")
    return type(self).generate(self, *args, **named)


def load(model, *, model_class: type | None = None, dynamic: bool | None = None, freeze: bool = True, **options):
    """Returns the model for inference, as an instance of its transformers class. Its forward method runs in Relay's
    kernels.

    model: a folder that save_pretrained wrote, the id of a model on the hub, or a PreTrainedModel, which is put into
    eval() mode and shares its weights with the result.
    model_class: the transformers class, by default the one that the configuration names.
    dynamic: as for torch.compile. By default, models that generate have variable sizes from the start.
    freeze, options: see relay.torch.dynamo.Options. With freeze=False, the weights are those of the safetensors file,
    mapped and not copied. With freeze=True, the kernels have packed copies of the weights. In-place changes of weights
    are noticed unless they are made through `.data`.

    The result works in transformers.pipeline. If the model supports it, generate() keeps keys and values in a cache of
    fixed size ("static"), which each step updates in place. generate(..., cache_implementation="dynamic") uses a
    growing cache, and generate(..., past_key_values=cache) the caller's. Raises CompileError (R0601) if transformers is
    missing or has no such model.
    """
    transformers = _transformers()
    if not isinstance(model, transformers.PreTrainedModel):
        if not isinstance(model, str | os.PathLike):
            raise wrong_input(
                f"a {type(model).__name__} is not a model of transformers",
                "give a folder, an id of the hub or a PreTrainedModel; relay.torch.compile takes any torch.nn.Module",
            )
        name = os.fspath(model)
        model = (model_class or _class_of(transformers, name)).from_pretrained(name)
    if dynamic is None and model.can_generate():
        dynamic = True
    made = relay_torch.compile(model.eval(), dynamic=dynamic, freeze=freeze, **options)
    if model.can_generate() and getattr(model, "_can_compile_fullgraph", False):
        made.generate = types.MethodType(generate, made)
    return made
