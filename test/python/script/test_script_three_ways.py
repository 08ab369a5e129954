"""Every case of script_cases*.py in plain Python, by the evaluator, and compiled: the same result."""

import dataclasses

import numpy as np
import pytest
import script_cases_of_control  # noqa: F401 - adds cases
import script_cases_of_functions  # noqa: F401 - adds cases
from script_cases import CASES

# Relative to the largest element: float32 beside NumPy, which computes some scalars in float64.
TOLERANCE = 2e-5
RUNS = [(name, at) for name, (_, arguments) in CASES.items() for at in range(len(arguments))]


def assert_same(ours, python, what):
    if isinstance(python, (tuple, list)):
        assert type(ours) is type(python) and len(ours) == len(python), f"{what}: {ours!r} instead of {python!r}"
        for at, (a, b) in enumerate(zip(ours, python, strict=True)):
            assert_same(a, b, f"{what}[{at}]")
        return
    if dataclasses.is_dataclass(python):
        assert type(ours) is type(python), f"{what}: {ours!r} instead of {python!r}"
        for field in dataclasses.fields(python):
            assert_same(getattr(ours, field.name), getattr(python, field.name), f"{what}.{field.name}")
        return
    ours, python = np.asarray(ours), np.asarray(python)
    assert ours.shape == python.shape, f"{what}: {ours.shape} instead of {python.shape}"
    assert (ours.dtype.kind in "iu") == (python.dtype.kind in "iu"), f"{what}: {ours.dtype} instead of {python.dtype}"
    if python.size:
        scale = max(1.0, float(np.nanmax(np.abs(np.where(np.isfinite(python), python, 0)))))
        assert np.allclose(ours, python, rtol=0, atol=TOLERANCE * scale, equal_nan=True), (
            f"{what}: {ours} instead of {python}"
        )


@pytest.mark.parametrize(("name", "at"), RUNS, ids=[f"{name}-{at}" for name, at in RUNS])
def test_three_ways(name, at):
    script, arguments = CASES[name]
    python = script.py(*arguments[at])
    assert_same(script.evaluate(*arguments[at]), python, "evaluated")
    assert_same(script(*arguments[at]), python, "compiled")


def test_there_are_150_functions():
    assert len(CASES) >= 150, len(CASES)
