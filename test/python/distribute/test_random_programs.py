"""Random programs, divided by random shardings on random meshes, in the simulator of all ranks."""

import collections

import divided_programs
import numpy as np
import pytest
import relay.distribute as distribute
from relay.distribute import collectives, merge, partitioning, sequences, simulator

import relay


def check(seeds):
    kinds = collections.Counter()
    for seed in seeds:
        kinds.update(one.name for one in divided_programs.check(seed).moved)
    assert set(kinds) == set(collectives.NAMES), f"collectives that no program needed: {kinds}"


def test_random_programs():
    check(range(400))


@pytest.mark.slow
def test_ten_thousand_random_programs():
    check(range(10_000))


def product():
    """sum over k of x[i, k] w[j, k], with k divided, and an elementwise end."""
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(6, 8))
    module = relay.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    return distribute.annotate(module, distribute.Mesh(model=2), {"x": "{}, {model}", "w": "{}, {model}"})


def test_text_of_a_divided_program():
    divided = distribute.partition(product())
    assert divided.module.astext(types=False).splitlines()[1:] == [
        "def @main(%x: Tensor[(4, 4), float32], %w: Tensor[(6, 4), float32]) -> Tensor[(4, 6), float32] {",
        "  let %dense = nn.dense(%x, %w);",
        '  let %dense_all_reduce = comm.all_reduce(%dense, axis="model", size=2);',
        "  let %relu = nn.relu(%dense_all_reduce);",
        "  %relu",
        "}",
    ]
    assert divided.report() == (
        "mesh model=2; 1 collectives, 96 bytes a rank\n"
        "#0 comm.all_reduce(model) of dense: Tensor[(4, 6), float32], 96 bytes, for nn.relu"
    )
    assert relay.parse(divided.module.astext()) == divided.module


def test_annotations_are_text():
    annotated = product()
    assert 'mesh="model=2", shardings="x: {}, {model}; w: {}, {model}"' in annotated.astext()
    mesh, found = distribute.annotations(relay.parse(annotated.astext()))
    assert str(mesh) == "model=2" and {name: str(one) for name, one in found.items()} == {
        "x": "{}, {model}", "w": "{}, {model}"
    }  # fmt: skip


def test_annotation_of_a_value():
    x = relay.var("x", shape=(4, 8))
    body = relay.exp(distribute.shard(relay.exp(x), sharding="{data}, {}"))
    module = distribute.annotate(relay.Function([x], body), distribute.Mesh(data=2), {"=0": "{data}, {}"})
    divided = distribute.partition(module)
    assert [one.name for one in divided.moved] == ["comm.part"]
    values = np.random.default_rng(0).standard_normal((4, 8)).astype("float32")
    np.testing.assert_array_equal(distribute.simulate(divided, [values])[0], relay.evaluate(module, [values]))


def test_merged_collectives_have_the_same_bits():
    x = relay.var("x", shape=(8, 6))
    sums = [relay.sum(x * relay.const(np.float32(k)), axis=[0]) for k in range(3)]
    function = relay.Function([x], relay.Tuple([*sums, relay.sum(relay.exp(sums[0]))]))
    divided = distribute.partition(distribute.annotate(function, distribute.Mesh(data=4), {"x": "{data}, {}"}))
    assert len(divided.moved) == 3
    one = merge.merge_collectives(divided.module)
    assert [str(step) for step in sequences.sequence_of(one)] == [
        "#0 comm.all_reduce(data, combiner=sum) of Tensor[(18), float32]"
    ]
    values = [np.random.default_rng(0).standard_normal((8, 6)).astype("float32")]
    before = distribute.simulate(divided, values)
    divided.module = one
    for first, second in zip(before, distribute.simulate(divided, values), strict=True):
        assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("fault", ["order", "piece", "sum"])
def test_planted_faults_are_found(fault, monkeypatch):
    if fault == "order":  # blocks side by side in the wrong order
        whole = simulator.op.concatenate
        monkeypatch.setattr(
            simulator.op, "concatenate", lambda values, axis: whole(relay.Tuple(list(values.fields)[::-1]), axis=axis)
        )
    elif fault == "piece":  # every rank takes the first block
        block = simulator._block
        monkeypatch.setattr(simulator, "_block", lambda x, type_, dim, at, n: block(x, type_, dim, 0, n))
    else:  # a partial sum is taken for the whole
        monkeypatch.setattr(simulator, "tree", lambda values, combine: values[0])
    with pytest.raises((AssertionError, relay.InputError)):
        for seed in range(200):
            divided_programs.check(seed)


def test_a_wrong_choice_of_collective_is_found(monkeypatch):
    convert = partitioning.Axis._conversion

    def wrong(self, value, state):
        source, name, attributes = convert(self, value, state)
        return (
            (source, "comm.all_reduce", {"combiner": "max"})
            if name == "comm.all_reduce"
            else (source, name, attributes)
        )

    monkeypatch.setattr(partitioning.Axis, "_conversion", wrong)
    with pytest.raises(AssertionError):
        for seed in range(300):
            divided_programs.check(seed)
