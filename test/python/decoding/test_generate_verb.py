"""relay generate: the program, its messages, the cache, interruption."""

import json
import os
import signal
import subprocess
import sys

import pytest
from programs import PROGRAM, cli, needs_program
from small_texts import folder_path, gguf_file, tokenizer

import relay

pytestmark = needs_program
PROMPT = "the cat and the dog"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path_factory.getbasetemp() / "decoding-cache"))
    monkeypatch.setenv("RELAY_PYTHON", sys.executable)


def generated(*words):
    return cli("generate", *words, timeout=300)


def test_the_text_and_the_second_process(tmp_path):
    path = gguf_file(tmp_path / "m.gguf")
    first = generated(path, "--prompt", PROMPT, "--max-tokens", 12)
    assert first.returncode == 0, first.stderr
    assert "llama, 2 layers, weights F32; compiled, ready after" in first.stderr
    assert "relay: prompt: " in first.stderr and "tokens/s; answer: 12 tokens, " in first.stderr
    second = generated(path, "--prompt", PROMPT, "--max-tokens", 12)
    assert "from the cache" in second.stderr and second.stdout == first.stdout
    assert relay.generate(path, PROMPT, max_tokens=12) + "\n" == first.stdout
    gguf_file(path, tensors=None).touch()
    assert "from the cache" in generated(path, "--prompt", PROMPT, "-n", 1).stderr  # the same contents


@pytest.mark.slow
def test_a_folder_and_its_options(tmp_path):
    folder = folder_path()
    made = generated(
        folder, "--chat", "--system", "be kind", "--prompt", "hi", "--max-tokens", 5, "--json", "--no-cache"
    )
    answer = json.loads(made.stdout)
    text = "<|system|>be kind<|endoftext|><|user|>hi<|endoftext|><|assistant|>"
    assert answer["prompt_tokens"] == len(tokenizer().encode(text).ids)
    assert answer["text"] == relay.generate(folder, text, max_tokens=5)
    how = ["--temperature", 1, "--top-k", 30, "--top-p", 0.9, "--min-p", 0.01, "--repetition-penalty", 1.1, "--seed", 3]
    drawn = generated(folder, "--prompt", PROMPT, "--speculate", 2, "--draft", folder, "-n", 20, *how)
    assert drawn.stdout == generated(folder, "--prompt", PROMPT, "-n", 20, *how).stdout
    stopped = generated(folder, "--prompt", PROMPT, "-n", 20, "--stop", drawn.stdout[3:5], *how)
    assert stopped.stdout.rstrip("\n") == drawn.stdout[: drawn.stdout.index(drawn.stdout[3:5])].rstrip("\n")


@pytest.mark.slow
def test_a_prompt_from_stdin_and_no_messages():
    words = [str(PROGRAM), "-q", "generate", str(folder_path()), "-n", "3"]
    made = subprocess.run(words, input=PROMPT, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0 and made.stderr == ""
    assert made.stdout == generated(folder_path(), "-p", PROMPT, "-n", 3).stdout


@pytest.mark.slow
def test_problems_are_told_with_their_place(tmp_path):
    (tmp_path / "m.gguf").write_bytes(b"GGUF\3\0\0\0" + b"\1" + b"\0" * 7)
    for words, said in (
        ([tmp_path / "m.gguf"], "byte 16: 1 tensors do not fit in the 0 bytes"),
        ([tmp_path], "has no config.json"),
        ([folder_path(), "--max-tokens", 500], "are more than the context of 256"),
        ([folder_path(), "--context", 300], "context is 300, but"),
    ):
        made = generated(*words, "--prompt", PROMPT)
        assert made.returncode == 1 and said in made.stderr and "Traceback" not in made.stderr
    assert generated(folder_path(), "--top-p", 3).returncode == 2


@pytest.mark.slow
def test_an_interruption_ends_with_the_figures():
    words = [str(PROGRAM), "generate", str(folder_path()), "--prompt", "a", "--max-tokens", "250", "--temperature", "1"]
    words += ["--seed", "2", "--stop", "never"]
    generated(folder_path(), "--prompt", "a", "-n", 1)  # so that the program is in the cache
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode in (0, 130) and "relay: prompt: " in told and "Traceback" not in told
    assert ("interrupted" in told) == (process.returncode == 130)
