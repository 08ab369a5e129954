"""Settings of all tests, and the option --target: models are compiled for this processor if a test names none.

If this machine cannot run the compiled code, the test is skipped at that point. Tests that start the program as a user
does are not affected.
"""

import functools
import os
import re

import pytest

# Tests compile their models, and never find them in a user's cache. test_cache.py has a cache of its own.
os.environ["RELAY_CACHE"] = "off"


def pytest_addoption(parser):
    parser.addoption("--target", help="compile for this processor where a test names none, as in --target haswell")


def aimed_at(target, compile_native):
    """_core.compile or _core.compile_file, with `target` in place of this machine; a refusal to load it here is a
    skip."""

    @functools.wraps(compile_native)
    def aimed(*args):
        given = [target if isinstance(arg, str) and arg == "native" else arg for arg in args]
        try:
            return compile_native(*given)
        except Exception as error:
            if given != list(args) and re.search(r"error\[R0602\]: the model is compiled for", str(error)):
                pytest.skip(f"compiled only: this machine does not run code for {target}")
            raise

    return aimed


@pytest.fixture(autouse=True, scope="session")
def target_option(pytestconfig):
    if target := pytestconfig.getoption("--target"):
        import relay

        for name in ("compile", "compile_file"):
            setattr(relay._core, name, aimed_at(target, getattr(relay._core, name)))


@pytest.fixture(autouse=True, scope="session")
def strict_schedules():
    """Compilations are refused if a schedule rule fails. Users get a slower schedule and a message."""
    import relay

    relay.compile.__kwdefaults__["strict"] = True
