"""Meshes, shardings, programs and layouts that do not fit: messages with both sides and a way out."""

import json

import divided_training
import numpy as np
import pytest
import relay.distribute as distribute
import relay.train as train
from relay.data import sizes
from relay.distribute import command, gloo, machines, merge, plan_cluster, sequences, simulator

import relay
from relay import _core, ray_cluster


def product():
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(6, 8))
    return relay.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))


@pytest.mark.parametrize(
    "mesh, shardings, message",
    [
        ({"data": 3}, {"x": "{data}, {}"}, "dimension 0 of `x`, of size 4, is divided along data: 3 does not divide 4"),
        ({"data": 2}, {"x": "{model}, {}"}, "names the axis `model`, and the mesh is data=2"),
        ({"data": 2}, {"x": "{data}, {data}"}, "names an axis twice"),
        ({"data": 2}, {"x": "{}, {}, {data}"}, "has 3 dimensions, and its shape is"),
        ({"data": 2}, {"z": "{data}"}, "@main has no parameter or result `z`"),
        ({"data": 2}, {"x": "data"}, "'data' is not a sharding"),
        ({"a": 2, "b": 2}, {"x": "{b, a}"}, "along b, a, and the order in the mesh is a, b"),
        ({"data": 2}, {"x": "{}, {}, sum{data}"}, "`x` is partial"),
        ({"data": 0}, {}, "the mesh has an axis data=0"),
    ],
)
def test_shardings(mesh, shardings, message):
    with pytest.raises(relay.InputError, match=message):
        distribute.annotate(product(), distribute.Mesh(**mesh), shardings)


@pytest.mark.parametrize(
    "sharding, message",
    [
        ("{modle}, {}", "names the axis `modle`"),
        ("{}, {data}", "dimension 1 of `a value`, of size 3, is divided along"),
    ],
)
def test_annotations_of_values(sharding, message):
    x = relay.var("x", shape=(4, 3))
    body = distribute.shard(relay.exp(x), sharding=sharding)
    module = distribute.annotate(relay.Function([x], body), distribute.Mesh(data=2), {"x": "{data}"})
    for divide in (distribute.partition, distribute.propagate_shardings):
        with pytest.raises(relay.InputError, match=message):
            divide(module)


def test_sizes_that_are_not_numbers():
    x = relay.var("x", shape=("n", 8))
    module = distribute.annotate(relay.Function([x], relay.exp(x)), distribute.Mesh(data=2), {})
    with pytest.raises(relay.InputError, match="sizes of a divided program must be numbers"):
        distribute.partition(module)


def test_control_flow():
    x = relay.var("x", shape=(4,))
    module = distribute.annotate(
        relay.Function([x], relay.If(relay.const(True), x, relay.exp(x))), distribute.Mesh(data=2), {"x": "{data}"}
    )
    with pytest.raises(relay.InputError, match="@main contains a If"):
        distribute.partition(module)


def test_programs_that_do_not_match():
    def program(order):
        x = relay.var("x", shape=(4,))
        calls = [_core.call("comm.all_reduce", [relay.exp(x)], {"axis": "data", "size": 2, "number": n}) for n in order]
        return relay.transform.InferType()(relay.IRModule.from_expr(relay.Function([x], relay.Tuple(calls))))

    mesh = distribute.Mesh(data=2)
    simulator.merged([program([0, 1]), program([0, 1])], mesh)
    with pytest.raises(
        relay.InputError,
        match=r"rank 0 and rank 1 do not match at collective 0 along `data`: rank 0 has #0 comm.all_reduce\(data, "
        r"combiner=sum\) of Tensor\[\(4\), float32\], rank 1 has #1",
    ):
        simulator.merged([program([0, 1]), program([1, 0])], mesh)
    with pytest.raises(relay.InputError, match="rank 0 has #1 .*, rank 1 has nothing"):
        simulator.merged([program([0, 1]), program([0])], mesh)
    with pytest.raises(relay.InputError, match="is along `data` of 2 ranks, and the mesh is data=4"):
        sequences.check_sequences([program([0])] * 4, distribute.Mesh(data=4))
    assert len(sequences.sequence_of(merge.merge_collectives(program([0, 1])))) == 1


def made(**options):
    loss, params, types, _ = divided_training.mlp()
    return distribute.Step(loss, params, types, train.SGD(0.1), **options)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"mesh": distribute.Mesh(data=3)}, "`x`, of size 16, is divided along data: 3 does not divide 16"),
        ({"mesh": distribute.Mesh(model=2), "zero": 1}, "zero=1 divides along `data`, and the mesh is model=2"),
        ({"mesh": distribute.Mesh(data=2), "zero": 4}, "zero is 4"),
        ({"mesh": distribute.Mesh(data=2), "precision": "float16"}, "float16 needs a scaled loss"),
        ({"mesh": distribute.Mesh(data=2), "shardings": {"*.wight": "{data}"}}, r"`\*.wight` matches no parameter"),
    ],
)
def test_steps(options, message):
    with pytest.raises(relay.InputError, match=message):
        made(**options)


def test_batches():
    step = made(mesh=distribute.Mesh(data=2))
    with pytest.raises(relay.InputError, match=r"`x` has the shape \(8, 8\), and the step was made for \(16, 8\)"):
        step(np.zeros((8, 8), "float32"), np.zeros(8, "int64"))
    with pytest.raises(relay.InputError, match="a batch of 0 is given"):
        step(np.zeros((16, 8), "float32"))
    with pytest.raises(train.step.NotFinite, match="step 1: the loss is nan"):
        step(np.full((16, 8), np.nan, "float32"), np.zeros(16, "int64"))


def test_workers_that_do_not_divide_the_ranks():
    with pytest.raises(relay.InputError, match="3 workers cannot host the 4 ranks of the mesh(.|\n)*1, 2, 4 workers"):
        gloo.check_workers(4, 3)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1", "127.0.0.1:port", "127.0.0.1:99999"])
def test_addresses_without_a_ray_cluster(address):
    with pytest.raises(relay.InputError, match=f"there is no Ray cluster at '{address}'"):
        ray_cluster.check_listens(address, "--ray")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--devices=0"], "0 devices, a batch of 1024, 80000000000 bytes of memory"),
        (["--devices=8", "--memory=0"], "8 devices, a batch of 1024, 0 bytes of memory"),
        (["--devices=8", "--best=0"], "0 layouts to print"),
        (["--devices=7"], "does not fit on 7 devices of 80 GB: no layout divides"),
    ],
)
def test_plans(arguments, message, capsys):
    assert command.plan_cluster(["llama-3-8b", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_commands(capsys):
    assert command.train(["--workers=2", "absent.py"]) == 1
    assert "there is no file absent.py" in capsys.readouterr().err
    assert command.train(["--workers=0", __file__]) == 1
    assert "0 workers and 3 restarts" in capsys.readouterr().err


def test_clusters(tmp_path):
    with pytest.raises(relay.InputError, match="there is no model 'gpt-5'"):
        machines.model_of("gpt-5")
    file = tmp_path / "m.json"
    file.write_text(json.dumps({"name": "m", "layers": 4}))
    with pytest.raises(relay.InputError, match="m.json has no field hidden"):
        machines.model_of(file)
    file.write_text("{")
    with pytest.raises(relay.InputError, match="m.json cannot be read"):
        machines.model_of(file)
    with pytest.raises(relay.InputError, match="'80Q' is not a size"):
        sizes.bytes_of("80Q")
    with pytest.raises(relay.InputError, match="Llama 3 405B does not fit on 8 devices of 80 GB"):
        plan_cluster.plan(machines.MODELS["llama-3-405b"], machines.MACHINES["h100"], 8, 80e9, 64)
