"""What tests written for TVM take as arguments: `target` and `dev`, and `executor_kind`. `python -m relay.compat -m pytest`
uses it."""

from __future__ import annotations

import pytest

from relay.build_module import cpu


@pytest.fixture
def target() -> str:
    """The processor."""
    return "llvm"


@pytest.fixture
def dev():
    """The processor."""
    return cpu()


@pytest.fixture(params=["graph", "vm"])
def executor_kind(request) -> str:
    """How to run: with each in turn."""
    return request.param
