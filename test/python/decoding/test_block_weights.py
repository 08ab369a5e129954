"""A network with matrices of each type of GGUF, beside the same network with the floats that they stand for."""

import gguf_files
import ml_dtypes
import numpy as np
import pytest
from forms import each_nth
from relay.decoding.blocks import BLOCKS, as_floats
from relay.decoding.decoder import Decoder
from relay.decoding.source import opened

WIDTH, WORDS = 256, 64
KEYS = {
    "general.architecture": "llama", "llama.block_count": 1, "llama.context_length": 64,
    "llama.embedding_length": WIDTH, "llama.feed_forward_length": 512, "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2, "llama.attention.layer_norm_rms_epsilon": 1e-6,
}  # fmt: skip
SHAPES = {
    "token_embd": (WORDS, WIDTH), "blk.0.attn_q": (WIDTH, WIDTH), "blk.0.attn_k": (128, WIDTH),
    "blk.0.attn_v": (128, WIDTH), "blk.0.attn_output": (WIDTH, WIDTH), "blk.0.ffn_gate": (512, WIDTH),
    "blk.0.ffn_up": (512, WIDTH), "blk.0.ffn_down": (WIDTH, 512), "output": (WORDS, WIDTH),
}  # fmt: skip
NORMS = ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")
# The places of the float16 factors in a block, in bytes.
FACTORS = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
           "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64],
           "MXFP4": []}  # fmt: skip
FLOATS = {"F16": np.float16, "BF16": ml_dtypes.bfloat16, "F64": np.float64}


def rows_of(name, shape, draw):
    """Random bytes of a matrix, (rows, bytes of a row), of elements below about one."""
    if name in FLOATS:
        return draw.normal(size=shape, scale=0.05).astype(FLOATS[name]).view(np.uint8)
    block = next(block for block in BLOCKS.values() if block.name == name)
    made = draw.integers(0, 256, (shape[0] * shape[1] // block.elements, block.bytes), np.uint8)
    for at in FACTORS[name]:
        ternary = 50 if name.startswith("TQ") else 1
        factors = (ternary * draw.uniform(0.0001, 0.001, (len(made), 1))).astype(np.float16)
        made[:, at : at + 2] = factors.view(np.uint8)
    if name == "MXFP4":
        made[:, 0] = draw.integers(118, 123, len(made))
    return made.reshape(shape[0], -1)


@pytest.mark.parametrize("name", each_nth(3, [*FACTORS, *FLOATS]))
def test_weights_of_this_type(name, tmp_path):
    draw = np.random.default_rng(0)
    code, block = next((code, block) for code, block in BLOCKS.items() if block.name == name)
    norms = {f"{norm}.weight": draw.normal(size=WIDTH, loc=1, scale=0.1).astype(np.float32) for norm in NORMS}
    stored, floats = dict(norms), dict(norms)
    for part, shape in SHAPES.items():
        rows = rows_of(name, shape, draw)
        stored[f"{part}.weight"] = (code, shape, rows.tobytes())
        floats[f"{part}.weight"] = as_floats(rows, block)
    logits = []
    for tensors in (stored, floats):
        path = tmp_path / "m.gguf"
        path.write_bytes(gguf_files.content(KEYS, tensors))
        decoder = Decoder(opened(path), cache=False, threads=1)
        state = decoder.state(40)
        prompt = state.feed(np.arange(1, 31)[None], every=True)
        logits.append(np.concatenate([prompt, state.feed(np.array([[5]]))[:, None]], axis=1))
    got, wanted = logits
    assert np.ptp(wanted) > 0.1  # not all alike
    assert np.abs(got - wanted).max() < 2e-5 * np.abs(wanted).max()  # float32 sums in another order


@pytest.mark.parametrize("name", ["Q4_0", "Q4_1", "Q4_K"])
def test_inputs_are_rounded_on_request(name, tmp_path):
    """With weights of four bits and precision int8_inputs, products add integers; logits differ by some 1 %."""
    draw = np.random.default_rng(0)
    code = next(code for code, block in BLOCKS.items() if block.name == name)
    tensors = {f"{norm}.weight": draw.normal(size=WIDTH, loc=1, scale=0.1).astype(np.float32) for norm in NORMS}
    for part, shape in SHAPES.items():
        tensors[f"{part}.weight"] = (code, shape, rows_of(name, shape, draw).tobytes())
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_files.content(KEYS, tensors))
    logits = []
    for precision in ("as_written", "int8_inputs"):
        decoder = Decoder(opened(path), cache=False, threads=1, precision=precision)
        state = decoder.state(40)
        prompt = state.feed(np.arange(1, 31)[None], every=True)
        logits.append(np.concatenate([prompt, state.feed(np.array([[5]]))[:, None]], axis=1))
    assert "numbers of four bits by" in decoder.compiled.emit("schedule")
    error = np.sqrt(np.mean((logits[1] - logits[0]) ** 2) / np.mean(logits[0] ** 2))
    assert 1e-4 < error < 0.03, error
