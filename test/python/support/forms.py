"""Short and long forms of parametrised tests."""

import pytest


def with_long_form(cases, is_short):
    """The parameters of a test: `make test` runs those for which is_short holds, and `make test-slow` the others."""
    return [case if is_short(case) else pytest.param(case, marks=pytest.mark.slow) for case in cases]
