"""Models as they are stored: a GGUF file or a folder, opened for decoding."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from types import ModuleType

import numpy as np

from ..errors import wrong_input
from .blocks import Matrix
from .config import Config, Weights
from .families import FAMILIES
from .families.common import MOST_EXPERTS, MOST_LAYERS, experts_of
from .folder import NamedWeights, arrays_of, json_of
from .gguf import File
from .settings import Settings

_ALL_EXPERTS = "_exps.weight"  # ends the name of a tensor with a matrix for each expert
_MOST_IN_ALL = 1 << 16  # experts of all layers
# Read with the configuration.
_NO_WEIGHTS = {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}


class GgufWeights:
    """The weights of a GGUF file (config.Weights)."""

    def __init__(self, file: File):
        self.file, self.unknown = file, []
        for name in [name for name in file.tensors if name.endswith(_ALL_EXPERTS)]:
            file.split(name, [f"{name.removesuffix(_ALL_EXPERTS)}.{e}.weight" for e in range(self._experts(name))])
        self.types = sorted({entry.type.name for entry in file.tensors.values() if len(entry.shape) > 1})

    def _experts(self, name: str) -> int:
        shape = self.file.tensors[name].shape
        if len(shape) != 3 or shape[0] > MOST_EXPERTS:
            raise wrong_input(
                f"{self.file.path}: tensor `{name}` is {list(shape)}, but must have 3 axes, the first of at most "
                f"{MOST_EXPERTS} experts",
                "give another version of the model",
            )
        return shape[0]

    def __contains__(self, name: str) -> bool:
        return name in self.file.tensors

    def __iter__(self):
        return iter(self.file.tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        return self.file.tensors[name].shape

    def array(self, name: str) -> np.ndarray:
        return self.file.array(name)

    def matrix(self, name: str) -> Matrix:
        return self.file.matrix(name)

    def rows(self, name: str, places: np.ndarray) -> np.ndarray:
        return self.file.rows(name, places)


@dataclasses.dataclass(frozen=True)
class Source:
    """A model that is stored. `gguf` is the file if it is one; otherwise `path` is a folder. `files` are those that
    determine the compiled program."""

    path: Path
    settings: Settings
    weights: GgufWeights | NamedWeights
    config: Config
    files: list[Path]
    gguf: File | None = None


def _family(path: Path, name: object):
    if not isinstance(name, str) or name not in FAMILIES:
        raise wrong_input(
            f"{path}: the architecture {name if isinstance(name, str) else 'is missing and'} cannot be decoded",
            f"use a model of one of: {', '.join(FAMILIES)}",
        )
    return FAMILIES[name]


def _config(family: ModuleType, settings: Settings, weights: Weights) -> Config:
    found = family.config(settings, weights)
    if found.heads % found.key_heads:
        raise settings.bad(f"{found.key_heads} heads of keys do not divide {found.heads} heads of queries")
    return found


def _of_file(path: Path) -> Source:
    file = File(path)
    name = file.keys.get("general.architecture")
    family, weights = _family(path, name), GgufWeights(file)
    settings = Settings(str(path), file.keys, name, is_gguf=True)
    _embedding(settings, weights)
    return Source(path, settings, weights, _config(family, settings, weights), [Path(one) for one in file.paths], file)


def of_arrays(path: Path, values: dict, arrays: dict[str, np.ndarray], files: list[Path]) -> Source:
    """Returns a model of transformers.

    path: the configuration, for messages. values: its contents, those of config.json. arrays: the weights by their
    names in transformers. files: those that the program depends on, if it depends on nothing else.
    """
    name = values.get("model_type")
    family = _family(path, name)
    settings = Settings(str(path), values, name, is_gguf=False)
    names = family.names(settings) if hasattr(family, "names") else family.NAMES
    layers = settings.count("", "num_hidden_layers" if "num_hidden_layers" in values else "n_layer", most=MOST_LAYERS)
    experts = found.count if (found := experts_of(settings, True)) else 0
    if layers * experts > _MOST_IN_ALL:
        raise settings.bad(f"{layers} layers of {experts} experts are more than {_MOST_IN_ALL} experts")
    adapted = getattr(family, "adapted", lambda name, array: array)
    weights = NamedWeights(arrays, names, layers, experts, adapted, settings.flag("tie_word_embeddings", False))
    _embedding(settings, weights)
    return Source(path.parent, settings, weights, _config(family, settings, weights), files)


def _of_folder(folder: Path) -> Source:
    path = folder / "config.json"
    values = json_of(path)
    _family(path, values.get("model_type"))  # before the weights are read
    arrays, files = arrays_of(folder)
    return of_arrays(path, values, arrays, [path, *files])


def _embedding(settings: Settings, weights) -> None:
    if "token_embd.weight" not in weights or len(weights.shape("token_embd.weight")) != 2:
        raise settings.bad("the model has no matrix of token embeddings", "give a model with its weights")


def opened(path: str | os.PathLike[str]) -> Source:
    """Opens a GGUF file, or a folder with config.json. Raises InputError (R0601) with the place of a problem."""
    path = Path(path)
    if path.is_dir():
        if not (path / "config.json").exists():
            raise wrong_input(f"{path} has no config.json", "give a folder of a model, or a .gguf file")
        return _of_folder(path)
    if not path.exists():
        raise wrong_input(f"{path} does not exist", "give the folder of a model, or a .gguf file")
    return _of_file(path)


def check_all_used(source: Source, used: set[str]) -> None:
    """Raises an error if the model has weights that the program does not use: it is another network then."""
    left = [name for name in source.weights if name not in used | _NO_WEIGHTS] + list(source.weights.unknown)
    if left:
        raise source.settings.bad(
            f"a {source.config.family} model has no such weights: {', '.join(left[:3])}"
            f"{f', and {len(left) - 3} others' if len(left) > 3 else ''}",
            "use a model whose network is the plain one of its family",
        )
