"""TextModel, a language model that answers requests."""

from __future__ import annotations

import time
from pathlib import Path

from ...decoding import Model, Stream
from ...decoding.running import Running
from ..metrics import Metrics
from ..settings import Settings
from .engine import Engine
from .requests import TextRequest


class TextModel:
    """A language model, compiled and run once, and the answers that it generates together. Raises InputError (R0601) if
    it cannot be used."""

    def __init__(self, name: str, path: str | Path, settings: Settings, metrics: Metrics):
        self.name = name
        self.model = Model(
            path,
            threads=settings.threads * settings.workers,  # one run at a time
            kv_cache=settings.kv_cache,
            precision=settings.precision,
            weights=settings.weights,
        )
        self.created = int(time.time())
        self.context = min(self.model.config.context, settings.max_context or self.model.config.context)
        self.model.default_tokens = settings.max_tokens
        "".join(self.model.stream("a", max_tokens=2))
        self._engine = Engine(Running(self.model.decoder), metrics.batch_rows.labels(name).observe)

    def stream(self, request: TextRequest) -> Stream:
        """Returns the answer to a request. Raises InputError."""
        how = {"max_tokens": request.max_tokens, "stop": request.stop, "context": self.context, **request.sampling}
        return self._engine.stream(self.model.member(request.prompt, **how))

    def close(self, patience: float) -> None:
        """Ends the thread that generates, and waits for this at most `patience` seconds."""
        self._engine.close(patience)
