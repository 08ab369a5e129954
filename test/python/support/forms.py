"""Short and long forms of parametrised tests."""

import pytest


def with_long_form(cases, is_short):
    """The parameters of a test: `make test` runs those for which is_short holds, and `make test-slow` the others."""
    return [case if is_short(case) else pytest.param(case, marks=pytest.mark.slow) for case in cases]


def each_nth(n, cases):
    """The parameters of a test: `make test` runs the first of every n cases, and `make test-slow` the others."""
    return [
        case if number % n == 0 else pytest.param(case, marks=pytest.mark.slow) for number, case in enumerate(cases)
    ]
