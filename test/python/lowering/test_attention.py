"""Attention as one kernel: layouts, masks, lengths that are known only at run time, values that are not finite,
memory."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import relay

op = relay.op


def program(batch, heads, rows, keys, depth, columns, mask=None, causal=False):
    """softmax(q k^T / sqrt(depth) + mask) v, with the heads moved to the front as the ONNX exporters do."""
    q = relay.var("q", (batch, rows, heads * depth))
    k = relay.var("k", (batch, keys, heads * depth))
    v = relay.var("v", (batch, keys, heads * columns))

    def split(x, last, order):
        x = op.transpose(op.reshape(x, newshape=[0, 0, heads, last]), axes=order)
        return op.reshape(x, newshape=[-3, -2])

    scores = op.nn.batch_matmul(split(q, depth, [0, 2, 1, 3]), split(k, depth, [0, 2, 3, 1]), transpose_b=False)
    scores = op.reshape(scores, newshape=[-4, batch, heads, -2])
    scores = op.multiply(scores, relay.const(np.float32(depth**-0.5)))
    if causal:
        i, j = relay.var("i", (rows, 1), dtype="int32"), relay.var("j", (1, keys), dtype="int32")
        scores = op.where(op.less_equal(j, i), scores, relay.const(np.float32(-np.inf)))
    if mask:
        scores = op.add(scores, relay.var("mask", mask))
    weights = op.reshape(op.nn.softmax(scores), newshape=[-3, -2])
    y = op.nn.batch_matmul(weights, split(v, columns, [0, 2, 1, 3]), transpose_b=False)
    y = op.transpose(op.reshape(y, newshape=[-4, batch, heads, -2]), axes=[0, 2, 1, 3])
    return relay.module(op.reshape(y, newshape=[0, 0, heads * columns]))


def draw(batch, heads, rows, keys, depth, columns, seed=0):
    random = np.random.default_rng(seed)
    shapes = {"q": (batch, rows, heads * depth), "k": (batch, keys, heads * depth), "v": (batch, keys, heads * columns)}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def by_torch(heads, values, mask=None, causal=False, dtype=torch.float64):
    """The plain form: products, softmax, products."""
    q, k, v = (torch.from_numpy(values[x]).to(dtype).unflatten(-1, (heads, -1)).transpose(1, 2) for x in "qkv")
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = torch.where(allowed, scores, float("-inf"))
    if mask is not None:
        scores = scores + torch.from_numpy(mask).to(dtype)
    return (F.softmax(scores, -1) @ v).transpose(1, 2).flatten(2).numpy()


def rules(model):
    return " ".join(g["rule"] for g in model.report["groups"])


# batch, heads, rows, keys, depth, columns
STATIC = [(1, 3, 64, 64, 32, 32), (2, 2, 197, 197, 64, 64), (1, 2, 30, 1100, 48, 80), (2, 1, 70, 600, 16, 24)]


@pytest.mark.parametrize("shape", STATIC)
def test_lengths(shape):
    model = relay.compile(program(*shape))
    assert "attention" in rules(model)
    values = draw(*shape)
    assert np.abs(model(**values) - by_torch(shape[1], values)).max() < 2e-6


def test_lengths_known_at_run_time_only():
    model = relay.compile(program(1, 2, "n", "m", 32, 32, mask=(1, 1, 1, "m")))
    assert "attention" in rules(model)
    for rows, keys in [(1, 1), (1, 40), (7, 3), (8, 192), (64, 193), (65, 1000), (130, 384)]:
        values = draw(1, 2, rows, keys, 32, 32, seed=rows)
        mask = np.random.default_rng(1).standard_normal((1, 1, 1, keys)).astype(np.float32)
        assert np.abs(model(**values, mask=mask) - by_torch(2, values, mask)).max() < 2e-6, (rows, keys)


def test_few_rows_stay_as_they_are():
    shape = (1, 4, 1, 300, 64, 64)
    model = relay.compile(program(*shape))
    values = draw(*shape)
    assert "attention" not in rules(model)
    assert np.abs(model(**values) - by_torch(4, values)).max() < 2e-6


@pytest.mark.parametrize("length", [100, 700])
def test_causal(length):
    shape = (1, 2, length, length, 32, 32)
    model = relay.compile(program(*shape, causal=True))
    assert "attention" in rules(model)
    values = draw(*shape)
    places = np.arange(length, dtype=np.int32)
    got = model(**values, i=places[:, None], j=places[None])
    assert np.abs(got - by_torch(2, values, causal=True)).max() < 2e-6


@pytest.mark.parametrize("keys", [80, 1024])
def test_masks_of_infinity(keys):
    shape = (3, 2, 40, keys, 32, 32)
    model = relay.compile(program(*shape, mask=(3, 1, 1, keys)))
    values = draw(*shape)
    mask = np.zeros((3, 1, 1, keys), np.float32)
    mask[0, ..., : keys - 20] = -np.inf  # whole blocks of keys in front
    mask[1, ..., 20:] = -np.inf  # and behind
    mask[2] = -np.inf  # nothing left
    got, want = model(**values, mask=mask), by_torch(2, values, mask)
    assert np.isnan(got[2]).all() and np.isnan(want[2]).all()
    assert np.abs(got[:2] - want[:2]).max() < 2e-6


@pytest.mark.parametrize("keys", [80, 1024])
@pytest.mark.parametrize("name", ["q", "k", "v"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38, -3e38])
def test_planted_values_stay_where_the_plain_form_puts_them(keys, name, value):
    shape = (1, 2, 40, keys, 32, 32)
    model = relay.compile(program(*shape))
    values = draw(*shape)
    values[name][0, 33, 5] = value
    values["v"][0, 35:, 40] = value  # from the second half of the heads: in all keys behind
    got, want = model(**values), by_torch(2, values, dtype=torch.float32)
    assert (np.isnan(got) == np.isnan(want)).all() and (np.isinf(got) == np.isinf(want)).all()
    # Scores of 1e38 decide by their rounding which keys weigh anything: there only that the results are finite is the
    # same.
    if name == "v" or abs(value) < 1e30:
        got, want = got[np.isfinite(want)], want[np.isfinite(want)]
        assert (np.abs(got - want) <= 4e-6 * np.maximum(1, np.abs(want))).all()


def test_scores_are_not_in_memory():
    shape = (1, 2, 4096, 4096, 32, 32)
    scores = 2 * 4096 * 4096 * 4
    model = relay.compile(program(*shape), memory_limit=scores // 8)  # the run is refused if it needs more
    values = draw(*shape)
    got = model(**values)
    rows = {**values, "q": values["q"][:, :50]}
    assert np.abs(got[:, :50] - by_torch(2, rows)).max() < 2e-6


def plain(q, k, v):
    """q, k: [batch, row or key, depth]; v: [batch, key, column]."""
    return op.nn.batch_matmul(op.nn.softmax(op.nn.batch_matmul(q, k)), v, transpose_b=False)


def test_no_keys_give_zeros():
    q, k, v = (relay.var(n, (1, rows, 64)) for n, rows in (("q", 8), ("k", 0), ("v", 0)))
    model = relay.compile(relay.module(plain(q, k, v)))
    empty = np.zeros((1, 0, 64), np.float32)
    assert (model(q=np.ones((1, 8, 64), np.float32), k=empty, v=empty) == np.zeros((1, 8, 64))).all()


@pytest.mark.parametrize("level", [0, 2])
def test_keys_that_the_caller_sees_too_are_computed(level):
    q, v = relay.var("q", (1, 16, 64)), relay.var("v", (1, 16, 64))
    k = op.ones(shape=[1, 16, 64], dtype="float32")
    model = relay.compile(relay.module(relay.Tuple([plain(q, k, v), k])), opt_level=level)
    values = draw(1, 1, 16, 16, 64, 64)
    y, keys = model(q=values["q"], v=values["v"])
    assert (keys == 1).all()
    assert np.abs(y - by_torch(1, {**values, "q": values["q"] * 8, "k": np.ones_like(values["q"])})).max() < 2e-6


def test_keys_for_all_heads_are_packed_once():
    heads, rows, keys, depth = 6, 50, 90, 32
    random = np.random.default_rng(0)
    shapes = {"q": (heads, rows, depth), "k": (1, keys, depth), "v": (1, keys, depth)}
    values = {name: random.standard_normal(shape).astype(np.float32) / 4 for name, shape in shapes.items()}
    q, k, v = (relay.var(name, shape) for name, shape in shapes.items())
    k, v = (op.broadcast_to(x, [heads, keys, depth]) for x in (k, v))
    model = relay.compile(relay.module(plain(q, k, v)))
    assert "attention" in rules(model)
    q, k, v = (torch.from_numpy(values[name]).double() for name in shapes)
    assert np.abs(model(**values) - (F.softmax(q @ k.transpose(-1, -2), -1) @ v).numpy()).max() < 1e-6
