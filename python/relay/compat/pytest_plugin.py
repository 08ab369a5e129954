"""Fixtures of tests written for TVM: `target`, `dev` and `executor_kind`. `python -m relay.compat` loads it."""

from __future__ import annotations

import pytest

from relay.run.build_module import cpu


def pytest_generate_tests(metafunc) -> None:
    """Parametrizes the fixtures of one tvm.testing.parameters() together."""
    groups: dict[int, list] = {}
    for name in metafunc.fixturenames:
        definitions = metafunc._arg2fixturedefs.get(name, ())
        function = definitions[-1].func if definitions else None
        if hasattr(function, "value_sets"):
            groups.setdefault(id(function.value_sets), []).append((name, function))
    for members in groups.values():
        value_sets, ids = members[0][1].value_sets, members[0][1].ids
        rows = [tuple(values[function.place] for _, function in members) for values in value_sets]
        metafunc.parametrize([name for name, _ in members], rows, ids=ids and list(ids))


@pytest.fixture
def target() -> str:
    """Returns the processor."""
    return "llvm"


@pytest.fixture
def dev():
    """Returns the processor."""
    return cpu()


@pytest.fixture(params=["graph", "vm"])
def executor_kind(request) -> str:
    """Returns the kind of executor; the test runs with each of them."""
    return request.param
