"""Models as folders: config.json, and weights in safetensors files, as save_pretrained of transformers writes them."""

from __future__ import annotations

import itertools
import json
import mmap
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..data import safetensors
from ..errors import wrong_input
from .blocks import Matrix

_WHOLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_MOST_JSON = 64 << 20  # bytes
_PREFIXES = ("", "transformer.")  # of names
# Buffers that older versions of transformers stored, which are not weights.
_NO_WEIGHTS = re.compile(r".*(\.attn\.(masked_)?bias|rotary_emb\.inv_freq)")


def json_of(path: Path) -> dict:
    """Returns the object of a JSON file."""
    try:
        if path.stat().st_size > _MOST_JSON:
            raise wrong_input(f"{path} has {path.stat().st_size} bytes, more than {_MOST_JSON}", "check the file")
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise wrong_input(f"{path} cannot be read: {error.strerror}", "check the path") from error
    except (ValueError, RecursionError) as error:
        raise wrong_input(f"{path} is not JSON: {error}", "copy or download it again") from error
    if not isinstance(found, dict):
        raise wrong_input(f"{path} is not a JSON object", "copy or download it again")
    return found


def _files(folder: Path) -> list[Path]:
    if (folder / _WHOLE).exists():
        return [folder / _WHOLE]
    if not (folder / _INDEX).exists():
        raise wrong_input(
            f"{folder} has neither {_WHOLE} nor {_INDEX}",
            "save the model with save_pretrained of transformers, which writes safetensors files",
        )
    named = json_of(folder / _INDEX).get("weight_map")
    files = set(named.values()) if isinstance(named, dict) else {None}
    if not all(isinstance(file, str) and Path(file).name == file for file in files):
        raise wrong_input(f"{folder / _INDEX} has no map of weights to files", "copy or download it again")
    return [folder / file for file in sorted(files)]


def _mapped(path: Path) -> dict[str, np.ndarray]:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except OSError as error:
        raise wrong_input(f"{path} cannot be read: {error.strerror}", "copy or download it again") from error
    return safetensors.read(path, content)


def arrays_of(folder: Path) -> tuple[dict[str, np.ndarray], list[Path]]:
    """Returns the arrays of a folder by name, mapped, and their files."""
    files = _files(folder)
    return {name: array for file in files for name, array in _mapped(file).items()}, files


class NamedWeights:
    """Weights that have the names of transformers, under GGUF's names (config.Weights).

    names: the names of transformers by those of GGUF, without their endings, for a layer {i} and an expert {e}.
    adapted: changes a weight from the form of transformers to GGUF's.
    """

    def __init__(
        self,
        stored: dict[str, np.ndarray],
        names: dict[str, str],
        layers: int,
        experts: int,
        adapted: Callable,
        tied: bool,
    ):
        self._adapted = adapted
        self._arrays: dict[str, np.ndarray] = {}
        wanted = {}
        for gguf, name in names.items():
            places = itertools.product(
                range(layers) if "{i}" in gguf else [0],
                range(experts) if "{e}" in gguf else [0],
                (".weight", ".bias"),
            )
            for i, e, ending in places:
                wanted[name.format(i=i, e=e) + ending] = gguf.format(i=i, e=e) + ending
        self.unknown = []
        for name, array in stored.items():
            short = next((name.removeprefix(one) for one in _PREFIXES if name.removeprefix(one) in wanted), None)
            if short is not None:
                self._arrays[wanted[short]] = array
            elif not _NO_WEIGHTS.fullmatch(name):
                self.unknown.append(name)
        if tied:
            self._arrays.pop("output.weight", None)
        self.types = sorted({array.dtype.name for array in self._arrays.values()})

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def __iter__(self):
        return iter(self._arrays)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._adapted(name, self._arrays[name]).shape

    def array(self, name: str) -> np.ndarray:
        return np.ascontiguousarray(self._adapted(name, self._arrays[name].astype(np.float32, copy=False)))

    def matrix(self, name: str) -> Matrix:
        return Matrix(np.ascontiguousarray(self._adapted(name, self._arrays[name])))

    def rows(self, name: str, places: np.ndarray) -> np.ndarray:
        return self._adapted(name, self._arrays[name][places].astype(np.float32, copy=False))
