"""A network in the files of every format gives the same results, by the same kernels."""

import numpy as np
import one_network
import pytest

import relay

MOST_APART = 2  # kernels


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The compiled network by format."""
    folder = tmp_path_factory.mktemp("formats")
    one_network.write(folder)
    needs_sizes = {"mxnet", "caffe2"}
    return {
        name: relay.compile(folder / file, shapes={"x": one_network.SHAPE} if name in needs_sizes else None)
        for name, file in one_network.FILES.items()
    }


@pytest.mark.parametrize("name", one_network.FILES)
def test_results(compiled, name):
    image = one_network.IMAGE.transpose(0, 2, 3, 1) if name in one_network.LAST else one_network.IMAGE
    got = np.asarray(compiled[name](np.ascontiguousarray(image))).reshape(1, 5)
    np.testing.assert_allclose(got, one_network.probabilities(), rtol=3e-6)  # sums of 27 products in float32


def test_kernels(compiled):
    counts = {name: one.report["counts"]["kernels"] for name, one in compiled.items()}
    assert max(counts.values()) - min(counts.values()) <= MOST_APART, counts
