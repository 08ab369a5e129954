"""TextModel, a language model that answers requests."""

from __future__ import annotations

import time
from pathlib import Path

from ...decoding import Model, Stream
from ..settings import Settings
from .requests import TextRequest


class TextModel:
    """A language model, compiled and run once. Raises InputError (R0601) if it cannot be used."""

    def __init__(self, name: str, path: str | Path, settings: Settings):
        self.name = name
        self.model = Model(path, threads=settings.threads)
        self.created = int(time.time())
        self.context = min(self.model.config.context, settings.max_context or self.model.config.context)
        self.model.default_tokens = settings.max_tokens
        "".join(self.model.stream("a", max_tokens=2))

    def stream(self, request: TextRequest) -> Stream:
        """Returns the answer to a request. Raises InputError."""
        how = {"max_tokens": request.max_tokens, "stop": request.stop, "context": self.context, **request.sampling}
        return self.model.stream(request.prompt, **how)
