"""Layers of experts: models of transformers as GGUF files with joint tensors, narrow weights, damaged files."""

import json
import shutil
from pathlib import Path

import gguf_files
import numpy as np
import pytest
from relay.decoding.blocks import BLOCKS, as_floats
from relay.decoding.decoder import Decoder
from relay.decoding.folder import arrays_of
from relay.decoding.source import opened
from tiny_decoders import folder_of, logits_of

import relay

KIND, LAYERS, EXPERTS = "qwen3-experts", 2, 6
OF_LAYERS = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm", "ffn_norm": "post_attention_layernorm", "ffn_gate_inp": "mlp.gate",
}  # fmt: skip
KEYS = {
    "general.architecture": "qwen3moe", "qwen3moe.block_count": LAYERS, "qwen3moe.context_length": 512,
    "qwen3moe.embedding_length": 48, "qwen3moe.attention.head_count": 6, "qwen3moe.attention.head_count_kv": 2,
    "qwen3moe.attention.key_length": 16, "qwen3moe.attention.layer_norm_rms_epsilon": 1e-6,
    "qwen3moe.expert_count": EXPERTS, "qwen3moe.expert_used_count": 3,
}  # fmt: skip
Q8_0 = next(code for code, block in BLOCKS.items() if block.name == "Q8_0")


def tensors():
    """The tensors of a file with the weights of the folder."""
    arrays, _ = arrays_of(Path(folder_of(KIND)))
    made = {"token_embd": arrays["model.embed_tokens.weight"], "output_norm": arrays["model.norm.weight"]}
    made["output"] = arrays["lm_head.weight"]
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        for name, stored in OF_LAYERS.items():
            made[f"blk.{i}.{name}"] = arrays[f"{layer}.{stored}.weight"]
        for part in ("gate", "up", "down"):
            each = [arrays[f"{layer}.mlp.experts.{e}.{part}_proj.weight"] for e in range(EXPERTS)]
            made[f"blk.{i}.ffn_{part}_exps"] = np.stack(each)
    return {f"{name}.weight": np.asarray(array) for name, array in made.items()}


def decoder_of(path, tensors, keys=KEYS):
    path.write_bytes(gguf_files.content(keys, tensors))
    return Decoder(opened(path), cache=False, threads=1)


def test_a_gguf_file_has_the_logits_of_pytorch(tmp_path):
    """Three sequences of different lengths: experts get rows of some of them."""
    rng, counts = np.random.default_rng(1), [9, 4, 1]
    prompts, step = rng.integers(3, 131, (3, 9)), rng.integers(3, 131, (3, 1))
    state = decoder_of(tmp_path / "m.gguf", tensors()).state(16, sequences=3)
    state.feed(prompts, np.array(counts))
    got = state.feed(step)
    for i, count in enumerate(counts):
        want = logits_of(KIND, np.concatenate([prompts[i, :count], step[i]])[None])[0, -1]
        assert np.abs(got[i] - want).max() < 2e-5 * np.abs(want).max()


def test_narrow_weights_of_experts_stay_narrow(tmp_path):
    """Each expert's matrix is packed by itself, and equal to its floats. The down matrix has rows of 32."""
    stored, floats = tensors(), tensors()
    of_experts = 0
    for name in [name for name in stored if "down_exps" in name]:
        shape = stored[name].shape
        blocks = np.random.default_rng(len(name)).integers(0, 256, (np.prod(shape) // 32, 34), np.uint8)
        blocks[:, :2] = np.full((len(blocks), 1), 0.002, np.float16).view(np.uint8)
        stored[name] = (Q8_0, shape, blocks.tobytes())
        floats[name] = as_floats(blocks.reshape(-1, 34), BLOCKS[Q8_0]).reshape(shape)
        of_experts += floats[name].nbytes
    both = [decoder_of(tmp_path / "m.gguf", some) for some in (stored, floats)]
    got, want = (each.state(30).feed(np.arange(3, 23)[None], every=True) for each in both)
    assert np.ptp(want) > 0.1
    assert np.abs(got - want).max() < 2e-5 * np.abs(want).max()
    saved = both[1].compiled.report["constants"]["bytes"] - both[0].compiled.report["constants"]["bytes"]
    assert saved > 0.6 * of_experts  # 1 byte and a scale of 4 for each 32 instead of 4 bytes


@pytest.mark.parametrize(
    "keys, changes, said",
    [
        ({"qwen3moe.expert_used_count": 7}, {}, "must be a number from 1 to 6"),
        ({"qwen3moe.expert_count": 100000}, {}, "must be a number from 0 to 1024"),
        ({"qwen3moe.expert_count": 0}, {}, "layer 0 has a router, but the configuration has no experts"),
        ({"qwen3moe.expert_count": 7}, {}, "asks for [7, 48]"),
        ({}, {"blk.1.ffn_up_exps.weight": np.zeros((6, 48), np.float32)}, "must have 3 axes"),
        ({}, {"blk.1.ffn_down_exps.weight": np.zeros((5, 48, 32), np.float32)}, "`blk.1.ffn_down.5.weight` is missing"),
        (
            {},
            {"blk.0.ffn_up_exps.weight": np.zeros((6, 31, 48), np.float32)},
            "but the configuration asks for [31, 48]",
        ),
    ],
)
def test_files_that_do_not_fit(tmp_path, keys, changes, said):
    with pytest.raises(relay.InputError) as error:
        decoder_of(tmp_path / "m.gguf", {**tensors(), **changes}, {**KEYS, **keys})
    assert said in str(error.value)


def test_too_many_experts_in_a_folder(tmp_path):
    shutil.copytree(folder_of(KIND), tmp_path, dirs_exist_ok=True)
    values = json.loads((tmp_path / "config.json").read_text())
    values |= {"num_hidden_layers": 4000, "num_experts": 1000}
    (tmp_path / "config.json").write_text(json.dumps(values))
    with pytest.raises(relay.InputError, match="4000 layers of 1000 experts"):
        opened(tmp_path)
