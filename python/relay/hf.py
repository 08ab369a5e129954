"""Hugging Face transformers models that run in Relay's kernels, with their own classes, pipelines and generate().

import relay.hf
model = relay.hf.load("folder or id")
transformers.pipeline("text-classification", model=model, tokenizer=tokenizer)("a fine day")
"""

from __future__ import annotations

import copy
import functools
import os
import types
import weakref
from pathlib import Path

import numpy as np
import torch

from . import torch as relay_torch
from .decoding import progress
from .decoding.decoder import Decoder
from .decoding.families import FAMILIES
from .decoding.source import of_arrays, opened
from .errors import CompileError, wrong_input

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


# --- decoders ---------------------------------------------------------------------------------------------------------
class _Decoding:
    """The program of relay.decoding for a decoder, which generate() runs. It has the weights as they were when it was
    compiled, and is compiled again if they have changed."""

    def __init__(self, folder: str | None, options: dict):
        self._folder, self._options = folder, options
        self._weights: list | None = None
        self._decoder: Decoder | None = None

    def decoder(self, model) -> Decoder | None:
        """Returns the program for the model's present weights, or None if its network has no such program."""
        weights = [(weight.data_ptr(), weight._version) for weight in model.parameters()]
        if weights != self._weights:
            is_stored = self._weights is None and self._folder is not None
            self._weights, self._decoder = weights, None
            try:
                with progress.Progress("compiling the model for generate()"):
                    source = opened(self._folder) if is_stored else _in_memory(model)
                    self._decoder = Decoder(source, **self._options)
            except CompileError:  # a network that only looks like one of a family: forward() runs it
                pass
        return self._decoder


def _in_memory(model):
    arrays = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    return of_arrays(Path("model") / "config", model.config.to_dict(), arrays, [])


# By the model that load() returned. Copies and pickles of it are ordinary models.
_DECODING: weakref.WeakKeyDictionary[torch.nn.Module, _Decoding] = weakref.WeakKeyDictionary()
_OF_COMPILATION = ("threads", "target", "numerics", "opt_level")


def _may_decode(model, freeze: bool) -> bool:
    """Returns true for a decoder of a family of relay.decoding whose weights are float32 and constants."""
    known = getattr(model.config, "model_type", None) in FAMILIES and "vocab_size" in model.config.to_dict()
    has_head = type(model).__name__.endswith(("ForCausalLM", "LMHeadModel"))
    is_plain = all(weight.dtype == torch.float32 and weight.is_cpu for weight in model.parameters())
    return freeze and known and has_head and is_plain


_STEP = 256  # positions that a cache has more than its tokens, at least


@functools.cache
def _cache_class(transformers):
    """Returns the class of the cache that generate() passes from step to step."""

    class RelayCache(transformers.Cache):
        """The keys and values of relay.decoding, which only generate() of the same model can use."""

        is_compileable = False

        def __init__(self, decoder: Decoder):
            super().__init__(layers=[])
            self.decoder, self.state, self.columns = decoder, None, 0

        def get_seq_length(self, layer_idx: int = 0) -> int:
            """Returns the columns of tokens so far, padding included."""
            return self.columns

        def feed(self, tokens: np.ndarray, is_token: np.ndarray, every: bool) -> np.ndarray:
            """Appends tokens, (sequences, n), without those that are padding. Returns the logits behind each, or behind
            the last of each sequence."""
            counts, most = is_token.sum(1), self.decoder.most_positions
            if self.state is None:
                self.state = self.decoder.state(min(tokens.shape[1] + _STEP, most), len(tokens))
            longest = int((self.state.lengths + counts).max())
            if longest > self.state.positions:
                self.state.grow(max(longest, min(2 * longest, most)))
            self.columns += tokens.shape[1]
            order = np.argsort(~is_token, axis=1, kind="stable")  # padding behind the tokens
            made = self.state.feed(np.take_along_axis(tokens, order, 1), counts, every)
            if not every:
                return made[:, None]
            back = np.argsort(order, axis=1, kind="stable")
            return np.take_along_axis(made, back[:, :, None], 1)

    return RelayCache


def _forward(model):
    """Returns a forward method that runs the program. It has the signature of the model's own, which generate()
    inspects."""
    from transformers.modeling_outputs import CausalLMOutputWithPast

    @functools.wraps(type(model).forward)
    def forward(self, input_ids=None, attention_mask=None, past_key_values=None, logits_to_keep=0, **_):
        tokens = input_ids.numpy()
        is_token = np.ones(tokens.shape, bool)
        if attention_mask is not None:
            is_token = attention_mask[:, -tokens.shape[1] :].numpy() != 0
        logits = past_key_values.feed(tokens, is_token, every=logits_to_keep != 1 and tokens.shape[1] > 1)
        return CausalLMOutputWithPast(logits=torch.from_numpy(logits), past_key_values=past_key_values)

    return forward


# Arguments that choose another way of generating, by name, with the values that do not.
_OTHER_WAYS = {
    "assistant_model": (None,), "prompt_lookup_num_tokens": (None,), "assistant_early_exit": (None,),
    "num_beams": (None, 1), "penalty_alpha": (None,), "dola_layers": (None,), "use_cache": (None, True),
    "cache_implementation": (None,), "output_attentions": (None, False), "output_hidden_states": (None, False),
    "prefill_chunk_size": (None,), "inputs_embeds": (None,), "position_ids": (None,), "custom_generate": (None,),
    "guidance_scale": (None, 1), "negative_prompt_ids": (None,), "past_key_values": (None,),
}  # fmt: skip
_ASSISTED = ("assistant_model", "prompt_lookup_num_tokens", "assistant_early_exit")


def _decoding_model(model, named: dict, config):
    """Returns a copy of the model whose forward method runs the program of relay.decoding, and a cache for it, or None
    if this call generates in another way or the model has no such program."""
    found = _DECODING.get(model)
    given = {name: named.get(name, getattr(config, name, None)) for name in _OTHER_WAYS}
    mask = named.get("attention_mask")
    if found is None or any(given[name] not in plain for name, plain in _OTHER_WAYS.items() if given[name] is not None):
        return None
    if (mask is not None and mask.ndim != 2) or any(module._forward_hooks for module in model.modules()):
        return None
    decoder = found.decoder(model)
    if decoder is None:
        return None
    made = copy.copy(model)
    made._compiled_call_impl = None
    made.forward = types.MethodType(_forward(model), made)
    return made, _cache_class(_transformers())(decoder)


def generate(self, *args, **named):
    """Calls transformers' generate(): with the program of relay.decoding, or else with a cache of fixed size unless
    another cache is chosen.

    The function has the name of the method, so that pickles of the model find the method.
    """
    config = named.get("generation_config") or self.generation_config
    if found := _decoding_model(self, named, config):
        model, cache = found
        return type(self).generate(model, *args, **{**named, "past_key_values": cache})
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
    transformers, folder = _transformers(), None
    if not isinstance(model, transformers.PreTrainedModel):
        if not isinstance(model, str | os.PathLike):
            raise wrong_input(
                f"a {type(model).__name__} is not a model of transformers",
                "give a folder, an id of the hub or a PreTrainedModel; relay.torch.compile takes any torch.nn.Module",
            )
        name = os.fspath(model)
        folder = name if os.path.isdir(name) else None
        model = (model_class or _class_of(transformers, name)).from_pretrained(name)
    if dynamic is None and model.can_generate():
        dynamic = True
    made = relay_torch.compile(model.eval(), dynamic=dynamic, freeze=freeze, **options)
    if model.can_generate() and getattr(model, "_can_compile_fullgraph", False):
        made.generate = types.MethodType(generate, made)
        if _may_decode(model, freeze):
            _DECODING[made] = _Decoding(folder, {name: options[name] for name in _OF_COMPILATION if name in options})
    return made
