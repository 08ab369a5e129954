"""Models of Hugging Face's transformers that Relay runs: their classes, pipelines and generate(), with Relay's kernels.

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
        message = "models of Hugging Face need transformers, which is not installed"
        raise wrong_input(message, "pip install transformers") from error
    return transformers


def _class_of(transformers, name: str):
    """The class that the configuration names, else the one without a head."""
    try:
        config = transformers.AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:  # what transformers raises for what it cannot find or read
        raise wrong_input(
            f"{name} is not a model of transformers: {str(error).splitlines()[0]}",
            "give a folder that save_pretrained wrote, or the id of a model on the hub",
        ) from error
    found = (getattr(transformers, one, None) for one in config.architectures or ())
    return next((one for one in found if one is not None), transformers.AutoModel)


_ASSISTED = ("assistant_model", "prompt_lookup_num_tokens", "assistant_early_exit")


def generate(self, *args, **named):
    """transformers' generate(); where nobody says which cache, one of fixed size.

    It has the name of the method, so that pickles of the model find that.
    """
    config = named.get("generation_config") or self.generation_config
    assisted = any(named.get(one, getattr(config, one, None)) is not None for one in _ASSISTED)  # takes steps back
    if named.get("past_key_values") is None and config.cache_implementation is None and not assisted:
        named.setdefault("cache_implementation", "static")
    return type(self).generate(self, *args, **named)


def load(model, *, model_class: type | None = None, dynamic: bool | None = None, freeze: bool = True, **options):
    """The model for inference, as transformers' class of it; its forward runs in Relay's kernels.

    model: a folder that save_pretrained wrote, an id of the hub, or a PreTrainedModel, which is put into eval()
    and shares its weights with the result.
    model_class: transformers' class; the one that the configuration names, where it is not given. dynamic: of
    torch.compile; models that generate have sizes that vary from the start. freeze and options: see
    relay.torch.dynamo.Options. With freeze=False the weights are those of the safetensors file, mapped and not copied;
    with True the kernels have packed copies of them: a weight that is changed in place is noticed, unless it is written
    through `.data`.

    The result works in transformers.pipeline. Its generate() keeps keys and values in a cache of fixed size that each
    step updates in place, where the model supports one ("static"); generate(..., cache_implementation="dynamic") takes
    one that grows, generate(..., past_key_values=cache) the caller's. Raises CompileError (R0601) where transformers is
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
