"""Settings of all tests, and the option --target: models are compiled for this processor if a test names none.

If this machine cannot run the compiled code, the test is skipped at that point. Tests that start the program as a user
does are not affected.
"""

import collections
import functools
import os
import re

import pytest

# Tests compile their models, and never find them in a user's cache. test_cache.py has a cache of its own.
os.environ["RELAY_CACHE"] = "off"


def pytest_addoption(parser):
    parser.addoption("--target", help="compile for this processor where a test names none, as in --target haswell")


def skipping_refusals(compile_native, aimed):
    """_core.compile or _core.compile_file. A refusal to run a model here is a skip if --target asked for it."""

    @functools.wraps(compile_native)
    def compiled(model, options, *more):
        try:
            return compile_native(model, options, *more)
        except Exception as error:
            is_aimed = any(options is one for one in aimed)
            if is_aimed and re.search(r"error\[R0602\]: the model is compiled for", str(error)):
                pytest.skip("compiled only: this machine does not run code for --target")
            raise

    return compiled


@pytest.fixture(autouse=True, scope="session")
def options_of_tests(pytestconfig):
    """Compilations are refused if a schedule rule fails, where users get a slower schedule and a message; and --target
    takes the place of this machine."""
    import relay

    core, target = relay._core, pytestconfig.getoption("--target")
    options_of, aimed = core.Options, collections.deque(maxlen=64)

    def with_defaults(given):
        is_native = target is not None and given.get("target") in (None, "native")
        options = options_of({"strict": True} | given | ({"target": target} if is_native else {}))
        if is_native:
            aimed.append(options)
        return options

    core.Options = with_defaults
    for name in ("compile", "compile_file"):
        setattr(core, name, skipping_refusals(getattr(core, name), aimed))
