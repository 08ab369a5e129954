"""Networks of Caffe2: results of Caffe2 itself (golden.npz, which test/frontends/caffe2_golden.py writes), old names and
arguments, and problems."""

import pathlib

import numpy as np
import pytest
from protobuf_writer import net_def

import relay

GOLDEN = np.load(pathlib.Path(__file__).with_name("golden.npz"))
CASES = sorted({key.partition("|")[0] for key in GOLDEN.files})
# Sums of up to 48 products in float32, in another order, relative to the largest value.
CLOSE = 5e-6


@pytest.mark.parametrize("name", CASES)
def test_operators(name):
    inputs = {key.partition("in:")[2]: GOLDEN[key] for key in GOLDEN.files if key.startswith(f"{name}|in:")}
    wanted = [GOLDEN[key] for key in sorted(GOLDEN.files) if key.startswith(f"{name}|out:")]
    shapes = {key: one.shape for key, one in inputs.items()}
    types = {key: str(one.dtype) for key, one in inputs.items()}
    module, params = relay.frontend.from_caffe2(
        GOLDEN[f"{name}|init"].tobytes(), GOLDEN[f"{name}|predict"].tobytes(), shapes, types
    )
    assert params == {}
    got = relay.compile(module)(*(inputs[one.name_hint] for one in module["main"].params))
    got = [np.asarray(one) for one in (got if isinstance(got, (list, tuple)) else [got])]
    for place, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if name.startswith("Dropout") and place == 1:
            continue  # the mask, which Caffe2 leaves unset in predictions
        assert a.shape == b.shape, (a.shape, b.shape)
        if b.dtype.kind == "f":
            assert np.abs(a - b).max(initial=0) <= CLOSE * max(np.abs(b).max(initial=0), 1e-30)
        else:
            np.testing.assert_array_equal(a, b)
