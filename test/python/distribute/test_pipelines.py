"""Schedules on paper, and trainings in pipelines: the same bits for every schedule and number of ranks of the same
stages. Other stages may have kernels that add in another order."""

import divided_training
import numpy as np
import pytest
import relay.distribute as distribute
import relay.train as train
from divided_training import bits, losses
from forms import each_nth
from relay.distribute import cut, schedules
from relay.distribute.pipeline import Pipeline
from relay.train.parameters import flatten

import relay

MICROS = 8


@pytest.mark.parametrize("ranks, micros", [(2, 4), (4, 8), (4, 4), (8, 16)])
def test_bubbles_are_those_of_the_formulas(ranks, micros):
    for name, chunks in (("gpipe", 1), ("1f1b", 1), ("interleaved", 2), ("interleaved", 4)):
        timing = schedules.timed(schedules.schedule_pipeline(name, ranks, micros, chunks), ranks * chunks)
        assert timing.bubble == pytest.approx((ranks - 1) / (micros * chunks))
        if name == "gpipe":
            assert timing.live == [micros] * ranks
        if name == "1f1b":
            assert timing.live == [min(ranks - r, micros) for r in range(ranks)]


def test_every_micro_batch_passes_every_stage_once():
    for name, chunks in (("gpipe", 1), ("1f1b", 1), ("interleaved", 3)):
        made = [action for actions in schedules.schedule_pipeline(name, 4, 8, chunks) for action in actions]
        assert len(made) == len(set(made)) == 2 * 8 * 4 * chunks


def test_a_schedule_that_never_ends_is_refused():
    made = schedules.schedule_pipeline("1f1b", 2, 2)
    made[0].reverse()
    with pytest.raises(
        relay.InputError, match=r"the schedule never ends: rank 0 waits to run B0.1; rank 1 waits to run F1.0"
    ):
        schedules.timed(made, 2)


def joined(batch):
    """Whole batches of MICROS micro-batches."""

    def whole(step):
        parts = [batch(step * MICROS + i) for i in range(MICROS)]
        return tuple(np.concatenate(one) for one in zip(*parts, strict=True))

    return whole


@pytest.mark.parametrize("network", each_nth(2, [divided_training.mlp, divided_training.gpt]))
def test_schedules(network):
    loss, params, types, batch = network(4)
    one = train.Step(loss, params, types, train.Adam(1e-2), threads=1, accumulate=MICROS)
    expected = [[float(one(*batch(i * MICROS + k))) for k in range(MICROS)][-1] for i in range(4)]
    found, parts = [], []
    for options in (
        {"ranks": 1},
        {"ranks": 2, "schedule": "gpipe"},
        {"ranks": 2, "schedule": "interleaved", "per_rank": 2},
        {"ranks": 4},
    ):
        step = Pipeline(loss, params, types, train.Adam(1e-2), micros=MICROS, **options)
        np.testing.assert_allclose(losses(step, joined(batch), 4), expected, rtol=1e-5)
        found.append(bits(step.params))
        parts.append(np.concatenate([np.ravel(one) for one in flatten(step.params).values()]))
    assert found[2] == found[3]  # four stages, on two ranks and on four
    for one in parts[1:]:
        np.testing.assert_allclose(one, parts[0], rtol=1e-5, atol=1e-6)


def test_cuts_balance_the_work():
    loss, params, types, _ = divided_training.gpt(4, layers=4)
    plan = train.step.planned(loss, params, types, train.Adam())[1]
    stages = cut.cut_pipeline(plan.loss, 4)
    assert sorted(name for one in stages for name in one.parameters) == sorted(plan.types)
    work = [
        sum(cut.work_of(step) for step in cut.straight(one.forward["main"]).steps if isinstance(step, relay.Call))
        for one in stages
    ]
    assert max(work) < 1.6 * sum(work) / 4


def test_a_parameter_of_two_stages_is_refused():
    def loss(p, x):
        for _ in range(4):
            x = relay.tanh(relay.nn.dense(x, p["w"]))
        return relay.mean(x * x)

    with pytest.raises(relay.InputError, match=r"parameter `w` is used by stages 0 and 1"):
        Pipeline(loss, {"w": np.eye(4, dtype="float32")}, {"x": (4, 4)}, ranks=2, micros=2)


def pipeline(**options):
    loss, params, types, batch = divided_training.mlp(4)
    step = Pipeline(loss, params, types, train.Adam(1e-2), micros=4, groups={"hidden.1.bias": None}, **options)
    return step, [np.concatenate(one) for one in zip(*(batch(i) for i in range(4)), strict=True)]


def test_a_pipeline_resumes_bit_for_bit_on_other_ranks(tmp_path):
    store = distribute.ShardedCheckpoints(tmp_path)
    undisturbed, whole = pipeline(ranks=4)
    for _ in range(3):
        undisturbed(*whole)
    store.save(undisturbed)
    expected = losses(undisturbed, lambda _: whole, 3)
    for options in ({"ranks": 4, "schedule": "gpipe"}, {"ranks": 2, "schedule": "interleaved", "per_rank": 2}):
        step, _ = pipeline(**options)
        assert store.resume(step) and step.count == 3
        assert losses(step, lambda _: whole, 3) == expected
        assert bits(step.params) == bits(undisturbed.params)
    files = sorted(path.name for path in (tmp_path / "step-00000003").glob("rank*"))
    assert files == [f"rank-{rank:05d}.safetensors" for rank in range(4)]


def test_a_checkpoint_of_other_stages_is_refused(tmp_path):
    store = distribute.ShardedCheckpoints(tmp_path)
    store.save(pipeline(ranks=4)[0])
    with pytest.raises(relay.InputError, match="stages=4, micro_batches=4"):
        store.resume(pipeline(ranks=2)[0])


def test_dropout_is_refused():
    loss, params, types, _ = divided_training.mlp(4)
    with pytest.raises(relay.InputError, match="the loss draws random numbers"):
        Pipeline(
            lambda p, x, y: loss(p, relay.nn.dropout(x, rate=0.5), y), params, types, train.Adam(), ranks=2, micros=4
        )
