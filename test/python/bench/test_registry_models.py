"""The comparison of results in `make models-registry`, and the completeness of its list."""

import sys

import numpy as np
import pytest
from programs import ROOT

pytest.importorskip("onnxruntime")
sys.path.insert(0, str(ROOT / "test/registry"))
import registry_models  # noqa: E402
import registry_packages  # noqa: E402
import registry_run  # noqa: E402


def test_every_model_has_its_runs():
    listed = registry_run.fetch_models.names(packages=registry_packages.PACKAGES)
    assert sorted(listed) == sorted(registry_models.RUNS)
    assert set(registry_models.TOLERANCES) <= set(registry_models.RUNS)


def test_what_differs_is_seen():
    wanted = np.array([1, 2, 4], np.float32)
    near = np.array([1, 2, 4.0003], np.float32)
    assert not registry_run.difference(near, wanted, 1e-4)[1]
    assert registry_run.difference(np.array([1, 2, 4.001], np.float32), wanted, 1e-4)[1]
    assert registry_run.difference(np.array([1, 2, np.nan], np.float32), wanted, 1e-4)[1]
    assert registry_run.difference(wanted[:2], wanted, 1e-4)[1]
    assert registry_run.difference(wanted.astype(np.float64), wanted, 1e-4)[1]
    assert registry_run.difference(np.array([1, 3]), np.array([1, 2]), 1e-4)[1]
