"""relay.hf: models of transformers with random weights, from folders, compared with transformers itself."""

import resource
import subprocess
import sys
import warnings

import pytest
from forms import each_nth, with_long_form
from memory import allocated

import relay

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
import relay.hf  # noqa: E402
import relay.torch  # noqa: E402

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
WORDS = {"vocab_size": 99, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
TALK = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
        "decoder_start_token_id": 1}  # fmt: skip
SOUND = {"conv_dim": (16, 16), "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_feat_extract_layers": 2,
         "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}  # fmt: skip


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("error", relay.torch.FallbackWarning)
        yield


def saved(folder, name, **settings):
    """A folder with a model of random weights."""
    model_class = getattr(transformers, name)
    model = model_class(model_class.config_class(**settings))
    model.save_pretrained(folder)
    return model.eval()


def ids(*shape):
    return torch.randint(3, 90, shape)


ENCODERS = {
    "BertForSequenceClassification": (SMALL | WORDS, lambda: {
        "input_ids": ids(2, 9), "attention_mask": torch.tensor([[1] * 9, [1] * 6 + [0] * 3])}),
    "RobertaForTokenClassification": (SMALL | WORDS, lambda: {"input_ids": ids(2, 9)}),
    "DistilBertForQuestionAnswering": (
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": 99}, lambda: {"input_ids": ids(2, 9)}),
    "ViTForImageClassification": (SMALL | {"image_size": 32, "patch_size": 8}, lambda: {
        "pixel_values": torch.randn(2, 3, 32, 32)}),
    "ConvNextForImageClassification": (
        {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}, lambda: {"pixel_values": torch.randn(1, 3, 64, 64)}),
    "Wav2Vec2ForCTC": (SMALL | SOUND | {"vocab_size": 32}, lambda: {"input_values": torch.randn(1, 800)}),
    "CLIPModel": ({"text_config": SMALL | WORDS, "vision_config": SMALL | {"image_size": 32, "patch_size": 8}},
        lambda: {"input_ids": ids(2, 9), "pixel_values": torch.randn(3, 3, 32, 32)}),
}  # fmt: skip


def same(got, wanted):
    names = [name for name, one in wanted.items() if isinstance(one, torch.Tensor)]
    assert names
    for name in names:
        torch.testing.assert_close(got[name], wanted[name], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", each_nth(3, ENCODERS))
def test_encoders_vision_and_speech(name, tmp_path):
    settings, inputs = ENCODERS[name]
    wanted = saved(tmp_path, name, **settings)
    fast = relay.hf.load(tmp_path)
    assert type(fast) is type(wanted)
    given = inputs()
    with torch.no_grad():
        same(fast(**given), wanted(**given))


GENERATORS = {
    "GPT2LMHeadModel": ({"n_embd": 32, "n_layer": 2, "n_head": 4} | WORDS, lambda: ids(1, 7)),
    "LlamaForCausalLM": (SMALL | WORDS | {"num_key_value_heads": 2}, lambda: ids(2, 7)),
    "T5ForConditionalGeneration": ({"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4,
        "decoder_start_token_id": 0} | WORDS, lambda: ids(1, 7)),
    "WhisperForConditionalGeneration": (TALK | WORDS | {"num_mel_bins": 16, "max_source_positions": 50,
        "max_target_positions": 40, "suppress_tokens": None, "begin_suppress_tokens": None},
        lambda: torch.randn(1, 16, 100)),
}  # fmt: skip


# A decoder, and an encoder with a decoder. make test-slow runs the second of each kind.
SHORT = ("GPT2LMHeadModel",)


@pytest.mark.parametrize("name", with_long_form(GENERATORS, SHORT.__contains__))
def test_generation_with_kept_keys_and_values(name, tmp_path, monkeypatch):
    settings, inputs = GENERATORS[name]
    wanted = saved(tmp_path, name, **settings)
    programs, made = [], relay.torch.dynamo.compile_module
    monkeypatch.setattr(relay.torch.dynamo, "compile_module", lambda *a, **k: programs.append(a) or made(*a, **k))
    fast = relay.hf.load(tmp_path)
    for given, more in ((inputs(), 5), (inputs(), 12)):
        how = {"max_new_tokens": more, "min_new_tokens": more, "do_sample": False}
        assert fast.generate(given, **how).equal(wanted.generate(given, **how))
    if name.endswith(("CausalLM", "LMHeadModel")):
        assert not programs  # relay.decoding has the program
    else:
        assert 0 < len(programs) <= 4  # not one a length


DECODERS = [name for name in GENERATORS if name.endswith(("CausalLM", "LMHeadModel"))]


@pytest.mark.slow
@pytest.mark.parametrize("name", DECODERS)
def test_ways_of_generating_with_the_program_of_a_decoder(name, tmp_path):
    """Padded prompts, draws, results with scores, longer answers than a cache begins with, other weights."""
    wanted = saved(tmp_path, name, **GENERATORS[name][0])
    fast, prompt = relay.hf.load(tmp_path), ids(3, 9)
    mask = torch.ones_like(prompt)
    mask[0, :4] = mask[2, :8] = 0
    greedy = {"attention_mask": mask, "max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    assert fast.generate(prompt, **greedy).equal(wanted.generate(prompt, **greedy))
    drawn = []
    for model in (fast, wanted):
        torch.manual_seed(3)
        drawn.append(model.generate(prompt, max_new_tokens=8, do_sample=True, num_return_sequences=2, top_k=20))
    assert drawn[0].equal(drawn[1])
    scored = {"return_dict_in_generate": True, "output_logits": True, **greedy}
    got, want = fast.generate(prompt, **scored), wanted.generate(prompt, **scored)
    torch.testing.assert_close(torch.stack(got.logits), torch.stack(want.logits), rtol=1e-4, atol=1e-4)
    long = {"max_new_tokens": 300, "min_new_tokens": 300, "do_sample": False}
    assert fast.generate(prompt[:1], **long).equal(wanted.generate(prompt[:1], **long))
    with torch.no_grad():
        for mine, other in zip(fast.parameters(), wanted.parameters(), strict=True):
            drawn = 0.1 * torch.randn_like(mine)
            mine.add_(drawn)
            other.add_(drawn)
    assert fast.generate(prompt, **greedy).equal(wanted.generate(prompt, **greedy))
    beams = {"num_beams": 2, **greedy}
    assert fast.generate(prompt, **beams).equal(wanted.generate(prompt, **beams))


class Memory(transformers.StoppingCriteria):
    """Never stops; notes after each step what the process has allocated, and the pages that it was given."""

    def __init__(self):
        self.steps = []

    def __call__(self, ids, scores, **named):
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        self.steps.append((allocated(), faults))
        return torch.zeros(len(ids), dtype=torch.bool)


@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc")
@pytest.mark.slow
def test_a_thousand_steps_of_generation_allocate_nothing_and_copy_no_cache(tmp_path, monkeypatch):
    config = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 1100}
    wanted = saved(tmp_path, "GPT2LMHeadModel", **config, **WORDS)
    programs, made = [], relay.torch.dynamo.compile_module
    monkeypatch.setattr(
        relay.torch.dynamo, "compile_module", lambda *a, **k: programs.append(made(*a, **k)) or programs[-1]
    )
    fast, prompt = relay.hf.load(tmp_path, threads=1), ids(2, 7)
    cache = transformers.StaticCache(wanted.config, max_cache_len=1024)
    arrays = lambda: [one for layer in cache.layers for one in (layer.keys, layer.values)]  # noqa: E731

    def generate(steps, memory):
        how = {"max_new_tokens": steps, "min_new_tokens": steps, "do_sample": False}
        return fast.generate(prompt, past_key_values=cache, stopping_criteria=[memory], **how)

    for _ in range(2):  # the first makes the cache, which the others find
        generate(3, Memory())
        cache.reset()
    places, compiled, memory = [one.data_ptr() for one in arrays()], len(programs), Memory()
    tokens = generate(1000, memory)
    assert [one.data_ptr() for one in arrays()] == places and len(programs) == compiled
    is_in_place = []
    for model in programs:
        axes = {one.name: len(one.shape) for one in model.inputs}
        is_in_place += [one["in_place"] for one in model.report["donations"] if axes[one["input"]] == 4]
    assert len(is_in_place) >= 2 * len(places) and all(is_in_place)  # what counts the steps is one number
    (before, first), (after, last) = memory.steps[20], memory.steps[-1]
    size = arrays()[0].nbytes
    # The tokens, their mask and these notes grow, by less than a hundred bytes a step.
    assert len(memory.steps) == 1000 and after - before < 100 * 980 < size // 4
    assert last - first < size // 4096  # the copy of one cache in one step would touch as many new pages
    with torch.no_grad():  # each token is the most likely one behind those before it, but for the end
        scores = wanted(tokens[:, :-1]).logits[:, prompt.shape[1] - 1 :]
    scores[..., WORDS["eos_token_id"]] = -torch.inf
    chosen = scores.gather(-1, tokens[:, prompt.shape[1] :, None])[..., 0]
    assert (scores.max(-1).values - chosen).max() < 1e-4


def test_weights_of_the_file_are_mapped(tmp_path):
    saved(tmp_path, "BertModel", **SMALL, **WORDS)
    fast = relay.hf.load(tmp_path, freeze=False)
    lines = [line.split() for line in open("/proc/self/maps") if "model.safetensors" in line]
    ranges = [tuple(int(end, 16) for end in line[0].split("-")) for line in lines]
    assert all(any(low <= one.data_ptr() < high for low, high in ranges) for one in fast.parameters())


@pytest.mark.slow
def test_a_pipeline(tmp_path):
    wanted = saved(tmp_path, "BertForSequenceClassification", **SMALL, **WORDS)
    words = {word: place for place, word in enumerate("[PAD] [CLS] [SEP] [UNK] [MASK] a fine day it is".split())}
    tokenizer = transformers.BertTokenizer(vocab=words)
    answers = [
        transformers.pipeline("text-classification", model=model, tokenizer=tokenizer)(["it is a fine day", "a day"])
        for model in (relay.hf.load(tmp_path), wanted)
    ]
    for got, one in zip(*answers, strict=True):
        assert got["label"] == one["label"] and got["score"] == pytest.approx(one["score"], abs=1e-5)


@pytest.mark.slow
def test_generation_that_takes_steps_back(tmp_path):
    settings, inputs = GENERATORS[next(iter(GENERATORS))]
    wanted = saved(tmp_path, next(iter(GENERATORS)), **settings)
    given, how = inputs()[:1], {"max_new_tokens": 5, "do_sample": False, "prompt_lookup_num_tokens": 2}
    assert relay.hf.load(tmp_path).generate(given, **how).equal(wanted.generate(given, **how))


def test_what_is_no_model(tmp_path):
    for wrong in (None, torch.nn.Linear(2, 2)):
        with pytest.raises(relay.CompileError, match="is not a model of transformers"):
            relay.hf.load(wrong)
    with pytest.raises(relay.CompileError, match="is not a model of transformers"):
        relay.hf.load(tmp_path / "none")


GENERATES_ONCE = """
import os, sys, time, warnings
import relay.hf, torch, transformers
transformers.logging.set_verbosity_error()
model = relay.hf.load(sys.argv[1])
begin = time.process_time()
tokens = model.generate(torch.tensor([[5, 6, 7]]), max_new_tokens=4, do_sample=False)
seconds = time.process_time() - begin
decoder = relay.hf._DECODING[model].decoder(model)
print("\\n", decoder.compiled.cached is not None, f"{seconds:.3f}", tokens.tolist())
"""


@pytest.mark.slow
def test_a_second_process_takes_the_decoder_from_the_cache(tmp_path, monkeypatch):
    """And gives the same text, sooner. The times are of the processor, of all threads."""
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path / "cache"))
    layers = {"num_hidden_layers": 4, "hidden_size": 256, "num_key_value_heads": 2, "intermediate_size": 688}
    saved(tmp_path / "model", "LlamaForCausalLM", **SMALL | WORDS | layers)

    def process():
        done = subprocess.run(
            [sys.executable, "-c", GENERATES_ONCE, tmp_path / "model"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        cached, seconds, tokens = done.stdout.splitlines()[-1].split(maxsplit=2)
        return cached, float(seconds), tokens

    first, second = process(), process()
    assert (first[0], second[0]) == ("False", "True")
    assert first[2] == second[2]
    assert first[1] < 3 and second[1] < 1  # seconds, six times what they take on a Zen 3
