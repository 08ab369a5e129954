"""Requests of OpenAI's interface: the JSON object of a completion or a chat, checked field by field."""

from __future__ import annotations

import dataclasses
import json

from ... import _core
from ..problems import Refused, bad_request

_MOST_STOPS, _LONGEST_STOP = 16, 1000  # texts that end an answer, and characters of each
_DEFAULT_TOKENS = 16  # of a completion without max_tokens
_MOST_PER_TOKEN = 256  # characters of the longest token, at a guess that is too high

# Fields with numbers: the least and the greatest value, and whether fractions are allowed.
_NUMBERS = {
    "max_tokens": (1, 1 << 24, False),
    "max_completion_tokens": (1, 1 << 24, False),
    "temperature": (0, 2, True),
    "top_p": (0, 1, True),
    "top_k": (0, 1 << 31, False),
    "min_p": (0, 1, True),
    "repetition_penalty": (0.01, 100, True),
    "seed": (-(1 << 63), (1 << 63) - 1, False),
}
# Fields for what the server does not do, with the values that ask for nothing.
_ABSENT = {
    "n": (1,),
    "best_of": (1,),
    "echo": (False,),
    "logprobs": (False, 0),
    "top_logprobs": (0,),
    "suffix": ("",),
    "logit_bias": ({},),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "tools": ([],),
    "functions": ([],),
    "tool_choice": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
}
_IGNORED = {
    "user", "metadata", "store", "service_tier", "parallel_tool_calls", "safety_identifier", "prompt_cache_key",
}  # fmt: skip
_COMMON = {"model", "stream", "stream_options", "stop", *_NUMBERS, *_ABSENT, *_IGNORED}
_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "seed")


@dataclasses.dataclass(frozen=True)
class TextRequest:
    """A request for text.

    prompt: a text, or the messages of a chat. max_tokens: of the answer. stream: True to send the text as it is
    generated, with the numbers of tokens at the end if `with_usage`.
    """

    model: str
    prompt: str | list[dict]
    max_tokens: int | None
    stop: list[str]
    sampling: dict
    stream: bool
    with_usage: bool

    @property
    def is_chat(self) -> bool:
        return not isinstance(self.prompt, str)


def decoded(body: bytes | bytearray, is_chat: bool) -> TextRequest:
    """Returns the request of a body. Raises Refused (400)."""
    message = _object(body)
    wanted = "messages" if is_chat else "prompt"
    _check_names(message, _COMMON | {wanted})
    message = {name: value for name, value in message.items() if value is not None}
    if wanted not in message:
        raise bad_request(f"the request lacks `{wanted}`", f"give `{wanted}`")
    if not isinstance(message.get("model"), str):
        raise bad_request("the request lacks `model`, a text", "give one of the models at /v1/models")
    for name, values in _ABSENT.items():
        if name in message and message[name] not in values:
            raise bad_request(f"`{name}` is not supported", "leave it out")
    numbers = {name: _number(message, name) for name in _NUMBERS if name in message}
    most = numbers.get("max_completion_tokens", numbers.get("max_tokens", None if is_chat else _DEFAULT_TOKENS))
    sampling = {"temperature": 1.0} | {name: numbers[name] for name in _SAMPLING if name in numbers}
    if "seed" in sampling:
        sampling["seed"] %= 1 << 64
    stream, usage = _stream(message)
    prompt = _messages(message["messages"]) if is_chat else _prompt(message["prompt"])
    return TextRequest(message["model"], prompt, most, _stops(message.get("stop", [])), sampling, stream, usage)


def check_length(request: TextRequest, context: int) -> None:
    """Raises Refused (400) for a prompt that cannot fit, before its tokens are counted."""
    texts = [request.prompt] if isinstance(request.prompt, str) else [one["content"] for one in request.prompt]
    if (size := sum(map(len, texts))) > _MOST_PER_TOKEN * context:
        raise bad_request(
            f"the prompt has {size} characters, too many for a context of {context} tokens", "send a shorter prompt"
        )


def _object(body: bytes | bytearray) -> dict:
    try:
        message = json.loads(body)
    except RecursionError as error:
        raise bad_request("the JSON object is nested too deeply", "send the fields that the interface has") from error
    except ValueError as error:
        raise bad_request(f"the request is not JSON: {error}", "send a JSON object") from error
    if not isinstance(message, dict):
        raise bad_request("the request is not a JSON object", 'send {"model": ..., "prompt": ...}')
    return message


def _check_names(message: dict, names: set[str]) -> None:
    for name in message:
        if name not in names:
            near = _core.suggestions(name[:200], sorted(names), 1)
            raise bad_request(
                f"there is no parameter `{name[:200]}`", f"did you mean `{near[0]}`?" if near else "leave it out"
            )


def _number(message: dict, name: str) -> int | float:
    value, (least, most, fractions) = message[name], _NUMBERS[name]
    is_number = type(value) is int or (fractions and type(value) is float)
    if not is_number or not least <= value <= most:
        kind = "a number" if fractions else "an integer"
        raise bad_request(f"`{name}` is {str(value)[:40]}", f"send {kind} from {least} to {most}")
    return value


def _flag(values: dict, name: str) -> bool:
    if not isinstance(found := values.get(name, False), bool):
        raise bad_request(f"`{name}` is not a boolean", "send true or false")
    return found


def _stream(message: dict) -> tuple[bool, bool]:
    options = message.get("stream_options", {})
    if not isinstance(options, dict):
        raise bad_request("`stream_options` is not an object", 'send {"include_usage": true}')
    return _flag(message, "stream"), _flag(options, "include_usage")


def _stops(stop: object) -> list[str]:
    stops = [stop] if isinstance(stop, str) else stop
    fits = isinstance(stops, list) and len(stops) <= _MOST_STOPS
    if not fits or not all(isinstance(one, str) and 0 < len(one) <= _LONGEST_STOP for one in stops):
        raise bad_request(
            "`stop` is not a text or a list of texts",
            f"send up to {_MOST_STOPS} texts of 1 to {_LONGEST_STOP} characters",
        )
    return stops


def _prompt(prompt: object) -> str:
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise bad_request("`prompt` is not a text", "send one text; several prompts need as many requests")
    return prompt


def _messages(messages: object) -> list[dict]:
    if not isinstance(messages, list) or not messages:
        raise bad_request("`messages` is not a list of messages", 'send [{"role": "user", "content": "..."}]')
    return [_message(one, place) for place, one in enumerate(messages)]


def _message(one: object, place: int) -> dict:
    if not isinstance(one, dict) or not isinstance(one.get("role"), str):
        raise bad_request(f"message {place} has no role", 'send {"role": "user", "content": "..."}')
    content = one.get("content")
    if isinstance(content, list):
        content = _joined(content, place)
    if not isinstance(content, str):
        raise bad_request(f"the content of message {place} is not a text", "send a text")
    return {"role": one["role"], "content": content}


def _joined(parts: list, place: int) -> str:
    texts = [part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise Refused(400, f"message {place} has parts other than texts", 'send {"type": "text", "text": "..."} only')
    return "".join(texts)
