"""Settings of a server."""

from __future__ import annotations

import dataclasses
import os


@dataclasses.dataclass(frozen=True)
class Settings:
    """Limits of a server, and how it runs models.

    max_batch: rows of the longest batch. Requests of one model are joined along their first axis up to this length; 1
    runs each request by itself.
    max_delay: seconds that a request waits at most for others while no batch is full.
    workers: runs at the same time, of all models together.
    threads: cores of a run.
    max_queue: requests of one version that wait; further ones are refused (503).
    max_body: bytes of a request. max_bytes: bytes of all requests that are read and not answered.
    max_connections: open connections.
    timeout: seconds from the head of a request to its answer (408 while the body is read, then 504).
    drain: seconds after SIGTERM for the requests that are not answered.
    memory_limit: bytes that a run may need, or None for no limit.
    sizes: sizes of variables of input shapes for the first run of a model.
    slots: answers of language models that are generated at the same time.
    max_tokens: of an answer. max_context: positions of prompt and answer, or None for the model's.
    weights, kv_cache, precision: of language models, as in relay.generate: the form in which matrices of wider floats
        are kept, the type of keys and values, and whether inputs of products are rounded.
    control: True to let clients load and unload models.
    """

    max_batch: int = 1
    max_delay: float = 0.002
    workers: int = len(os.sched_getaffinity(0))
    threads: int = 1
    max_queue: int = 256
    max_body: int = 64 << 20
    max_bytes: int = 256 << 20
    max_connections: int = 1024
    timeout: float = 30.0
    drain: float = 30.0
    memory_limit: int | None = None
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)
    slots: int = len(os.sched_getaffinity(0))
    max_tokens: int = 1024
    max_context: int | None = None
    weights: str = "as_stored"
    kv_cache: str = "float32"
    precision: str = "as_written"
    control: bool = False
