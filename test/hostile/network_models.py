"""Hostile networks of DarkNet, Caffe, Caffe2 and MXNet: two files each, made by the writers of their tests and then
changed."""

import json
import pathlib
import struct
import sys

from harness import OTHER_FILES, Kinds, either, fine, refused

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python" / "support"))
try:
    import numpy as np
    from protobuf_writer import caffemodel, message, net_def
except ImportError:  # then their making says so
    pass

kinds = Kinds("network")
ANY = "R02 R03 R04 R05 R06"


def darknet(
    layers="[convolutional]\nfilters=2\nactivation=leaky\n[shortcut]\nfrom=-1\n[maxpool]\nsize=2\nstride=2\n", more=""
):
    config = f"[net]\nchannels=2\nheight=4\nwidth=4\n{layers}{more}".encode()
    return ("net.cfg", config), ("net.weights", struct.pack("<iiiQ", 0, 2, 0, 0) + struct.pack("<6f", *[1] * 6))


def caffe(layers=""):
    text = (
        'input: "x" input_shape { dim: 1 dim: 4 }\nlayer { name: "fc" type: "InnerProduct" bottom: "x" top: "y" '
        "inner_product_param { num_output: 3 } }\n" + layers
    )
    weights = caffemodel({"fc": [np.ones((3, 4), np.float32), np.ones(3, np.float32)]})
    return ("net.prototxt", text.encode()), ("net.caffemodel", weights)


def caffe2():
    fill = [("GivenTensorFill", [], [name], {"shape": list(one.shape), "values": one})
            for name, one in (("w", np.ones((3, 4), np.float32)), ("b", np.ones(3, np.float32)))]  # fmt: skip
    predict = net_def([("FC", ["x", "w", "b"], ["y"], {})], ["x", "w", "b"], ["y"])
    return ("predict_net.pb", predict), ("init_net.pb", net_def(fill, outputs=["w", "b"]))


def mxnet(**attributes):
    nodes = [{"op": "null", "name": name, "inputs": []} for name in ("x", "w", "b")]
    nodes.append({"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "3", **attributes},
                  "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]})  # fmt: skip
    symbol = json.dumps({"nodes": nodes, "arg_nodes": [0, 1, 2], "heads": [[3, 0, 0]]}).encode()
    arrays = b""
    for shape in ((3, 4), (3,)):
        arrays += (
            struct.pack("<IiI", 0xF993FAC9, 0, len(shape))
            + struct.pack(f"<{len(shape)}q", *shape)
            + struct.pack("<3i", 1, 0, 0)
        )
        arrays += struct.pack(f"<{int(np.prod(shape))}f", *[1] * int(np.prod(shape)))
    names = b"".join(struct.pack("<Q", 5) + name for name in (b"arg:w", b"arg:b"))
    return ("net-symbol.json", symbol), (
        "net-0000.params",
        struct.pack("<3Q", 0x112, 0, 2) + arrays + struct.pack("<Q", 2) + names,
    )


SHAPES = {"predict_net.pb": ["--shape", "x=1,4"], "net-symbol.json": ["--shape", "x=1,4"]}


def run(v, files, verb="run"):
    """Runs the first of two files, with the other one beside it."""
    for name, content in files:
        path = v.write(name, content)
    return v.run(verb, path.parent / files[0][0], *SHAPES.get(files[0][0], []))


def of_any(v):
    return v.one_of((darknet, caffe, caffe2, mxnet))()


def cut(v):
    files = of_any(v)
    place = v.rng.randrange(2)
    content = files[place][1]
    changed = (files[place][0], content[: v.rng.randrange(len(content))])
    return run(v, [changed if at == place else one for at, one in enumerate(files)])


def flipped(v):
    made = []
    for name, content in of_any(v):
        content = bytearray(content)
        for _ in range(v.size(1, 20)):
            content[v.rng.randrange(len(content))] ^= 1 << v.rng.randrange(8)
        made.append((name, bytes(content)))
    return run(v, made)


def exchanged(v):
    """The two files of another format under the names of this one."""
    names, contents = (v.one_of(pair) for pair in (
        ((darknet, caffe, mxnet), (caffe, mxnet, darknet)), ((caffe, mxnet, darknet), (darknet, caffe,
            mxnet))))  # fmt: skip
    at = v.index % 3
    made = zip([one for one, _ in names[at]()], [one for _, one in contents[at]()], strict=True)
    return run(v, list(made))


def alone(v):
    return run(v, of_any(v)[:1])


kinds("sound", "the networks that the kinds change are sound themselves", fine(), lambda v: run(v, of_any(v)))
kinds("cut", "one of two files cut anywhere", either(ANY), cut)
kinds("flipped", "any bits of both files changed", either(ANY), flipped)
kinds("exchanged", "files of another format", refused("R04"), exchanged)
kinds("alone", "one half of a model without the other", either(ANY), alone)
kinds("many-layers", "a configuration with 2^20 sections", refused("R0405", "more than"),
      lambda v: run(v, darknet(more="[logistic]\n" * (1 << 20))))  # fmt: skip
kinds("huge-layer", "a layer with 2^40 weights", refused("R0403", "more than"),
      lambda v: run(v, darknet("[convolutional]\nfilters=1000000000\nsize=1000\nactivation=leaky\n")))  # fmt: skip
kinds("steps", "a recurrent layer of 2^30 steps", refused("R040", "time_steps|steps"),
      lambda v: run(v, (("net.cfg", b"[net]\ninputs=2\ntime_steps=1000000\n[rnn]\noutput=2\n"),
          darknet()[1])))  # fmt: skip
kinds("deep-text", "messages inside of messages", refused("R0405", "inside"),
      lambda v: run(v, caffe("layer {" * v.size(200, 100_000))))  # fmt: skip
kinds("deep-json", "lists inside of lists", refused("R0402", "JSON"),
      lambda v: run(v, (("net-symbol.json", b'{"nodes":' + b"[" * v.size(5000, 1_000_000)), mxnet()[1])))  # fmt: skip
kinds("deep-attribute", "brackets inside of an attribute", refused("R0403", "num_hidden"),
      lambda v: run(v, mxnet(num_hidden="(" * v.size(100, 60_000))))  # fmt: skip
kinds("many-fields", "2^21 empty fields", refused("R0405", "fields"),
      lambda v: run(v, (caffe()[0], ("net.caffemodel", b"\xa2\x06\x00" * (1 << 21)))))  # fmt: skip
kinds("huge-array", "an array with a shape of 2^80 elements", refused("R0402", "damaged at byte"),
      lambda v: run(v, (mxnet()[0], ("net-0000.params", struct.pack("<3QIiI2q3i", 0x112, 0, 1, 0xF993FAC9, 0, 2,
          1 << 40, 1 << 40, 1, 0, 0)))))  # fmt: skip
kinds("negative", "sizes below zero", refused("R04"),
      lambda v: run(v, (caffe()[0], ("net.caffemodel", message([(100, [(1, "fc"), (7, [(7, [(1, np.array([-3,
          4]))])])])])))))  # fmt: skip
kinds("other", "what is no model, under this extension, alone", refused("R04 R05 R06"),
      lambda v: run(v, [(of_any(v)[0][0], v.one_of(OTHER_FILES))]))  # fmt: skip
kinds(
    "cycle",
    "a node that reads its own result",
    refused("R040"),
    lambda v: run(v, [("net-symbol.json", mxnet()[0][1].replace(b"[[0, 0, 0], ", b"[[3, 0, 0], ")), mxnet()[1]]),
)
