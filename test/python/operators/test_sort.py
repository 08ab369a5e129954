"""Operators with loops of their own (sorting, cumulative sums, bisection, scattering): values, and growth of time."""

import time

import numpy as np
import pytest

import relay

HEADER = '#[version = "0.0.5"]\n'
RNG = np.random.default_rng(7)


def compiled(parameters, body):
    return relay.compile(relay.parse(f"{HEADER}def @main({parameters}) {{ {body} }}\n"), strict=True)


def numbers(dtype, *shape):
    if np.dtype(dtype).kind == "f":
        x = RNG.standard_normal(shape).astype(dtype)
        x.reshape(-1)[::7] = np.round(x.reshape(-1)[::7])  # zeros of both signs, equal elements
        x.reshape(-1)[::11] = np.nan
        x.reshape(-1)[::13] = [np.inf, -np.inf][len(x.reshape(-1)) % 2]
        return x
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [20, 700])
def test_argsort_of_every_type(dtype, n):
    x = numbers(dtype, 3, n)
    up, down = compiled(f"%x: Tensor[(b, n), {dtype}]", "(argsort(%x), argsort(%x, is_ascend=False))")(x)
    np.testing.assert_array_equal(up, np.argsort(x, -1, kind="stable"))
    backwards = n - 1 - np.argsort(x[:, ::-1], -1, kind="stable")[:, ::-1]  # equal elements in their order
    np.testing.assert_array_equal(down, backwards)


@pytest.mark.parametrize(
    "shape, axis", [((5, 0), 1), ((0, 5), 1), ((0,), 0), ((1,), 0), ((40, 3), 0), ((2, 300, 2), 1)]
)
def test_sort_and_sums_of_any_extent(shape, axis):
    x = RNG.standard_normal(shape).astype(np.float32)
    for extents in (shape, [f"d{i}" for i in range(len(shape))]):
        parameters = f"%x: Tensor[({', '.join(map(str, extents))},), float32]"
        ordered, sums, before = compiled(
            parameters, f"(sort(%x, axis={axis}), cumsum(%x, axis={axis}), cumsum(%x, axis={axis}, exclusive=True))"
        )(x)
        np.testing.assert_array_equal(ordered, np.sort(x, axis))
        np.testing.assert_allclose(sums, np.cumsum(x, axis), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(before, np.cumsum(x, axis) - x, rtol=1e-4, atol=1e-4)


def hard_to_sort(dtype, n):
    """Arrays on which sorting by high digits alone goes wrong: narrow, clustered, equal, in order, special values."""
    yield numbers(dtype, n)
    yield np.zeros(n, dtype)
    yield np.sort(numbers(dtype, n))[::-1]
    yield RNG.integers(0, 3, n).astype(dtype)
    if np.dtype(dtype).kind == "f":
        yield (-1.0 * RNG.integers(-3, 3, n)).astype(dtype)  # zeros of both signs
        yield np.repeat(RNG.standard_normal(n // 100 + 1), 100)[:n].astype(dtype) * (1 + 1e-7 * RNG.random(n)).astype(
            dtype
        )
    else:
        width = np.iinfo(dtype).bits
        yield (RNG.integers(0, n // 300 + 2, n) << (width - 24)).astype(dtype) + RNG.integers(0, 30, n).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint64"])
@pytest.mark.parametrize("n", [1, 97, 3000, 70_000])
def test_orders_of_hard_arrays(dtype, n):
    body = "(sort(%x), sort(%x, is_ascend=False), argsort(%x), argsort(%x, is_ascend=False), topk(%x, k=1))"
    model = compiled(f"%x: Tensor[(n,), {dtype}]", body)
    for x in hard_to_sort(dtype, n):
        up, down, up_places, down_places, (top, top_place) = model(x)
        want_up = np.argsort(x, kind="stable")
        want_down = n - 1 - np.argsort(x[::-1], kind="stable")[::-1]
        np.testing.assert_array_equal(up_places, want_up)
        np.testing.assert_array_equal(down_places, want_down)
        np.testing.assert_array_equal(up, x[want_up])
        np.testing.assert_array_equal(down, x[want_down])
        np.testing.assert_array_equal(top, down[:1])
        np.testing.assert_array_equal(top_place, down_places[:1])
        if np.dtype(dtype).kind == "f":
            numeric = ~np.isnan(up)
            np.testing.assert_array_equal(np.signbit(up)[numeric], np.signbit(x[want_up])[numeric])


@pytest.mark.parametrize("n, k", [(97, 97), (40_000, 1), (40_000, 300), (200_000, 70_000)])
@pytest.mark.parametrize("kind", ["both", "values", "indices"])
def test_the_first_of_many(n, k, kind):
    for x in hard_to_sort("float32", n):
        want = (n - 1 - np.argsort(x[::-1], kind="stable")[::-1])[:k]
        found = compiled(f"%x: Tensor[({n},), float32]", f'topk(%x, k={k}, ret_type="{kind}")')(x)
        values, places = found if kind == "both" else (found, found)
        if kind != "values":
            np.testing.assert_array_equal(places, want)
        if kind != "indices":
            np.testing.assert_array_equal(values, x[want])


@pytest.mark.parametrize("n", [0, 1, 5, 500])
def test_unique_of_any_extent(n):
    x = RNG.integers(-9, 9, n).astype(np.int64)
    for extent in (n, "n"):
        for flag in ("True", "False"):
            body = f"unique(%x, sorted={flag}, return_counts=True)"
            found, places, inverse, number, counts = compiled(f"%x: Tensor[({extent},), int64]", body)(x)
            k = int(number[0])
            want, first, of, times = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
            order = np.arange(k) if flag == "True" else np.argsort(first)
            assert k == len(want)
            np.testing.assert_array_equal(found[:k], want[order])
            np.testing.assert_array_equal(places[:k], first[order])
            np.testing.assert_array_equal(counts[:k], times[order])
            np.testing.assert_array_equal(found[:k][inverse], x)
            assert not found[k:].any() and not places[k:].any() and not counts[k:].any()


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 1000])
def test_searchsorted_of_any_extent(n):
    sequence = np.sort(RNG.integers(0, max(n // 2, 1), n)).astype(np.float32)
    values = np.concatenate([sequence, sequence + 0.5, np.float32([-1, 1e9])])
    parameters = "%s: Tensor[(n,), float32], %v: Tensor[(m,), float32]"
    left, right = compiled(parameters, "(searchsorted(%s, %v), searchsorted(%s, %v, right=True))")(sequence, values)
    np.testing.assert_array_equal(left, np.searchsorted(sequence, values))
    np.testing.assert_array_equal(right, np.searchsorted(sequence, values, side="right"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_searchsorted_takes_nan_for_the_largest_number(dtype):
    sequence = np.array([-1, 0, 0, np.inf, np.nan, np.nan], dtype)
    values = np.array([np.nan, np.inf, -np.inf, 0, 2], dtype)
    parameters = f"%s: Tensor[(6,), {dtype}], %v: Tensor[(5,), {dtype}]"
    left, right = compiled(parameters, "(searchsorted(%s, %v), searchsorted(%s, %v, right=True))")(sequence, values)
    np.testing.assert_array_equal(left, np.searchsorted(sequence, values))
    np.testing.assert_array_equal(right, np.searchsorted(sequence, values, side="right"))


def test_scattered_updates_are_done_in_order():
    data, n = np.zeros((300, 4), np.float32), 2000
    indices = RNG.integers(-300, 300, (n, 4))
    updates = RNG.standard_normal((n, 4)).astype(np.float32)
    parameters = "%d: Tensor[(m, 4), float32], %i: Tensor[(n, 4), int64], %u: Tensor[(n, 4), float32]"
    body = '(scatter_elements(%d, %i, %u), scatter_elements(%d, %i, %u, reduction="add"))'
    last, total = compiled(parameters, body)(data, indices, updates)
    want_last, want_total = data.copy(), data.copy()
    for k in range(n):
        for c in range(4):
            want_last[indices[k, c], c] = updates[k, c]
            want_total[indices[k, c], c] += updates[k, c]
    np.testing.assert_array_equal(last, want_last)
    np.testing.assert_array_equal(total, want_total)


@pytest.mark.parametrize(
    "body, dtype",
    [
        ("cumsum(%x, axis=0)", "float32"),
        ("sort(%x)", "float32"),
        ("unique(%x)", "int32"),
        ("invert_permutation(%x)", "int32"),
        ("searchsorted(%x, %x)", "int32"),
        ("argwhere(%x)", "int32"),
    ],
)
def test_time_grows_with_the_elements(body, dtype):
    model = compiled(f"%x: Tensor[(n,), {dtype}]", body)
    seconds = []
    for n in (20_000, 640_000):
        x = RNG.permutation(n).astype(dtype)
        runs = []
        for _ in range(5):
            begin = time.process_time()
            model(x)
            runs.append(time.process_time() - begin)
        seconds.append(min(runs))
    assert seconds[1] < 300 * seconds[0], "32 times the elements: quadratic time would be 1024 times"


@pytest.mark.parametrize("body", ["cumsum(%x, axis=0)", "cumprod(%x, axis=0)"])
def test_running_sums_take_as_long_for_each_element_of_large_arrays(body):
    model = compiled("%x: Tensor[(n,), float32]", body)
    seconds = {}
    for n in (1_000_000, 10_000_000):
        x = RNG.random(n, np.float32)
        runs = []
        for _ in range(6):
            begin = time.process_time()
            model(x)
            runs.append(time.process_time() - begin)
        seconds[n] = min(runs) / n
    assert seconds[10_000_000] < 5 * seconds[1_000_000], "memory of a result that was dropped is used again"
