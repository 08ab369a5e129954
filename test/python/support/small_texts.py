"""A small decoder with a tokenizer of bytes and a few pairs, as a folder and as GGUF files."""

import functools
import json
import tempfile
from pathlib import Path

import gguf_files
import numpy as np
import pytest
from relay.decoding.source import opened

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
END = "<|endoftext|>"
_TEXT = "the cat and the dog and the hat in the sun; it's a fine day, is it? naïve 日本 🙂 " * 4
_SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "max_position_embeddings": 256}  # fmt: skip


@functools.cache
def tokenizer():
    """Byte pairs of GPT-2's kind: the end, 256 bytes, 43 pairs."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator([_TEXT], trainer)
    return made


@functools.cache
def folder(seed=0):
    """A folder of a model whose answers are arbitrary."""
    place = tempfile.TemporaryDirectory()
    path = Path(place.name)
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(vocab_size=300, bos_token_id=0, eos_token_id=0, **_SIZES)
    model = transformers.LlamaForCausalLM(config)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    model.save_pretrained(path)
    tokenizer().save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text(json.dumps({"eos_token": END, "chat_template": TEMPLATE}))
    return path, place


def folder_path(seed=0):
    return folder(seed)[0]


def _interleaved(rows, heads):
    """The rows of a matrix of queries or keys in GGUF's order: the halves of a head alternate."""
    return rows.reshape(heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def gguf_keys():
    """The keys of the model's GGUF file."""
    said = json.loads(tokenizer().to_str())["model"]
    texts = [text for text, _ in sorted(said["vocab"].items(), key=lambda item: item[1])]
    return {
        "general.architecture": "llama", "llama.block_count": 2, "llama.context_length": 256,
        "llama.embedding_length": 32, "llama.feed_forward_length": 64, "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2, "llama.attention.layer_norm_rms_epsilon": 1e-6,
        "llama.rope.freq_base": 10000.0, "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": texts, "tokenizer.ggml.token_type": np.array([3] + [1] * 299, np.int32),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in said["merges"]], "tokenizer.ggml.eos_token_id": 0,
        "tokenizer.chat_template": TEMPLATE,
    }  # fmt: skip


def gguf_tensors(seed=0):
    """The weights of the model in GGUF's names and order, float32."""
    weights, heads = opened(folder_path(seed)).weights, {"attn_q": 4, "attn_k": 2}
    made = {}
    for name in weights:
        kind = name.split(".")[-2]
        array = weights.array(name)
        made[name] = np.ascontiguousarray(_interleaved(array, heads[kind]) if kind in heads else array)
    return made


def q8_0(array):
    """A matrix in blocks of type Q8_0."""
    blocks = array.reshape(-1, 32)
    scales = (np.abs(blocks).max(1, keepdims=True) / 127).astype(np.float16)
    numbers = np.round(blocks / scales.astype(np.float32)).astype(np.int8)
    return 8, array.shape, np.concatenate([scales.view(np.uint8), numbers.view(np.uint8)], axis=1).tobytes()


def gguf_file(path, keys=None, tensors=None):
    path.write_bytes(gguf_files.content(keys or gguf_keys(), tensors or gguf_tensors()))
    return path
