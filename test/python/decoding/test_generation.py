"""Texts of a small model: folders, GGUF files, samplings, streams, chats, batches, proposals."""

import numpy as np
import pytest
from relay.decoding.generation import Model
from small_texts import END, folder_path, gguf_file, gguf_keys, gguf_tensors, q8_0, tokenizer, torch, transformers

import relay

PROMPT = "the cat and the dog"


@pytest.fixture(scope="module")
def model():
    return Model(folder_path(), threads=1, cache=False)


@pytest.fixture(scope="module")
def smaller():
    return Model(folder_path(seed=7), threads=1, cache=False)


def eager(prompt, tokens, **how):
    """The new tokens that transformers generates."""
    eager = transformers.LlamaForCausalLM.from_pretrained(folder_path()).eval()
    ids = torch.tensor([tokenizer().encode(prompt).ids])
    return eager.generate(ids, max_new_tokens=tokens, do_sample=False, pad_token_id=0, **how)[
        0, ids.shape[1] :
    ].tolist()


def test_the_most_probable_tokens_are_those_of_transformers(model):
    wanted = eager(PROMPT, 60)
    stream = model.stream(PROMPT, max_tokens=60)
    text = "".join(stream)
    ended = wanted.index(0) if 0 in wanted else len(wanted)
    assert stream.answer.tokens == wanted[:ended]
    assert text == stream.answer.text == tokenizer().decode(wanted[:ended])
    assert relay.generate(model, PROMPT, max_tokens=60) == text


def test_a_repetition_penalty_is_that_of_transformers(model):
    wanted = eager(PROMPT, 30, repetition_penalty=1.5)
    stream = model.stream(PROMPT, max_tokens=30, repetition_penalty=1.5)
    assert "".join(stream) is not None and stream.answer.tokens == wanted[: len(stream.answer.tokens)]
    assert stream.answer.tokens != list(model.stream(PROMPT, max_tokens=30).answer.tokens)


def test_a_gguf_file_generates_the_same(model, tmp_path):
    made = Model(gguf_file(tmp_path / "m.gguf"), threads=1, cache=False)
    stream = made.stream(PROMPT, max_tokens=40)
    assert "".join(stream) == relay.generate(model, PROMPT, max_tokens=40)
    assert made.description == "llama, 2 layers, weights F32"
    assert made.vocabulary.ends == model.vocabulary.ends


def test_weights_stay_in_blocks(model, tmp_path):
    tensors = {n: q8_0(t) if t.ndim == 2 else t for n, t in gguf_tensors().items()}
    made = Model(gguf_file(tmp_path / "m.gguf", tensors=tensors), threads=1, cache=False)
    assert made.description.endswith("weights Q8_0")
    tokens = np.array([made.vocabulary.encode(PROMPT)])
    exact = model.decoder.state(40).feed(tokens)
    error = np.abs(made.decoder.state(40).feed(tokens) - exact).max() / np.abs(exact).max()
    assert 1e-5 < error < 0.05  # of rounding to 8 bits


def test_a_draw_is_repeated_by_its_seed(model):
    how = {"max_tokens": 30, "temperature": 1.0, "top_k": 40, "top_p": 0.95}
    first = relay.generate(model, PROMPT, seed=3, **how)
    assert first == relay.generate(model, PROMPT, seed=3, **how)
    assert first != relay.generate(model, PROMPT, seed=4, **how)


@pytest.mark.parametrize("how", [{}, {"temperature": 0.8, "seed": 5}])
def test_proposals_do_not_change_the_answer(model, smaller, how):
    for prompt in (PROMPT, "the cat and the cat and the cat and"):
        plain = model.stream(prompt, max_tokens=80, **how)
        wanted = "".join(plain)
        for more in ({"speculate": 3}, {"draft": smaller}, {"draft": model, "speculate": 5}):
            stream = model.stream(prompt, max_tokens=80, **how, **more)
            assert "".join(stream) == wanted and stream.answer.tokens == plain.answer.tokens
            assert stream.answer.proposed >= stream.answer.accepted
    assert how or stream.answer.accepted > 20  # the model itself as its draft


def test_a_batch_gives_the_answers_of_its_prompts(model):
    prompts = [PROMPT, "a fine day", "naïve 日本"]
    wanted = [relay.generate(model, prompt, max_tokens=25) for prompt in prompts]
    assert relay.generate(model, prompts, max_tokens=25) == wanted
    assert model.batch([]) == []


def test_a_chat_uses_the_template(model):
    said = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}]
    text = f"<|system|>be kind{END}<|user|>hi{END}<|assistant|>"
    assert model.tokens_of(said, True) == tokenizer().encode(text).ids
    assert model.tokens_of("hi", True) == tokenizer().encode(f"<|user|>hi{END}<|assistant|>").ids
    assert relay.generate(model, said, max_tokens=5) == relay.generate(model, text, max_tokens=5)


def test_an_answer_ends_before_a_stop_text(model):
    whole = relay.generate(model, PROMPT, max_tokens=40)
    stop = whole[10:14]
    stream = model.stream(PROMPT, max_tokens=40, stop=["never", stop])
    assert "".join(stream) == whole[: whole.index(stop)] and stream.answer.ended == "stop"


def test_lengths(model):
    stream = model.stream(PROMPT, max_tokens=3)
    assert "".join(stream) == stream.answer.text and len(stream.answer.tokens) == 3 and stream.answer.ended == "tokens"
    words = 9  # tokens of the prompt, less than 256
    for said, how in (
        (r"are more than the context of 256", {"max_tokens": 256}),
        (r"context is 257, but .* has 1 to 256 positions", {"context": 257}),
        (r"the prompt has \d+ tokens, but the context of .* is 4", {"context": 4}),
        (r"max_tokens is 0", {"max_tokens": 0}),
        (r"temperature is -1", {"temperature": -1}),
        (r"top_p is 2", {"top_p": 2}),
        (r"speculate is -1", {"speculate": -1}),
    ):
        with pytest.raises(relay.InputError, match=said):
            model.stream(PROMPT, **how)
    with pytest.raises(relay.InputError, match="the prompt is empty"):
        model.stream("")
    assert len(model.vocabulary.encode(PROMPT)) < words
    long = model.stream(PROMPT, context=20)
    assert "".join(long) == long.answer.text and len(long.answer.tokens) <= 20


def test_broken_templates_and_tokenizers(tmp_path):
    keys = gguf_keys()
    for changes, said in (
        ({"tokenizer.chat_template": "{{ raise_exception('no system') }}"}, "no system"),
        ({"tokenizer.chat_template": "{% for"}, "the chat template cannot be used"),
        ({"tokenizer.chat_template": "{{ messages.append(1) }}"}, "cannot be used"),
        ({"tokenizer.chat_template": ""}, "has no chat template"),
        ({"tokenizer.ggml.pre": "other"}, "pieces `other` are not one of"),
        ({"tokenizer.ggml.model": "t5"}, "tokenizer `t5` is not one of"),
        ({"tokenizer.ggml.merges": ["a"]}, "merges` is missing or damaged"),
        ({"tokenizer.ggml.merges": ["a nowhere"]}, "merges` is missing or damaged"),
        ({"tokenizer.ggml.tokens": ["a", "a"]}, "has a text twice"),
        ({"general.architecture": "mamba"}, "the architecture mamba cannot be decoded"),
        ({"llama.block_count": 3}, "the weight `blk.2.attn_norm.weight` is missing"),
        ({"llama.block_count": 1}, "a llama model has no such weights: blk.1.*, and 6 others"),
        (
            {"llama.attention.head_count": 8},
            r"the weight `blk.0.attn_k.weight` is \[16, 32\], but .* asks for \[8, 32\]",
        ),
        ({"llama.embedding_length": "x"}, "`llama.embedding_length` is x, but must be a whole number"),
        ({"split.count": 3}, "one of 3 parts, but its name does not end in"),
    ):
        path = gguf_file(tmp_path / "m.gguf", {**keys, **changes})
        with pytest.raises(relay.InputError, match=said):
            Model(path, cache=False).stream("hi", chat=True)


def test_folders_that_are_not_complete(tmp_path):
    with pytest.raises(relay.InputError, match="has no config.json"):
        Model(tmp_path)
    with pytest.raises(relay.InputError, match="does not exist"):
        Model(tmp_path / "none")
    for text, said in (("[", "is not JSON"), ("[]", "is not a JSON object"), ("{}", "architecture is missing")):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(relay.InputError, match=said):
            Model(tmp_path)
    (tmp_path / "config.json").write_bytes((folder_path() / "config.json").read_bytes())
    with pytest.raises(relay.InputError, match="has neither model.safetensors nor"):
        Model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes((folder_path() / "model.safetensors").read_bytes())
    with pytest.raises(relay.InputError, match="has no tokenizer.json"):
        Model(tmp_path)
