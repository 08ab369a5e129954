"""Batches of arrays in an order that a seed decides, from any place in it.

    data = relay.train.Batches({"x": images, "y": labels}, 64, seed=0)
    for batch in data: ...                               # an epoch, from the current position on

The sample at a place of an epoch is a keyed permutation of the place. It needs no stored order, and the position
(epoch, next place) is the whole state.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..data.arrays import array
from ..data.arrays import numpy as as_numpy
from ..errors import bad_option, wrong_input

_ROUNDS = 8


def _mixed(x: np.ndarray) -> np.ndarray:
    """Returns the 64 bits of each number, mixed (the finaliser of SplitMix64, doi.org/10.1145/2714064.2660195)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _keys(seed: int, epoch: int) -> list[np.uint64]:
    """Returns a key for each round."""
    golden = 0x9E3779B97F4A7C15
    word = np.array([(seed * golden + epoch) & (2**64 - 1)], np.uint64)
    keys = []
    for _ in range(_ROUNDS):
        word = _mixed(word + np.uint64(golden))
        keys.append(word[0])
    return keys


def permuted(places: np.ndarray, count: int, seed: int, epoch: int) -> np.ndarray:
    """Returns the samples (int64) at places of an epoch of `count` samples: a permutation of 0 .. count - 1.

    A Feistel network over the least even number of bits that holds `count`; results that are not below `count` go
    through it again (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
    """
    half = np.uint64(max(1, (max(count - 1, 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    keys = _keys(seed, epoch)
    out = np.asarray(places, np.uint64).copy()
    todo = np.arange(out.size)
    while todo.size:
        left, right = out[todo] >> half, out[todo] & mask
        for key in keys:
            left, right = right, left ^ (_mixed(right + key) & mask)
        out[todo] = (left << half) | right
        todo = todo[out[todo] >= count]
    return out.astype(np.int64)


def _source(name: str, value: Any):
    """Returns an array that is indexed by samples: NumPy, memory-mapped (a path of .npy), or a torch tensor."""
    if isinstance(value, (str, os.PathLike)):
        try:
            return np.load(value, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise wrong_input(f"`{name}`: {value} cannot be read as an array: {error}", "give a .npy file") from error
    if isinstance(value, np.ndarray):
        return value
    return as_numpy(array(value))


class Batches:
    """Batches of samples. Iterating gives one epoch, from the current position on.

    arrays: a dictionary, a tuple or a single array, with one sample in each first index: NumPy, torch, memory-mapped,
    or paths of .npy files, which are memory-mapped. Or a torch Dataset, or anything with len() and samples by index.
    Batches have the same structure.
    size: samples of a batch. shuffle: permute them, in another way in each epoch. drop_last: leave out an epoch's last
    batch if it is smaller. transform: a function that is applied to each batch. prefetch: prepare the next batch in a
    thread meanwhile.
    """

    def __init__(
        self,
        arrays: Any,
        size: int,
        *,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        transform: Callable | None = None,
        prefetch: bool = True,
    ):
        is_dataset = not isinstance(arrays, (dict, tuple, list, np.ndarray, str, os.PathLike))
        is_dataset = is_dataset and hasattr(arrays, "__getitem__") and not hasattr(arrays, "__dlpack__")
        self._dataset = arrays if is_dataset else None
        self._names = list(arrays) if isinstance(arrays, dict) else None
        self._is_single = not is_dataset and not isinstance(arrays, (dict, tuple, list))
        values = [] if is_dataset else [arrays] if self._is_single else arrays
        named = values.items() if isinstance(values, dict) else ((str(i), one) for i, one in enumerate(values))
        sources = {name: _source(name, one) for name, one in named}
        self._arrays = list(sources.values())
        lengths = {name: len(one) if one.ndim else 0 for name, one in sources.items()}
        self.samples = len(arrays) if is_dataset else next(iter(lengths.values()), 0)
        other = next((name for name, length in lengths.items() if length != self.samples), None)
        if other is not None:
            raise wrong_input(
                f"`{next(iter(lengths))}` has {self.samples} samples and `{other}` has {lengths[other]}",
                "give arrays with the same first extent",
            )
        if not isinstance(size, int) or size < 1:
            raise bad_option(f"a batch of {size!r} samples", "give a whole number of samples, 1 or more")
        if self.samples < (size if drop_last else 1):
            raise wrong_input(
                f"there are {self.samples} samples, and a batch has {size}", "give more samples or a smaller size"
            )
        self.size, self.shuffle, self.seed, self.drop_last = size, shuffle, seed, drop_last
        self.transform, self.prefetch = transform, prefetch
        self.epoch, self.number = 0, 0  # of the next batch

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        return self.samples // self.size if self.drop_last else -(-self.samples // self.size)

    def indices(self, epoch: int, number: int) -> np.ndarray:
        """Returns the samples of a batch."""
        places = np.arange(number * self.size, min((number + 1) * self.size, self.samples))
        return permuted(places, self.samples, self.seed, epoch) if self.shuffle else places

    def batch(self, epoch: int, number: int) -> Any:
        """Returns a batch."""
        where = self.indices(epoch, number)
        if self._dataset is not None:
            made = _stacked([self._dataset[int(one)] for one in where])
        else:
            parts = [np.ascontiguousarray(one[where]) for one in self._arrays]
            made = dict(zip(self._names, parts, strict=True)) if self._names else tuple(parts)
            made = parts[0] if self._is_single else made
        return made if self.transform is None else self.transform(made)

    def __iter__(self) -> Iterator[Any]:
        with ThreadPoolExecutor(1) if self.prefetch else _Here() as pool:
            epoch = self.epoch
            coming = pool.submit(self.batch, epoch, self.number) if self.number < len(self) else None
            while coming is not None:
                made, coming = coming.result(), None
                self._advance()
                if self.epoch == epoch:
                    coming = pool.submit(self.batch, epoch, self.number)
                yield made

    def _advance(self) -> None:
        self.number += 1
        if self.number == len(self):
            self.epoch, self.number = self.epoch + 1, 0

    def state(self) -> dict[str, int | bool]:
        """Returns the position, and the facts that give it its meaning, for a checkpoint."""
        facts = {"samples": self.samples, "size": self.size, "seed": self.seed}
        return {"epoch": self.epoch, "number": self.number, "shuffle": self.shuffle, **facts}

    def restore(self, state: dict[str, Any]) -> None:
        """Continues at the position of a checkpoint. Refuses that of other data."""
        mine = self.state()
        for name in ("samples", "size", "seed", "shuffle"):
            if state.get(name) != mine[name]:
                raise wrong_input(
                    f"the checkpoint is of data with {name} = {state.get(name)}, and these have {name} = {mine[name]}",
                    "pass the data of the training that is resumed",
                )
        self.epoch, self.number = int(state["epoch"]), int(state["number"])


class _Here:
    """An executor that runs at once."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def submit(self, function, *arguments):
        value = function(*arguments)
        return type("Done", (), {"result": lambda _: value})()


def _stacked(samples: list) -> Any:
    """Returns samples of a dataset as arrays with a first axis more: dictionaries and tuples of arrays or numbers."""
    first = samples[0]
    if isinstance(first, dict):
        return {name: _stacked([one[name] for one in samples]) for name in first}
    if isinstance(first, (tuple, list)):
        return tuple(_stacked(list(parts)) for parts in zip(*samples, strict=True))
    return np.stack([one if isinstance(one, (np.ndarray, np.generic)) else _number(one) for one in samples])


def _number(value: Any) -> np.ndarray:
    return np.asarray(value) if isinstance(value, (bool, int, float)) else as_numpy(array(value))


class Stream:
    """Batches of any iterable: a torch DataLoader, a generator, a list. Its position is the number of batches taken. A
    training that resumes takes as many and drops them."""

    def __init__(self, batches: Iterable):
        self._batches, self.taken, self._skip = batches, 0, 0
        self.epoch = 0

    def __iter__(self) -> Iterator[Any]:
        self.taken = 0
        skip, self._skip = self._skip, 0
        for batch in self._batches:
            self.taken += 1
            if self.taken > skip:
                yield batch
        if self.taken < skip:
            raise wrong_input(
                f"the data ended after {self.taken} batches, and the checkpoint was made after {skip}",
                "pass the data of the training that is resumed",
            )
        self.epoch, self.taken = self.epoch + 1, 0

    def state(self) -> dict[str, int]:
        """Returns the position, for a checkpoint."""
        return {"epoch": self.epoch, "taken": self.taken}

    def restore(self, state: dict[str, Any]) -> None:
        """Continues at the position of a checkpoint."""
        if "taken" not in state:
            raise wrong_input(
                "the checkpoint is of relay.train.Batches", "pass the data of the training that is resumed"
            )
        self.epoch, self._skip, self.taken = int(state["epoch"]), int(state["taken"]), int(state["taken"])


def as_data(data: Any) -> Batches | Stream:
    """Returns data with a position."""
    if isinstance(data, (Batches, Stream)):
        return data
    if not isinstance(data, Iterable):
        raise wrong_input(
            f"the data are of type {type(data).__name__}", "give relay.train.Batches(arrays, size) or an iterable"
        )
    return Stream(data)
