"""Shardings of all values as annotations: `partition` follows them, also if they were changed."""

import divided_programs
import numpy as np
import pytest
import relay.distribute as distribute
from relay.distribute import Mesh

import relay


def layers():
    x, w, v = (relay.var(name, shape=shape) for name, shape in (("x", (4, 8)), ("w", (6, 8)), ("v", (2, 6))))
    body = relay.nn.dense(relay.tanh(relay.nn.dense(x, w)), v)
    shardings = {"x": "{data}, {model}", "w": "{}, {model}", "v": "{}, {model}", "=0": "{data}"}
    return distribute.annotate(relay.Function([x, w, v], body), Mesh(data=2, model=2), shardings)


def simulated_as_whole(module):
    rng = np.random.default_rng(0)
    divided = distribute.partition(module)
    shapes = [param.checked_type.shape for param in divided.whole["main"].params]
    values = [rng.integers(-3, 4, shape).astype("float32") for shape in shapes]
    np.testing.assert_allclose(
        distribute.simulate(divided, values)[0], relay.evaluate(module, values), rtol=1e-5, atol=1e-6
    )
    return [one.name for one in divided.moved]


def test_the_text():
    text = distribute.propagate_shardings(layers()).astext(types=False)
    assert text.splitlines()[2:] == [
        "  let %dense = nn.dense(%x, %w);",
        '  let %dense_sharded = distribute.sharding(%dense, sharding="{data}, {}, sum{model}");',
        "  let %tanh = tanh(%dense_sharded);",
        '  let %tanh_sharded = distribute.sharding(%tanh, sharding="{data}, {}");',
        "  let %dense1 = nn.dense(%tanh_sharded, %v);",
        '  let %dense_sharded1 = distribute.sharding(%dense1, sharding="{data}, {}, sum{model}");',
        "  %dense_sharded1",
        "}",
    ]


def test_random_programs_are_divided_as_their_annotations_say():
    annotated = 0
    for seed in range(150):
        module, _, mesh, shardings = divided_programs.Programs(seed).made()
        module = distribute.annotate(module, mesh, shardings)
        propagated = distribute.propagate_shardings(module)
        assert distribute.partition(propagated).module == distribute.partition(module).module, f"seed {seed}"
        assert distribute.propagate_shardings(propagated) == propagated, f"seed {seed}"
        assert relay.parse(propagated.astext()) == propagated
        annotated += "distribute.sharding" in propagated.astext()
    assert annotated > 75


def test_a_changed_annotation_is_followed():
    propagated = distribute.propagate_shardings(layers())
    assert simulated_as_whole(propagated) == ["comm.all_reduce", "comm.part", "comm.all_reduce"]
    text = propagated.astext()
    changed = relay.parse(text.replace('sharding="{data}, {}")', 'sharding="{data}, {model}")'))
    assert simulated_as_whole(changed) == ["comm.reduce_scatter", "comm.all_reduce"]


def test_a_sum_that_is_not_there_is_refused():
    text = distribute.propagate_shardings(layers()).astext().replace("sum{model}", "max{model}")
    with pytest.raises(relay.InputError, match="asks for a max of `dense` over `model`, and it is divided"):
        distribute.partition(relay.parse(text))


def test_zero_3():
    """Parameters that are gathered at each use: the annotations do not change that."""
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(8, 8))
    body = relay.nn.dense(relay.tanh(relay.nn.dense(x, w)), w)
    module = distribute.annotate(relay.Function([x, w], body), Mesh(data=2), {"x": "{data}", "w": "{data}"})
    found = distribute.partition(distribute.propagate_shardings(module, stored={"w"}), stored={"w"})
    assert found.module == distribute.partition(module, stored={"w"}).module
    assert [one.of for one in found.moved] == ["w", "w", "dense"]
