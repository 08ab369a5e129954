"""Short and long forms of parametrised tests."""

import pytest


def _slow(case):
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
    return pytest.param(case, marks=pytest.mark.slow)


def with_long_form(cases, is_short):
    """The parameters of a test: `make test` runs those for which is_short holds, and `make test-slow` the others.

    Cases of several parameters are written pytest.param(first, second).
    """
    return [case if is_short(case) else _slow(case) for case in cases]


def each_nth(n, cases):
    """The parameters of a test: `make test` runs the first of every n cases, and `make test-slow` the others."""
    return [case if number % n == 0 else _slow(case) for number, case in enumerate(cases)]
