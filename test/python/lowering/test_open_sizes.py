"""Register tiles over sizes that are known at run time only, for every number of rows. Values are small integers, so
that sums are exact."""

import re

import numpy as np
import pytest
from programs import cli

import relay

HEAD = '#[version = "0.0.5"]\ndef @main'


def ints(*shape, seed=0):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def test_rows_of_every_number():
    text = f"{HEAD}(%x: Tensor[(n, 40), float32], %w: Tensor[(24, 40), float32]) {{ nn.relu(nn.dense(%x, %w)) }}"
    w, model = ints(24, 40), relay.compile(relay.parse(text), threads=2)
    for n in range(1, 40):
        x = ints(n, 40, seed=n)
        np.testing.assert_array_equal(model(x, w), np.maximum(x @ w.T, 0))


def test_a_result_in_the_place_of_an_input():
    """Rows that do not exist are computed from the last one, whose memory may have its result already."""
    text = f"""{HEAD}(%sum: Tensor[(n, 24), float32], %x: Tensor[(n, 40), float32], %w: Tensor[(24, 40), float32]) {{
  add(%sum, nn.dense(%x, %w))
}}"""
    w = ints(24, 40)
    for threads in (1, 2):
        model = relay.compile(relay.parse(text), threads=threads, donate={"sum": 0})
        assert [one["in_place"] for one in model.report["donations"]] == [True]
        for n in range(1, 40):
            total, x = ints(n, 24, seed=n), ints(n, 40, seed=n + 1)
            wanted = total + x @ w.T
            np.testing.assert_array_equal(model(total, x, w), wanted)


@pytest.mark.parametrize("height", [1, 3])
def test_windows_of_every_width(height):
    text = f"""{HEAD}(%x: Tensor[(1, 8, h, w), float32], %k: Tensor[(16, 8, 3, 3), float32],
    %y: Tensor[(1, 16, h, w), float32]) {{
  add(nn.conv2d(%x, %k, padding=[1, 1, 1, 1]), %y)
}}"""
    w, model = ints(16, 8, 3, 3), relay.compile(relay.parse(text), threads=1)
    for width in (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 23):
        x, y = ints(1, 8, height, width, seed=width), ints(1, 16, height, width)
        np.testing.assert_array_equal(model(x, w, y), convolved(x, w) + y)


def convolved(x, w):
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w)


def test_a_tile_has_three_copies(tmp_path):
    """A copy with all rows, one with at most four for the rest, and one with a single row."""
    (tmp_path / "dense.relay").write_text(
        f"{HEAD}(%x: Tensor[(n, 40), float32], %w: Tensor[(24, 40), float32]) {{ nn.dense(%x, %w) }}"
    )
    loops = cli("opt", tmp_path / "dense.relay", "--target", "zen3", "--emit", "loop").stdout
    sums = re.findall(r"alloc (\w+): float32\[(\d+), (\d+)\] in register", loops)
    rows = [int(rows) for name, rows, _ in sums if name == sums[-1][0]]
    assert rows[0] > 2 and sorted(rows[1:]) == [1, min(4, rows[0] - 1)], loops
