"""Hostile models of Core ML: networks and programs, made by the writers of the tests and then changed."""

import pathlib
import sys

from harness import OTHER_FILES, Kinds, either, fine, refused

ROOT = pathlib.Path(__file__).resolve().parents[1] / "python"
sys.path[:0] = [str(ROOT / "support"), str(ROOT / "coreml")]
try:
    import numpy as np
    from coreml_files import (
        array,
        block,
        in_file,
        layer,
        model,
        network,
        operation,
        package,
        program_model,
        value,
        weight_file,
        weights,
    )
    from protobuf_writer import message
except ImportError:  # then their making says so
    pass

kinds = Kinds("coreml")
ANY = "R02 R03 R04 R05 R06"
SHAPE = [2, 3]


def net(*more):
    dense = layer("innerProduct", "dense", "x", "h", [(1, 3), (2, 2), (20, weights(np.ones((2, 3))))])
    return model(500, network(dense, layer("softmaxND", "soft", "h", "y", [(1, -1)]), *more), [array("x", *SHAPE)],
                 [array("y")])  # fmt: skip


def program(*before, result="x", **how):
    steps = [*before, operation("relu", [("y", "float32", SHAPE)], {"x": result})]
    return program_model(steps, [("x", "float32", SHAPE)], ["y"], **how)


def dense(offset=64, name="@model_path/weights/weight.bin", shape=(2, 3)):
    weight = operation("const", [("w", "float32", [2, 3])], attributes={"val": in_file(offset, "float32", shape, name)})
    steps = [weight, operation("linear", [("y", "float32", [2, 2])], {"x": "x", "weight": "w"})]
    return program_model(steps, [("x", "float32", SHAPE)], ["y"])


def run(v, content):
    return v.run("run", v.write("net.mlmodel", content))


def packed(v, content, file=None):
    file = weight_file(("float32", np.ones(6, np.float32).tobytes()))[0] if file is None else file
    folder = v.write("placeholder", b"").parent / "net.mlpackage"
    return v.run("run", package(folder, content, file))


def sound(v):
    return packed(v, dense()) if v.index % 2 else run(v, v.one_of((net(), program())))


def flipped(v):
    content = bytearray(v.one_of((net(), program())))
    for _ in range(v.size(1, 20)):
        content[v.rng.randrange(len(content))] ^= 1 << v.rng.randrange(8)
    return run(v, bytes(content))


def flipped_weights(v):
    file = bytearray(weight_file(("float32", np.ones(6, np.float32).tobytes()))[0])
    for _ in range(v.size(1, 20)):
        file[v.rng.randrange(128)] ^= 1 << v.rng.randrange(8)
    return packed(v, dense(), bytes(file))


def cut(v):
    content = v.one_of((net(), program()))
    return run(v, content[: v.rng.randrange(1, len(content))])


def blocks(depth):
    made = block([operation("relu", [("r", "float32", SHAPE)], {"x": "x"})], ["r"])
    for _ in range(depth):
        made = block([operation("cond", [("r", "float32", SHAPE)], {"pred": "c"}, [made])], ["r"])
    return operation("cond", [("b", "float32", SHAPE)], {"pred": "c"}, [made])


kinds("sound", "the models that the kinds change are sound themselves", fine(), sound)
kinds("cut", "a model cut anywhere", either(ANY), cut)
kinds("flipped", "any bits of a model changed", either(ANY), flipped)
kinds("weights-flipped", "any bits of the entries in a file of weights changed", either(ANY), flipped_weights)
kinds("weights-outside", "weights in a file outside of the package", refused("R0402", "outside of the model"),
      lambda v: packed(v, dense(name=v.one_of(("/etc/passwd", "@model_path/../../../x", "weight.bin",
          "")))))  # fmt: skip
kinds("weights-huge", "a weight with a shape of 2^80 elements", refused("R04", "elements"),
      lambda v: packed(v, dense(shape=(1 << 39, 1 << 39))))  # fmt: skip
kinds("fill-huge", "a tensor of 2^60 elements", refused("R0403", "more than"),
      lambda v: run(v, program(operation("fill", [("f", "float32", SHAPE)],
          {"shape": value(np.array([1 << 30, 1 << 30])), "value": value(1.0)}), result="f")))  # fmt: skip
kinds("deep-blocks", "blocks inside of blocks", refused("R0405", "levels deep|nested"),
      lambda v: run(v, program(blocks(v.size(70, 300)))))  # fmt: skip
kinds("deep-pipelines", "pipelines inside of pipelines", refused("R0405", "levels deep|inside"),
      lambda v: run(v, pipelines(v.size(70, 300))))  # fmt: skip
kinds("self", "an operation that reads its own result", refused("R0403", "no node before"),
      lambda v: run(v, program(operation("relu", [("a", "float32", SHAPE)], {"x": "a"}), result="a")))  # fmt: skip
kinds("unknown", "layers of a kind that nobody knows", refused("R0403", "not known"),
      lambda v: run(v, net((1, [(1, "new"), (2, "h"), (3, "z"), (9000 + v.size(0, 90), [])]))))  # fmt: skip
kinds("manifest", "a manifest that names something else", refused("R04"),
      lambda v: manifest(v, v.one_of((b"{", b"[]", b'{"rootModelIdentifier": 7}', b"[" * 100_000,
          b'{"rootModelIdentifier": "b", "itemInfoEntries": {"b": {"path": "../../x"}}}'))))  # fmt: skip


def pipelines(depth):
    content = [(1, net())]
    for _ in range(depth):
        content = [(1, message([(1, 4), (2, [(1, array("x", *SHAPE)), (10, array("y"))]), (202, content)]))]
    return model(202, content, [array("x", *SHAPE)], [array("y")])


def manifest(v, content):
    folder = package(v.write("placeholder", b"").parent / "net.mlpackage", net())
    (folder / "Manifest.json").write_bytes(content)
    return v.run("run", folder)


kinds("other", "what is no model, under this extension", refused("R04 R05"), lambda v: run(v, v.one_of(OTHER_FILES)))
