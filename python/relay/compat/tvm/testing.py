"""tvm.testing: helpers for tests. There is one target."""

from __future__ import annotations

import sys

import numpy as np

from relay.run.build_module import cpu

from ..outside import missing as _missing

_outside = _missing("tvm.testing")


def assert_allclose(actual, desired, rtol=1e-7, atol=1e-7) -> None:
    """Asserts that both are close in every element."""
    np.testing.assert_allclose(np.asarray(actual), np.asarray(desired), rtol=rtol, atol=atol, verbose=True)


def enabled_targets():
    """Returns the (target, device) pairs to run on."""
    return [("llvm", cpu())]


def device_enabled(target) -> bool:
    """Returns true if programs can run on a target."""
    return str(getattr(target, "kind", target)).split()[0] in ("llvm", "cpu")


def _pytest():
    import pytest

    return pytest


def _value(*of_class, request):
    return request.param


def parameter(*values, ids=None):
    """Returns a fixture with each of the values."""
    return _pytest().fixture(params=values, ids=ids)(_value)


def parameters(*value_sets, ids=None):
    """Returns fixtures that take their values together; relay.compat.pytest_plugin parametrizes them."""

    def make(place):
        def values(*of_class, request):
            raise RuntimeError("load the plugin relay.compat.pytest_plugin: python -m relay.compat -m pytest FILE")

        values.value_sets, values.place, values.ids = value_sets, place, ids
        return _pytest().fixture(values)

    return tuple(make(place) for place in range(len(value_sets[0])))


def fixture(function=None, *, cache_return_value=False):
    """Returns the fixture decorator of pytest."""
    return _pytest().fixture(function) if function else _pytest().fixture


def parametrize_targets(*targets):
    """Parametrizes `target` and `dev` of a test by the available targets."""
    pytest = _pytest()
    mark = pytest.mark.parametrize("target,dev", enabled_targets())
    return mark(targets[0]) if len(targets) == 1 and callable(targets[0]) else mark


def uses_gpu(function):
    """Runs the test, which would also use a GPU."""
    return function


def _skips(what: str):
    return lambda function: _pytest().mark.skip(reason=f"{what}: there is one device, the processor")(function)


requires_gpu = _skips("requires a GPU")
requires_cuda = _skips("requires CUDA")
requires_opencl = _skips("requires OpenCL")


def _requirement(name: str):
    """Defines requires_NAME for a missing feature: a decorator, with or without arguments, that skips."""

    def requires(*args, **named):
        if len(args) == 1 and callable(args[0]) and not named:
            return _skips(f"requires {name}")(args[0])
        return _skips(f"requires {name}")

    return requires


def requires_package(*packages):
    """Runs a test if the packages can be imported."""
    import importlib.util

    missing = [name for name in packages if importlib.util.find_spec(name.partition(".")[0]) is None]
    return _pytest().mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def slow(function):
    """Runs the test, although it is slow."""
    return function


def skip_if_32bit(reason: str = ""):
    """Runs the test: processors here have 64 bits."""
    return lambda function: function


def skip_if_wheel_test(function):
    """Runs the test."""
    return function


def requires_x86(function):
    """Runs the test on x86-64 processors only."""
    import platform

    return _pytest().mark.skipif(platform.machine() != "x86_64", reason="requires an x86-64 processor")(function)


def exclude_targets(*targets):
    """Runs the test: the targets to exclude are not supported here anyway."""
    return lambda function: function


def skip_if_no_reference_system(function):
    """Skips the test: it needs a simulator of a board."""
    return _skips("requires a simulator of a board")(function)


def __getattr__(name: str):
    if name.startswith("requires_"):
        return _requirement(name.removeprefix("requires_"))
    return _outside(name)


def requires_llvm(function):
    """Runs the test: LLVM is always available."""
    return function


def known_failing_targets(*targets):
    """Runs the test: the targets to exclude are not supported here anyway."""
    return lambda function: function


def main() -> None:
    """Runs the tests of the calling file."""
    sys.exit(
        _pytest().main(["-p", "relay.compat.pytest_plugin", sys._getframe(1).f_globals["__file__"], *sys.argv[1:]])
    )
