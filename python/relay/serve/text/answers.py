"""Answers of OpenAI's interface: JSON objects, and events for answers that are sent as they are generated."""

from __future__ import annotations

import json
import secrets

from ... import _core
from ...decoding import Answer
from ..problems import Refused
from .models import TextModel
from .requests import TextRequest

DONE = b"data: [DONE]\n\n"
_REASONS = {"stop": "stop", "tokens": "length"}


def event(message: dict) -> bytes:
    """Returns an event of a stream."""
    return b"data: " + json.dumps(message, separators=(",", ":")).encode() + b"\n\n"


def error_of(error: Refused) -> dict:
    """Returns the object of an error."""
    kind = "invalid_request_error" if error.status < 500 else "server_error"
    code = "model_not_found" if error.status == 404 else None
    return {"error": {"message": str(error), "type": kind, "param": None, "code": code}}


def described(model: TextModel) -> dict:
    """Returns the object of a model."""
    return {"id": model.name, "object": "model", "created": model.created, "owned_by": "relay",
            "context_length": model.context}  # fmt: skip


def usage_of(answer: Answer) -> dict:
    """Returns the numbers of tokens."""
    prompt, made = answer.prompt_tokens, len(answer.tokens)
    return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}


class Form:
    """The objects of an answer to a request."""

    def __init__(self, request: TextRequest, created: int):
        self._is_chat = request.is_chat
        kind = "chat.completion" if request.is_chat else "text_completion"
        prefix = "chatcmpl" if request.is_chat else "cmpl"
        self._head = {
            "id": f"{prefix}-{secrets.token_hex(12)}",
            "object": f"{kind}.chunk" if request.stream and request.is_chat else kind,
            "created": created,
            "model": request.model,
            "system_fingerprint": f"relay-{_core.version}",
        }

    def _choice(self, key: str, value: object, answer: Answer | None) -> dict:
        reason = _REASONS.get(answer.ended) if answer else None
        return self._head | {"choices": [{"index": 0, key: value, "logprobs": None, "finish_reason": reason}]}

    def whole(self, text: str, answer: Answer) -> dict:
        """Returns the object of a whole answer."""
        key, value = ("message", {"role": "assistant", "content": text}) if self._is_chat else ("text", text)
        return self._choice(key, value, answer) | {"usage": usage_of(answer)}

    def first(self) -> list[dict]:
        """Returns the objects before the first piece of a stream."""
        return [self._choice("delta", {"role": "assistant", "content": ""}, None)] if self._is_chat else []

    def piece(self, text: str) -> dict:
        """Returns the object of a piece."""
        return self._choice("delta", {"content": text}, None) if self._is_chat else self._choice("text", text, None)

    def last(self, answer: Answer, with_usage: bool) -> list[dict]:
        """Returns the objects after the last piece."""
        end = self._choice("delta", {}, answer) if self._is_chat else self._choice("text", "", answer)
        return [end, self._head | {"choices": [], "usage": usage_of(answer)}] if with_usage else [end]
