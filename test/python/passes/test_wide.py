"""Concatenations, stacks and splits of very many tensors: values, and compile time that grows with their number."""

import time

import numpy as np
import pytest
from forms import each_nth

import relay

HEADER = '#[version = "0.0.5"]\n'


def compiled(parameters, body):
    return relay.compile(relay.parse(f"{HEADER}def @main({parameters}) {{ {body} }}\n"))


@pytest.mark.parametrize("n", each_nth(2, [65, 1000]))
def test_concatenate_and_stack(n):
    widths = [1 + i % 3 for i in range(n)]
    parameters = ", ".join(f"%x{i}: Tensor[(2, {w}), float32]" for i, w in enumerate(widths))
    some = [i - i % 3 for i in range(n)]  # of one width
    lists = [", ".join(f"%x{i}" for i in places) for places in (range(n), some)]
    model = compiled(parameters, f"(concatenate(({lists[0]}), axis=-1), stack(({lists[1]}), axis=-1))")
    arrays = [np.random.default_rng(i).random((2, w), np.float32) for i, w in enumerate(widths)]
    joined, stacked = model(*arrays)
    np.testing.assert_array_equal(joined, np.concatenate(arrays, -1))
    np.testing.assert_array_equal(stacked, np.stack([arrays[i] for i in some], -1))


@pytest.mark.parametrize("n", [65, 1000])
def test_split(n):
    cuts = sorted(np.random.default_rng(n).integers(0, 3 * n, n).tolist())
    model = compiled(f"%x: Tensor[(2, {3 * n}), float32]", f"split(%x, indices_or_sections={cuts}, axis=-1)")
    x = np.random.default_rng(0).random((2, 3 * n), np.float32)
    for got, expected in zip(model(x), np.split(x, cuts, -1), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "body",
    [
        lambda n: f"concatenate(({', '.join(['%x'] * n)}))",
        lambda n: f"split(%x, indices_or_sections={list(range(1, n))})",
    ],
)
def test_compile_time_grows_with_the_number(body):
    def seconds(n):
        begin = time.process_time()
        compiled(f"%x: Tensor[({n}, 2), float32]", body(n))
        return time.process_time() - begin

    seconds(100)
    assert seconds(4000) < 12 * seconds(1000)  # 16 would be quadratic
