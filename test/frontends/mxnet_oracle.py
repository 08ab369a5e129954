"""Runs the cases of mxnet_cases.py, or networks of Gluon's model zoo, in MXNet, and writes their files and results.

mxnet_oracle.py FOLDER NAMES [--zoo]: for each case with the regular expression NAMES in its name, a folder with
net-symbol.json, net-0000.params, inputs.npz, outputs.npz.
"""

import json
import pathlib
import re
import sys

import mxnet as mx
import mxnet_cases
import numpy as np

ZOO = {
    "alexnet": 224, "densenet121": 224, "inceptionv3": 299, "mobilenet1.0": 224, "mobilenetv2_1.0": 224,
        "resnet18_v1": 224,
    "resnet50_v2": 224, "squeezenet1.1": 224, "vgg11_bn": 224,
}  # fmt: skip


def write(folder, symbol, weights, inputs, outputs):
    folder.mkdir(parents=True)
    symbol.save(str(folder / "net-symbol.json"))
    mx.nd.save(
        str(folder / "net-0000.params"), {name: mx.nd.array(one, dtype=one.dtype) for name, one in weights.items()}
    )
    np.savez(folder / "inputs.npz", **inputs)
    np.savez(folder / "outputs.npz", **{f"{place:03}": one for place, one in enumerate(outputs)})


def random_weights(symbol, inputs, rng):
    """Values of all arguments that are not inputs, and of the auxiliary states."""
    arguments, _, states = symbol.infer_shape(**{name: one.shape for name, one in inputs.items()})
    made = {}
    if arguments is None:  # control flow, whose shapes MXNet does not infer
        return made
    for prefix, names, shapes in (
        ("arg", symbol.list_arguments(), arguments),
        ("aux", symbol.list_auxiliary_states(), states),
    ):
        for name, shape in zip(names, shapes, strict=False):
            if name in inputs or name.endswith("_label"):
                continue
            is_positive = "var" in name or "gamma" in name
            made[f"{prefix}:{name}"] = rng.uniform(
                0.5 if is_positive else -0.7, 1.5 if is_positive else 0.7, shape
            ).astype(np.float32)
    return made


def run(symbol, weights, inputs):
    shapes = {name: one.shape for name, one in inputs.items()}
    held = {name.partition(":")[2]: mx.nd.array(one, dtype=one.dtype) for name, one in weights.items()}
    arguments = {name: mx.nd.array(one, dtype=one.dtype) for name, one in inputs.items()}
    labels = [name for name in symbol.list_arguments() if name.endswith("_label")]
    found = dict(zip(symbol.list_arguments(), symbol.infer_shape(**shapes)[0] or [], strict=False))
    arguments.update({name: mx.nd.zeros(found[name]) for name in labels})
    arguments.update({name: held[name] for name in symbol.list_arguments() if name in held})
    states = {name: held[name] for name in symbol.list_auxiliary_states()}
    bound = symbol.bind(mx.cpu(), args=arguments, aux_states=states, grad_req="null")
    return [one.asnumpy() for one in bound.forward(is_train=False)]


def main():
    folder, only, rng = pathlib.Path(sys.argv[1]), re.compile(sys.argv[2]), np.random.default_rng(5)
    folder.mkdir(parents=True, exist_ok=True)
    index = []
    if "--zoo" in sys.argv:
        for name, size in ZOO.items():
            if not only.search(name):
                continue
            net = mx.gluon.model_zoo.vision.get_model(name)
            net.initialize(mx.init.Xavier(magnitude=2))
            net.hybridize()
            x = rng.uniform(0, 1, (1, 3, size, size)).astype(np.float32)
            result = net(mx.nd.array(x)).asnumpy()
            place = folder / name
            place.mkdir(parents=True)
            net.export(str(place / "net"))
            np.savez(place / "inputs.npz", data=x)
            np.savez(place / "outputs.npz", **{"000": result})
            index.append(name)
    else:
        for number, (name, symbol, inputs) in enumerate(mxnet_cases.cases()):
            if not only.search(name):
                continue
            try:
                inputs = {key: one for key, one in inputs.items() if key in symbol.list_arguments()}
                weights = random_weights(symbol, inputs, rng)
                write(folder / f"{number:03}", symbol, weights, inputs, run(symbol, weights, inputs))
            except Exception as error:  # a case that MXNet itself refuses
                print(f"REFUSED {name}: {type(error).__name__} {str(error).strip().splitlines()[-1][:300]}", flush=True)
                continue
            index.append([f"{number:03}", name])
        for number, (name, symbol, weights, inputs) in enumerate(mxnet_cases.quantised()):
            if not only.search(name):
                continue
            write(folder / f"q{number}", symbol, weights, inputs, run(symbol, weights, inputs))
            index.append([f"q{number}", name])
    (folder / "index.json").write_text(json.dumps(index))


if __name__ == "__main__":
    main()
