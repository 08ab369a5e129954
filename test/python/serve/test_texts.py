"""Language models: OpenAI's interface, whole and streamed answers, limits, clients that leave, wrong requests."""

import concurrent.futures
import http.client
import json
import re
import shutil
import time

import pytest
import small_texts
from served import SOFTMAX, serving

import relay

CHAT = [{"role": "user", "content": "the cat"}]
EXACT = {"temperature": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The small model, with room for answers that take minutes, and without a token that ends them."""
    path = shutil.copytree(small_texts.folder_path(), tmp_path_factory.mktemp("texts") / "tiny")
    config = json.loads((path / "config.json").read_text()) | {"max_position_embeddings": 20_000, "eos_token_id": None}
    (path / "config.json").write_text(json.dumps(config))
    (path / "generation_config.json").unlink(missing_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (path / name).write_text((path / name).read_text().replace(small_texts.END, "<|text|>"))
    options = json.loads((path / "tokenizer_config.json").read_text())
    del options["eos_token"]
    (path / "tokenizer_config.json").write_text(json.dumps(options))
    return path


@pytest.fixture(scope="module")
def model(folder):
    return relay.decoding.Model(folder)


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    soft = tmp_path_factory.mktemp("soft") / "soft.relay"
    soft.write_text(SOFTMAX)
    limits = ["--slots", "2", "--max-queue", "2", "--max-tokens", "15000", "--timeout", "60", "--max-body", "1M"]
    with serving(folder, soft, *limits) as one:
        yield one


def asked(server, path, **fields):
    return server.client().ask(f"/v1/{path}", json.dumps({"model": "tiny", **fields}).encode())


def completed(server, prompt="the cat", **fields):
    return asked(server, "completions", prompt=prompt, **fields)


class Events:
    """The events of an answer, read one by one."""

    def __init__(self, server, path, **fields):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.connection.request("POST", f"/v1/{path}", json.dumps({"model": "tiny", "stream": True, **fields}))
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        assert self.answer.headers["Content-Type"].startswith("text/event-stream")

    def __iter__(self):
        """Yields objects, and the text "[DONE]" at the end."""
        for line in self.answer:
            if line.strip():
                text = line.removeprefix(b"data: ").strip()
                yield "[DONE]" if text == b"[DONE]" else json.loads(text)

    def leave(self):
        self.answer.close()
        self.connection.close()


def wait_until(true, seconds=60):
    deadline = time.time() + seconds
    while not true():
        assert time.time() < deadline
        time.sleep(0.02)


def test_models(server):
    listed = server.client().ask("/v1/models").json
    assert listed["object"] == "list" and [one["id"] for one in listed["data"]] == ["tiny"]
    assert server.client().ask("/v1/models/tiny").json["context_length"] == 20_000
    missing = server.client().ask("/v1/models/tyni")
    assert missing.status == 404 and missing.json["error"]["code"] == "model_not_found"
    assert "did you mean `tiny`?" in missing.json["error"]["message"]
    assert server.client().ask("/v2/models/soft/ready").status == 200


def test_a_completion(server, model):
    answer = completed(server, max_tokens=12, **EXACT).json
    stream = model.stream("the cat", max_tokens=12)
    text = "".join(stream)
    assert answer["object"] == "text_completion" and answer["model"] == "tiny" and answer["id"].startswith("cmpl-")
    assert answer["choices"] == [{"index": 0, "text": text, "logprobs": None, "finish_reason": "length"}]
    prompt = stream.answer.prompt_tokens
    assert answer["usage"] == {"prompt_tokens": prompt, "completion_tokens": 12, "total_tokens": prompt + 12}
    assert completed(server, ["the cat"], **EXACT).json["usage"]["completion_tokens"] == 16


def test_a_chat(server, model):
    answer = asked(server, "chat/completions", messages=CHAT, max_completion_tokens=9, **EXACT).json
    text = relay.generate(model, CHAT, max_tokens=9)
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": text}
    parts = [{"role": "user", "content": [{"type": "text", "text": "the "}, {"type": "text", "text": "cat"}]}]
    same = asked(server, "chat/completions", messages=parts, max_tokens=9, **EXACT).json
    assert same["choices"] == answer["choices"]


def test_streams_have_the_same_text(server, model):
    text = relay.generate(model, "the cat", max_tokens=40)
    *events, usage, end = Events(server, "completions", prompt="the cat", max_tokens=40,
                                 stream_options={"include_usage": True}, **EXACT)  # fmt: skip
    assert end == "[DONE]" and usage["choices"] == [] and usage["usage"]["completion_tokens"] == 40
    assert len(events) > 5, "the text came at once"
    assert "".join(one["choices"][0]["text"] for one in events) == text
    assert [one["choices"][0]["finish_reason"] for one in events] == [None] * (len(events) - 1) + ["length"]
    assert len({one["id"] for one in events}) == 1

    text = relay.generate(model, CHAT, max_tokens=20)
    first, *events, end = Events(server, "chat/completions", messages=CHAT, max_tokens=20, **EXACT)
    assert first["object"] == "chat.completion.chunk"
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in events) == text
    assert events[-1]["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "length"}


def test_narrow_numbers(folder, model):
    """The text of a model with weights, keys and values of 8 bits, which is another one than with those of 32."""
    narrow = relay.decoding.Model(folder, weights="int8", kv_cache="int8", precision="int8_inputs")
    text = "".join(narrow.stream("the cat", max_tokens=40))
    assert text != "".join(model.stream("the cat", max_tokens=40))
    with serving(folder, "--weights", "int8", "--kv-cache", "int8", "--precision", "int8_inputs") as server:
        assert completed(server, max_tokens=40, **EXACT).json["choices"][0]["text"] == text


def test_sampling_and_stop(server, model):
    how = {"temperature": 0.9, "top_p": 0.8, "seed": 5}
    texts = [completed(server, max_tokens=30, **how).json["choices"][0]["text"] for _ in range(2)]
    assert texts[0] == texts[1] == relay.generate(model, "the cat", max_tokens=30, **how)
    others = {completed(server, max_tokens=30, **how | {"seed": seed}).json["choices"][0]["text"] for seed in (-1, 6)}
    assert len(others | {texts[0]}) == 3
    whole = relay.generate(model, "the cat", max_tokens=30)
    stop = whole[5:8]
    answer = completed(server, max_tokens=30, stop=[stop], **EXACT).json["choices"][0]
    assert answer["text"] == whole[: whole.find(stop)] and answer["finish_reason"] == "stop"
    assert completed(server, max_tokens=30, stop=stop, **EXACT).json["choices"][0] == answer


def test_several_answers_at_a_time(server, model):
    wanted = {prompt: relay.generate(model, prompt, max_tokens=25) for prompt in ("the cat", "the dog", "a hat", "x")}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = {p: pool.submit(completed, server, p, max_tokens=25, **EXACT) for p in wanted}
        assert {p: job.result().json["choices"][0]["text"] for p, job in jobs.items()} == wanted


def long_answer(server):
    """Begins an answer that takes minutes."""
    events = Events(server, "completions", prompt="the cat", max_tokens=15_000, temperature=1.5, seed=1)
    next(iter(events))
    return events


def test_a_late_request_joins_the_running_batch(server, model):
    def shared():
        """The steps of more than one answer."""
        text = server.client().ask("/metrics", method="GET").body.decode()
        buckets = [f'relay_batch_rows_bucket{{le="{rows}",model="tiny"}}' for rows in ("1.0", "+Inf")]
        alone, all = (re.search(rf"^{re.escape(name)} (\S+)$", text, re.M) for name in buckets)
        return float(all[1]) - float(alone[1])

    before, first = shared(), long_answer(server)
    answer = completed(server, "a hat", max_tokens=25, **EXACT).json["choices"][0]
    assert answer["text"] == relay.generate(model, "a hat", max_tokens=25)
    assert shared() - before == 25
    assert next(iter(first))["choices"][0]["finish_reason"] is None  # it goes on
    first.leave()


def test_clients_that_leave_free_their_slots(server):
    client = server.client()
    left = 'relay_requests_total{model="tiny",status="499"}'
    before = client.metric(left)
    streams = [long_answer(server) for _ in range(2)]
    # Both slots are taken. Requests wait, up to the length of the queue.
    waiting = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=60) for _ in range(2)]
    body = json.dumps({"model": "tiny", "prompt": "the", "max_tokens": 15_000, "temperature": 1.5})
    for one in waiting:
        one.request("POST", "/v1/completions", body)
    wait_until(lambda: completed(server, max_tokens=1).status == 503)
    refused = completed(server, max_tokens=1)
    assert refused.headers["Retry-After"] == "1" and refused.json["error"]["type"] == "server_error"
    # Their clients leave before an answer began, and while one is generated without a stream.
    for one in streams:
        one.leave()
    time.sleep(0.2)
    for one in waiting:
        one.close()
    wait_until(lambda: completed(server, max_tokens=1).status == 200)
    wait_until(lambda: client.metric(left) == before + 4)
    assert client.metric("relay_request_bytes") == 0


WRONG = [
    ("completions", {"prompt": None}, "lacks `prompt`"),
    ("completions", {"prompt": ["a", "b"]}, "send one text"),
    ("completions", {"prompt": [1, 2]}, "send one text"),
    ("completions", {"prompt": ""}, "the prompt is empty"),
    ("completions", {"messages": CHAT}, "no parameter `messages`"),
    ("completions", {"temprature": 1}, "did you mean `temperature`?"),
    ("completions", {"max_tokens": 0}, "an integer from 1"),
    ("completions", {"max_tokens": True}, "an integer from 1"),
    ("completions", {"max_tokens": 15_001}, "at most 15000"),
    ("completions", {"temperature": -1}, "a number from 0 to 2"),
    ("completions", {"top_p": "1"}, "a number from 0 to 1"),
    ("completions", {"seed": 1.5}, "an integer"),
    ("completions", {"n": 2}, "`n` is not supported"),
    ("completions", {"logprobs": 5}, "`logprobs` is not supported"),
    ("completions", {"stop": ["a"] * 17}, "up to 16 texts"),
    ("completions", {"stop": [""]}, "1 to 1000 characters"),
    ("completions", {"stream": "yes"}, "send true or false"),
    ("completions", {"stream_options": 1}, "`stream_options` is not an object"),
    ("completions", {"model": None}, "lacks `model`"),
    ("completions", {"prompt": "the cat " * 10_000, "max_tokens": 1}, "the context"),
    ("completions", {"prompt": "the cat ", "stream": True, "max_tokens": 0}, "an integer from 1"),
    ("chat/completions", {"messages": []}, "not a list of messages"),
    ("chat/completions", {"messages": [{"content": "x"}]}, "message 0 has no role"),
    ("chat/completions", {"messages": [CHAT[0], {"role": "user"}]}, "content of message 1"),
    ("chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "parts other than"),
    ("chat/completions", {"messages": CHAT, "tools": [{"type": "function"}]}, "`tools` is not supported"),
    ("chat/completions", {"messages": CHAT, "response_format": {"type": "json_object"}}, "`response_format`"),
]


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda i: f"{i}: {WRONG[i][2]}")
def test_wrong_requests(server, number):
    path, fields, message = WRONG[number]
    fields = {"prompt": "the cat"} | fields if path == "completions" else fields
    answer = asked(server, path, **fields)
    assert answer.status == 400, answer.body
    error = answer.json["error"]
    assert message in error["message"] and error["type"] == "invalid_request_error" and len(answer.body) < 1000


def test_bodies_that_are_no_json(server):
    for body in (b"", b"{", b"[]", b"\xff", b"[" * 100_000):
        assert server.client().ask("/v1/completions", body).status == 400
    assert server.client().ask("/v1/completions", b" " * (1 << 20 | 1)).status == 413
    assert server.client().ask("/v1/completions").status == 405
    assert asked(server, "completions", model="other", prompt="x").status == 404


def test_tokens_are_counted(server):
    names = [f'relay_tokens_total{{model="tiny",part="{part}"}}' for part in ("prompt", "answer")]
    client = server.client()
    before = [client.metric(name) for name in names]
    usage = completed(server, max_tokens=7, **EXACT).json["usage"]
    after = [client.metric(name) for name in names]
    assert [b - a for a, b in zip(before, after, strict=True)] == [usage["prompt_tokens"], usage["completion_tokens"]]


@pytest.mark.slow
def test_sigterm_waits_for_answers_and_then_cuts_them_off(folder):
    with serving(folder, "--max-tokens", "15000", "--drain", "1") as server:
        short = Events(server, "completions", prompt="the cat", max_tokens=30)
        long = long_answer(server)
        server.process.terminate()
        assert list(short)[-1] == "[DONE]"
        assert "[DONE]" not in long
        assert server.process.wait(30) == 0


@pytest.mark.slow
def test_models_that_cannot_be_served(tmp_path, folder, capfd):
    from relay.serve.__main__ import main

    (tmp_path / "bad.gguf").write_bytes(b"GGUF\3\0\0\0" + bytes([5, 0, 0, 0, 0, 0, 0, 0]))
    assert main([str(tmp_path / "bad.gguf"), "--port", "0"]) == 1
    assert "bad.gguf, byte 16" in capfd.readouterr().err
    assert main([str(folder), f"tiny={folder}", "--port", "0"]) == 1
    assert "two models are called `tiny`" in capfd.readouterr().err
