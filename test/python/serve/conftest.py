"""Servers that several tests ask."""

import pytest
from served import PARTS, SLOW, SOFTMAX, serving

import relay


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Files of models, by name."""
    folder = tmp_path_factory.mktemp("models")
    for name, text in {"soft": SOFTMAX, "parts": PARTS, "slow": SLOW}.items():
        (folder / f"{name}.relay").write_text(text)
    relay.compile(relay.parse(SOFTMAX)).save(folder / "soft.rart")
    return folder


@pytest.fixture(scope="session")
def server(models):
    """A server with small limits, which runs each request by itself."""
    files = [models / "soft.rart", models / "parts.relay", f"deep={models / 'slow.relay'}"]
    limits = ["--max-body", "256k", "--max-bytes", "1M", "--timeout", "20", "--memory-limit", "64M"]
    with serving(*files, *limits) as one:
        yield one


@pytest.fixture
def client(server):
    return server.client()
