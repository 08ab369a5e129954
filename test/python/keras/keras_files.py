"""Writes .keras and .h5 files without Keras: configurations as Python dicts, weights as NumPy arrays."""

import io
import json
import zipfile

import h5py
import numpy as np


def dense(name, units=3, /, **more):
    return {"module": "keras.layers", "class_name": "Dense",
            "config": {"name": name, "trainable": True, "dtype": "float32", "units": units, "activation": "linear",
                       "use_bias": True} | more, "name": name}  # fmt: skip


def layer(kind, name, **config):
    """The configuration of a layer."""
    return {"module": "keras.layers", "class_name": kind, "config": {"name": name, "trainable": True, **config},
            "name": name}  # fmt: skip


def input_layer(name, *sizes, dtype="float32"):
    """An input with an open batch."""
    return {"module": "keras.layers", "class_name": "InputLayer",
            "config": {"name": name, "batch_shape": [None, *sizes], "dtype": dtype}, "name": name}  # fmt: skip


def tensor(name, call=0, result=0):
    """A tensor among the arguments of a call, in the form of Keras 3."""
    return {"class_name": "__keras_tensor__",
            "config": {"shape": [None], "dtype": "float32", "keras_history": [name, call, result]}}  # fmt: skip


def called(made, *calls, **kwargs):
    """The layer with its calls: each has a list of tensors, or one tensor, as its arguments."""
    nodes = [{"args": call if isinstance(call, list) else [call], "kwargs": kwargs} for call in calls]
    return {**made, "inbound_nodes": nodes}


def called_2(made, *nodes):
    """The layer with its calls in the form of Keras 2."""
    return {**{key: one for key, one in made.items() if key != "module"}, "inbound_nodes": list(nodes)}


def functional(layers, inputs, outputs, name="model"):
    return {"class_name": "Functional", "config": {
        "name": name, "layers": [{"inbound_nodes": [], **one} for one in layers],
        "input_layers": [[one, 0, 0] for one in inputs], "output_layers": [[one, 0, 0] for one in outputs]},
        "name": name}  # fmt: skip


def sequential(*layers, name="sequential"):
    return {"class_name": "Sequential", "config": {"name": name, "layers": list(layers)}, "name": name}


def hdf5(fill):
    """The bytes of an HDF5 file that a function fills."""
    held = io.BytesIO()
    with h5py.File(held, "w") as file:
        fill(file)
    return held.getvalue()


def stored(weights):
    """model.weights.h5. weights: arrays by the path of their object, "layers/dense"."""

    def fill(file):
        for path, arrays in weights.items():
            for place, one in enumerate(arrays):
                file[f"{path}/vars/{place}"] = np.asarray(one)

    return hdf5(fill)


def archive(config, weights, version="3.15.1", method=zipfile.ZIP_STORED, **members):
    """The bytes of a .keras file. members: other contents of its members, None to leave one out."""
    parts = {"metadata.json": json.dumps({"keras_version": version}), "config.json": json.dumps(config),
             "model.weights.h5": weights if isinstance(weights, bytes) else stored(weights)}  # fmt: skip
    parts |= {name.replace("_json", ".json").replace("_h5", ".weights.h5"): one for name, one in members.items()}
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as file:
        for name, content in parts.items():
            if content is not None:
                file.writestr(name, content)
    return held.getvalue()


def old_file(config, weights, version="2.4.0"):
    """The bytes of an .h5 file. weights: (name, array) by layer, in order."""

    def fill(file):
        file.attrs["model_config"] = json.dumps(config)
        file.attrs["keras_version"] = version
        held = file.create_group("model_weights")
        held.attrs["layer_names"] = [name.encode() for name in weights]
        for name, arrays in weights.items():
            group = held.create_group(name)
            group.attrs["weight_names"] = [f"{name}/{one}:0".encode() for one, _ in arrays]
            for one, array in arrays:
                group[f"{name}/{one}:0"] = array

    return hdf5(fill)
