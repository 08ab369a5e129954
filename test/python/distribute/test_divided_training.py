"""Training on several ranks, which one process hosts: equal to one rank, and to each other bit for bit."""

import collections

import divided_training
import numpy as np
import pytest
import relay.distribute as distribute
import relay.train as train
from divided_training import CNN_TENSOR, GPT_TENSOR, MLP_TENSOR, bits, losses
from relay.distribute import ranks

import relay

STEPS = 8
# Another order of sums: differences of the last bits grow by some factor in each step.
TOLERANCE = 1e-5


def one_rank(network, **options):
    loss, params, types, batch = network()
    step = train.Step(loss, params, types, train.AdamW(1e-2), threads=1, **options)
    return step, batch


def divided(network, mesh, **options):
    loss, params, types, batch = network()
    return distribute.Step(loss, params, types, train.AdamW(1e-2), mesh=distribute.Mesh(**mesh), **options), batch


@pytest.mark.parametrize(
    "network, shardings",
    [
        (divided_training.mlp, MLP_TENSOR),
        (divided_training.cnn, CNN_TENSOR),
        pytest.param(divided_training.gpt, GPT_TENSOR, marks=pytest.mark.slow),
    ],
    ids=["mlp", "cnn", "gpt"],
)
def test_layouts(network, shardings):
    expected = losses(*one_rank(network), STEPS)
    assert np.isfinite(expected).all() and expected[-1] < expected[0]
    of_zero = {}
    for zero in (0, 1, 3):
        step, batch = divided(network, {"data": 4}, zero=zero)
        np.testing.assert_allclose(losses(step, batch, STEPS), expected, rtol=TOLERANCE)
        of_zero[zero] = bits(step.params), step.bytes[0]
    assert of_zero[0][0] == of_zero[1][0] == of_zero[3][0]
    assert of_zero[0][1] > of_zero[1][1] > of_zero[3][1]
    for mesh, zero in (({"model": 2}, 0), ({"data": 2, "model": 2}, 1)):
        step, batch = divided(network, mesh, shardings=shardings, zero=zero)
        np.testing.assert_allclose(losses(step, batch, STEPS), expected, rtol=TOLERANCE)


def test_bfloat16():
    expected = losses(*one_rank(divided_training.mlp, precision="bfloat16"), 4)
    found = []
    for zero in (0, 1, 3):
        step, batch = divided(divided_training.mlp, {"data": 4}, zero=zero, precision="bfloat16")
        np.testing.assert_allclose(losses(step, batch, 4), expected, rtol=1e-2)
        found.append(bits(step.params))
        sums = [one for one in step.divided.moved if one.name in ("comm.all_reduce", "comm.reduce_scatter")]
        assert sums and all("float32" in one.type and "bfloat16" not in one.type for one in sums)
    assert found[0] == found[1] == found[2]
    gathers = [one for one in step.divided.moved if one.name == "comm.all_gather"]  # of ZeRO 3: half the bytes
    assert any("bfloat16" in one.type for one in gathers)


def collectives_of(step):
    return [(one.name, one.axis) for one in step.divided.moved if one.name != "comm.part"]


def test_collectives_of_a_decoder_are_those_of_megatron():
    step, _ = divided(divided_training.gpt, {"model": 2}, shardings=GPT_TENSOR)
    names = collectives_of(step)
    assert set(names) == {("comm.all_reduce", "model")}
    forward = [one for one in step.divided.moved if one.of == "dense"]
    assert len(forward) == 2 * 2  # after attention and after the MLP, in each of two blocks


def test_zero_3_gathers_parameters_where_they_are_used():
    step, _ = divided(divided_training.mlp, {"data": 4}, zero=3)
    gathered = [one.of for one in step.divided.moved if one.name == "comm.all_gather"]
    assert gathered.count("hidden.1.weight") == 2 and gathered.count("hidden.0.weight") == 1  # no gradient of the input
    scattered = [one for one in step.divided.moved if one.name == "comm.reduce_scatter"]
    assert len(scattered) == 6  # one for each parameter


def test_micro_batches_and_limits():
    options = {"accumulate": 2, "clip_norm": 0.5, "ema": 0.9}
    step, batch = one_rank(divided_training.mlp, **options)
    expected = losses(step, batch, STEPS)
    results = {}
    for zero in (0, 1, 2, 3):
        step, batch = divided(divided_training.mlp, {"data": 4}, zero=zero, **options)
        np.testing.assert_allclose(losses(step, batch, STEPS), expected, rtol=TOLERANCE)
        assert step.count == STEPS // 2
        results[zero] = step.bytes[0]
    assert results[1] > results[2] > results[3]


def test_a_sum_is_the_same_on_every_rank_and_in_every_size():
    rng = np.random.default_rng(0)
    for elements in (1, 5, 1000, 5000):
        values = [rng.standard_normal(elements).astype("float32") for _ in range(4)]
        expected = (values[0] + values[1]) + (values[2] + values[3])
        assert all(one.tobytes() == expected.tobytes() for one in on_ranks(values))


def on_ranks(values):
    """all_reduce of values, each rank in a thread."""
    import concurrent.futures

    mesh, post = distribute.Mesh(data=len(values)), ranks.Post(ranks.Alone())
    with concurrent.futures.ThreadPoolExecutor(len(values)) as pool:
        work = [
            pool.submit(ranks.Rank(mesh, r, post).all_reduce, value, "data", 0, "sum") for r, value in enumerate(values)
        ]
        return [one.result() for one in work]


@pytest.mark.parametrize("options", [{}, {"zero": 1}, {"zero": 3}], ids=["zero0", "zero1", "zero3"])
def test_predicted_bytes_are_sent(options, monkeypatch):
    rng = np.random.default_rng(0)
    params = {
        "a": rng.standard_normal((256, 128), dtype="float32"),
        "b": rng.standard_normal((64, 256), dtype="float32"),
    }

    def loss(p, x):
        y = relay.nn.dense(relay.tanh(relay.nn.dense(x, p["a"])), p["b"])
        return relay.mean(y * y)

    step = distribute.Step(loss, params, {"x": (8, 128)}, mesh=distribute.Mesh(data=4), **options)
    sent = collections.Counter()
    send = ranks.Post.send

    def counted(self, source, to, tag, value):
        sent[source] += value.nbytes
        send(self, source, to, tag, value)

    monkeypatch.setattr(ranks.Post, "send", counted)
    step(rng.standard_normal((8, 128), dtype="float32"))
    # Scalars are sent whole to all ranks, so that one round is enough.
    for rank in range(4):
        assert sent[rank] == pytest.approx(sum(one.bytes for one in step.divided.moved), rel=0.01)


@pytest.mark.parametrize("fault", ["order", "missing", "twice"])
def test_planted_faults_turn_bits(fault, monkeypatch):
    step, batch = divided(divided_training.mlp, {"data": 4})
    losses(step, batch, 4)
    right = bits(step.params)
    if fault == "order":
        monkeypatch.setattr(
            ranks, "tree", lambda values, combine: distribute.collectives.tree(values[::2] + values[1::2], combine)
        )
    elif fault == "missing":
        monkeypatch.setattr(ranks, "tree", lambda values, combine: distribute.collectives.tree(values[:-1], combine))
    else:
        place = distribute.Sharding.place
        monkeypatch.setattr(
            distribute.Sharding,
            "place",
            lambda self, shape, mesh, rank: place(self, shape, mesh, rank if rank != 1 else 0),
        )
    step, batch = divided(divided_training.mlp, {"data": 4})
    losses(step, batch, 4)
    assert bits(step.params) != right


def test_checkpoints_of_shards(tmp_path):
    whole, batch = divided(divided_training.mlp, {"data": 4}, zero=3)
    losses(whole, batch, 6)
    first, _ = divided(divided_training.mlp, {"data": 4}, zero=3)
    losses(first, batch, 3)
    distribute.ShardedCheckpoints(tmp_path).save(first)
    second, _ = divided(divided_training.mlp, {"data": 4}, zero=3)
    assert distribute.ShardedCheckpoints(tmp_path).resume(second)
    for i in range(3, 6):
        second(*batch(i))
    assert bits(second.params) == bits(whole.params)
    # The tensors are those of the whole network: another mesh can read them, with other bits afterwards.
    other, _ = divided(divided_training.mlp, {"data": 2})
    with pytest.raises(relay.InputError, match=r"mesh: data=4 there, data=2 here"):
        distribute.ShardedCheckpoints(tmp_path).resume(other)
    distribute.ShardedCheckpoints(tmp_path).resume(other, anyway=True)
    assert bits(other.params) == bits(first.params)


def test_a_changed_checkpoint_is_refused(tmp_path):
    step, _ = divided(divided_training.mlp, {"data": 2}, zero=1)
    distribute.ShardedCheckpoints(tmp_path).save(step)
    file = tmp_path / "step-00000000" / "rank-00001.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(relay.InputError, match=r"rank-00001.safetensors: its checksum differs"):
        distribute.ShardedCheckpoints(tmp_path).resume(step)
