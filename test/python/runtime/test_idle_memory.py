"""Memory that a model keeps between its runs."""

import sys
import threading

import numpy as np
import pytest
from memory import allocated

import relay

MB = 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc")
def test_runs_at_the_same_time_leave_one_arena():
    """Each of eight runs has temporaries of 24 MB. Afterwards, the model keeps those of one, and the process at most
    64 MB of freed arrays."""
    rows = 3072
    model = relay.compile(
        relay.parse(f"""#[version = "0.0.5"]
def @main(%x: Tensor[({rows}, 1024), float32]) {{
  let %y = nn.softmax(transpose(nn.softmax(%x), axes=[1, 0]));
  sum(nn.softmax(transpose(%y, axes=[1, 0])))
}}
"""),
        threads=1,
        tier="full",
    )
    x = np.random.default_rng(1).standard_normal((rows, 1024), "f")
    wanted, before = model(x), allocated()
    start, results = threading.Barrier(8), []

    def run():
        start.wait()
        results.append(model(x))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.tobytes() for result in results] == [wanted.tobytes()] * 8
    assert allocated() - before < 80 * MB
