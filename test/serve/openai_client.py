"""The client library of OpenAI against a running server with the models tiny and soft: PORT."""

import asyncio
import sys

import openai

URL = f"http://127.0.0.1:{sys.argv[1]}/v1"
MESSAGES = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "the cat"}]


def check_answers(client):
    assert [one.id for one in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").owned_by == "relay"
    how = {"model": "tiny", "max_tokens": 20, "temperature": 0}
    whole = client.completions.create(prompt="the cat", **how)
    assert whole.choices[0].finish_reason == "length" and whole.usage.completion_tokens == 20
    pieces = list(client.completions.create(prompt="the cat", stream=True, **how))
    assert "".join(one.choices[0].text for one in pieces) == whole.choices[0].text

    chat = client.chat.completions.create(messages=MESSAGES, **how)
    options = {"stream": True, "stream_options": {"include_usage": True}}
    *pieces, usage = client.chat.completions.create(messages=MESSAGES, **how, **options)
    text = "".join(one.choices[0].delta.content or "" for one in pieces)
    assert text == chat.choices[0].message.content and chat.choices[0].message.role == "assistant"
    assert usage.usage == chat.usage and pieces[-1].choices[0].finish_reason == chat.choices[0].finish_reason

    stop = whole.choices[0].text[4:6]
    ended = client.completions.create(prompt="the cat", stop=[stop], **how)
    assert ended.choices[0].finish_reason == "stop" and stop not in ended.choices[0].text
    drawn = [client.completions.create(prompt="the cat", **how | {"temperature": 1, "top_p": 0.9, "seed": 3})
             for _ in range(2)]  # fmt: skip
    assert drawn[0].choices[0].text == drawn[1].choices[0].text != whole.choices[0].text
    narrow = client.completions.create(prompt="the cat", **how | {"temperature": 1}, extra_body={"top_k": 1})
    assert narrow.choices[0].text == whole.choices[0].text


def check_errors(client):
    for wanted, fields in ((openai.NotFoundError, {"model": "tyni"}), (openai.BadRequestError, {"n": 2}),
                           (openai.BadRequestError, {"max_tokens": 10**6})):  # fmt: skip
        try:
            client.chat.completions.create(**{"model": "tiny", "messages": MESSAGES} | fields)
        except wanted as error:
            assert error.body["message"] and error.body["type"] == "invalid_request_error"
        else:
            raise AssertionError(f"{wanted}: no error")


async def check_many():
    """More requests than slots, streams that are left in the middle among them."""
    client = openai.AsyncOpenAI(base_url=URL, api_key="none", max_retries=0)
    how = {"model": "tiny", "prompt": "the cat", "temperature": 0}

    async def left():
        async with await client.completions.create(max_tokens=2000, stream=True, **how) as stream:
            async for _ in stream:
                return

    async def answered():
        return (await client.completions.create(max_tokens=10, **how)).choices[0].text

    wanted = await answered()
    assert wanted

    answers = await asyncio.gather(*(answered() if i % 2 else left() for i in range(12)))
    assert [one for one in answers if one is not None] == [wanted] * 6, (wanted, answers)


def main():
    client = openai.OpenAI(base_url=URL, api_key="none", max_retries=0)
    check_answers(client)
    check_errors(client)
    asyncio.run(check_many())
    print("ok")


main()
