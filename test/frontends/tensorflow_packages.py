"""Models of TensorFlow from packages: their files and their inputs."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import package_files

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "models" / "tensorflow"
_rng = np.random.default_rng(0)


@dataclasses.dataclass(frozen=True)
class Model:
    """A model of a package. files: SHA-256 by path in the archive, the first of which is the model. form: for the page.

    inputs: arrays by name. outputs: results to compare, or None for those of the signature.
    """

    name: str
    package: str
    form: str
    files: dict[str, str]
    inputs: dict
    outputs: tuple[str, ...] | None = None


def _uniform(*shape, low=0.0, high=1.0):
    return _rng.uniform(low, high, shape).astype(np.float32)


_PITCH = "basic_pitch/saved_models/icassp_2022/nmp"
_TAGS = {"model/Placeholder": _uniform(2, 187, 96), "model/Placeholder_2": np.array(False)}
MODELS = [
    Model(
        "basic_pitch",
        "basic-pitch==0.4.0",
        "SavedModel",
        {
            f"{_PITCH}/saved_model.pb": "eaa25c91c431c91100c416a2c018663f4c635f28fa19529c4ff5e14c18aa29c9",
            f"{_PITCH}/variables/variables.index": "356aa1a00095cf2dba17386144e8b289cb04195ae090aa7f324312b08220115e",
            f"{_PITCH}/variables/variables.data-00000-of-00001": (
                "f5d12cd7245fecea0c956c963751f3519c263615ea954b5948d5e8c9c3376f9b"
            ),
        },
        {"input_2": _uniform(1, 43844, 1, low=-0.5, high=0.5)},
    ),
    Model(
        "cutkum (Thai words)",
        "cutkum==2.4",
        "GraphDef of TensorFlow 1, while loops",
        {"cutkum/frozen_model.pb": "ad5f065d17ff07713ab450da9109c0cba6d06f17121804abeb81886bbed5e061"},
        {
            "placeholder/inputs": _uniform(7, 1, 80),
            "placeholder/seq_lengths": np.array([7], np.int32),
            "placeholder/fw_state": np.zeros((1, 1, 896), np.float32),
            "placeholder/keep_prob": np.array(1, np.float32),
        },
        ("probs",),
    ),
    Model(
        "nudity (MobileNet)",
        "nudity==0.2.3",
        "GraphDef of TensorFlow 1",
        {"nudity/files/retrained_graph.pb": "3b90af536f810f5f75e9f6d431bc2e8a3c4fc2ff4f693aa0dd4ae429816f8735"},
        {"input": _uniform(1, 224, 224, 3, low=-1.0)},
        ("final_result",),
    ),
    Model(
        "MTT_musicnn",
        "musicnn==0.1.0",
        "checkpoint with its training graph",
        {
            "musicnn/MTT_musicnn/.meta": "48f2b91a234a1feaaae6b084bd49668428cdfc54912805617582aa585daabb25",
            "musicnn/MTT_musicnn/.index": "da2d7bb670b2b31e9bc441bb1bd75eca31b5b061f963cc1f9630c1aff3238f57",
            "musicnn/MTT_musicnn/.data-00000-of-00001": (
                "041f3935e981a65cea739842d30c188d3a7d2adf4410955c8668eb3de4a5acab"
            ),
        },
        _TAGS,
        ("model/Sigmoid",),
    ),
    Model(
        "MTT_vgg",
        "musicnn==0.1.0",
        "checkpoint with its training graph",
        {
            "musicnn/MTT_vgg/.meta": "407ea5964eac3b053356d94be866da8b513778175216e741280a5c202cf9c8a4",
            "musicnn/MTT_vgg/.index": "4b0d3d2d02bbe0919c063c1fb74bfa9018ac3517e362d681b07444d4207a5f5f",
            "musicnn/MTT_vgg/.data-00000-of-00001": "458f5c8bcecc086a3bba3dce83809df6da6e0a3560a59ddd84711bf3d5fd8303",
        },
        _TAGS,
        ("model/Sigmoid",),
    ),
    Model(
        "MSD_musicnn",
        "musicnn==0.1.0",
        "checkpoint with its training graph",
        {
            "musicnn/MSD_musicnn/.meta": "046dc0f4f95374c3fc435a1c6619f6d1b9c82794ea2d2ef0a362a59630b5b1ec",
            "musicnn/MSD_musicnn/.index": "87f3e0f3550c8d3bafc840374003e5c8af5eeb5ecf6add61af09a7822d3282c8",
            "musicnn/MSD_musicnn/.data-00000-of-00001": (
                "8579734ee6388f799ed0def4bbd0d1fdcbeaf213ef2a9dc860917bd76a303de6"
            ),
        },
        _TAGS,
        ("model/Sigmoid",),
    ),
    Model(
        "MSD_vgg",
        "musicnn==0.1.0",
        "checkpoint with its training graph",
        {
            "musicnn/MSD_vgg/.meta": "f2f4718d0e2d9ea54d97bac053ca2dc3fa237b6521913b3ebe01164300ad201b",
            "musicnn/MSD_vgg/.index": "50e499238457558bba9f34f8b84d4afb8279afd43520cdf0a4fdf805a49c9ca3",
            "musicnn/MSD_vgg/.data-00000-of-00001": "9683d756b8311146534f333502ebf4a2a78a3e320c54ab0411dff6186d8375fc",
        },
        _TAGS,
        ("model/Sigmoid",),
    ),
]


def fetched(model: Model) -> pathlib.Path:
    """The path of a model, in models/tensorflow."""
    first = package_files.fetched(FOLDER, model.package, model.files)[0]
    return first.parent if first.name == "saved_model.pb" else first


def size_of(path: pathlib.Path) -> int:
    """The bytes of all files of a model."""
    if path.is_dir():
        return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
    stem = path.name.removesuffix(".meta")
    return sum(one.stat().st_size for one in path.parent.iterdir() if one == path or one.name.startswith(f"{stem}."))
