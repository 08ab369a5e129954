"""Long runs of a decoder: memory, and states that grow."""

import resource
import sys

import numpy as np
import pytest
from memory import allocated
from relay.decoding.decoder import Decoder
from relay.decoding.source import opened
from small_texts import folder_path
from tiny_decoders import folder_of


@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc")
def test_a_thousand_steps_allocate_nothing_and_copy_no_cache():
    """A copy of one state would be 1 MiB. The second time, each number of positions that attention reads was met."""
    decoder = Decoder(opened(folder_of("llama")), cache=False, threads=1, tier="full")
    state = decoder.state(16384)  # 16384 positions of two heads of eight elements
    tokens = np.random.default_rng(0).integers(3, 131, (1100, 1, 1))

    def run(count):
        state.lengths[:] = 0
        for one in tokens[:count]:
            state.feed(one)

    run(1100)
    before, faults = allocated(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    run(1000)
    assert allocated() - before < 1 << 16
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults < 256  # pages: 1 MiB
    assert all(one["in_place"] for one in decoder.compiled.report["donations"])


def test_a_state_grows():
    decoder = Decoder(opened(folder_path()), cache=False, threads=1)
    tokens = np.random.default_rng(1).integers(1, 300, (2, 200))
    state, whole = decoder.state(100, 2), decoder.state(200, 2)
    wanted = whole.feed(tokens)
    state.feed(tokens[:, :90])
    state.grow(200)
    np.testing.assert_allclose(state.feed(tokens[:, 90:]), wanted, rtol=1e-4, atol=1e-4)
