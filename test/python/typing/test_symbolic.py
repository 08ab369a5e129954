"""A single compilation for all sizes: results equal those of a compilation for each, and arrays of related sizes share
memory.
"""

import numpy as np
import pytest
from programs import cli_json

import relay

ENCODER = """#[version = "0.0.5"]
def @main(%x: Tensor[(n, s, 32), float32], %w: Tensor[(96, 32), float32], %b: Tensor[(96), float32],
          %gamma: Tensor[(32), float32], %beta: Tensor[(32), float32]) {
  let %rows = reshape(%x, newshape=[-1, 32]);
  let %all = split(reshape(nn.bias_add(nn.dense(%rows, %w), %b), newshape=[-1, s, 96]), indices_or_sections=3, axis=2);
  let %scores = nn.softmax(nn.batch_matmul(%all.0, %all.1, transpose_b=True) * 0.17677669f);
  let %mixed = nn.batch_matmul(%scores, %all.2);
  nn.layer_norm(add(%x, %mixed), %gamma, %beta)
}
"""
RNG = np.random.default_rng(1)
WEIGHTS = [RNG.standard_normal(shape).astype(np.float32) / 4 for shape in ((96, 32), (96,), (32,), (32,))]


def encoder(x):
    w, b, gamma, beta = (weight.astype(np.float64) for weight in WEIGHTS)
    q, k, v = np.split(x @ w.T + b, 3, axis=2)
    scores = q @ k.transpose(0, 2, 1) * 0.17677669
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    y = x + scores / scores.sum(-1, keepdims=True) @ v
    y = y - y.mean(-1, keepdims=True)
    return y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5) * gamma + beta


@pytest.fixture(scope="module")
def module():
    parsed = relay.parse(ENCODER)
    main = parsed["main"]
    parsed["main"] = relay.bind(main, dict(zip(main.params[1:], map(relay.const, WEIGHTS), strict=True)))
    return parsed


def draw(batch, length):
    return RNG.standard_normal((batch, length, 32)).astype(np.float32)


def test_one_compilation_serves_all_sizes(module):
    compiled = relay.compile(module)
    sizes = [(batch, 7) for batch in range(1, 65)] + [(2, length) for length in range(1, 513, 3)] + [(1, 512), (64, 64)]
    for batch, length in sizes:
        x = draw(batch, length)
        np.testing.assert_allclose(compiled(x), encoder(x), rtol=1e-4, atol=2e-5, err_msg=f"{batch}, {length}")


@pytest.mark.parametrize("size", [(1, 1), (1, 512), (64, 1), (3, 17), (16, 128), (7, 33)], ids=str)
def test_static_compilations_give_the_same(module, size):
    x = draw(*size)
    static = relay.compile(module, shapes={"x": x.shape})
    np.testing.assert_allclose(relay.compile(module)(x), static(x), rtol=1e-5, atol=1e-5)


def test_related_sizes_share_memory(tmp_path):
    file = tmp_path / "chain.relay"
    file.write_text("""#[version = "0.0.5"]
def @main(%x: Tensor[(m, 224), float32]) {
  let %a = reshape(exp(%x), newshape=[-1]);
  let %b = reshape(sqrt(%a), newshape=[-1, 224]);
  reshape(tanh(%b), newshape=[-1])
}
""")
    plan = cli_json("inspect", file, "-O", "0", "--json")["segments"][0]
    assert {buffer["type"] for buffer in plan["buffers"]} == {"float32[1, 224]", "float32[224]"}
    assert len({buffer["offset"] for buffer in plan["buffers"]}) == 2
    assert plan["arena_bytes"] == plan["lower_bound"] == 2 * 224 * 4


def test_a_size_that_comes_to_zero_is_an_extent():
    """A 0 that is written in newshape would be the extent of data at its place."""
    module = relay.parse(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(n, 3, 8), float32]) { reshape(%x, newshape=[1, n * 3, 8]) }'
    )
    x = np.zeros((0, 3, 8), np.float32)
    assert np.asarray(relay.evaluate(module, [x])).shape == (1, 0, 8)
    assert relay.compile(module.bind_shapes({"x": x.shape}))(x).shape == (1, 0, 8)


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (0, 5), (4111, 3), (2, 9001)])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_unknown_length_are_one(shape, threads):
    module = relay.parse("""#[version = "0.0.5"]
def @main(%x: Tensor[(n, m), float32], %y: Tensor[(n, m), float32], %shape: Tensor[(3), int64]) {
  let %both = add(multiply(%x, %y), %y);
  (%both, dyn.reshape(%both, %shape), transpose(%both, axes=[1, 0]))
}""")
    model = relay.compile(module, threads=threads)
    x, y = (RNG.standard_normal(shape).astype(np.float32) for _ in range(2))
    want = x * y + y
    sizes = np.array([shape[1], 1, shape[0]], np.int64)
    both, reshaped, turned = model(x, y, sizes)
    np.testing.assert_allclose(both, want, rtol=1e-6, atol=1e-6)
    assert np.array_equal(reshaped, np.asarray(both).reshape(sizes))
    assert np.array_equal(turned, np.asarray(both).T)


def test_short_rows_of_unknown_number_are_several_tasks_where_they_are_many():
    model = relay.compile(relay.module(relay.exp(relay.var("x", shape=("n", 100)))), threads=2)
    tasks = {n: model.profile(np.ones((n, 100), np.float32))[0]["tasks"] for n in (10, 256)}
    assert tasks[10] == 1 and tasks[256] > 4


@pytest.mark.parametrize("result", ("", " -> Tensor[(n, 4), float32]"))
def test_bound_values_fix_sizes(result):
    types = ", ".join(f"%{v}: Tensor[(n, 4), float32]" for v in "xy")
    main = relay.parse(f'#[version = "0.0.5"]\ndef @main({types}){result} {{ add(%x, %y) }}')["main"]
    x, y = np.full((2, 4), 3, np.float32), np.ones((2, 4), np.float32)
    bound = relay.bind(main, {main.params[0]: relay.const(x)})
    np.testing.assert_array_equal(relay.compile(relay.IRModule.from_expr(bound))(y), x + y)
