"""Numbers of a server, in the form that Prometheus reads."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counts of requests, times and lengths. Labels are names of models that exist, so a client cannot add series."""

    def __init__(self):
        self._registry = CollectorRegistry()

        def made(kind, name, help, labels=("model",), **named):
            return kind(f"relay_{name}", help, labels, registry=self._registry, **named)

        self.requests = made(Counter, "requests", "Inference requests by HTTP status", ("model", "status"))
        self.seconds = made(
            Histogram, "request_seconds", "Seconds from a request's head to its answer", buckets=_SECONDS
        )
        self.queue_seconds = made(
            Histogram, "queue_seconds", "Seconds that requests waited for a run", buckets=_SECONDS
        )
        self.run_seconds = made(Histogram, "run_seconds", "Seconds of runs", buckets=_SECONDS)
        self.batch_rows = made(Histogram, "batch_rows", "Rows of runs along the first axis", buckets=_ROWS)
        self.queue_length = made(Gauge, "queue_length", "Requests that wait for a run")
        self.running = made(Gauge, "running", "Runs that have begun and not ended")
        self.tokens = made(Counter, "tokens", "Tokens of language models", ("model", "part"))
        self.bytes = made(Gauge, "request_bytes", "Bytes of requests that are not answered", ())
        self.reloads = made(Counter, "loads", "Models loaded, by result", ("model", "result"))

    def text(self) -> bytes:
        """Returns all numbers in Prometheus's text format."""
        return generate_latest(self._registry)
