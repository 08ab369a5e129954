"""Networks of Caffe2 with one operator each, and the results of Caffe2 itself: golden.npz, which
test/frontends/caffe2_golden.py writes."""

import pathlib

import numpy as np

import relay

GOLDEN = np.load(pathlib.Path(__file__).with_name("golden.npz"))
CASES = sorted({key.partition("|")[0] for key in GOLDEN.files})
# Sums of up to 48 products in float32, in another order, relative to the largest value.
CLOSE = 5e-6
# Other names of an operator, and those that only make constants: test_caffe2.py compares them with values beside them.
NOT_ALONE = {
    "AveragePool2D", "Conv2D", "MaxPool2D", "ConstantFill", "GivenTensorBoolFill", "GivenTensorDoubleFill",
    "GivenTensorByteStringToUInt8Fill", "GivenTensorFill", "GivenTensorInt64Fill", "GivenTensorIntFill",
}  # fmt: skip


def operator_of(name):
    return name.partition(" ")[0]


def largest(name):
    """The largest difference of a case, relative to the largest value; integers differ by nothing or by all."""
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
    worst = 0.0
    for place, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if name.startswith("Dropout") and place == 1:
            continue  # the mask, which Caffe2 leaves unset in predictions
        assert a.shape == b.shape, (a.shape, b.shape)
        if b.dtype.kind != "f":
            np.testing.assert_array_equal(a, b)
            continue
        worst = max(worst, float(np.abs(a - b).max(initial=0) / max(np.abs(b).max(initial=0), 1e-30)))
    return worst
