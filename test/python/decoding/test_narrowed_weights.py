"""Weights of floats that are rounded to fewer bits when a model is opened."""

import json

import ml_dtypes
import numpy as np
import pytest
from programs import cli, needs_program
from relay.decoding.blocks import Matrix
from relay.decoding.decoder import Decoder
from relay.decoding.narrowing import Narrowed, rounded
from relay.decoding.source import opened
from small_texts import folder_path, gguf_file, gguf_tensors, q8_0
from tiny_decoders import folder_of, logits_of

import relay
from relay import op

TOKENS = np.random.default_rng(1).integers(3, 131, (1, 24))


def decoder(kind, weights):
    return Decoder(opened(folder_of(kind)), cache=False, threads=1, weights=weights)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2", "qwen3-experts", "llama-bfloat16"])
@pytest.mark.parametrize(("weights", "least", "most"), [("bf16", 0, 0.02), ("int8", 1e-3, 0.06), ("int4", 0.02, 0.6)])
def test_logits_are_those_of_rounded_weights(kind, weights, least, most):
    """The error of each form, relative to the root mean square of the logits. Random weights correct no errors."""
    got = decoder(kind, weights).state(40).feed(TOKENS, every=True)
    want = logits_of(kind, TOKENS)
    error = np.sqrt(np.mean((got - want) ** 2) / np.mean(want**2))
    print(f"{kind}, {weights}: {error:.4f}")
    assert least <= error < most


@pytest.mark.parametrize(("bits", "columns"), [(4, 96), (8, 96), (4, 80), (8, 7)])
def test_integers_are_those_of_the_quantiser(bits, columns):
    weight = np.random.default_rng(bits).normal(size=(40, columns)).astype("float32")
    x = relay.var("x", shape=(1, columns))
    module = relay.IRModule({"main": relay.Function([x], op.nn.dense(x, relay.const(weight)))})
    made = relay.quantize(module, weights_only=True, weight_bits=bits, group=32, keep_float="never", seconds=0)
    found = []
    relay.analysis.post_order_visit(
        made.module["main"], lambda e: found.append(e.data.numpy()) if isinstance(e, relay.Constant) else None
    )
    matrix = rounded(weight, bits)
    integers, scales = (a for a in found if a.ndim == 2)
    np.testing.assert_array_equal(matrix.numbers.view(integers.dtype), integers)
    np.testing.assert_allclose(matrix.scales, scales, rtol=1e-7)


def test_a_model_takes_less_memory():
    sizes = {
        form: decoder("llama", form).compiled.report["constants"]["bytes"] for form in ("as_stored", "bf16", "int4")
    }
    assert sizes["bf16"] < 0.6 * sizes["as_stored"] and sizes["int4"] < 0.35 * sizes["as_stored"]


def test_integers_of_a_file_stay(tmp_path):
    tensors = {n: q8_0(t) if t.ndim == 2 else t for n, t in gguf_tensors().items()}
    path = gguf_file(tmp_path / "m.gguf", tensors=tensors)
    made = [Decoder(opened(path), cache=False, threads=1, weights=form) for form in ("as_stored", "int4")]
    tokens = np.array([[3, 4, 5]])
    np.testing.assert_array_equal(*[one.state(10).feed(tokens) for one in made])


def test_short_floats_stay():
    bf16 = np.ones((4, 32), ml_dtypes.bfloat16)

    class Weights:
        types, unknown = ["bfloat16"], []

        def matrix(self, name):
            return Matrix(bf16)

    assert Narrowed(Weights(), "bf16").matrix("blk.0.attn_q.weight").numbers is bf16
    assert Narrowed(Weights(), "int4").matrix("blk.0.ffn_gate_inp.weight").numbers is bf16
    assert Narrowed(Weights(), "int4").matrix("blk.0.attn_q.weight").integers == "int4"
    assert Narrowed(Weights(), "int4").matrix("output.weight").integers == "int8"
    bf16[1, 2] = np.inf
    with pytest.raises(relay.InputError, match="`blk.0.attn_q.weight` contains an infinity or NaN"):
        Narrowed(Weights(), "int8").matrix("blk.0.attn_q.weight")


def test_an_unknown_form():
    with pytest.raises(relay.errors.CompileError, match="no form of weights 'int3'"):
        decoder("llama", "int3")


@needs_program
def test_the_command_line():
    texts = {}
    for form in ("as_stored", "int8", "int4"):
        made = cli("generate", folder_path(), "--prompt", "the cat", "-n", 8, "--weights", form, "--json", timeout=300)
        assert made.returncode == 0, made.stderr
        texts[form] = json.loads(made.stdout)["tokens"]
        assert (f", rounded to {form}; " in made.stderr) == (form != "as_stored")
    assert all(len(tokens) == 8 for tokens in texts.values())
    assert cli("generate", folder_path(), "--prompt", "the cat", "--weights", "int3").returncode == 2
