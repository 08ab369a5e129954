"""Small decoders of transformers with random weights, one for each kind of network, saved as folders."""

import functools
import tempfile

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

_SIZES = {
    "vocab_size": 131, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3, "num_attention_heads": 6,
    "num_key_value_heads": 2, "max_position_embeddings": 512, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip
_LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
           "high_freq_factor": 4.0, "original_max_position_embeddings": 64}  # fmt: skip

_YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 32}
_LONG = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.1, 1.3, 1.6],
         "long_factor": [1.5, 2.0, 4.0, 8.0]}  # fmt: skip

_EXPERTS = {"num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 32}

# The class of the configuration, and the fields that differ.
KINDS = {
    "llama": ("LlamaConfig", {}),
    "llama-tied-biased": ("LlamaConfig", {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True}),
    "llama-3": ("LlamaConfig", {"head_dim": 16, "rope_parameters": _LLAMA3}),
    "llama-linear": ("LlamaConfig", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0}}),
    "llama-yarn": ("LlamaConfig", {"rope_parameters": {**_YARN, "mscale": 0.8, "mscale_all_dim": 0.5}}),
    "mistral": ("MistralConfig", {"sliding_window": 5}),
    "smollm3": ("SmolLM3Config", {"num_hidden_layers": 4}),
    "qwen2": ("Qwen2Config", {}),
    "qwen2-window": ("Qwen2Config", {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}),
    "qwen2-yarn": ("Qwen2Config", {"rope_parameters": {**_YARN, "truncate": False, "beta_fast": 16.0}}),
    "phi3": ("Phi3Config", {"sliding_window": 7}),
    "phi3-long": ("Phi3Config", {"rope_parameters": _LONG, "original_max_position_embeddings": 64}),
    "qwen3": ("Qwen3Config", {"head_dim": 16}),
    "mixtral": ("MixtralConfig", {"num_local_experts": 5, "num_hidden_layers": 2}),
    "qwen2-experts": ("Qwen2MoeConfig", {**_EXPERTS, "shared_expert_intermediate_size": 40, "mlp_only_layers": [1]}),
    "qwen3-experts": ("Qwen3MoeConfig", {**_EXPERTS, "head_dim": 16, "norm_topk_prob": True, "num_hidden_layers": 2}),
    "gemma": ("GemmaConfig", {"head_dim": 16, "hidden_activation": "gelu_pytorch_tanh"}),
    "gemma2": ("Gemma2Config", {"head_dim": 16, "sliding_window": 5, "query_pre_attn_scalar": 24}),
    "gemma3": ("Gemma3TextConfig", {"head_dim": 16, "sliding_window": 5, "num_hidden_layers": 7}),
    "llama-bfloat16": ("LlamaConfig", {}),
    "gpt2-float16": ("GPT2Config", {"n_embd": 48, "n_layer": 3, "n_head": 6, "n_positions": 512}),
    "gpt2": ("GPT2Config", {"n_embd": 48, "n_layer": 3, "n_head": 6, "n_positions": 512}),
}


@functools.cache
def _made(kind):
    """The folder of a model with weights that are large enough for every part to matter."""
    name, fields = KINDS[kind]
    sizes = {"vocab_size": 131, "bos_token_id": 1, "eos_token_id": 2} if name == "GPT2Config" else _SIZES
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, name)(**{**sizes, **fields}))
    with torch.no_grad():
        for weight_name, weight in model.named_parameters():
            spread = 0.3 if "norm" in weight_name or "ln_" in weight_name or "bias" in weight_name else 0.2
            weight.add_(spread * torch.randn_like(weight))
    if kind.endswith("16"):  # weights of this type, and arithmetic in float32 and float64
        model.to(getattr(torch, kind.partition("-")[2]))
    folder = tempfile.TemporaryDirectory()
    model.save_pretrained(folder.name)
    return folder


def folder_of(kind):
    return _made(kind).name


@functools.cache
def _in_float64(kind):
    how = {"dtype": torch.float64, "attn_implementation": "eager"}  # Gemma 2's caps are in it alone
    if "experts" in kind or kind == "mixtral":
        how["experts_implementation"] = "eager"  # others are for shorter floats only
    return transformers.AutoModelForCausalLM.from_pretrained(folder_of(kind), **how).eval()


def logits_of(kind, tokens):
    """Returns PyTorch's logits in float64 behind every token: (sequences, n, vocabulary)."""
    with torch.no_grad():
        return _in_float64(kind)(torch.tensor(tokens), use_cache=False).logits.numpy()
