"""Hostile models of PaddlePaddle, in both forms, and of OneFlow, made by the writers of their tests, then changed."""

import json
import pathlib
import struct
import sys

from harness import OTHER_FILES, Kinds, either, fine, refused

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python" / "support"))
try:
    import numpy as np
    from paddle_writer import Block, parameters, pir, program
except ImportError:  # then their making says so
    pass

kinds = Kinds("paddle")
ANY = "R02 R03 R04 R05 R06"


def weights():
    return {"w": np.ones((3, 2), np.float32)}


def old(operators=None, stored=None, blocks=()):
    operators = operators or [
        ("matmul_v2", {"X": ["x"], "Y": ["w"]}, {"Out": ["y"]}, {"trans_x": False, "trans_y": False})
    ]
    return (("net.pdmodel", program(operators, {"x": (1, 3)}, ["y"], stored or weights(), blocks)),
            ("net.pdiparams", parameters(stored or weights())))  # fmt: skip


def new():
    held = [("matmul", [2, 1], [3], {"transpose_x": False, "transpose_y": False})]
    content = pir(held, [(2, "x", (1, 3))], [3], [(1, "w", weights()["w"])])
    return ("net.json", content), ("net.pdiparams", parameters(weights()))


def flow(text=None):
    text = text or (
        "oneflow.job @g(%a: tensor<1x3xf32>) -> tensor<1x3xf32> {\n"
        '%x = "oneflow.input"(%a) {op_name = "in"} : (tensor<1x3xf32>) -> tensor<1x3xf32>\n'
        '%y = "oneflow.relu"(%x) {op_name = "it"} : (tensor<1x3xf32>) -> tensor<1x3xf32>\n'
        "oneflow.return %y : tensor<1x3xf32>\n}\n"
    )
    return (("model.mlir", text.encode()),)


def run(v, files, verb="run"):
    """Runs the first of the files, with the others beside it."""
    for name, content in files:
        path = v.write(name, content)
    return v.run(verb, path.parent / files[0][0])


def of_any(v):
    return v.one_of((old, new, flow))()


def cut(v):
    files = of_any(v)
    place = v.rng.randrange(len(files))
    return run(
        v,
        [
            (name, content[: v.rng.randrange(len(content))] if at == place else content)
            for at, (name, content) in enumerate(files)
        ],
    )


def flipped(v):
    made = []
    for name, content in of_any(v):
        content = bytearray(content)
        for _ in range(v.size(1, 20)):
            content[v.rng.randrange(len(content))] ^= 1 << v.rng.randrange(8)
        made.append((name, bytes(content)))
    return run(v, made)


def exchanged(v):
    """The program of one form under the name of the other, or its parameters in its place."""
    (name, content), beside = new()
    made = v.one_of((("net.pdmodel", beside[1]), (name, old()[1][1]), ("model.mlir", content)))
    return run(v, [made, beside])


def nested(v):
    """Loops inside of loops, each a block of its own."""
    depth = v.size(60, 2000)
    inner = [[("while", {"X": ["x"], "Condition": ["x"]}, {"Out": ["x"]}, {"sub_block": Block(at + 2)})]
             for at in range(depth)]  # fmt: skip
    first = [("while", {"X": ["x"], "Condition": ["x"]}, {"Out": ["y"]}, {"sub_block": Block(1)})]
    return run(v, old(first, blocks=[*inner, []]))


def many(v):
    """A JSON form with more operators than any model has."""
    content = json.loads(new()[0][1])
    operators = content["program"]["regions"][0]["blocks"][0]["ops"]
    operators[2:2] = [{"#": "1.relu", "A": [], "I": [{"%": 2}], "O": [{"%": 9}]}] * 110_000
    return run(v, (("net.json", json.dumps(content).encode()), new()[1]))


kinds("sound", "the models that the kinds change are sound themselves", fine(), lambda v: run(v, of_any(v)))
kinds("cut", "a file cut anywhere", either(ANY), cut)
kinds("flipped", "any bits of the files changed", either(ANY), flipped)
kinds("exchanged", "files of another form", refused("R04"), exchanged)
kinds("alone", "a program without its parameters", refused("R0601", "pdiparams"), lambda v: run(v, old()[:1]))
kinds("nested", "blocks inside of blocks", refused("R0405", "nested"), nested)
kinds("deep-json", "lists inside of lists", refused("R0402", "JSON"),
      lambda v: run(v, (("net.json", b'{"base_code":' + b"[" * v.size(5000, 1_000_000)), new()[1])))  # fmt: skip
kinds("deep-text", "regions inside of regions", refused("R0405", "nesting"),
      lambda v: run(v, flow("oneflow.job @g() -> () {\n" + '"a"() ({' * v.size(200, 50_000))))  # fmt: skip
kinds("many-operators", "110,000 operators", refused("R0405", "more than"), many, long=True)
kinds("huge-array", "a parameter of 2^80 elements", refused("R0402", "damaged at byte"),
      lambda v: run(v, (old()[0], ("net.pdiparams", struct.pack("<IQI", 0, 0, 0) + struct.pack("<i", 16) +
                                   b"\x08\x05" + b"\x10\x80\x80\x80\x80\x80\x80\x01" * 2 + b"\0" * 64))))  # fmt: skip
kinds("huge-constant", "a constant of 2^40 elements", refused("R0403", "more than"),
      lambda v: run(v, old([("fill_constant", {}, {"Out": ["y"]}, {"shape": [1 << 20, 1 << 20], "dtype": 5,
                                                                    "value": 0.0})])))  # fmt: skip
kinds("path", "a parameter outside of the folder", refused("R06", "pdiparams"),
      lambda v: run(v, (("__model__", old(stored={"../../w": weights()["w"]})[0][1]), ("w", b"1"))))  # fmt: skip
kinds("other", "what is no model, under this extension", refused("R04 R05"),
      lambda v: run(v, [(v.one_of((old, new))()[0][0], v.one_of(OTHER_FILES))]))  # fmt: skip
